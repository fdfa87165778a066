"""Gates: rules that can fail a run, each with its outcome and why; :func:`judge_gates` judges all of them.

A gate that cannot be judged (no baseline, an evaluation that did not run) is a third outcome, and the setting
``not-judged`` says how it counts.
"""

from __future__ import annotations

import re
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import structs
from msgspec.structs import replace

from turncheck.comparison import gates_on_tests, judged, metrics
from turncheck.comparison.cases import is_read_in_part
from turncheck.comparison.consistent_tests import judge_consistent_tests
from turncheck.comparison.metric_deltas import is_counted
from turncheck.comparison.renames import message_of
from turncheck.comparison.shares import wilson
from turncheck.comparison.tally import cause_of, causes_of, faults_of, judge_could_be_run, with_consequences
from turncheck.evaluations.kind import JUDGED_BY_BOUND, first_runs, repeats_of, section_of
from turncheck.evaluations.turns import SHARES, interval_of, times_of, too_few_turns
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.changes import ChangedCases
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Severity
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import GateSettings, Report


# Gates about one metric: its value (thresholds), or its change against the baseline (max-regression).

_ROUNDING: Final = 1e-9
"""Rounding errors of decimal fractions are smaller: 0.9 - 0.89 must not count as more than 0.01."""
_MOST_EXAMPLES: Final = 200
_PASSED: Final = "e2e.passed"
"""The figure that a case which is unclear may still raise."""


def judge_threshold(report: Report, comparison: Comparison | None, rule: judged.Threshold) -> judged.Judged:
    """Judge ``metric >= limit``.

    Raises:
        UserError: the report has no such intent, extractor, suite ….
    """
    name = f"threshold: {rule.text}"
    metric = _measured(report, comparison, rule.name)
    if isinstance(metric, metrics.NotMeasured):
        change = rule.name == metrics.COVERAGE_OF_CHANGES
        there = change and comparison is not None and comparison.baseline.status in {"unreachable", "unreadable"}
        if there:
            return judged.Judged(name, "not judged", "no base", metric=rule.name, needs_base=True)
        return judged.Judged(
            name, "not judged", "", (judged.NoFigure(metric.reason),), metric=rule.name, needs_base=change
        )
    of_runs = JUDGED_BY_BOUND.get(rule.name)
    if of_runs is not None and section_of(report, of_runs) is not None:
        first = [first_runs(repeats) for repeats in repeats_of(report, of_runs)]
        return _judge_share_of_runs(report, comparison, rule, metric, sum(runs for _, runs in first))
    if rule.name in SHARES:
        return _judge_percentile(report, rule, metric)
    holds = rule.holds(metric.value)
    unclear = gates_on_tests.unclear_tests(report) if rule.name == _PASSED else ()
    if not holds and rule.holds(metric.value + len(unclear)):
        return judged.Judged(name, "not judged", "unclear", metric=rule.name, causes=unclear)
    causes = () if holds else _behind(report, comparison, rule.name)
    facts = (judged.Value(rule, metric),)
    return judged.Judged(name, "passed" if holds else "failed", "", facts, metric=rule.name, causes=causes)


def _judge_percentile(report: Report, rule: judged.Threshold, metric: metrics.Measured) -> judged.Judged:
    """Judge a percentile by where it is with a probability of 95 %: the turns are a sample, which may be too small."""
    name = f"threshold: {rule.text}"
    interval = interval_of(times_of(report), rule.name)
    if interval is None:
        facts: tuple[judged.Fact, ...] = (judged.NoFigure(too_few_turns(rule.name, len(times_of(report)))),)
        return judged.Judged(name, "not judged", "", facts, metric=rule.name)
    low, high = interval
    outcome: judged.GateOutcome = "not judged"
    if rule.holds(low) and rule.holds(high):
        outcome = "passed"
    elif not rule.holds(low) and not rule.holds(high):
        outcome = "failed"
    return judged.Judged(name, outcome, "", (judged.Value(rule, metric, interval),), metric=rule.name)


def _judge_share_of_runs(
    report: Report, comparison: Comparison | None, rule: judged.Threshold, metric: metrics.Measured, runs: int
) -> judged.Judged:
    """Judge a share of runs by its 95 % interval: the runs are a sample, which may not say enough."""
    low, high = interval = wilson(metric.value * runs, runs)
    outcome: judged.GateOutcome = "not judged"
    if rule.holds(low) and rule.holds(high):
        outcome = "passed"
    elif not low <= rule.limit <= high:
        outcome = "failed"
    causes = () if outcome == "passed" else _behind(report, comparison, rule.name)
    facts = (judged.Value(rule, metric, interval),)
    return judged.Judged(f"threshold: {rule.text}", outcome, "", facts, metric=rule.name, causes=causes)


