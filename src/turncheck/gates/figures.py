"""Gates about figures: the value of one (thresholds), or its change against the base (max-regression)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from turncheck.comparison import metrics
from turncheck.comparison.cases import is_read_in_part
from turncheck.comparison.failed_tests import tests_of, unclear_sentences, unclear_tests
from turncheck.comparison.failures import FailedTest, GoneTest, Uncovered, WrongSentence
from turncheck.comparison.metric_deltas import is_counted
from turncheck.comparison.rules import at_its_place
from turncheck.comparison.shares import wilson
from turncheck.comparison.tally import cause_of
from turncheck.evaluations.kind import JUDGED_BY_BOUND, repeats_of, runs_of_all, section_of
from turncheck.evaluations.turns import SHARES, interval_of, times_of, too_few_turns
from turncheck.gates.judged import Drop, JudgedGate, NoFigure, Value
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.comparison.changes import ChangedCases
    from turncheck.comparison.failures import Cause, NotRunTest
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.rules import Regression, Threshold
    from turncheck.gates.gate import Gate
    from turncheck.gates.judged import GateOutcome, Judging
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report

Why = Literal[
    "", "no base", "unclear", "base has no such metric", "only on base", "files unread", "hidden on base",
    "agreement", "no shared example", "no pairs", "no turns",
]  # fmt: skip
"""Why such a gate ended as it did; empty: as its figure says."""

_ROUNDING: Final = 1e-9
"""Rounding errors of decimal fractions are smaller: 0.9 - 0.89 must not count as more than 0.01."""
_MOST_EXAMPLES: Final = 200
_PASSED: Final = "e2e.passed"
"""The figure that a case which is unclear may still raise."""


def judge_thresholds(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge each ``metric >= limit``.

    Raises:
        UserError: the report has no such intent, extractor, suite ….
    """
    for rule in judging.rules.thresholds:
        judged = partial(JudgedGate, gate, rule=rule.text, metric=rule.name)
        yield at_its_place(
            rule.text, judging.places, partial(_threshold, judging.report, judging.comparison, rule, judged)
        )


_Judged = Callable[..., JudgedGate]
"""Makes a result of a rule."""


def _threshold(report: Report, comparison: Comparison | None, rule: Threshold, judged: _Judged) -> JudgedGate:
    metric = _measured(report, comparison, rule.name)
    if isinstance(metric, metrics.NotMeasured):
        change = rule.name == metrics.COVERAGE_OF_CHANGES
        there = change and comparison is not None and comparison.baseline.status in {"unreachable", "unreadable"}
        if there:
            return judged("not judged", "no base", needs_base=True)
        return judged("not judged", "", (NoFigure(metric.reason),), needs_base=change)
    of_runs = JUDGED_BY_BOUND.get(rule.name)
    if of_runs is not None and section_of(report, of_runs) is not None:
        return _share_of_runs(report, comparison, rule, metric, judged)
    if rule.name in SHARES:
        return _percentile(report, rule, metric, judged)
    holds = rule.holds(metric.value)
    unclear = unclear_tests(report) if rule.name == _PASSED else ()
    if not holds and rule.holds(metric.value + len(unclear)):
        return judged("not judged", "unclear", causes=unclear)
    causes = () if holds else _behind(report, comparison, rule.name)
    facts = (Value(rule, metric),)
    return judged("passed" if holds else "failed", "", facts, causes=causes)


def _percentile(report: Report, rule: Threshold, metric: metrics.Measured, judged: _Judged) -> JudgedGate:
    """Judge a percentile by where it is with a probability of 95 %: the turns are a sample, which may be too small."""
    interval = interval_of(times_of(report), rule.name)
    if interval is None:
        return judged("not judged", "", (NoFigure(too_few_turns(rule.name, len(times_of(report)))),))
    low, high = interval
    outcome: GateOutcome = "not judged"
    if rule.holds(low) and rule.holds(high):
        outcome = "passed"
    elif not rule.holds(low) and not rule.holds(high):
        outcome = "failed"
    return judged(outcome, "", (Value(rule, metric, interval),))


def _share_of_runs(
    report: Report, comparison: Comparison | None, rule: Threshold, metric: metrics.Measured, judged: _Judged
) -> JudgedGate:
    """Judge a share of runs by its 95 % interval: the runs are a sample, which may not say enough."""
    low, high = interval = wilson(*runs_of_all(repeats_of(report, JUDGED_BY_BOUND[rule.name])))
    outcome: GateOutcome = "not judged"
    if rule.holds(low) and rule.holds(high):
        outcome = "passed"
    elif not low <= rule.limit <= high:
        outcome = "failed"
    causes = () if outcome == "passed" else _behind(report, comparison, rule.name)
    facts = (Value(rule, metric, interval),)
    return judged(outcome, "", facts, causes=causes)


