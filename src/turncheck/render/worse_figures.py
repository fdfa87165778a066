"""Every figure that is worse than on the base and that the table does not show: lines under the table."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from turncheck.comparison.wording import change
from turncheck.render.main_metrics import is_on_shared, main_metrics, sides_of
from turncheck.render.sections import BUILT, Section
from turncheck.render.spans import Code, Entry, line, listed

if TYPE_CHECKING:
    from turncheck.comparison.judgement import MetricDelta
    from turncheck.comparison.model import Comparison
    from turncheck.render.sections import NeutralSection
    from turncheck.render.spans import Line
    from turncheck.report.model import Report

_SHOWN_AS: Final = frozenset({"worse", "real drop"})
_LONGEST_NAME: Final = 200


def worse_figures(report: Report, compared: Comparison, unfolded: int) -> NeutralSection:
    """The figures that are worse and not in the table, those about one thing on one line."""
    in_table = {row.name for row in main_metrics(report, compared) if row.mark in _SHOWN_AS}
    worse = [metric for metric in compared.metrics if metric.judgement == "worse" and metric.name not in in_table]
    groups = [tuple(group) for _, group in groupby(worse, _subject)]
    entries = tuple(Entry(listed(map(_figure, group))) for group in groups[:BUILT])
    note = line("Other figures that are worse beyond noise:") if worse else ()
    return Section("worse", "", entries, len(worse), unfolded, note=note, weights=tuple(map(len, groups[:BUILT])))


def _subject(metric: MetricDelta) -> str:
    """What a figure is about: its name without the last part (``nlu.intents[greet]``)."""
    return metric.name.rpartition(".")[0]


def _figure(metric: MetricDelta) -> Line:
    before, now = sides_of(metric)
    base, value = metric.sides
    difference = f" ({change(base, value, metric.kind)})" if base is not None and value is not None else ""
    shared = ", on what both sides judged" if is_on_shared(metric) else ""
    return line(Code(metric.name, _LONGEST_NAME), f" {before} → {now}{difference}{shared}")
