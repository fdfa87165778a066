"""Strength: the tests, tried on the project with one small fault at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import EvaluationKind, metric_named, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.strength:
        fields = ("score", "by_tests", "killed", "survived", "equivalent", "not_tried")
        yield from names_of("strength", fields, report.strength)
        for group in report.strength.by_kind:
            yield from names_of(f"strength.by_kind[{group.name}]", ("score", "by_tests"), group)


STRENGTH: Final = EvaluationKind(
    name="strength",
    capability="no_mutants",
    on_request=True,
    has_results=lambda report: report.strength is not None and bool(report.strength.mutants),
    metrics=(
        metric_named(r"strength\.score", "strength", "higher", "counted", label="Planted faults noticed"),
        metric_named(r"strength\.by_tests", "strength", "higher", "counted"),
        metric_named(r"strength\.by_kind\[.*\]\.(?:score|by_tests)", "strength", "higher", "counted"),
        metric_named(r"strength\.killed", "strength", "higher", "counted", "count"),
        metric_named(r"strength\.survived", "strength", "lower", "counted", "count"),
        metric_named(r"strength\.(?:equivalent|not_tried)", "strength", "neither", "counted", "count"),
    ),
    figures=_figures,
    examples=("strength.score", "strength.by_tests", "strength.survived"),
    not_run="the strength of the tests was not measured",
    judges="the strength of the tests",
    refused="the mutants cannot be tried",
)
