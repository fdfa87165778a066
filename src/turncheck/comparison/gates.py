"""Gates: rules that can fail a run, each with its outcome and reason; :func:`judge` combines them into the verdict.

A gate that cannot be judged (no baseline, an evaluation that did not run) is a third outcome, and the setting
``not-judged`` says how it counts.
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from turncheck.comparison.consequences import with_consequences
from turncheck.comparison.faults import failed_by_fault, faults_in_words, faults_of, judge_could_be_run, unlike
from turncheck.comparison.gate_rules import GateRules, at_its_place, place_of_gate, read_rules
from turncheck.comparison.gates_on_tests import (
    judge_failed_tests,
    judge_new_failures,
    judge_required,
    judge_something_was_tested,
)
from turncheck.comparison.gone_tests import GONE_TESTS, judge_gone_tests, tests_switched_off
from turncheck.comparison.metric_gates import judge_regression, judge_threshold
from turncheck.comparison.new_errors import NEW_ERRORS, failed_by_finding, judge_new_errors, old_in_words
from turncheck.comparison.renames import message_of
from turncheck.comparison.summary import reservation, summarize
from turncheck.comparison.suppression_gate import NEW_SUPPRESSIONS, judge_new_suppressions
from turncheck.comparison.verdict import GateResult, Verdict
from turncheck.comparison.wording import count
from turncheck.messages.finding import LEGACY_PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.gate_rules import Places
    from turncheck.comparison.model import Comparison
    from turncheck.report.model import GateSettings, Report

_CAN_BE_HAD = frozenset({"unreachable", "unreadable"})
"""There is a baseline, but this run could not get it; another try may succeed, so the run should not go on without."""


def judge(
    report: Report, comparison: Comparison | None, settings: GateSettings, places: Places = MappingProxyType({})
) -> Verdict:
    """Judge all gates; ``places`` says where they are set.

    Raises:
        UserError: a rule that cannot be parsed, or that is about an unknown metric.
    """
    # The setting decides which tests count as failed, wherever they are counted.
    report = replace(report, settings=replace(report.settings, misunderstood=settings.misunderstood))
    rules = read_rules(settings, places)
    gates = with_consequences(
        replace(gate, fails=_fails(gate, comparison, settings), location=place_of_gate(gate.name, places))
        for gate in _gates(report, comparison, rules, places)
    )
    failed = any(gate.fails for gate in gates)
    return Verdict(
        outcome="failed" if failed else "passed",
        summary=summarize(report, comparison, gates, settings),
        gates=gates,
        not_judged=settings.not_judged,
        reservation="" if failed else reservation(report, comparison, gates),
    )


def _fails(gate: GateResult, comparison: Comparison | None, settings: GateSettings) -> bool:
    """Whether a gate fails the run.

    By default a gate that could not be judged does not, since a first run has nothing to compare with. If there is a
    baseline that could not be fetched, an outage must not waive a rule that somebody set: the gate fails.
    """
    if gate.outcome != "not judged" or settings.not_judged != "auto":
        return gate.outcome == "failed" or (gate.outcome == "not judged" and settings.not_judged == "fail")
    if not gate.needs_base or comparison is None:
        return False
    return comparison.baseline.status in _CAN_BE_HAD or comparison.baseline.way == "ancestor"


def _gates(report: Report, comparison: Comparison | None, rules: GateRules, places: Places) -> Iterable[GateResult]:
    if report.stopped is not None:
        yield GateResult(name="completed", outcome="failed", reason=report.stopped)
    if faults := faults_of(report):
        yield judge_could_be_run(faults)
    if "errors" in rules.fail_on:
        yield _no_findings(report, comparison, "error", "errors")
    if NEW_ERRORS in rules.fail_on:
        yield judge_new_errors(report, comparison)
    if rules.fail_on_warnings:
        yield _no_findings(report, comparison, "warning", "fail-on-warnings")
    if "test-failures" in rules.fail_on:
        yield judge_failed_tests(report)
    if "new-failures" in rules.fail_on:
        yield judge_new_failures(report, comparison)
    yield from _gone_tests(report, comparison, rules)
    if NEW_SUPPRESSIONS in rules.fail_on:
        yield replace(judge_new_suppressions(comparison), needs_base=True)
    yield judge_something_was_tested(report, switched_off=tests_switched_off(comparison, rules.accept_gone))
    for evaluation in rules.require:
        yield judge_required(report, evaluation)
    for threshold in rules.thresholds:
        yield at_its_place(threshold.text, places, partial(judge_threshold, report, comparison, threshold))
    for regression in rules.regressions:
        yield at_its_place(regression.text, places, partial(judge_regression, report, comparison, regression))


def _gone_tests(report: Report, comparison: Comparison | None, rules: GateRules) -> Iterable[GateResult]:
    """Judge tests that are gone: the other two gates about tests imply it if there is a base, or should be one."""
    if GONE_TESTS in rules.fail_on:
        yield replace(judge_gone_tests(report, comparison, rules.accept_gone), needs_base=True)
    elif {"test-failures", "new-failures"} & set(rules.fail_on):
        there = comparison is not None and comparison.baseline.status != "missing"
        if there:
            yield replace(judge_gone_tests(report, comparison, rules.accept_gone), needs_base=True)


def _no_findings(report: Report, comparison: Comparison | None, severity: str, name: str) -> GateResult:
    """Judge findings of a severity; what could not be run is an error, too, if no finding says so at its place."""
    found = [one for one in report.validation.findings if one.severity == severity] if report.validation else []
    places = {finding.location for finding in found}
    unsaid = [one for one in faults_of(report) if one.location not in places] if severity == "error" else []
    if report.validation is None and not unsaid:
        skipped = next((one.reason for one in report.skipped if one.evaluation == "validate"), None)
        return GateResult(name=name, outcome="not judged", reason=skipped or "there was nothing to judge")
    if not found and not unsaid:
        return GateResult(name=name, outcome="passed", reason=f"no {severity}s in the data")
    renamed = comparison.renamed if comparison else ()
    failed_by = tuple(failed_by_finding(finding, message_of(finding, renamed)) for finding in found)
    older = [one.message.partition(" (")[0] for one in found if one.code == LEGACY_PROJECT]
    old = old_in_words(found, comparison, severity)
    reasons = [*older, *([f"{count(len(found), severity)} in the data{old}"] if found else [])]
    reasons += [faults_in_words(unsaid)] if unsaid else []
    return GateResult(
        name=name,
        outcome="failed",
        reason="; ".join(reasons),
        failed_by=(*failed_by, *map(failed_by_fault, unlike(unsaid))),
    )
