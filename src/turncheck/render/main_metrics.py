"""The main figures, which the table at the top shows, the same in the comment, the job summary and on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.comparison import metrics
from turncheck.comparison.changes import ChangedCases, number_of
from turncheck.comparison.metric_deltas import compared_runs, is_counted
from turncheck.comparison.model import ManyLosses
from turncheck.comparison.tally import faults_of
from turncheck.comparison.training_changes import dropped_intents, f1_of_intent, intent_of
from turncheck.evaluations.kind import JUDGED_BY_BOUND, OF_ONE, are_in_turn, first_runs, repeats_of, runs_of_all
from turncheck.evaluations.turns import TURN_FIGURES
from turncheck.messages.phrasing import count
from turncheck.render.wording.figures import change, figure, no_verdict, points
from turncheck.render.wording.newly_judged import mostly_wrong, right_in_short
from turncheck.render.wording.repeats import ONE_TEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.evaluations.kind import Unit
    from turncheck.render.spans import Mark
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Repeats, Report

SHARED: Final = " (shared sentences)"
"""Added to the label of a row if its figures only cover the sentences that both sides judged."""
_FIRST: Final = 4
_MOST_INTENTS: Final = 5
"""At most this many intents that really dropped have a row of their own."""
_AS_WRITTEN: Final = "core.as_written.passed"
_TESTS: Final[dict[str, Callable[[Comparison], ChangedCases]]] = {
    "core.passed": lambda comparison: comparison.stories,
    _AS_WRITTEN: lambda comparison: comparison.stories,
    "e2e.passed": lambda comparison: comparison.e2e,
    "batch.passed": lambda comparison: comparison.batch,
}


class MainMetric(Struct, frozen=True):
    """A row: what it is (``subject`` is a name from the project), both sides in words, and what the change is worth.

    A row adds up: where the sides judged different sentences, its figures are those of the sentences that both judged,
    which ``on_shared`` says; ``whole`` then has those of all sentences of each side. If they ran different tests,
    ``note`` says in words what became of them.
    """

    label: str
    subject: str
    base: str
    now: str
    change: str
    mark: Mark
    name: str
    note: str = ""
    on_shared: bool = False
    whole: str = ""

    @property
    def title(self) -> str:
        """The label, and which sentences the row covers."""
        return f"{self.label}{SHARED if self.on_shared else ''}"


def main_metrics(report: Report, comparison: Comparison | None) -> list[MainMetric]:
    """Return the rows, in the order of the report's sections."""
    current = metrics.metrics_of(report)
    deltas = {metric.name: metric for metric in comparison.metrics} if comparison and comparison.judged else {}
    rows = []
    dropped = dropped_intents(comparison)[:_MOST_INTENTS] if comparison and comparison.judged else []
    new = _mostly_wrong_intents(comparison) if comparison and comparison.judged else {}
    for label, subject, name in _named(report, [*(delta.name for delta in dropped), *new], deltas.values()):
        metric, delta = current.get(name), deltas.get(name)
        if (metric is None and delta is None) or (_only_if_any(name) and not _any(name, current, deltas)):
            continue
        if name == _AS_WRITTEN and not _differs_as_written(current, deltas):
            continue  # the dialogue by itself says the same as the stories end to end
        if name in JUDGED_BY_BOUND:
            rows.append(_of_runs(label, report, name, delta))
            continue
        if name in TURN_FIGURES:
            rows.append(_of_turns(label, name, metric, delta))
            continue
        on_shared = delta is not None and is_on_shared(delta)
        whole = f"{_base(delta, deltas)} → {_now(name, current)}"
        base, now = displayed_values(delta) if delta and on_shared else (_base(delta, deltas), _now(name, current))
        rows.append(
            MainMetric(
                label=label,
                subject=subject,
                base=base,
                now=now,
                change=change_of(delta) if delta and not _is_incomparable(delta, comparison) else "",
                mark=_mark_of_tests(delta, current, comparison) if delta else "",
                name=name,
                note=new.get(name)
                or (_note(delta, comparison) if delta and comparison else "") + _unclear(name, current, comparison),
                on_shared=on_shared,
                whole=whole if on_shared else "",
            )
        )
    if comparison and comparison.changed_items and _tests_ran(report):
        items = comparison.changed_items
        share = f"{sum(item.covered for item in items):,}/{len(items):,}"
        rows.append(
            MainMetric(
                metrics.metric_of(metrics.COVERAGE_OF_CHANGES).label,
                "",
                "–",
                share,
                "",
                "",
                metrics.COVERAGE_OF_CHANGES,
            )
        )
    return rows


