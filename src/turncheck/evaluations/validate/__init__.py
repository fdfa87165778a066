"""Validation: the data, as Rasa checks them, and what it accepts silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import EvaluationKind, metric_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.validation:
        counts = report.validation.counts
        yield from (("validation.errors", counts.error), ("validation.warnings", counts.warning))
        yield "validation.infos", counts.info


VALIDATE: Final = EvaluationKind(
    name="validate",
    prefix="validation",
    needs_engine=False,
    has_results=lambda report: report.validation is not None,
    metrics=(
        metric_named(r"validation\.errors", "validate", "lower", "counted", "count", label="Errors in the data"),
        metric_named(
            r"validation\.warnings",
            "validate",
            "lower",
            "counted",
            "count",
            label="Warnings in the data",
            only_if_any=True,
        ),
        metric_named(r"validation\.infos", "validate", "neither", "counted", "count"),
    ),
    figures=_figures,
    examples=("validation.errors", "validation.warnings"),
    not_run="the data were not validated",
    judges="the data",
    lost="the data are no longer checked",
    without_base_note=", so all errors in the data count as new",
)
