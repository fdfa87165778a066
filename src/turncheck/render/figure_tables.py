"""Figures as tables: the main ones at the top, those of every intent folded below what changed."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from turncheck.comparison.metric_deltas import is_of_parts
from turncheck.comparison.metrics import MetricDelta, metrics_of
from turncheck.comparison.training_changes import f1_of_intent, intent_of, is_f1_of_an_intent
from turncheck.messages.phrasing import count
from turncheck.render import main_metrics, phrases
from turncheck.render.batch_notes import tested_at
from turncheck.render.spans import (
    BUILT,
    Change,
    Code,
    Column,
    Entry,
    Line,
    NeutralSection,
    Row,
    Section,
    line,
    listed,
)
from turncheck.render.wording.figures import change, figure
from turncheck.render.wording.newly_judged import right_in_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.changes import NewlyJudged
    from turncheck.comparison.model import Comparison
    from turncheck.report.model import BatchNumbers, Confusion, Report
    from turncheck.report.understanding import CoveredKind


_SIDES: Final = (Column("base", "right"), Column("now", "right"), Column("change", "left"))
_LONGEST_NAME: Final = 80
_LONGEST_SUBJECT: Final = 40


def metrics_table(report: Report, comparison: Comparison | None) -> NeutralSection:
    """The main figures, on both sides if there are two."""
    listed = main_metrics.main_metrics(report, comparison)
    compared = (comparison is not None and comparison.judged) or any(metric.base not in {"", "–"} for metric in listed)
    columns = (Column(""), *_SIDES) if compared else (Column(""), Column("now", "right"))
    rows = tuple(_main_metric(metric, compared=compared) for metric in listed[:BUILT])
    return Section("metrics", "", rows, len(listed), columns=columns)


def _main_metric(metric: main_metrics.MainMetric, *, compared: bool) -> Row:
    label = line(metric.title, line(" ", Code(metric.subject, _LONGEST_SUBJECT)) if metric.subject else ())
    if not compared:
        return Row((label, line(metric.now, metric.note)))
    return Row((label, line(metric.base), line(metric.now), line(Change(metric.change, metric.mark, metric.note))))


def intent_table(report: Report, compared: Comparison | None) -> NeutralSection:
    """F1 of each intent: those that changed if there is a base, else all; the worst first."""
    if compared is None or compared.other_mode:
        return _all_intents(report)
    changed = [
        m
        for m in compared.metrics
        if is_f1_of_an_intent(m.name) and m.delta is not None and main_metrics.change_of(m) != "±0"
    ]
    changed.sort(key=lambda metric: (metric.judgement not in {"worse", "better"}, metric.delta or 0.0, metric.name))
    values = {metric.name: metric for metric in compared.metrics}
    new = [
        _new_intent(values[name], one)
        for one in compared.newly_judged
        if one.kind == "intents" and (name := f1_of_intent(one.name)) in values
    ]
    rows = (*new, *map(_changed_intent, changed[:BUILT]))
    words = "Intents that are new, or whose F1 changed" if new else "Intents whose F1 changed"
    title = f"{words} ({len(new) + len(changed)})"
    return Section("intents", title, rows[:BUILT], len(new) + len(changed), 0, (Column("F1 of the intent"), *_SIDES))


def _new_intent(metric: MetricDelta, one: NewlyJudged) -> Row:
    value = line(_score(metric.value))
    return Row((line(_name(metric.name)), line("–"), value, line(Change("", "", right_in_short(one)))))


def _changed_intent(metric: MetricDelta) -> Row:
    base, value = main_metrics.displayed_values(metric)
    name = line(_name(metric.name), main_metrics.SHARED if main_metrics.is_on_shared(metric) else "")
    change = Change(main_metrics.change_of(metric), main_metrics.mark(metric), main_metrics.sample_size_note(metric))
    return Row((name, line(base), line(value), line(change)))


def _all_intents(report: Report) -> NeutralSection:
    listed = [metric for metric in metrics_of(report).values() if is_f1_of_an_intent(metric.name)]
    listed.sort(key=lambda metric: (metric.value, metric.name))
    rows = tuple(Row((line(_name(metric.name)), line(_score(metric.value)))) for metric in listed[:BUILT])
    title = f"All intents, the weakest first ({len(listed)})"
    return Section("intents", title, rows, len(listed), 0, (Column("intent"), Column("F1", "right")))


def confusion_table(report: Report) -> NeutralSection:
    """Which intents were expected and which predicted instead, the most frequent first."""
    return _confused(_confusions(report), "Confused intents")


def more_confused(report: Report, compared: Comparison) -> NeutralSection:
    """The same, but only what the base has not, or less often; all if the base judged no sentence."""
    if lacks_sentences(compared):
        return confusion_table(report)
    base = {(pair.expected, pair.predicted): pair.count for pair in compared.base_confusions}
    more = [pair for pair in _confusions(report) if pair.count > base.get((pair.expected, pair.predicted), 0)]
    return _confused(more, "Intents confused more often than on the base")


def lacks_sentences(compared: Comparison) -> bool:
    """Whether the base judged none of the sentences."""
    return any(lack.evaluation == "nlu" and lack.cases is None for lack in compared.base_lacks)


def _confusions(report: Report) -> Sequence[Confusion]:
    return report.nlu.intents.confusions if report.nlu and report.nlu.intents else ()


def _confused(confusions: Sequence[Confusion], words: str) -> NeutralSection:
    rows = tuple(
        Row((line(_code(pair.expected)), line(_code(pair.predicted)), line(f"{pair.count:,}")))
        for pair in confusions[:BUILT]
    )
    title = f"{words} ({count(len(confusions), 'pair')})"
    columns = (Column("expected"), Column("got"), Column("times", "right"))
    return Section("confusions", title, rows, len(confusions), 0, columns)


def batch_table(report: Report) -> NeutralSection:
    """The platform's numbers of each suite, and of each kind where the suites have several."""
    suites = report.batch.suites if report.batch else ()
    times = [tested_at(suite, report.source.measured) for suite in suites]
    rows = [_batch_row(line(_code(suite.name)), suite, at) for suite, at in zip(suites, times, strict=True)]
    kinds = report.batch.kinds if report.batch else {}
    if len(kinds) > 1:
        rows += [_batch_row(line(phrases.KIND_NAMES.get(kind, kind)), numbers) for kind, numbers in kinds.items()]
    title = f"Batch suites ({len(suites)})"
    names = ("TP", "TN", "FP", "FN", "precision", "recall", "F1", "intents", "entities")
    columns = (Column("suite"), *(Column(name, "right") for name in names), *([Column("tested")] if any(times) else []))
    if not any(times):
        rows = [Row(row.cells[:-1]) for row in rows]
    return Section("suites", title, tuple(rows[:BUILT]), len(rows), 0, columns)


