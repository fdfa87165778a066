"""A result as publishers get it: rendered files and plain values. None of them knows what was measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.render.annotations import find_annotations
from turncheck.render.markdown import comment_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from turncheck.conclude import Outcome
    from turncheck.render.annotations import Annotation
    from turncheck.render.rendered import Rendered


@dataclass(frozen=True, slots=True)
class Result:
    """What is published of one assistant.

    ``key`` tells it from others of the repository; ``texts`` renders summary and comment, given the addresses of the
    artifact that holds the files and of the page ("" for none) and the longest comment; ``outputs`` are the action's,
    by name.
    """

    key: str
    passed: bool
    changed: bool
    summary: str
    failed_gates: tuple[str, ...]
    warnings: tuple[str, ...]
    annotations: tuple[Annotation, ...]
    files: tuple[Rendered, ...]
    texts: Callable[[str, str, int], tuple[Rendered, Rendered]]
    outputs: Mapping[str, str]
    commit: str | None = None
    run_url: str | None = None


def result_of(outcome: Outcome, folder: Path) -> Result:
    """Return what is published of an outcome whose files lie in ``folder``."""
    verdict, comparison = outcome.verdict, outcome.comparison
    failed = [gate for gate in verdict.gates if gate.fails and not gate.follows]
    return Result(
        key=comment_key(outcome.report),
        passed=verdict.passed,
        changed=comparison.changed,
        summary=verdict.summary,
        failed_gates=tuple(f"{gate.name}: {gate.told}" for gate in failed),
        warnings=tuple(comparison.baseline.warnings),
        annotations=find_annotations(outcome.report, comparison),
        files=outcome.files,
        texts=outcome.texts,
        outputs={
            "verdict": verdict.outcome,
            "summary": verdict.summary,
            "metrics": json.dumps({one.name: one.value for one in comparison.metrics if one.value is not None}),
            "deltas": json.dumps({one.name: one.delta for one in comparison.metrics if one.delta is not None}),
            "results": str(folder),
            "report": str(folder / "report.json"),
            "comparison": str(folder / "comparison.json") if comparison.judged else "",
            "junit": str(folder / "junit.xml"),
        },
        commit=outcome.links.commit,
        run_url=outcome.links.run_url,
    )
