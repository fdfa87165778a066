"""Gates about tests and data errors: what failed, newly failed, is gone, was suppressed, or was not run.

A new error in the data explains the newly failing tests that rest on the name it reports.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.judged import (
    BadFinding,
    Cause,
    FailedTest,
    FaultOf,
    Findings,
    GoneTest,
    GoneTests,
    Judged,
    LossesOverall,
    LostAssistant,
    LostEvaluation,
    NoFigure,
    NoLongerMeasured,
    NotRunTest,
)
from turncheck.comparison.matching import has_results
from turncheck.comparison.quarantine import entry_of, is_excused
from turncheck.comparison.renames import broken_references
from turncheck.comparison.tally import Tally, cause_of, causes_of, faults_of, tallies
from turncheck.evaluations.kinds import KINDS, TESTS, WITHOUT_TESTS
from turncheck.messages.finding import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases, FindingChange
    from turncheck.comparison.model import Comparison, OneSided
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report, Skipped


def judge_failed_tests(report: Report, comparison: Comparison | None) -> Judged:
    """Judge stories, end-to-end cases and batch cases. Wrong NLU examples are not failed tests: no model is perfect.

    If none failed, but their runs fail more often than on the base, that is a failure as well.

    For the same reason a test that is only misunderstood counts as failed only if the settings say so. A sentence that
    the engine cannot answer has failed.
    """
    name = "test-failures"
    found = tallies(report)
    failed = tuple(cause for tally in found for cause in (*tally.failed, *tally.unexpected))
    failed += tuple(unanswered_sentences(report))
    faults = faults_of(report, TESTS)
    losses = () if failed else _losses(comparison)
    if failed or faults or losses:
        return Judged(name, "failed", "failed", losses, causes=(*failed, *causes_of(faults)))
    if not found:
        return Judged(name, "not judged", "no tests")
    if any(tally.none_ran for tally in found):
        return _none_ran(name, found)
    return _unclear(name, report) or Judged(name, "passed", "passed")


def _unclear(name: str, report: Report, sentences: Iterable[NotRunTest] = ()) -> Judged | None:
    """Tests whose runs do not say how they fare: it is not known whether they failed."""
    causes = (*unclear_tests(report), *sentences)
    return Judged(name, "not judged", "unclear", causes=causes) if causes else None


def unclear_sentences(report: Report) -> Iterator[NotRunTest]:
    """Yield the test sentences whose runs do not say how they fare, unless they are in quarantine."""
    for nlu_prediction in report.nlu.predictions if report.nlu else ():
        if nlu_prediction.unclear and entry_of(report, nlu_prediction.text, nlu_prediction.location) is None:
            runs = (
                ""
                if isinstance(nlu_prediction.repeats, UnsetType)
                else f"{nlu_prediction.repeats.passed} of {len(nlu_prediction.repeats.runs)} runs"
            )
            yield NotRunTest(
                "nlu", nlu_prediction.text, f"{runs} pass", location=nlu_prediction.location, is_unclear=True
            )


def unclear_tests(report: Report) -> tuple[NotRunTest, ...]:
    """Return the tests whose runs do not say how they fare."""
    return tuple(cause for tally in tallies(report) for cause in tally.unclear)


def _none_ran(name: str, found: Sequence[Tally]) -> Judged:
    """A kind of test exists, and none of it was run: that the others passed does not mean that all did."""
    causes = tuple(cause for tally in found for cause in tally.not_run)
    return Judged(name, "not judged", "tests not run", causes=causes)


# --- against the base ------------------------------------------------------------------------------------------------


def judge_new_failures(report: Report, comparison: Comparison | None) -> Judged:
    """Judge failed tests and errors in the data that the base does not have; without a baseline these are all."""
    name = "new-failures"
    tests, errors = _new_failures(report, comparison)
    facts = () if tests else _losses(comparison)  # a test that fails says more
    if tests or errors or facts:
        return Judged(name, "failed", "newly failed", facts, causes=(*tests, *errors))
    unknown: tuple[Cause, ...] = ()
    if comparison is not None:
        unknown = (*unknown_tests(report, comparison), *_unknown_errors(comparison))
    if unknown:
        return Judged(name, "not judged", "hidden on base", causes=unknown)
    found = tallies(report)
    if any(tally.none_ran for tally in found):
        return _none_ran(name, found)
    return _unclear(name, report, unclear_sentences(report)) or Judged(name, "passed", "nothing new")


def unknown_tests(report: Report, comparison: Comparison) -> tuple[FailedTest, ...]:
    """Return the tests that count as failed, and of which the base cannot show whether they did there."""
    also = report.settings.misunderstood == "fail"
    return tuple(
        FailedTest(name, case.name, copies=case.copies, location=case.location)
        for name, cases in tests_of(comparison)
        for case in cases.unknown_cases
        if also or not case.misunderstood
    )


def only_failing_if_repaired(comparison: Comparison | None) -> bool:
    """Whether the base as repaired fails all the tests of which it cannot show whether they did there."""
    cases = [] if comparison is None else [cases for _, cases in tests_of(comparison) if cases.unknown_cases]
    return bool(cases) and all(one.failing_if_repaired == one.unknown_cases for one in cases)


def _unknown_errors(comparison: Comparison) -> tuple[BadFinding, ...]:
    return tuple(_bad(one, one.message) for one in comparison.unknown_findings if one.severity == "error")


def _losses(comparison: Comparison | None) -> tuple[LossesOverall, ...]:
    """Return that more runs fail than on the base, if that is more than chance."""
    losses = comparison.many_losses if comparison and comparison.judged else UNSET
    return () if isinstance(losses, UnsetType) or not losses.real else (LossesOverall(losses),)


def _new_failures(
    report: Report, comparison: Comparison | None
) -> tuple[tuple[FailedTest, ...], tuple[BadFinding, ...]]:
    """Failed tests, and errors in the data."""
    if comparison and comparison.judged:
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
        errors = [finding for finding in comparison.new_findings if finding.severity == "error"]
        unanswered = unanswered_sentences(report, comparison)
        new = (*new, *regressed_sentences(report, comparison), *unanswered, *_newly_unexpected(report, comparison))
        return new, tuple(_bad(error, error.message_now or error.message) for error in errors)
    findings = [
        finding for finding in (report.validation.findings if report.validation else ()) if finding.severity == "error"
    ]
    found = tallies(report)
    causes = tuple(cause for tally in found for cause in (*tally.failed, *tally.tolerated, *tally.unexpected))
    return (*causes, *unanswered_sentences(report)), tuple(_bad(finding, finding.message) for finding in findings)


def regressed_sentences(report: Report, comparison: Comparison) -> Iterator[FailedTest]:
    """Yield the test sentences that are repeated and fail more often than on the base, unless they are in quarantine.

    Others that fail are no failed tests, as no model is perfect.
    """
    for case in comparison.examples.newly_failing:  # also one that was unclear on the base
        if not isinstance(case.repeats, UnsetType) and case.repeats.outcome in {"regressed", "worse"}:
            test = FailedTest("nlu", case.name, repeats=case.repeats, location=case.location)
            if not is_excused(report, test):
                yield test


def unanswered_sentences(report: Report, comparison: Comparison | None = None) -> Iterator[FailedTest]:
    """Yield the test sentences that the engine cannot answer, unless they are in quarantine.

    With a ``comparison`` only those that it answered rightly on the base.
    """
    known = None if comparison is None else {case.name for case in comparison.examples.newly_failing}
    for one in report.nlu.predictions if report.nlu else ():
        test = FailedTest("nlu", one.text, repeats=one.repeats, location=one.location)
        if one.unanswered and (known is None or one.text in known) and not is_excused(report, test):
            yield test


def _newly_unexpected(report: Report, comparison: Comparison) -> list[FailedTest]:
    """Return the tests that are expected to fail and pass, and did not on the base."""
    better = {(name, case.name) for name, cases in tests_of(comparison) for case in cases.better}
    failed_tests = (test for tally in tallies(report) for test in tally.unexpected)
    return [test for test in failed_tests if (test.evaluation, test.name) in better]


def failing_of(report: Report, cases: ChangedCases) -> tuple[CaseChange, ...]:
    """Return the cases that newly count as failed: misunderstood ones only if the settings say so."""
    also = cases.newly_misunderstood if report.settings.misunderstood == "fail" else ()
    return (*cases.newly_failing, *(case for case in also if not is_excused(report, case)))


def newly_misunderstood(
    report: Report, comparison: Comparison | None
) -> list[tuple[Evaluation, tuple[CaseChange, ...]]]:
    """Return the newly misunderstood tests that do not count as failed, by evaluation, if there are any."""
    if comparison is None or report.settings.misunderstood == "fail":
        return []
    found = (
        (name, tuple(case for case in cases.newly_misunderstood if not is_excused(report, case)))
        for name, cases in tests_of(comparison)
    )
    return [(name, cases) for name, cases in found if cases]


def tests_of(comparison: Comparison) -> tuple[tuple[Evaluation, ChangedCases], ...]:
    """Return the cases that are tests, by their evaluation."""
    return ("core", comparison.stories), ("e2e", comparison.e2e), ("batch", comparison.batch)


# --- that something was tested ---------------------------------------------------------------------------------------


def judged_without_tests(report: Report) -> tuple[Evaluation, ...]:
    """Return what was judged if nothing but evaluations without tests was requested, such as ``validate``."""
    requested = report.settings.evaluations
    if not all(name in WITHOUT_TESTS and KINDS[name].has_results(report) for name in requested):
        return ()
    return tuple(name for name in WITHOUT_TESTS if name in requested)


TESTED: Final = "something-was-tested"


def judge_something_was_tested(report: Report, *, switched_off: bool) -> Judged:
    """A run that tested nothing must never look like success.

    If only ``validate`` was requested, the data are what is tested; so are flows and their tests, which were checked
    against each other. But a change must not switch off the tests that the base runs (``switched_off``).
    """
    name, found = TESTED, tallies(report)
    if not switched_off and judged_without_tests(report):
        return Judged(name, "passed", "not asked for tests")
    if _judged_sentences(report) or any(tally.ran > tally.in_quarantine + len(tally.unclear) for tally in found):
        return Judged(name, "passed", "ran")
    if faults := faults_of(report):  # once they are fixed, something is tested
        return Judged(name, "failed", "nothing tested", causes=causes_of(faults))
    if consistency_of(report) is not None and not switched_off and report.stopped is None and is_nothing_run(report):
        return Judged(name, "passed", "files checked")
    unclear = [*(cause for tally in found for cause in tally.unclear), *unclear_sentences(report)]
    if unclear and report.stopped is not None:  # they were run, and not to their end
        return Judged(name, "not judged", "stopped")
    causes: list[Cause] = [
        FaultOf(reason, skipped=tuple(one.evaluation for one in skipped), location=skipped[0].location)
        for reason, skipped in skipped_by_reason(report).items()
    ]
    unanswered = list(unanswered_sentences(report))
    causes += [*(cause for tally in found for cause in tally.not_run), *unclear, *unanswered]
    ran = bool(report.nlu and report.nlu.examples) or any(tally.ran for tally in found)
    all_held = ran and not unclear and not unanswered
    return Judged(name, "failed", "all in quarantine" if all_held else "nothing tested", causes=tuple(causes))


def skipped_by_reason(report: Report) -> dict[str, list[Skipped]]:
    """Return what did not run, by its reason."""
    found: dict[str, list[Skipped]] = {}
    for skipped in report.skipped_to_report:
        found.setdefault(skipped.reason, []).append(skipped)
    return found


def is_nothing_run(report: Report) -> bool:
    """Whether neither sentences nor tests were run."""
    return not (report.nlu and report.nlu.examples) and not any(tally.ran for tally in tallies(report))


def _judged_sentences(report: Report) -> int:
    """How many test sentences were judged that are neither unclear nor in quarantine."""
    if report.nlu is None:
        return 0
    held = sum(
        nlu_prediction.unclear
        or nlu_prediction.unanswered
        or entry_of(report, nlu_prediction.text, nlu_prediction.location) is not None
        for nlu_prediction in report.nlu.predictions
    )
    return report.nlu.examples - held


def judge_required(report: Report, evaluation: Evaluation) -> Judged:
    """All tests of an evaluation must have run: a single one that was left out is enough to fail."""
    judged = partial(Judged, f"require: {evaluation}", requires=evaluation)
    if _is_left_out(report, evaluation):
        not_run = next((tally.not_run for tally in tallies(report) if tally.evaluation == evaluation), ())
        causes: tuple[Cause, ...] = not_run or tuple(
            cause_of(one, named=one.part) for one in faults_of(report, (evaluation,))
        )
        return judged("failed", "left out", causes=causes)
    if has_results(report, evaluation):
        return judged("passed", "ran")
    skipped = next((one for one in report.skipped if one.evaluation == evaluation), None)
    if skipped is not None and skipped.fault:
        return judged("failed", "not run", causes=(cause_of(skipped),))
    facts = (NoFigure(skipped.reason, short=skipped.cause),) if skipped is not None else ()
    return judged("failed", "nothing to judge", facts)


def _is_left_out(report: Report, evaluation: Evaluation) -> bool:
    """Whether any test of an evaluation was not run."""
    return (
        any(tally.evaluation == evaluation and tally.not_run for tally in tallies(report))
        or (evaluation == "nlu" and report.nlu is not None and bool(report.nlu.unjudged))
        or any(skipped.part and skipped.evaluation == evaluation for skipped in report.skipped)
        or (report.stopped is not None and has_results(report, evaluation))
    )


# The gate about tests that the base judged and this side does not.

GONE_TESTS: Final = "gone-tests"
_NOT_LOOKED_FOR: Final = "test-file-not-looked-for"
"""The code of a file with tests whose name no search for tests matches: it explains why tests are gone."""


def judge_gone_tests(report: Report, comparison: Comparison | None, accepted: Sequence[str]) -> Judged:
    """Judge tests that the base judged and this side does not: deleted, or no longer run. Not moved or renamed ones.

    Single test sentences may go: they are a sample, and figures are compared on the sentences of both sides. All
    held-out sentences together may not, since no held-out data would be judged any more.

    Args:
        report: this side.
        comparison: with the base.
        accepted: what may be removed: names of tests, their files or folders, evaluations.
    """
    if comparison is None or not comparison.judged:
        return Judged(GONE_TESTS, "not judged", "no base")
    if report.stopped is not None:
        return Judged(GONE_TESTS, "not judged", "stopped")
    faults = {fault.evaluation: fault for fault in faults_of(report)}
    facts: list[LostAssistant | LostEvaluation | GoneTests] = []
    causes: list[Cause] = []
    for path in comparison.gone_assistants:
        if not _may_go(path, accepted):
            facts.append(LostAssistant(path))
            causes.append(NoLongerMeasured(path))
    for one in comparison.lost:
        if not _is_accepted(one, accepted):
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
    if facts:
        return Judged(GONE_TESTS, "failed", "gone", tuple(facts), causes=tuple(causes))
    if unknown := [one for one in comparison.base_faults if not _is_accepted(one, accepted)]:
        return Judged(GONE_TESTS, "not judged", "base faults", tuple(LostEvaluation(one, True) for one in unknown))
    if comparison.baseline.way == "ancestor":
        return Judged(GONE_TESTS, "not judged", "ancestor")
    lost = bool(comparison.lost) or any(cases.gone or cases.not_run for _, cases in tests_of(comparison))
    return Judged(GONE_TESTS, "passed", "accepted" if lost else "all there")


def tests_switched_off(comparison: Comparison | None, accepted: Sequence[str]) -> bool:
    """Whether the base has results of an evaluation that this side does not run, which nobody accepted."""
    return (
        comparison is not None and comparison.judged and any(not _is_accepted(one, accepted) for one in comparison.lost)
    )


def no_longer_checked(comparison: Comparison) -> list[FindingChange]:
    """Return the files that this change renamed so that their tests are no longer found."""
    return [finding for finding in comparison.new_findings if finding.code == _NOT_LOOKED_FOR]


def _file(case: CaseChange) -> str:
    return case.base_location.path if case.base_location else "the base"


def _not_accepted(cases: Sequence[CaseChange], evaluation: Evaluation, accepted: Sequence[str]) -> list[CaseChange]:
    if evaluation in accepted:
        return []
    return [case for case in cases if case.name not in accepted and not _may_go(_file(case), accepted)]


def _is_accepted(lost: OneSided, accepted: Sequence[str]) -> bool:
    return lost.evaluation in accepted or (bool(lost.files) and all(_may_go(file, accepted) for file in lost.files))


def _may_go(file: str, accepted: Sequence[str]) -> bool:
    """Whether a file, or a folder that it is in, is in the accepted list."""
    return any(file == entry or file.startswith(f"{entry.rstrip('/')}/") for entry in accepted)


def _bad(finding: Finding | FindingChange, message: str) -> BadFinding:
    return BadFinding(finding, message, advises=False, location=finding.location)


# Errors in the data beside those of the base: which are new, and the gate about them.

NEW_ERRORS: Final = "new-errors"


def judge_new_errors(report: Report, comparison: Comparison | None) -> Judged:
    """Judge errors in the data that the base does not have; if there is no base to compare with, these are all.

    With a base that could not be reached or read, it is not known which are new.
    """
    found, faults = _new(report, comparison)
    locations = {finding.location for finding in found}
    unsaid = tuple(fault for fault in faults if fault.location not in locations)
    if report.validation is None and not unsaid:
        return not_validated(report, NEW_ERRORS)
    if not found and not unsaid and comparison is not None and (unknown := _unknown_errors(comparison)):
        return Judged(NEW_ERRORS, "not judged", "hidden on base", causes=unknown)
    if not found and not unsaid:
        return Judged(NEW_ERRORS, "passed", "no findings", (Findings("error", (), ()),))
    causes: list[Cause] = [BadFinding(one, _message_now(one), advises=True, location=one.location) for one in found]
    causes += causes_of(unsaid)
    facts = (Findings("error", tuple(found), unsaid),)
    if comparison is not None and comparison.baseline.status in {"unreachable", "unreadable"}:
        return Judged(NEW_ERRORS, "not judged", "new not known", facts, needs_base=True, causes=tuple(causes))
    return Judged(NEW_ERRORS, "failed", "newly failed", facts, causes=tuple(causes))


def not_validated(report: Report, name: str) -> Judged:
    """A gate about findings, of a report that has none since the data were not validated."""
    skipped = next((one.reason for one in report.skipped if one.evaluation == "validate"), None)
    return Judged(name, "not judged", "nothing to judge", (NoFigure(skipped),) if skipped else ())


def _new(report: Report, comparison: Comparison | None) -> tuple[list[Finding | FindingChange], Sequence[Skipped]]:
    """The errors to judge, and what could not be run because of a fault."""
    if comparison is None or not comparison.judged:
        findings = report.validation.findings if report.validation else ()
        return [finding for finding in findings if finding.severity == "error"], faults_of(report)
    new = [finding for finding in comparison.new_findings if finding.severity == "error"]
    lost = {one.evaluation for one in comparison.lost}
    return [*new], [skipped for skipped in faults_of(report) if skipped.evaluation in lost]


def _message_now(finding: Finding | FindingChange) -> str:
    renamed = "" if isinstance(finding, Finding) else finding.message_now
    return renamed or finding.message


# The gate about errors that a change suppresses in place of fixing them.

NEW_SUPPRESSIONS: Final = "new-suppressions"


def judge_new_suppressions(comparison: Comparison | None) -> Judged:
    """Judge errors that a comment or the setting ``ignore`` suppresses here and did not on the base."""
    if comparison is None or not comparison.judged:
        return Judged(NEW_SUPPRESSIONS, "not judged", "no base")
    if finding_changes := comparison.new_suppressions:
        causes = tuple(_bad(change, change.message) for change in finding_changes)
        return Judged(NEW_SUPPRESSIONS, "failed", "suppressed", causes=causes)
    if not comparison.suppressions_known:
        return Judged(NEW_SUPPRESSIONS, "not judged", "suppressions not known")
    return Judged(NEW_SUPPRESSIONS, "passed", "none suppressed")


def newly_failing_tests(compared: Comparison) -> list[tuple[str, CaseChange]]:
    """Return the tests that fail by themselves now and did not on the base, each with the word for its kind."""
    return [(TESTS[evaluation][0], case) for evaluation, cases in tests_of(compared) for case in cases.newly_failing]


def tests_because_of(compared: Comparison) -> dict[Location, list[tuple[str, CaseChange]]]:
    """Return the tests that newly fail because this change took a name away, by the place of the error about that name.

    A test that rests on several such names is listed under the one nearest to its wrong step.
    """
    places: dict[str, Location] = {}
    for finding in compared.new_findings:
        if finding.severity == "error":
            places |= {name: finding.location for name in broken_references(finding) if name not in places}
    found: dict[Location, list[tuple[str, CaseChange]]] = {}
    for kind, case in newly_failing_tests(compared):
        location = next((places[name] for name in case.rests_on if name in places), None)
        if location is not None:
            found.setdefault(location, []).append((kind, case))
    return found
