"""Figures intent by intent, folded below what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.broken_intents import intent_of, is_f1_of_an_intent
from turncheck.comparison.metrics import metrics_of
from turncheck.comparison.wording import count, figure
from turncheck.render.main_metrics import MARKS, SHARED, change_of, how_few, is_on_shared, mark, sides_of
from turncheck.render.markdown_entries import row
from turncheck.render.sections import BUILT, Section
from turncheck.render.sinks.markdown import Markdown, code_cell, join, trusted

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison, MetricDelta
    from turncheck.render.main_metrics import Mark
    from turncheck.report.model import Report


def marked(change: str, mark: Mark, note: str = "") -> Markdown:
    """A difference, its worth and what to know about it, in one cell and short words: all must show on a phone."""
    if mark == "unchanged":
        told = "same" if change in {"±0", ""} else f"{change} same"
    else:
        told = " ".join(part for part in (change, MARKS.get(mark, ""), mark) if part)
    return trusted(f"{told}{note}".removeprefix("; "))


def intent_table(report: Report, compared: Comparison | None, where: Markdown) -> Section:
    """F1 of each intent: those that changed if there is a base, else all; the worst first."""
    if compared is None:
        return _all_intents(report, where)
    changed = [
        m for m in compared.metrics if is_f1_of_an_intent(m.name) and m.delta is not None and change_of(m) != "±0"
    ]
    changed.sort(key=lambda metric: (metric.judgement not in {"worse", "better"}, metric.delta or 0.0, metric.name))
    header = trusted("| F1 of the intent | base | now | change |\n|---|---:|---:|:---|")
    rows = tuple(_changed_intent(metric) for metric in changed[:BUILT])
    title = trusted(f"Intents whose F1 changed ({len(changed)})")
    return Section("intents", title, rows, len(changed), where, 0, header)


def _changed_intent(metric: MetricDelta) -> Markdown:
    base, value = sides_of(metric)
    name = join([_name(metric.name), trusted(SHARED if is_on_shared(metric) else "")])
    return row([name, trusted(base), trusted(value), marked(change_of(metric), mark(metric), how_few(metric))])


def _all_intents(report: Report, where: Markdown) -> Section:
    listed = [metric for metric in metrics_of(report).values() if is_f1_of_an_intent(metric.name)]
    listed.sort(key=lambda metric: (metric.value, metric.name))
    rows = tuple(row([_name(metric.name), trusted(_score(metric.value))]) for metric in listed[:BUILT])
    title = trusted(f"All intents, the weakest first ({len(listed)})")
    return Section("intents", title, rows, len(listed), where, 0, trusted("| intent | F1 |\n|---|---:|"))


def confusion_table(report: Report, where: Markdown) -> Section:
    """Which intents were expected and which predicted instead, the most frequent first."""
    scores = report.nlu.intents if report.nlu else None
    confusions = scores.confusions if scores else ()
    rows = tuple(
        row([code_cell(pair.expected), code_cell(pair.predicted), trusted(f"{pair.count:,}")])
        for pair in confusions[:BUILT]
    )
    title = trusted(f"Confused intents ({count(len(confusions), 'pair')})")
    header = trusted("| expected | got | times |\n|---|---|---:|")
    return Section("confusions", title, rows, len(confusions), where, 0, header)


def _name(name: str) -> Markdown:
    return join([code_cell(intent_of(name))])


def _score(value: float | None) -> str:
    return "–" if value is None else figure(value, "score")