def coverage_table(report: Report) -> NeutralSection:
    """How much of each kind of a Kore.ai assistant is tested, and both of the platform's totals."""
    sides = {
        "judged sentences": report.nlu.coverage if report.nlu else None,
        "suites": report.batch.coverage if report.batch else None,
    }
    measured = {name: covered for name, covered in sides.items() if covered is not None and covered.kinds}
    kinds = dict.fromkeys(kind for covered in measured.values() for kind in covered.kinds)

    def row(name: str, cells: Iterable[str]) -> Row:
        return Row((line(name), *map(line, cells)))

    rows = [
        row(phrases.KIND_NAMES.get(kind, kind), (_part(covered.kinds.get(kind)) for covered in measured.values()))
        for kind in kinds
    ]
    if rows:
        pooled = ("–" if covered.pooled is None else f"{covered.pooled:.1%}" for covered in measured.values())
        rows.append(row(phrases.POOLED, pooled))
        rows.append(row(phrases.MEAN, (f"{covered.mean:.1%}" for covered in measured.values())))
    columns = (Column("kind"), *(Column(name, "right") for name in measured))
    return Section("covered", "Covered, by kind", tuple(rows), len(rows), 0, columns)


def _part(kind: CoveredKind | None) -> str:
    return "–" if kind is None else f"{kind.covered} of {kind.total}"


def _batch_row(name: Line, numbers: BatchNumbers, tested: str = "") -> Row:
    counts = numbers.counts
    counted = (f"{number:,}" for number in (counts.tp, counts.tn, counts.fp, counts.fn))
    scores = (numbers.precision, numbers.recall, numbers.f1, numbers.intent_success, numbers.entity_success)
    return Row((name, *map(line, counted), *(line(_score(value)) for value in scores), line(tested)))


def _name(name: str) -> Code:
    return _code(intent_of(name))


def _code(intent: str) -> Code:
    return Code(intent, _LONGEST_NAME)


def _score(value: float | None) -> str:
    return "–" if value is None else figure(value, "score")


# Every figure that is worse than on the base and that the table does not show: lines under the table.

_SHOWN_AS: Final = frozenset({"worse", "real drop"})
_LONGEST_FIGURE: Final = 200


def worse_figures(report: Report, compared: Comparison, unfolded: int) -> NeutralSection:
    """The figures that are worse and that neither the table nor a test of a list says, those about one thing on a line.

    Precision, recall and accuracy of the same sentences say again what the F1 in the table says; how many sentences are
    understood, what another threshold of the fallback does, which has a list.
    """
    in_table = {row.name for row in main_metrics.main_metrics(report, compared) if row.mark in _SHOWN_AS}
    said = {name.rpartition(".")[0] for name in in_table if name.startswith("nlu.")}
    said |= {"nlu.understood"} if compared.fallback is not None and compared.fallback.number else set()
    worse = [
        metric
        for metric in compared.metrics
        if metric.judgement == "worse"
        and not metric.by_cases
        and metric.name not in in_table
        and _subject(metric) not in said
    ]
    groups = [tuple(group) for _, group in groupby(worse, _subject)]
    entries = tuple(Entry(listed(map(_figure, group))) for group in groups[:BUILT])
    note = line("Other figures that are worse:") if worse else ()
    return Section("worse", "", entries, len(worse), unfolded, note=note, weights=tuple(map(len, groups[:BUILT])))


def _subject(metric: MetricDelta) -> str:
    """What a figure is about: its name without the last part (``nlu.intents[greet]``)."""
    return metric.name.rpartition(".")[0]


def _figure(metric: MetricDelta) -> Line:
    before, now = main_metrics.displayed_values(metric)
    base, value = metric.sides
    difference = f" ({change(base, value, metric.kind)})" if base is not None and value is not None else ""
    of_what = ", on what both sides judged" if main_metrics.is_on_shared(metric) else ""
    of_what = ", in tests that fail on both sides" if is_of_parts(metric.name) else of_what
    return line(Code(metric.name, _LONGEST_FIGURE), f" {before} → {now}{difference}{of_what}")