def _measured(report: Report, comparison: Comparison | None, name: str) -> metrics.Measured | metrics.NotMeasured:
    if name == metrics.COVERAGE_OF_CHANGES and comparison and comparison.judged:
        delta = comparison.metric(name)
        if delta is None or delta.value is None:
            return metrics.NotMeasured("nothing that is counted for coverage changed")
        return metrics.Measured(name, delta.value, delta.better, delta.kind, "counted")
    return metrics.find_metric(report, metrics.metrics_of(report), name)


def judge_regression(report: Report, comparison: Comparison | None, rule: judged.Regression) -> judged.Judged:
    """Judge ``metric: largest drop``, on the examples that both sides judged, if there are any.

    Counts (of stories, cases, findings) are judged by all there are: a test that was deleted is a drop.

    Raises:
        UserError: neither side has such an intent, extractor, suite ….
    """
    name = f"max-regression: {rule.text}"
    delta = comparison.metric(rule.name) if comparison else None
    if delta is not None and delta.better == "neither":
        raise UserError(f"max-regression: '{rule.name[:200]}' cannot become worse, it is only a number")
    if delta is None:
        measured = _measured(report, comparison, rule.name)
        if isinstance(measured, metrics.NotMeasured):
            return judged.Judged(name, "not judged", "", (judged.NoFigure(measured.reason),), metric=rule.name)
        return judged.Judged(name, "not judged", "no base", metric=rule.name, needs_base=True)
    if comparison is None or not comparison.judged:
        return judged.Judged(name, "not judged", "no base", metric=rule.name, needs_base=True)
    if delta.delta is None:
        return _judge_one_side(report, rule, delta, name)
    if rule.name.startswith("validation.") and is_read_in_part(report) and delta.delta <= rule.limit:
        return judged.Judged(name, "not judged", "files unread", metric=rule.name)
    if rule.name.startswith("validation.") and comparison.baseline.hidden and delta.delta > rule.limit:
        return judged.Judged(name, "not judged", "hidden on base", metric=rule.name)
    if delta.agreement is not None:
        return judged.Judged(name, "not judged", "agreement", (judged.Drop(rule, delta),), metric=rule.name)
    examples = comparison.examples
    known = not comparison.unlisted and bool(examples.added or examples.removed or examples.edited)
    if delta.judgement == "not judged" and not is_counted(delta) and (rule.significant or known):
        return judged.Judged(name, "not judged", "no shared example", metric=rule.name)
    if delta.kind == "amount" and delta.judgement == "not judged":
        return judged.Judged(name, "not judged", "no pairs", metric=rule.name)
    return _judge_drop(report, comparison, rule, delta, name)


def _judge_one_side(report: Report, rule: judged.Regression, delta: metrics.MetricDelta, name: str) -> judged.Judged:
    """A figure that only one side measured has not dropped, unless its tests or data were removed."""
    if delta.base is None:
        return judged.Judged(name, "not judged", "base has no such metric", metric=rule.name)
    if unclear := _unclear_behind(report, rule.name):
        return judged.Judged(name, "not judged", "unclear", metric=rule.name, causes=unclear)
    evaluation = metrics.metric_of(rule.name).section
    asked = not report.settings.evaluations or evaluation in report.settings.evaluations
    skipped = next((skipped for skipped in report.skipped if skipped.evaluation == evaluation), None)
    why = skipped.reason if skipped else _why_without_value(report, rule.name)
    if not why or not asked or report.stopped:
        return judged.Judged(name, "not judged", "only on base", metric=rule.name)
    causes = (cause_of(skipped, named=not skipped.without_place),) if skipped and skipped.fault else ()
    return judged.Judged(name, "failed", "", (judged.NoFigure(why, delta),), metric=rule.name, causes=causes)


def _unclear_behind(report: Report, name: str) -> tuple[judged.NotRunTest, ...]:
    """The unclear sentences that a score of intents would count."""
    if not name.startswith("nlu.intents") or report.nlu is None:
        return ()
    counted = {
        (one.text, one.location)
        for one in report.nlu.predictions
        if one.unclear and _label(name) in {None, one.expected.intent}
    }
    return tuple(test for test in gates_on_tests.unclear_sentences(report) if (test.name, test.location) in counted)


def _why_without_value(report: Report, name: str) -> str:
    """Say why this side has no such figure; "" if what it is about (an intent, an extractor) is itself gone."""
    try:
        metric = metrics.find_metric(report, metrics.metrics_of(report), name)
    except UserError:
        return ""
    return metric.reason if isinstance(metric, metrics.NotMeasured) else ""