def _complementary_counts(name: str) -> tuple[str, ...]:
    """What is counted besides a figure."""
    metric = metrics.known_metric(name)
    return metric.of if metric is not None else ()


def _only_if_any(name: str) -> bool:
    metric = metrics.known_metric(name)
    return metric is not None and metric.only_if_any


def _tests_ran(report: Report) -> bool:
    """Whether what the tests reach is known: some ran, and no fault kept any from running."""
    ran = report.nlu is not None or report.core is not None or report.e2e is not None
    ran = ran or report.batch is not None
    return ran and metrics.has_reach(report) and not faults_of(report)


def _is_incomparable(delta: metrics.MetricDelta, comparison: Comparison | None) -> bool:
    """Whether the figures are measured on different sentences in different ways, so that they cannot be compared."""
    return comparison is not None and comparison.other_mode and not is_counted(delta)


def _of_runs(label: str, report: Report, name: str, delta: metrics.MetricDelta | None) -> MainMetric:
    """Return how many of the runs of tests passed: ``95 % (57/60)``; of both sides those that are compared."""
    kind = JUDGED_BY_BOUND[name]
    repeated = repeats_of(report, kind)
    judged = delta.significance if delta is not None else None
    before, tests, moved = "–", len(repeated), ""
    passed, runs = runs_of_all(repeated)
    if delta is not None and judged is not None and judged.runs and judged.base_runs:
        base, passed = (
            round((side or 0) * of) for side, of in zip(delta.sides, (judged.base_runs, judged.runs), strict=True)
        )
        before, runs, tests = _passed_of(base, judged.base_runs), judged.runs, judged.examples or tests
        moved = points(base / judged.base_runs, passed / runs)
    elif are_in_turn(repeated):  # without a report of the base, its bot was asked
        both = compared_runs(repeated)
        (base, base_runs), (passed, runs) = (runs_of_all(side) for side in zip(*both, strict=True))
        before, tests, moved = _passed_of(base, base_runs), len(both), points(base / base_runs, passed / runs)
    elif delta is not None and delta.base is not None:
        before = figure(delta.base, "share")
    errors = sum(one.errors for one in repeated)
    note = f"; {count(errors, 'run')} ended in an error" if errors else ""
    which = _which_runs(repeated, kind, tests)
    found = _mark_of_runs(delta) if delta is not None else ""
    return MainMetric(f"{label}{which}", "", before, _passed_of(passed, runs), moved, found, name, note)


def _which_runs(repeated: Sequence[Repeats], kind: Evaluation, tests: int) -> str:
    """``, first 2 of each case``: which runs are counted, unless it is all; and of which tests, unless of all."""
    some = f" ({tests:,} of {count(len(repeated), ONE_TEST[kind])})" if tests < len(repeated) else ""
    if are_in_turn(repeated):
        return f", in turn with the base{some}"
    if all(not one.runs or one.runs.isupper() for one in repeated):
        return some
    numbers = {first_runs(one)[1] for one in repeated if one.runs}
    first = f"first {numbers.pop():,}" if len(numbers) == 1 else "the first"
    return f", {first} of each {ONE_TEST[kind]}{some}"


def _passed_of(passed: int, runs: int) -> str:
    return f"{figure(passed / runs, 'share')} ({passed:,}/{runs:,})" if runs else "–"


