"""Gates about tests: which failed, which newly fail, which are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from turncheck.comparison.failed_tests import (
    failing_of,
    is_accepted,
    may_go,
    regressed_sentences,
    tests_of,
    unanswered_sentences,
    unclear_sentences,
    unclear_tests,
    unknown_findings,
    unknown_tests,
)
from turncheck.comparison.failures import BadFinding, FailedTest, GoneTest, NoLongerMeasured, NotRunTest
from turncheck.comparison.tally import cause_of, causes_of, faults_of, tallies
from turncheck.evaluations.kinds import TESTS
from turncheck.gates.judged import GoneTests, JudgedGate, LossesOverall, LostAssistant, LostEvaluation
from turncheck.gates.table import is_about_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.comparison.changes import CaseChange
    from turncheck.comparison.failures import Cause
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.tally import Tally
    from turncheck.gates.gate import Gate
    from turncheck.gates.judged import Judging
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report

Why = Literal[
    "failed", "new", "no tests", "not run", "hidden on base", "unclear", "passed", "nothing new",
    "no base", "stopped", "gone", "base faults", "ancestor", "accepted", "all there", "all run there",
]  # fmt: skip
"""Why such a gate ended as it did."""


def judge_failed(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge stories, end-to-end cases and batch cases. Wrong NLU examples are not failed tests: no model is perfect.

    If none failed, but their runs fail more often than on the base, that is a failure as well.

    For the same reason a test that is only misunderstood counts as failed only if the settings say so. A sentence that
    the engine cannot answer has failed.
    """
    if not judging.is_on(gate):
        return
    report, found = judging.report, tallies(judging.report)
    failed = tuple(cause for tally in found for cause in (*tally.failed, *tally.unexpected))
    failed += tuple(unanswered_sentences(report))
    faults = faults_of(report, TESTS)
    losses = _losses(judging.comparison, beside=bool(failed))
    if failed or faults or losses:
        yield JudgedGate(gate, "failed", "failed", losses, causes=(*failed, *causes_of(faults)))
    elif not found:
        yield JudgedGate(gate, "not judged", "no tests")
    else:
        yield _none_ran(gate, found) or _unclear(gate, report) or JudgedGate(gate, "passed", "passed")


def _unclear(gate: Gate, report: Report, sentences: Iterable[NotRunTest] = ()) -> JudgedGate | None:
    """Tests whose runs do not say how they fare: it is not known whether they failed."""
    causes = (*unclear_tests(report), *sentences)
    return JudgedGate(gate, "not judged", "unclear", causes=causes) if causes else None


def _none_ran(gate: Gate, found: Sequence[Tally]) -> JudgedGate | None:
    """A kind of test exists, and none of it was run: that the others passed does not mean that all did."""
    if not any(tally.none_ran for tally in found):
        return None
    return JudgedGate(gate, "not judged", "not run", causes=tuple(cause for tally in found for cause in tally.not_run))


def _losses(comparison: Comparison | None, *, beside: bool) -> tuple[LossesOverall, ...]:
    """That more runs fail than on the base, if that is more than chance.

    ``beside``: tests fail, too. They say more, unless all others fail more often as well: then each is a part of that.
    """
    losses = comparison.many_losses if comparison else UNSET
    if isinstance(losses, UnsetType) or not losses.real or (beside and not losses.widespread):
        return ()
    return (LossesOverall(losses),)