def _judge_drop(
    report: Report, comparison: Comparison, rule: judged.Regression, delta: metrics.MetricDelta, name: str
) -> judged.Judged:
    shared = shared_examples(delta)
    difference = shared.delta if shared else delta.delta or 0.0
    drop = difference if delta.better == "lower" else -difference
    base = (shared.base if shared else delta.base) or 0.0
    too_far = drop > rule.largest(base) + _ROUNDING and not (rule.significant and delta.judgement == "noise")
    unclear = gates_on_tests.unclear_tests(report) if rule.name == _PASSED else ()
    if too_far and drop - len(unclear) <= rule.limit + _ROUNDING:
        return judged.Judged(name, "not judged", "unclear", metric=rule.name, causes=unclear)
    causes = _became_worse(comparison, rule.name) if too_far else ()
    facts = (judged.Drop(rule, delta),)
    return judged.Judged(name, "failed" if too_far else "passed", "", facts, metric=rule.name, causes=causes)


def shared_examples(delta: metrics.MetricDelta) -> metrics.SharedDelta | None:
    """Return what a drop is judged by: the examples that both sides judged; ``None``: all there are."""
    return None if is_counted(delta) else delta.shared


def _became_worse(comparison: Comparison, name: str) -> tuple[judged.Cause, ...]:
    """The causes of a drop: what both sides judged and this one gets wrong, worst first; tests that are gone."""
    label = _label(name)
    if name.startswith("nlu."):
        kinds = {"intents": comparison.examples, "entities": comparison.entities, "responses": comparison.responses}
        cases = kinds.get(re.split(r"[.\[]", name)[1])
        return tuple(
            judged.WrongSentence(case.name, case.expected, case.actual, location=case.location)
            for case in (cases.worse if cases else ())
            if label in {None, case.expected, case.actual}
        )[:_MOST_EXAMPLES]
    tests: dict[str, tuple[Evaluation, ChangedCases]] = {
        one: (one, cases) for one, cases in gates_on_tests.tests_of(comparison)
    }
    section = re.split(r"[.\[]", name)[0]
    if name == metrics.COVERAGE_OF_CHANGES or section not in tests:
        return ()
    evaluation, changed = tests[section]
    failing = () if name.endswith(".misunderstood") else changed.newly_failing
    others = () if name.startswith(("core.failed", "core.as_written", "e2e.failed")) else changed.newly_misunderstood
    worse: list[judged.Cause] = [
        judged.FailedTest(evaluation, case.name, copies=case.copies, location=case.location)
        for case in (*failing, *others)
    ]
    gone = [
        judged.GoneTest(evaluation, case.name, case, comparison.baseline.commit)
        for case in changed.gone
        if case.base_passed
    ]
    return (*worse, *gone)[:_MOST_EXAMPLES]


def _label(name: str) -> str | None:
    return name.removeprefix("nlu.intents[").rpartition("].")[0] if name.startswith("nlu.intents[") else None


def _behind(report: Report, comparison: Comparison | None, name: str) -> tuple[judged.Cause, ...]:
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
            judged.WrongSentence(
                example.text, example.expected.intent, example.predicted.intent, location=example.location
            )
            for example in wrong[:_MOST_EXAMPLES]
        )
    if name == metrics.COVERAGE_OF_CHANGES and comparison:
        return tuple(
            judged.Uncovered(item.kind, item.name, location=item.location)
            for item in comparison.changed_items
            if not item.covered
        )
    if name.startswith("coverage."):
        items = report.coverage[name.partition(".")[2]].items
        return tuple(judged.Uncovered("", item.name, location=item.location) for item in items if not item.covered)
    if name.startswith("core.") and report.core:
        of_one_class = {"core.misunderstood": "misunderstood", "core.failed": "failed", "core.as_written": "failed"}
        wanted = next((one for prefix, one in of_one_class.items() if name.startswith(prefix)), None)
        return tuple(
            judged.FailedTest("core", story.name, location=story.location)
            for story in report.core.stories
            if not story.passed and wanted in {None, story.outcome}
        )
    if name.startswith("e2e.") and report.e2e:
        outcomes = {"e2e.misunderstood": {"misunderstood"}, "e2e.failed": {"failed", "error"}}
        wanted_ones = outcomes.get(name, {"failed", "error", "misunderstood"})
        return tuple(
            judged.FailedTest("e2e", case.name, location=case.location)
            for case in report.e2e.cases
            if case.outcome in wanted_ones
        )
    if name.startswith("batch") and report.batch:
        suite_name = name.removeprefix("batch[").rpartition("].")[0] if name.startswith("batch[") else None
        return tuple(
            judged.FailedTest("batch", case.text, location=case.location)
            for suite in report.batch.suites
            if suite_name in {None, suite.name}
            for case in suite.cases
            if not case.passed
        )
    return ()


_CAN_BE_HAD = frozenset({"unreachable", "unreadable"})
"""There is a baseline, but this run could not get it; another try may succeed, so the run should not go on without."""