def _of_turns(label: str, name: str, metric: metrics.Measured | None, delta: metrics.MetricDelta | None) -> MainMetric:
    """Return what turns took; of both sides those in turn, if any."""
    base, now = delta.sides if delta is not None else (None, metric.value if metric is not None else None)
    note = changed = ""
    if delta is not None and base is not None and now is not None:
        note = "not judged" if delta.judgement == "not judged" else ""
        changed = "" if note else change(base, now, "amount")
    before, after = ("–" if side is None else figure(side, "amount") for side in (base, now))
    return MainMetric(label, "", before, after, changed, _mark_of_runs(delta) if delta else "", name, note)


def _mark_of_runs(delta: metrics.MetricDelta) -> Mark:
    found = mark(delta)
    return "within noise" if found == "too few sentences to tell" else found


def _unclear(name: str, current: dict[str, metrics.Measured], comparison: Comparison | None) -> str:
    """``; 2 unclear; more runs fail``: they are counted, but neither passed nor failed, or their runs differ."""
    number = _number_unclear(name, current)
    words = f"; {number:,} unclear" if number else ""
    return f"{words}; more runs fail" if _fails_more_often(name, comparison) else words


def _number_unclear(name: str, current: dict[str, metrics.Measured]) -> int:
    section, _, figure_name = name.partition(".")
    metric = current.get(f"{section}.unclear") if figure_name == "passed" else None
    return int(metric.value) if metric is not None else 0


def _mark_of_tests(
    delta: metrics.MetricDelta, current: dict[str, metrics.Measured], comparison: Comparison | None
) -> Mark:
    """Return what a difference is worth; where tests are unclear or fail more often, it is not that nothing changed."""
    found = mark(delta)
    is_open = _number_unclear(delta.name, current) or _fails_more_often(delta.name, comparison)
    return "" if found == "unchanged" and is_open else found


def _fails_more_often(name: str, comparison: Comparison | None) -> bool:
    losses = comparison.many_losses if comparison is not None else None
    return isinstance(losses, ManyLosses) and losses.real and name == f"{losses.kind}.passed"


def change_of(delta: metrics.MetricDelta) -> str:
    """The difference between the two figures beside it; in words if the tests differ."""
    if _complementary_counts(delta.name) and (delta.shared is not None or not mark(delta) or _by_sentences(delta)):
        return ""
    base, value = delta.sides
    return "" if base is None or value is None else change(base, value, delta.kind)


def is_on_shared(delta: metrics.MetricDelta) -> bool:
    """Whether the figures that are shown do not cover all sentences."""
    return not _complementary_counts(delta.name) and displayed_values(delta) != (
        _shown(delta.base, delta.kind),
        _shown(delta.value, delta.kind),
    )


def displayed_values(delta: metrics.MetricDelta) -> tuple[str, str]:
    """The two figures that a change is the difference of."""
    base, value = delta.sides
    return _shown(base, delta.kind), _shown(value, delta.kind)


def _shown(value: float | None, kind: Unit) -> str:
    return "–" if value is None else figure(value, kind)


def _note(delta: metrics.MetricDelta, comparison: Comparison) -> str:
    if delta.agreement is not None:
        return f": {no_verdict(delta.agreement)}"
    return sample_size_note(delta) or _what_became_of_tests(delta, comparison)


def sample_size_note(delta: metrics.MetricDelta) -> str:
    """``(3)`` after "too few sentences to tell"."""
    too_few = mark(delta) == "too few sentences to tell" and delta.significance is not None
    return f" ({delta.significance.examples})" if too_few and delta.significance else ""


