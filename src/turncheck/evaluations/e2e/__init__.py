"""End-to-end cases: whole conversations, with custom actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import (
    EvaluationKind,
    figures_of_report,
    metric_named,
    metrics_of_runs,
    names_of,
    why_no_figure_of_runs,
)
from turncheck.evaluations.turns import TURN_FIGURES, TURN_METRICS, figures_of_turns, why_no_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report


def _has_results(report: Report) -> bool:
    return report.e2e is not None and any(case.outcome != "skipped" for case in report.e2e.cases)


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.e2e:
        yield from names_of("e2e", ("passed", "misunderstood", "failed", "skipped"), report.e2e)
        yield from figures_of_report(report, "e2e")
        yield from figures_of_turns(report)


def _why_no_figure(report: Report, name: str) -> str | None:
    return why_no_turns(report, name) or why_no_figure_of_runs(report, name, "e2e")


E2E: Final = EvaluationKind(
    name="e2e",
    capability="no_conversation",
    has_results=_has_results,
    metrics=(
        metric_named(
            r"e2e\.passed",
            "e2e",
            "higher",
            "counted",
            "count",
            label="End-to-end cases passed",
            of=("e2e.failed", "e2e.misunderstood", "e2e.unclear"),
            only_if_any=True,
        ),
        metric_named(r"e2e\.(?:misunderstood|failed|skipped)", "e2e", "lower", "counted", "count"),
        *metrics_of_runs("e2e", "Runs passed"),
        *TURN_METRICS,
    ),
    figures=_figures,
    why_no_figure=_why_no_figure,
    examples=("e2e.passed", "e2e.failed", "e2e.pass_at_1", *TURN_FIGURES),
    not_run="no end-to-end cases were run",
    tests=("end-to-end case", "end-to-end cases"),
    lost="the end-to-end cases are no longer run",
    refused="the end-to-end cases cannot be run",
    in_files="the end-to-end cases",
)