def judge_gates(
    report: Report, comparison: Comparison | None, settings: GateSettings, places: judged.Places = MappingProxyType({})
) -> tuple[judged.Judged, ...]:
    """Judge all gates; ``places`` says where they are set.

    Raises:
        UserError: a rule that cannot be parsed, or that is about an unknown metric.
    """
    rules = judged.read_rules(settings, places)
    return with_consequences(
        replace(gate, fails=_fails(gate, comparison, settings), location=judged.place_of_gate(gate.name, places))
        for gate in _gates(report, comparison, rules, places)
    )


def counted_by(report: Report, settings: GateSettings) -> Report:
    """Return the report; the settings decide which tests count as failed, wherever they are counted."""
    counted = {"misunderstood": settings.misunderstood, "batch_failures": settings.batch_failures}
    return structs.replace(report, settings=structs.replace(report.settings, **counted))


def _fails(gate: judged.Judged, comparison: Comparison | None, settings: GateSettings) -> bool:
    """Whether a gate fails the run.

    By default a gate that could not be judged does not, since a first run has nothing to compare with. If there is a
    baseline that could not be fetched, an outage must not waive a rule that somebody set: the gate fails.
    """
    if gate.outcome != "not judged" or settings.not_judged != "auto":
        return gate.outcome == "failed" or (gate.outcome == "not judged" and settings.not_judged == "fail")
    if not gate.needs_base or comparison is None:
        return False
    return comparison.baseline.status in _CAN_BE_HAD or comparison.baseline.way == "ancestor"


def _gates(
    report: Report, comparison: Comparison | None, rules: judged.GateRules, places: judged.Places
) -> Iterable[judged.Judged]:
    if report.stopped is not None:
        yield judged.Judged("completed", "failed", "stopped")
    if faults := faults_of(report):
        yield judge_could_be_run(faults)
    if "errors" in rules.fail_on:
        yield _no_findings(report, comparison, "error", "errors")
    if gates_on_tests.NEW_ERRORS in rules.fail_on:
        yield gates_on_tests.judge_new_errors(report, comparison)
    if rules.fail_on_warnings:
        yield _no_findings(report, comparison, "warning", "fail-on-warnings")
    if "test-failures" in rules.fail_on:
        yield gates_on_tests.judge_failed_tests(report, comparison)
    if "new-failures" in rules.fail_on:
        yield gates_on_tests.judge_new_failures(report, comparison)
    yield from _gone_tests(report, comparison, rules)
    if gates_on_tests.NEW_SUPPRESSIONS in rules.fail_on:
        yield replace(gates_on_tests.judge_new_suppressions(comparison), needs_base=True)
    if (consistent := judge_consistent_tests(report, comparison, rules.accept_gone)) is not None:
        yield consistent
    yield gates_on_tests.judge_something_was_tested(
        report, switched_off=gates_on_tests.tests_switched_off(comparison, rules.accept_gone)
    )
    for evaluation in rules.require:
        yield gates_on_tests.judge_required(report, evaluation)
    for threshold in rules.thresholds:
        yield judged.at_its_place(threshold.text, places, partial(judge_threshold, report, comparison, threshold))
    for regression in rules.regressions:
        yield judged.at_its_place(regression.text, places, partial(judge_regression, report, comparison, regression))


def _gone_tests(report: Report, comparison: Comparison | None, rules: judged.GateRules) -> Iterable[judged.Judged]:
    """Judge tests that are gone: the other two gates about tests imply it if there is a base, or should be one."""
    if gates_on_tests.GONE_TESTS in rules.fail_on:
        yield replace(gates_on_tests.judge_gone_tests(report, comparison, rules.accept_gone), needs_base=True)
    elif {"test-failures", "new-failures"} & set(rules.fail_on):
        there = comparison is not None and comparison.baseline.status != "missing"
        if there:
            yield replace(gates_on_tests.judge_gone_tests(report, comparison, rules.accept_gone), needs_base=True)


def _no_findings(report: Report, comparison: Comparison | None, severity: Severity, name: str) -> judged.Judged:
    """Judge findings of a severity; what could not be run is an error, too, if no finding says so at its place."""
    found = (
        [finding for finding in report.validation.findings if finding.severity == severity] if report.validation else []
    )
    locations = {finding.location for finding in found}
    unsaid = (
        [skipped for skipped in faults_of(report) if skipped.location not in locations] if severity == "error" else []
    )
    if report.validation is None and not unsaid:
        return gates_on_tests.not_validated(report, name)
    facts = (judged.Findings(severity, tuple(found), tuple(unsaid)),)
    if not found and not unsaid:
        return judged.Judged(name, "passed", "no findings", facts)
    renamed = comparison.renamed if comparison else ()
    findings = (
        judged.BadFinding(finding, message_of(finding, renamed), advises=True, location=finding.location)
        for finding in found
    )
    return judged.Judged(name, "failed", "failed", facts, causes=(*findings, *causes_of(unsaid)))