def _what_became_of_tests(delta: metrics.MetricDelta, comparison: Comparison) -> str:
    """If the sides ran different tests: ``1 broke, 2 new (1 fails), 7 gone``."""
    if not _complementary_counts(delta.name):
        return ""
    tests = _TESTS[delta.name](comparison)
    parts = []
    if delta.shared is not None or _by_sentences(delta):
        as_written = delta.name == _AS_WRITTEN
        numbers = () if as_written and mark(delta) == "unchanged" else _changed_sides(tests, as_written=as_written)
        parts += [f"{number:,} {word}" for number, word in numbers if number]
    if tests.added:
        failing = number_of([case for case in tests.added_failing if case.base_location is None])
        fails = f" ({failing:,} {'fails' if failing == 1 else 'fail'})" if failing else ""
        parts.append(f"{tests.added:,} new{fails}")
    if tests.removed:
        parts.append(f"{tests.removed:,} gone")
    return f"; {', '.join(parts)}" if parts else ""


def _changed_sides(tests: ChangedCases, *, as_written: bool) -> Iterable[tuple[int, str]]:
    """How many tests of both sides broke and how many were repaired, end to end or as written."""
    both = (*tests.worse, *tests.better, *tests.edited, *(case for case in tests.misunderstood if case.base_location))
    if as_written:
        yield number_of([case for case in both if case.failed and not case.base_failed]), "broke"
        yield number_of([case for case in both if case.base_failed and not case.failed]), "repaired"
        return
    yield number_of([case for case in both if case.failed and case.base_passed]), "broke"
    yield number_of([case for case in both if case.misunderstood and case.base_passed]), "misunderstood"
    yield number_of([case for case in both if case.passed and not case.base_passed]), "repaired"


def _any(name: str, current: dict[str, metrics.Measured], deltas: dict[str, metrics.MetricDelta]) -> bool:
    """Whether there is anything to count: warnings at all, tests that ran."""
    return any(_counts(counted, current, deltas) for counted in (name, *_complementary_counts(name)))


def _differs_as_written(current: dict[str, metrics.Measured], deltas: dict[str, metrics.MetricDelta]) -> bool:
    """Whether on either side more dialogues pass by themselves than end to end: `rasa test core` counts those."""
    names = ("core.passed", _AS_WRITTEN)
    now, then = (
        [current[name].value for name in names if name in current],
        [deltas[name].base for name in names if name in deltas],
    )
    return len(set(now)) > 1 or len(set(then)) > 1


def _counts(name: str, current: dict[str, metrics.Measured], deltas: dict[str, metrics.MetricDelta]) -> bool:
    """Whether a figure is not 0 on either side."""
    return bool((name in current and current[name].value) or (name in deltas and deltas[name].base))


_ROWS: Final = (
    *("core.passed", _AS_WRITTEN, "e2e.passed", f"e2e.{OF_ONE}", *TURN_FIGURES, "e2e.commands.f1"),
    *("batch.passed", f"batch.{OF_ONE}"),
    *("batch.intent_success", "batch.f1", "batch.entity_success", "strength.score", "robustness.failure_rate"),
    *("validation.errors", "validation.warnings"),
)
"""The figures below those of language understanding."""


def _mostly_wrong_intents(comparison: Comparison) -> dict[str, str]:
    """The F1 of each new intent that is mostly wrong, and how many of its sentences are right."""
    wrong = [one for one in mostly_wrong(comparison) if one.kind == "intents"]
    return {f1_of_intent(one.name): f"; {right_in_short(one)}" for one in wrong[:_MOST_INTENTS]}


def _named(report: Report, intents: list[str], deltas: Iterable[metrics.MetricDelta]) -> list[tuple[str, str, str]]:
    """The label, subject and name of each row; ``intents``: the F1 of those that have a row of their own."""
    rows = [(metrics.metric_of(name).label, "", name) for name in ("nlu.intents.f1", "nlu.intents.accuracy")]
    rows += [(metrics.metric_of(name).label, intent_of(name), name) for name in intents]
    for kind, scores in (
        ("entities", report.nlu.entities if report.nlu else {}),
        ("responses", report.nlu.responses if report.nlu else {}),
    ):
        names = [*scores, *(_only_on_base(kind, deltas) if scores else ())]
        for name in names:
            figure_name = f"nlu.{kind}.{name}.f1"
            # A single one does not need a name.
            rows.append((metrics.metric_of(figure_name).label, name if len(names) > 1 else "", figure_name))
    for name in _ROWS:
        rows.append((_noticed(report) if name == "strength.score" else metrics.metric_of(name).label, "", name))
    rows += [(plugin_figure.label, "", name) for name, plugin_figure in report.metrics.items() if plugin_figure.label]
    return rows


