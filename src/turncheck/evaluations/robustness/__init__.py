"""Robustness: language understanding under the noise of real users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import EvaluationKind, metric_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    robustness = report.robustness
    if robustness is None:
        return
    yield "robustness.failure_rate", robustness.failure_rate
    yield "robustness.entities.failure_rate", robustness.entities.failure_rate
    yield from ((f"robustness[{group.name}].failure_rate", group.failure_rate) for group in robustness.by_family)
    yield "robustness.variants", robustness.variants
    yield "robustness.failed", robustness.failed


ROBUSTNESS: Final = EvaluationKind(
    name="robustness",
    capability="no_nlu",
    on_request=True,
    has_results=lambda report: report.robustness is not None and report.robustness.variants > 0,
    metrics=(
        metric_named(r"robustness\.failure_rate", "robustness", "lower", "counted", label="Misunderstood under noise"),
        metric_named(r"robustness\.entities\.failure_rate", "robustness", "lower", "counted"),
        metric_named(r"robustness\[.*\]\.failure_rate", "robustness", "lower", "counted"),
        metric_named(r"robustness\.failed", "robustness", "lower", "counted", "count"),
        metric_named(r"robustness\.variants", "robustness", "neither", "counted", "count"),
    ),
    figures=_figures,
    examples=("robustness.failure_rate", "robustness[typo].failure_rate"),
    not_run="robustness was not measured",
    judges="robustness",
    refused="the test sentences cannot be varied",
    nlu_only=True,
)
