"""A result as publishers get it: rendered files and plain values, nothing about what was measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.conclude import Several
from turncheck.messages.errors import EXIT_OK
from turncheck.render.annotations import LEVELS, find_annotations
from turncheck.render.assistants import comment_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from turncheck.comparison.model import Comparison
    from turncheck.conclude import Outcome
    from turncheck.render.annotations import Annotation
    from turncheck.render.fork import Fork
    from turncheck.render.rendered import Rendered


@dataclass(frozen=True, slots=True)
class Result:
    """What is published of one assistant.

    ``key`` tells it from others of the repository; ``files`` are those that were written; ``texts`` renders summary and
    comment, given the addresses of the artifact that holds the files and of the page ("" for none) and the longest
    comment; ``outputs`` are the action's, by name; ``fork`` is whose run measured it, if it was a fork's.
    """

    key: str
    passed: bool
    changed: bool
    summary: str
    failed_gates: tuple[str, ...]
    warnings: tuple[str, ...]
    annotations: tuple[Annotation, ...]
    files: tuple[Path, ...]
    texts: Callable[[str, str, int], tuple[Rendered, Rendered]]
    outputs: Mapping[str, str]
    commit: str | None = None
    run_url: str | None = None
    fork: Fork | None = None


def result_of_any(outcome: Outcome | Several, folder: Path, written: Sequence[Path]) -> Result:
    """Return what is published of one assistant or of several, whose files were ``written`` into ``folder``."""
    if isinstance(outcome, Several):
        return result_of_several(outcome, folder, written)
    return result_of(outcome, folder, written)


def result_of(outcome: Outcome, folder: Path, written: Sequence[Path]) -> Result:
    """Return what is published of an outcome whose files were ``written`` into ``folder``."""
    verdict, comparison = outcome.verdict, outcome.comparison
    return Result(
        key=comment_key(outcome.report),
        passed=verdict.passed,
        changed=comparison.changed,
        summary=verdict.summary,
        failed_gates=tuple(_failed_gates(outcome)),
        warnings=tuple(comparison.baseline.warnings),
        annotations=find_annotations(outcome.report, comparison),
        files=tuple(written),
        texts=outcome.texts,
        outputs={
            "verdict": verdict.outcome,
            "summary": verdict.summary,
            "metrics": json.dumps(_metrics(comparison)),
            "deltas": json.dumps(_deltas(comparison)),
            "results": str(folder),
            "report": str(folder / "report.json"),
            "comparison": str(folder / "comparison.json") if comparison.judged else "",
            "junit": str(folder / "junit.xml"),
        },
        commit=outcome.links.commit,
        run_url=outcome.links.run_url,
        fork=outcome.fork,
    )


def result_of_several(several: Several, folder: Path, written: Sequence[Path]) -> Result:
    """Return what is published of several assistants, whose files were ``written``: one comment, one artifact."""
    assistants, members = several.assistants, several.members
    by_name = {one.outcome.run.name: one.outcome for one in members}
    unmeasured = [f"{one.name}: not measured: {one.why}" for one in assistants.broken]
    failed = [f"{name}: {gate}" for name, outcome in by_name.items() for gate in _failed_gates(outcome)]
    found = [one for outcome in by_name.values() for one in find_annotations(outcome.report, outcome.comparison)]
    compared = [one.folder for one in members if one.outcome.comparison.judged]
    return Result(
        key=several.key,
        passed=several.exit_code == EXIT_OK,
        changed=any(outcome.comparison.changed for outcome in by_name.values()),
        summary=assistants.in_words,
        failed_gates=(*unmeasured, *failed),
        warnings=tuple(
            f"{name}: {warning}"
            for name, outcome in by_name.items()
            for warning in outcome.comparison.baseline.warnings
        ),
        annotations=tuple(sorted(found, key=lambda one: LEVELS.index(one.level))),
        files=tuple(written),
        texts=several.texts,
        outputs={
            "verdict": "passed" if several.exit_code == EXIT_OK else "failed",
            "summary": assistants.in_words,
            "metrics": json.dumps({name: _metrics(outcome.comparison) for name, outcome in by_name.items()}),
            "deltas": json.dumps({name: _deltas(outcome.comparison) for name, outcome in by_name.items()}),
            "results": str(folder),
            "report": "\n".join(str(folder / one.folder / "report.json") for one in members),
            "comparison": "\n".join(str(folder / name / "comparison.json") for name in compared),
            "junit": str(folder / "junit.xml"),
        },
        commit=several.links.commit,
        run_url=several.links.run_url,
        fork=several.fork,
    )


def _failed_gates(outcome: Outcome) -> list[str]:
    failed = [gate for gate in outcome.verdict.gates if gate.fails and not gate.follows]
    return [f"{gate.name}: {gate.in_words}" for gate in failed]


def _metrics(comparison: Comparison) -> dict[str, float]:
    return {one.name: one.value for one in comparison.metrics if one.value is not None}


def _deltas(comparison: Comparison) -> dict[str, float]:
    return {one.name: one.delta for one in comparison.metrics if one.delta is not None}
