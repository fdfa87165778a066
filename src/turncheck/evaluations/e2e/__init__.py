"""End-to-end cases: whole conversations, with custom actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import UnsetType

from turncheck.evaluations.kind import (
    SCORES,
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

    from turncheck.report.model import EndToEnd, Report

_SCORES: Final = ("f1", "precision", "recall")


def _has_results(report: Report) -> bool:
    return report.e2e is not None and any(case.outcome != "skipped" for case in report.e2e.cases)


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.e2e:
        yield from names_of("e2e", ("passed", "misunderstood", "failed", "skipped"), report.e2e)
        yield from figures_of_report(report, "e2e")
        yield from _figures_of_commands(report.e2e)
    yield from figures_of_turns(report)  # sentences and utterances are turns as well


def _figures_of_commands(e2e: EndToEnd) -> Iterator[tuple[str, Any]]:
    together = e2e.all_commands
    if together is not None and not isinstance(e2e.commands, UnsetType):
        yield from names_of("e2e.commands", _SCORES, together)
        for one in e2e.commands:
            yield from names_of(f"e2e.commands[{one.command}]", _SCORES, one)


def _why_no_figure(report: Report, name: str) -> str | None:
    if name.startswith("e2e.commands") and report.e2e is not None and isinstance(report.e2e.commands, UnsetType):
        return "no results of dialogue understanding tests were imported (`report import`)"
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
        metric_named(r"e2e\.commands\.f1", "e2e", "higher", "counted", label="Commands, F1"),
        metric_named(rf"e2e\.commands(?:\[.*\])?\.{SCORES}", "e2e", "higher", "counted"),
    ),
    figures=_figures,
    why_no_figure=_why_no_figure,
    examples=("e2e.passed", "e2e.failed", "e2e.pass_rate", "e2e.commands.f1", *TURN_FIGURES),
    not_run="no end-to-end cases were run",
    tests=("end-to-end case", "end-to-end cases"),
    lost="the end-to-end cases are no longer run",
    refused="the end-to-end cases cannot be run",
    in_files="the end-to-end cases",
)
