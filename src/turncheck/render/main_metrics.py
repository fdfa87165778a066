"""The few figures that the table at the top shows, the same in the comment, the job summary and on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from turncheck.comparison.metrics import COVERAGE_OF_CHANGES, Metric, metrics_of
from turncheck.comparison.wording import difference, figure

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison, MetricDelta
    from turncheck.report.model import Report

Mark = Literal["real gain", "real drop", "within noise", "unchanged", "better", "worse", ""]

MARKS: Final[dict[Mark, str]] = {"real gain": "🟢", "real drop": "🔴", "better": "🟢", "worse": "🔴"}
"""The signs beside the words: never instead of them."""
_ONLY_IF_ANY: Final = frozenset({"validation.warnings", "core.passed", "e2e.passed", "batch.passed"})
_OF: Final = {"core.passed": "core.failed", "e2e.passed": "e2e.failed", "batch.passed": "batch.failed"}


@dataclass(frozen=True, slots=True)
class MainMetric:
    """A row: what it is (``subject`` is a name from the project), both sides in words, and what the change is worth."""

    label: str
    subject: str
    base: str
    now: str
    change: str
    mark: Mark
    name: str


def main_metrics(report: Report, comparison: Comparison | None) -> list[MainMetric]:
    """Return the rows, in the order of the report's sections."""
    current = metrics_of(report)
    deltas = {metric.name: metric for metric in comparison.metrics} if comparison and comparison.judged else {}
    rows = []
    for label, subject, name in _named(report):
        metric, delta = current.get(name), deltas.get(name)
        if (metric is None and delta is None) or (name in _ONLY_IF_ANY and not _any(name, current, deltas)):
            continue
        rows.append(
            MainMetric(
                label=label,
                subject=subject,
                base=_base(delta, deltas),
                now=_now(metric, current),
                change=_change(delta) if delta else "",
                mark=mark(delta) if delta else "",
                name=name,
            )
        )
    if comparison and comparison.changed_items:
        items = comparison.changed_items
        share = f"{sum(item.covered for item in items):,}/{len(items):,}"
        rows.append(MainMetric("Changed parts under test", "", "–", share, "", "", COVERAGE_OF_CHANGES))
    return rows


def _change(delta: MetricDelta) -> str:
    """The difference, and where the sides judged different sentences that on the shared ones: the mark is about it."""
    if delta.delta is None:
        return ""
    shown = difference(delta.delta, delta.kind)
    if delta.shared is None or mark(delta) == "":
        return shown
    shared = difference(delta.shared.delta, delta.kind)
    return shown if shared == shown else f"{shown}, on shared sentences {shared}"


def _any(name: str, current: dict[str, Metric], deltas: dict[str, MetricDelta]) -> bool:
    """Whether there is anything to count: warnings at all, tests that ran."""
    names = (name, _OF.get(name, name))
    return any((n in current and current[n].value) or (n in deltas and deltas[n].base) for n in names)


def _named(report: Report) -> list[tuple[str, str, str]]:
    rows = [("Intents, F1", "", "nlu.intents.f1"), ("Intents, accuracy", "", "nlu.intents.accuracy")]
    if report.nlu:
        rows += [("Entities, F1", name, f"nlu.entities.{name}.f1") for name in report.nlu.entities]
        rows += [("Responses, F1", name, f"nlu.responses.{name}.f1") for name in report.nlu.responses]
    rows += [
        ("Stories passed", "", "core.passed"),
        ("End-to-end cases passed", "", "e2e.passed"),
        ("Batch cases passed", "", "batch.passed"),
        ("Errors in the data", "", "validation.errors"),
        ("Warnings in the data", "", "validation.warnings"),
    ]
    return rows


def _now(metric: Metric | None, current: dict[str, Metric]) -> str:
    if metric is None:
        return "not run"
    shown = figure(metric.value, metric.kind)
    failed = current.get(_OF.get(metric.name, ""))
    return f"{shown}/{figure(metric.value + failed.value, 'count')}" if failed else shown


def _base(delta: MetricDelta | None, deltas: dict[str, MetricDelta]) -> str:
    if delta is None or delta.base is None:
        return "–"
    shown = figure(delta.base, delta.kind)
    failed = deltas.get(_OF.get(delta.name, ""))
    return f"{shown}/{figure(delta.base + (failed.base or 0), 'count')}" if failed else shown


def mark(delta: MetricDelta) -> Mark:
    """Return what a difference is worth, in words that need no statistics."""
    if delta.judgement == "not judged":
        return ""
    if delta.judgement == "same":
        return "unchanged"
    if delta.judgement == "noise":
        return "within noise"
    sampled = delta.significance is not None and delta.significance.method != "counted"
    if delta.judgement == "better":
        return "real gain" if sampled else "better"
    return "real drop" if sampled else "worse"