def judge_newly_failed(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge failed tests and errors in the data that the base does not have; without a baseline these are all."""
    if not judging.is_on(gate):
        return
    report, comparison, compared = judging.report, judging.comparison, judging.compared
    tests, errors = _new(report, compared) if compared else _all(report)
    facts = _losses(comparison, beside=bool(tests))
    if tests or errors or facts:
        yield JudgedGate(gate, "failed", "new", facts, causes=(*tests, *errors))
        return
    unknown: tuple[Cause, ...] = ()
    if comparison is not None:
        unknown = (*unknown_tests(report, comparison), *unknown_findings(comparison, "error"))
    if unknown:
        yield JudgedGate(gate, "not judged", "hidden on base", causes=unknown)
        return
    yield (
        _none_ran(gate, tallies(report))
        or _unclear(gate, report, unclear_sentences(report))
        or JudgedGate(gate, "passed", "nothing new")
    )


def _new(report: Report, comparison: Comparison) -> tuple[tuple[FailedTest, ...], tuple[BadFinding, ...]]:
    """The failed tests and the errors in the data that the base does not have."""
    failed = (test for tally in tallies(report) for test in (*tally.failed, *tally.tolerated))
    reasons = {(test.evaluation, test.name): test.reason for test in failed}
    new = tuple(
        FailedTest(
            name,
            case.name,
            case.sentences if case.misunderstood else None,
            case.copies,
            case.repeats,
            is_new=case.base_location is None,
            reason=reasons.get((name, case.name), ""),
            location=case.location,
        )
        for name, cases in tests_of(comparison)
        for case in failing_of(report, cases)
    )
    unanswered = unanswered_sentences(report, comparison)
    new = (*new, *regressed_sentences(report, comparison), *unanswered, *_newly_unexpected(report, comparison))
    errors = (finding for finding in comparison.new_findings if finding.severity == "error")
    return new, tuple(
        BadFinding(error, error.message_now or error.message, advises=False, location=error.location)
        for error in errors
    )


def _all(report: Report) -> tuple[tuple[FailedTest, ...], tuple[BadFinding, ...]]:
    """All failed tests and errors in the data."""
    findings = report.validation.findings if report.validation else ()
    errors = (finding for finding in findings if finding.severity == "error")
    tests = (test for tally in tallies(report) for test in (*tally.failed, *tally.tolerated, *tally.unexpected))
    return (*tests, *unanswered_sentences(report)), tuple(
        BadFinding(error, error.message, advises=False, location=error.location) for error in errors
    )


def _newly_unexpected(report: Report, comparison: Comparison) -> list[FailedTest]:
    """Return the tests that are expected to fail and pass, and did not on the base."""
    better = {(name, case.name) for name, cases in tests_of(comparison) for case in cases.better}
    failed_tests = (test for tally in tallies(report) for test in tally.unexpected)
    return [test for test in failed_tests if (test.evaluation, test.name) in better]


# Tests that the base judged and this side does not.


def judge_gone(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge tests that the base judged and this side does not: deleted, or no longer run. Not moved or renamed ones.

    The other gates about tests imply it if there is a base, or should be one.

    Single test sentences may go: they are a sample, and figures are compared on the sentences of both sides. All
    held-out sentences together may not, since no held-out data would be judged any more.
    """
    there = judging.comparison is not None and judging.comparison.baseline.status != "missing"
    if judging.is_on(gate) or (there and is_about_tests(judging.rules.fail_on)):
        yield _judge_gone(gate, judging)


def _judge_gone(gate: Gate, judging: Judging) -> JudgedGate:
    accepted, comparison = judging.rules.accept_gone, judging.compared
    if comparison is None:
        return JudgedGate(gate, "not judged", "no base")
    if judging.report.stopped is not None:
        return JudgedGate(gate, "not judged", "stopped")
    facts, causes = _gone(judging.report, comparison, accepted)
    if facts:
        return JudgedGate(gate, "failed", "gone", tuple(facts), causes=tuple(causes))
    if unknown := [one for one in comparison.base_faults if not is_accepted(one, accepted)]:
        return JudgedGate(gate, "not judged", "base faults", tuple(LostEvaluation(one, True) for one in unknown))
    if comparison.baseline.way == "ancestor":
        return JudgedGate(gate, "not judged", "ancestor")
    if not isinstance(comparison.consistency, UnsetType) and comparison.consistency.gone:
        return JudgedGate(gate, "passed", "all run there")
    lost = bool(comparison.lost) or any(cases.gone or cases.not_run for _, cases in tests_of(comparison))
    return JudgedGate(gate, "passed", "accepted" if lost else "all there")


_Gone = LostAssistant | LostEvaluation | GoneTests


def _gone(report: Report, comparison: Comparison, accepted: Sequence[str]) -> tuple[list[_Gone], list[Cause]]:
    """What is gone and was not accepted, and its causes."""
    faults = {fault.evaluation: fault for fault in faults_of(report)}
    facts: list[_Gone] = []
    causes: list[Cause] = []
    for path in comparison.gone_assistants:
        if not may_go(path, accepted):
            facts.append(LostAssistant(path))
            causes.append(NoLongerMeasured(path))
    for one in comparison.lost:
        if not is_accepted(one, accepted):
            fault = faults.get(one.evaluation)
            facts.append(LostEvaluation(one, faulty=fault is not None))
            causes.append(cause_of(fault) if fault else NoLongerMeasured(one))
    whole = {one.evaluation for one in comparison.lost}
    for evaluation, cases in tests_of(comparison):
        gone = _not_accepted(cases.gone, evaluation, accepted)
        left_out = [] if evaluation in whole else _not_accepted(cases.not_run, evaluation, accepted)
        if gone:
            facts.append(GoneTests(evaluation, tuple(gone), run=False))
        fault = faults.get(evaluation)
        hidden = fault is not None and all(case.actual == fault.reason for case in left_out)
        if left_out:
            why = "" if hidden else left_out[0].actual or ""
            facts.append(GoneTests(evaluation, tuple(left_out), run=True, because=why, faulty=hidden))
        causes += [GoneTest(evaluation, case.name, case, comparison.baseline.commit) for case in gone]
        if fault is not None and hidden and left_out:
            causes.append(cause_of(fault))
        else:
            causes += [
                NotRunTest(evaluation, case.name, case.actual or "", location=case.location) for case in left_out
            ]
    return facts, causes


def _not_accepted(cases: Sequence[CaseChange], evaluation: Evaluation, accepted: Sequence[str]) -> list[CaseChange]:
    if evaluation in accepted:
        return []
    return [case for case in cases if case.name not in accepted and not may_go(_file(case), accepted)]


def _file(case: CaseChange) -> str:
    return case.base_location.path if case.base_location else "the base"