def _only_on_base(kind: str, deltas: Iterable[metrics.MetricDelta]) -> Iterator[str]:
    """The extractors, or retrieval intents, that only the base was judged with."""
    of_one = re.compile(rf"nlu\.{kind}\.([^\[]+)(?<!\.spans)\.f1")
    for delta in deltas:
        if delta.value is None and (found := of_one.fullmatch(delta.name)):
            yield found[1]


def _noticed(report: Report) -> str:
    changed = report.strength is not None and report.strength.scope == "changed"
    return "Faults in changed lines noticed" if changed else metrics.metric_of("strength.score").label


def _now(name: str, current: dict[str, metrics.Measured]) -> str:
    metric = current.get(name)
    if metric is None:
        section = f"{name.partition('.')[0]}."
        return "not judged" if any(other.startswith(section) for other in current) else "not run"
    shown = figure(metric.value, metric.kind)
    others = [current[name].value for name in _complementary_counts(metric.name) if name in current]
    return f"{shown}/{figure(metric.value + sum(others), 'count')}" if others else shown


def _base(delta: metrics.MetricDelta | None, deltas: dict[str, metrics.MetricDelta]) -> str:
    if delta is None or delta.base is None:
        return "–"
    shown = figure(delta.base, delta.kind)
    others = [deltas[name].base or 0 for name in _complementary_counts(delta.name) if name in deltas]
    return f"{shown}/{figure(delta.base + sum(others), 'count')}" if others else shown


def _by_sentences(delta: metrics.MetricDelta) -> bool:
    """Whether tests moved only because of how sentences are understood, so that the verdict is about the sentences."""
    return (
        bool(_complementary_counts(delta.name))
        and delta.significance is not None
        and delta.significance.method != "counted"
    )


def mark(delta: metrics.MetricDelta) -> Mark:
    """Return what a difference is worth, in words that need no statistics."""
    if delta.agreement is not None:
        return "no verdict"
    if delta.judgement == "not judged":
        return ""
    if delta.judgement == "same":
        return "unchanged"
    if delta.judgement == "noise" and _by_sentences(delta):
        return ""  # the tests that changed say more
    if delta.judgement == "noise":
        few = delta.significance is not None and delta.significance.too_few
        return "too few sentences to tell" if few else "within noise"
    sampled = delta.significance is not None and delta.significance.method != "counted" and delta.kind != "amount"
    if delta.judgement == "better":
        return "real gain" if sampled else "better"
    return "real drop" if sampled else "worse"


def first_figures(report: Report, comparison: Comparison) -> list[str]:
    """Return some figures in words, for a line about an assistant: the first of those that changed, else the first."""
    rows = main_metrics(report, comparison)
    shown = sorted(rows, key=_is_less_news)[:_FIRST]
    return [" ".join([row.title, *([row.subject] if row.subject else []), _sides(row)]) for row in rows if row in shown]


def _sides(row: MainMetric) -> str:
    if row.change:
        return f"{row.now}, {row.change}" if row.now.endswith(")") else f"{row.now} ({row.change})"
    return f"{row.base} → {row.now}" if _is_other(row) else row.now


def _is_other(row: MainMetric) -> bool:
    return row.base not in {"–", row.now}


def _is_less_news(row: MainMetric) -> tuple[bool, bool]:
    return row.mark not in {"real gain", "real drop", "better", "worse"}, not _is_other(row)
