"""Figures as tables: the main ones at the top, those of every intent folded below what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.broken_intents import intent_of, is_f1_of_an_intent
from turncheck.comparison.metrics import metrics_of
from turncheck.comparison.wording import count, figure
from turncheck.render.covered_text import KIND_NAMES, MEAN, POOLED
from turncheck.render.main_metrics import SHARED, change_of, how_few, is_on_shared, main_metrics, mark, sides_of
from turncheck.render.sections import BUILT, Section
from turncheck.render.spans import Change, Code, Column, Row, line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.judgement import MetricDelta
    from turncheck.comparison.model import Comparison
    from turncheck.render.main_metrics import MainMetric
    from turncheck.render.sections import NeutralSection
    from turncheck.render.spans import Line
    from turncheck.report.covered_intents import CoveredKind
    from turncheck.report.model import BatchNumbers, Report

_SIDES: Final = (Column("base", "right"), Column("now", "right"), Column("change", "left"))
_LONGEST_NAME: Final = 80
_LONGEST_SUBJECT: Final = 40


def metrics_table(report: Report, comparison: Comparison | None) -> NeutralSection:
    """The main figures, on both sides if there are two."""
    listed = main_metrics(report, comparison)
    compared = comparison is not None and comparison.judged
    columns = (Column(""), *_SIDES) if compared else (Column(""), Column("now", "right"))
    rows = tuple(_main_metric(metric, compared=compared) for metric in listed[:BUILT])
    return Section("metrics", "", rows, len(listed), columns=columns)


def _main_metric(metric: MainMetric, *, compared: bool) -> Row:
    label = line(metric.title, line(" ", Code(metric.subject, _LONGEST_SUBJECT)) if metric.subject else ())
    if not compared:
        return Row((label, line(metric.now)))
    return Row((label, line(metric.base), line(metric.now), line(Change(metric.change, metric.mark, metric.note))))


def intent_table(report: Report, compared: Comparison | None) -> NeutralSection:
    """F1 of each intent: those that changed if there is a base, else all; the worst first."""
    if compared is None or compared.other_mode:
        return _all_intents(report)
    changed = [
        m for m in compared.metrics if is_f1_of_an_intent(m.name) and m.delta is not None and change_of(m) != "±0"
    ]
    changed.sort(key=lambda metric: (metric.judgement not in {"worse", "better"}, metric.delta or 0.0, metric.name))
    rows = tuple(_changed_intent(metric) for metric in changed[:BUILT])
    title = f"Intents whose F1 changed ({len(changed)})"
    return Section("intents", title, rows, len(changed), 0, (Column("F1 of the intent"), *_SIDES))


def _changed_intent(metric: MetricDelta) -> Row:
    base, value = sides_of(metric)
    name = line(_name(metric.name), SHARED if is_on_shared(metric) else "")
    change = Change(change_of(metric), mark(metric), how_few(metric))
    return Row((name, line(base), line(value), line(change)))


def _all_intents(report: Report) -> NeutralSection:
    listed = [metric for metric in metrics_of(report).values() if is_f1_of_an_intent(metric.name)]
    listed.sort(key=lambda metric: (metric.value, metric.name))
    rows = tuple(Row((line(_name(metric.name)), line(_score(metric.value)))) for metric in listed[:BUILT])
    title = f"All intents, the weakest first ({len(listed)})"
    return Section("intents", title, rows, len(listed), 0, (Column("intent"), Column("F1", "right")))


def confusion_table(report: Report) -> NeutralSection:
    """Which intents were expected and which predicted instead, the most frequent first."""
    scores = report.nlu.intents if report.nlu else None
    confusions = scores.confusions if scores else ()
    rows = tuple(
        Row((line(_code(pair.expected)), line(_code(pair.predicted)), line(f"{pair.count:,}")))
        for pair in confusions[:BUILT]
    )
    title = f"Confused intents ({count(len(confusions), 'pair')})"
    columns = (Column("expected"), Column("got"), Column("times", "right"))
    return Section("confusions", title, rows, len(confusions), 0, columns)


def batch_table(report: Report) -> NeutralSection:
    """The platform's numbers of each suite, and of each kind where the suites have several."""
    suites = report.batch.suites if report.batch else ()
    rows = [_batch_row(line(_code(suite.name)), suite) for suite in suites]
    kinds = report.batch.kinds if report.batch else {}
    if len(kinds) > 1:
        rows += [_batch_row(line(KIND_NAMES.get(kind, kind)), numbers) for kind, numbers in kinds.items()]
    title = f"Batch suites ({len(suites)})"
    names = ("TP", "TN", "FP", "FN", "precision", "recall", "F1", "intents", "entities")
    columns = (Column("suite"), *(Column(name, "right") for name in names))
    return Section("suites", title, tuple(rows[:BUILT]), len(rows), 0, columns)


def coverage_table(report: Report) -> NeutralSection:
    """How much of each kind of a Kore.ai assistant is tested, and both of the platform's totals."""
    sides = {
        "judged sentences": report.nlu.coverage if report.nlu else None,
        "suites": report.batch.coverage if report.batch else None,
    }
    measured = {name: one for name, one in sides.items() if one is not None and one.kinds}
    kinds = dict.fromkeys(kind for one in measured.values() for kind in one.kinds)

    def row(name: str, cells: Iterable[str]) -> Row:
        return Row((line(name), *map(line, cells)))

    rows = [
        row(KIND_NAMES.get(kind, kind), (_part(one.kinds.get(kind)) for one in measured.values())) for kind in kinds
    ]
    if rows:
        pooled = ("–" if one.pooled is None else f"{one.pooled:.1%}" for one in measured.values())
        rows.append(row(POOLED, pooled))
        rows.append(row(MEAN, (f"{one.mean:.1%}" for one in measured.values())))
    columns = (Column("kind"), *(Column(name, "right") for name in measured))
    return Section("covered", "Covered, by kind", tuple(rows), len(rows), 0, columns)


def _part(kind: CoveredKind | None) -> str:
    return "–" if kind is None else f"{kind.covered} of {kind.total}"


def _batch_row(name: Line, numbers: BatchNumbers) -> Row:
    counts = numbers.counts
    counted = (f"{number:,}" for number in (counts.tp, counts.tn, counts.fp, counts.fn))
    scores = (numbers.precision, numbers.recall, numbers.f1, numbers.intent_success, numbers.entity_success)
    return Row((name, *map(line, counted), *(line(_score(value)) for value in scores)))


def _name(name: str) -> Code:
    return _code(intent_of(name))


def _code(intent: str) -> Code:
    return Code(intent, _LONGEST_NAME)


def _score(value: float | None) -> str:
    return "–" if value is None else figure(value, "score")
