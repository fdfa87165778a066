"""Batch suites: utterances with the intents and entities that are expected of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import (
    SCORES,
    EvaluationKind,
    figures_of_report,
    metric_named,
    metrics_of_runs,
    names_of,
    why_no_figure_of_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report

_FIGURES: Final = (
    "intent_success", "f1", "precision", "recall", "accuracy", "entity_success", "passed", "failed",
)  # fmt: skip
"""The figures of each suite, and of all together."""


def _has_results(report: Report) -> bool:
    return report.batch is not None and any(suite.cases for suite in report.batch.suites)


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    batch = report.batch
    if batch is None:
        return
    yield from names_of("batch", _FIGURES, batch)
    for suite in batch.suites:
        yield from names_of(f"batch[{suite.name}]", _FIGURES, suite)
    if batch.coverage is not None:
        if batch.coverage.pooled is not None:
            yield "batch.coverage.pooled", batch.coverage.pooled
        yield "batch.coverage.mean", batch.coverage.mean
    yield from figures_of_report(report, "batch")


BATCH: Final = EvaluationKind(
    name="batch",
    capability="no_batch",
    has_results=_has_results,
    metrics=(
        metric_named(
            r"batch\.passed",
            "batch",
            "higher",
            "counted",
            "count",
            label="Batch cases passed",
            of=("batch.failed", "batch.unclear"),
            only_if_any=True,
        ),
        metric_named(r"batch\.failed", "batch", "lower", "counted", "count"),
        metric_named(r"batch\[.*\]\.passed", "batch", "higher", "counted", "count"),
        metric_named(r"batch\[.*\]\.failed", "batch", "lower", "counted", "count"),
        metric_named(r"batch\.intent_success", "batch", "higher", "mcnemar", label="Batch suites, intents right"),
        metric_named(r"batch\.f1", "batch", "higher", "mcnemar", label="Batch suites, F1"),
        metric_named(r"batch\.entity_success", "batch", "higher", "mcnemar", label="Batch suites, entities right"),
        metric_named(
            rf"batch(?:\[.*\])?\.(?:accuracy|intent_success|entity_success|{SCORES})", "batch", "higher", "mcnemar"
        ),
        metric_named(r"batch\.coverage\.(?:pooled|mean)", "batch", "higher", "counted"),
        *metrics_of_runs("batch", "Runs of batch cases passed"),
    ),
    figures=_figures,
    examples=(
        *("batch.intent_success", "batch.f1", "batch.entity_success", "batch.passed"),
        "batch[SUITE].f1",
    ),
    not_run="no batch suites were run",
    tests=("batch case", "batch cases"),
    lost="the batch cases are no longer run",
    refused="the batch suites cannot be run",
    nlu_only=True,
    why_no_figure=partial(why_no_figure_of_runs, section="batch"),
)
