"""Dialogue: the test stories, step by step."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import SCORES, EvaluationKind, metric_named, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    core = report.core
    if core is None:
        return
    yield from names_of("core", ("conversation_accuracy", "accuracy", "precision", "recall", "f1"), core)
    outcomes = Counter(story.outcome for story in core.stories)
    yield from ((f"core.{outcome}", outcomes[outcome]) for outcome in ("passed", "failed", "misunderstood"))
    if core.as_written:
        yield from names_of("core.as_written", ("passed", "failed"), core.as_written)
    yield "core.warned", sum(story.warned for story in core.stories)


CORE: Final = EvaluationKind(
    name="core",
    capability="no_dialogue",
    has_results=lambda report: report.core is not None and bool(report.core.stories),
    metrics=(
        metric_named(rf"core\.(?:conversation_accuracy|accuracy|{SCORES})", "core", "higher", "counted"),
        metric_named(
            r"core\.passed",
            "core",
            "higher",
            "counted",
            "count",
            label="Stories passed",
            of=("core.failed", "core.misunderstood"),
            only_if_any=True,
        ),
        metric_named(
            r"core\.as_written\.passed",
            "core",
            "higher",
            "counted",
            "count",
            label="Stories passed as written",
            of=("core.as_written.failed",),
        ),
        metric_named(r"core\.(?:misunderstood|failed|as_written\.failed|warned)", "core", "lower", "counted", "count"),
    ),
    figures=_figures,
    examples=(
        *("core.conversation_accuracy", "core.accuracy", "core.f1", "core.failed", "core.misunderstood"),
        "core.as_written.passed",
    ),
    not_run="no stories were tested",
    tests=("story", "stories"),
    lost="the stories are no longer run",
    refused="the policies cannot be trained",
    in_files="the test stories",
)