def _measured(report: Report, comparison: Comparison | None, name: str) -> metrics.Measured | metrics.NotMeasured:
    if name == metrics.COVERAGE_OF_CHANGES and comparison and comparison.judged:
        delta = comparison.metric(name)
        if delta is None or delta.value is None:
            return metrics.NotMeasured("nothing that is counted for coverage changed")
        return metrics.Measured(name, delta.value, delta.better, delta.kind, "counted")
    return metrics.find_metric(report, metrics.metrics_of(report), name)


def judge_regressions(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge each ``metric: largest drop``, on the examples that both sides judged, if there are any.

    Counts (of stories, cases, findings) are judged by all there are: a test that was deleted is a drop.

    Raises:
        UserError: neither side has such an intent, extractor, suite ….
    """
    for rule in judging.rules.regressions:
        judged = partial(JudgedGate, gate, rule=rule.text, metric=rule.name)
        yield at_its_place(
            rule.text, judging.places, partial(_regression, judging.report, judging.comparison, rule, judged)
        )


def _regression(report: Report, comparison: Comparison | None, rule: Regression, judged: _Judged) -> JudgedGate:
    delta = comparison.metric(rule.name) if comparison else None
    if delta is not None and delta.better == "neither":
        raise UserError(f"max-regression: '{rule.name[:200]}' cannot become worse, it is only a number")
    if delta is None:
        measured = _measured(report, comparison, rule.name)
        if isinstance(measured, metrics.NotMeasured):
            return judged("not judged", "", (NoFigure(measured.reason),))
        return judged("not judged", "no base", needs_base=True)
    if comparison is None or not comparison.judged:
        return judged("not judged", "no base", needs_base=True)
    if delta.delta is None:
        return _one_side(report, rule, delta, judged)
    if rule.name.startswith("validation.") and is_read_in_part(report) and delta.delta <= rule.limit:
        return judged("not judged", "files unread")
    if rule.name.startswith("validation.") and comparison.baseline.hidden and delta.delta > rule.limit:
        return judged("not judged", "hidden on base")
    if delta.agreement is not None:
        return judged("not judged", "agreement", (Drop(rule, delta),))
    if delta.kind == "amount" and delta.judgement == "not judged":
        return judged("not judged", "no pairs" if rule.name in SHARES else "no turns")
    examples = comparison.examples
    known = not comparison.unlisted and bool(examples.added or examples.removed or examples.edited)
    if delta.judgement == "not judged" and not is_counted(delta) and (rule.significant or known):
        return judged("not judged", "no shared example")
    return _drop(report, comparison, rule, delta, judged)


def _one_side(report: Report, rule: Regression, delta: metrics.MetricDelta, judged: _Judged) -> JudgedGate:
    """A figure that only one side measured has not dropped, unless its tests or data were removed."""
    if delta.base is None:
        return judged("not judged", "base has no such metric")
    if unclear := _unclear_behind(report, rule.name):
        return judged("not judged", "unclear", causes=unclear)
    evaluation = metrics.metric_of(rule.name).section
    asked = not report.settings.evaluations or evaluation in report.settings.evaluations
    skipped = next((skipped for skipped in report.skipped if skipped.evaluation == evaluation), None)
    why = skipped.reason if skipped else _why_without_value(report, rule.name)
    if not why or not asked or report.stopped:
        return judged("not judged", "only on base")
    causes = (cause_of(skipped, named=not skipped.without_place),) if skipped and skipped.fault else ()
    return judged("failed", "", (NoFigure(why, delta),), causes=causes)


def _unclear_behind(report: Report, name: str) -> tuple[NotRunTest, ...]:
    """The unclear sentences that a score of intents would count."""
    if not name.startswith("nlu.intents") or report.nlu is None:
        return ()
    counted = {
        (one.text, one.location)
        for one in report.nlu.predictions
        if one.unclear and _label(name) in {None, one.expected.intent}
    }
    return tuple(test for test in unclear_sentences(report) if (test.name, test.location) in counted)


def _why_without_value(report: Report, name: str) -> str:
    """Say why this side has no such figure; "" if what it is about (an intent, an extractor) is itself gone."""
    try:
        metric = metrics.find_metric(report, metrics.metrics_of(report), name)
    except UserError:
        return ""
    return metric.reason if isinstance(metric, metrics.NotMeasured) else ""


def _drop(
    report: Report, comparison: Comparison, rule: Regression, delta: metrics.MetricDelta, judged: _Judged
) -> JudgedGate:
    shared = shared_examples(delta)
    difference = shared.delta if shared else delta.delta or 0.0
    drop = difference if delta.better == "lower" else -difference
    base = (shared.base if shared else delta.base) or 0.0
    largest = rule.largest(base) + _ROUNDING
    too_far = drop > largest and not (rule.significant and delta.judgement == "noise")
    unclear = unclear_tests(report) if rule.name == _PASSED else ()
    if too_far and unclear and drop - len(unclear) <= largest:
        return judged("not judged", "unclear", causes=unclear)
    causes = _became_worse(comparison, rule.name) if too_far else ()
    facts = (Drop(rule, delta),)
    return judged("failed" if too_far else "passed", "", facts, causes=causes)


def shared_examples(delta: metrics.MetricDelta) -> metrics.SharedDelta | None:
    """Return what a drop is judged by: the examples that both sides judged; ``None``: all there are."""
    return None if is_counted(delta) else delta.shared


def _became_worse(comparison: Comparison, name: str) -> tuple[Cause, ...]:
    """The causes of a drop: what both sides judged and this one gets wrong, worst first; tests that are gone."""
    label = _label(name)
    if name.startswith("nlu."):
        kinds = {"intents": comparison.examples, "entities": comparison.entities, "responses": comparison.responses}
        cases = kinds.get(re.split(r"[.\[]", name)[1])
        return tuple(
            WrongSentence(case.name, case.expected, case.actual, location=case.location)
            for case in (cases.worse if cases else ())
            if label in {None, case.expected, case.actual}
        )[:_MOST_EXAMPLES]
    tests: dict[str, tuple[Evaluation, ChangedCases]] = {one: (one, cases) for one, cases in tests_of(comparison)}
    section = re.split(r"[.\[]", name)[0]
    if name == metrics.COVERAGE_OF_CHANGES or section not in tests:
        return ()
    evaluation, changed = tests[section]
    failing = () if name.endswith(".misunderstood") else changed.newly_failing
    others = () if name.startswith(("core.failed", "core.as_written", "e2e.failed")) else changed.newly_misunderstood
    worse: list[Cause] = [
        FailedTest(evaluation, case.name, copies=case.copies, location=case.location) for case in (*failing, *others)
    ]
    gone = [
        GoneTest(evaluation, case.name, case, comparison.baseline.commit) for case in changed.gone if case.base_passed
    ]
    return (*worse, *gone)[:_MOST_EXAMPLES]


def _label(name: str) -> str | None:
    return name.removeprefix("nlu.intents[").rpartition("].")[0] if name.startswith("nlu.intents[") else None


def _behind(report: Report, comparison: Comparison | None, name: str) -> tuple[Cause, ...]:
    """The causes of a figure: the wrong examples, of the named intent if there is one; newly wrong ones first."""
    if name.startswith("nlu.intents") and report.nlu:
        label = _label(name)
        wrong = [
            example
            for example in report.nlu.predictions
            if example.misclassified and label in {None, example.expected.intent, example.predicted.intent}
        ]
        new = {(c.name, c.location) for c in comparison.examples.newly_failing} if comparison else set()
        wrong.sort(key=lambda example: (example.text, example.location) not in new)
        return tuple(
            WrongSentence(example.text, example.expected.intent, example.predicted.intent, location=example.location)
            for example in wrong[:_MOST_EXAMPLES]
        )
    if name == metrics.COVERAGE_OF_CHANGES and comparison:
        return tuple(
            Uncovered(item.kind, item.name, location=item.location)
            for item in comparison.changed_items
            if not item.covered
        )
    if name.startswith("coverage."):
        items = report.coverage[name.partition(".")[2]].items
        return tuple(Uncovered("", item.name, location=item.location) for item in items if not item.covered)
    if name.startswith("core.") and report.core:
        of_one_class = {"core.misunderstood": "misunderstood", "core.failed": "failed", "core.as_written": "failed"}
        wanted = next((one for prefix, one in of_one_class.items() if name.startswith(prefix)), None)
        return tuple(
            FailedTest("core", story.name, location=story.location)
            for story in report.core.stories
            if not story.passed and wanted in {None, story.outcome}
        )
    if name.startswith("e2e.") and report.e2e:
        outcomes = {"e2e.misunderstood": {"misunderstood"}, "e2e.failed": {"failed", "error"}}
        wanted_ones = outcomes.get(name, {"failed", "error", "misunderstood"})
        return tuple(
            FailedTest("e2e", case.name, location=case.location)
            for case in report.e2e.cases
            if case.outcome in wanted_ones
        )
    if name.startswith("batch") and report.batch:
        suite_name = name.removeprefix("batch[").rpartition("].")[0] if name.startswith("batch[") else None
        return tuple(
            FailedTest("batch", case.text, location=case.location)
            for suite in report.batch.suites
            if suite_name in {None, suite.name}
            for case in suite.cases
            if not case.passed
        )
    return ()
