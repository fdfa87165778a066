"""Gates about tests: which failed, which newly fail, and whether all required ones were run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import and_copies, number_of
from turncheck.comparison.faults import failed_by_fault, faults_in_words, faults_of, unlike, without_place
from turncheck.comparison.one_sided import has_results
from turncheck.comparison.tally import NAMES, how_to_run, misunderstood_test, tallies
from turncheck.comparison.verdict import FailedBy, GateResult
from turncheck.comparison.wording import count, few, why_no_baseline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.comparison.model import Comparison, OneSided
    from turncheck.comparison.tally import Tally
    from turncheck.report.model import Evaluation, Report


STAND_IN: Final = "by the embedded engine, which stands in for the assistant's own"
"""Why failed batch cases do not fail the run by themselves."""
WARN: Final = "misunderstood: warn"
"""Why misunderstood tests do not fail the run."""


def judge_failed_tests(report: Report) -> GateResult:
    """Judge stories, end-to-end cases and batch cases. Wrong NLU examples are not failed tests: no model is perfect.

    For the same reason a test that is only misunderstood counts as failed only if the settings say so.
    """
    name = "test-failures"
    found = tallies(report)
    failed = tuple(cause for tally in found for cause in tally.failed)
    faults = faults_of(report, NAMES)
    if failed or faults:
        reasons = [*([_failed(found)] if failed else []), *([faults_in_words(faults)] if faults else [])]
        causes = (*failed, *map(failed_by_fault, unlike(faults)))
        return GateResult(name=name, outcome="failed", reason="; ".join(reasons), failed_by=causes)
    if not found:
        return GateResult(name=name, outcome="not judged", reason="no stories and no end-to-end cases were run")
    if any(tally.none_ran for tally in found):
        return _none_ran(name, found)
    return GateResult(name=name, outcome="passed", reason=_passed(found))


def _failed(found: Sequence[Tally]) -> str:
    """``1 of 2 stories and 3 of 4 end-to-end cases failed``."""
    parts = (f"{len(tally.failed)} of {tally.counted(tally.ran)}" for tally in found if tally.failed)
    return ", ".join([f"{' and '.join(parts)} failed", *_misunderstood(found)])


def _all_failed(found: Sequence[Tally]) -> str:
    """The same, including the failures that are tolerated elsewhere."""
    failed = ((len(tally.failed) + len(tally.tolerated), tally) for tally in found)
    return f"{' and '.join(f'{number} of {tally.counted(tally.ran)}' for number, tally in failed if number)} failed"


def _passed(found: Sequence[Tally]) -> str:
    """``2 stories and 3 end-to-end cases passed, 1 end-to-end case not run``."""
    words = f"{' and '.join(tally.passed_in_words for tally in found if tally.ran)} passed"
    return ", ".join([words, *_misunderstood(found), *(tally.not_run_in_words for tally in found if tally.reason)])


def _misunderstood(found: Sequence[Tally]) -> list[str]:
    parts = [f"{tally.misunderstood_in_words} ({WARN})" for tally in found if tally.misunderstood]
    return [*parts, *(f"{tally.tolerated_in_words} ({STAND_IN})" for tally in found if tally.tolerated)]


def _none_ran(name: str, found: Sequence[Tally]) -> GateResult:
    """A kind of test exists, and none of it was run: that the others passed does not mean that all did."""
    words = "; ".join(f"{tally.not_run_in_words}: {tally.reason}" for tally in found if tally.none_ran)
    others = [tally for tally in found if tally.ran]
    reason = f"{words}; {_passed(others)}" if others else words
    return GateResult(
        name=name,
        outcome="not judged",
        reason=reason,
        failed_by=tuple(cause for tally in found for cause in tally.not_run),
    )


# --- against the base ------------------------------------------------------------------------------------------------


def judge_new_failures(report: Report, comparison: Comparison | None) -> GateResult:
    """Judge failed tests and errors in the data that the base does not have; without a baseline these are all."""
    name = "new-failures"
    none = None if comparison and comparison.judged else why_no_baseline(comparison)
    tests, errors = _new_failures(report, comparison)
    if failed := (*tests, *errors):
        if none is None:
            half = "".join(f"; {_half(lacking)}" for lacking in (comparison.base_lacks if comparison else ()))
            copies = sum(case.copies for _, case in newly_failing(report, comparison)) if comparison else 0
            reason = f"{count(len(failed) + copies, 'failure')} that the base does not have{half}"
        else:
            parts = [*([_all_failed(tallies(report))] if tests else [])]
            parts += [f"{count(len(errors), 'error')} in the data"] if errors else []
            reason = f"{_in_brackets(none)}, so every failure counts as new: {', '.join(parts)}"
        return GateResult(name=name, outcome="failed", reason=reason, failed_by=failed)
    if any(tally.none_ran for tally in tallies(report)):
        return _none_ran(name, tallies(report))
    reason = "nothing fails that passed on the base" if none is None else f"nothing fails; {none}"
    for evaluation, cases in newly_misunderstood(report, comparison):
        reason += f"; {count(number_of(cases), *NAMES[evaluation])} newly misunderstood ({WARN})"
    return GateResult(name=name, outcome="passed", reason=reason)


def _new_failures(report: Report, comparison: Comparison | None) -> tuple[tuple[FailedBy, ...], tuple[FailedBy, ...]]:
    """Failed tests, and errors in the data."""
    if comparison and comparison.judged:
        new = (
            misunderstood_test(kind, f"{case.name}{and_copies(case)}", case.sentences, case.location)
            if case.misunderstood
            else FailedBy(what=f"{kind} {case.name}{and_copies(case)}", location=case.location)
            for kind, case in newly_failing(report, comparison)
        )
        errors = [finding for finding in comparison.new_findings if finding.severity == "error"]
        return tuple(new), tuple(
            FailedBy(what=f"{one.code}: {one.message_now or one.message}", location=one.location) for one in errors
        )
    findings = [one for one in (report.validation.findings if report.validation else ()) if one.severity == "error"]
    failed = tuple(cause for tally in tallies(report) for cause in (*tally.failed, *tally.tolerated))
    return failed, tuple(FailedBy(what=f"{one.code}: {one.message}", location=one.location) for one in findings)


def _in_brackets(none: str) -> str:
    """``no baseline: it is new`` as a part of a longer sentence."""
    what, _, why = none.partition(": ")
    return f"{what} ({why})"


def _half(lacking: OneSided) -> str:
    """What the base lacks, and the consequence."""
    name = lacking.evaluation
    if lacking.cases is not None:
        return f"the base did not run {count(lacking.cases, *NAMES[name])} ({lacking.reason})"
    follows = {"nlu": "", "validate": ", so all errors in the data count as new"}
    then = follows.get(name, f", so all {NAMES[name][1]} that fail count as new" if name in NAMES else "")
    return f"the base has no results of {name} ({lacking.reason}){then}"


def newly_failing(report: Report, comparison: Comparison) -> list[tuple[str, CaseChange]]:
    """Return the stories, end-to-end and batch cases that fail and did not on the base, new ones included."""
    return [(NAMES[name][0], case) for name, cases in tests_of(comparison) for case in failing_of(report, cases)]


def failing_of(report: Report, cases: ChangedCases) -> tuple[CaseChange, ...]:
    """Return the cases that newly count as failed: misunderstood ones only if the settings say so."""
    also = cases.newly_misunderstood if report.settings.misunderstood == "fail" else ()
    return (*cases.newly_failing, *also)


def newly_misunderstood(
    report: Report, comparison: Comparison | None
) -> list[tuple[Evaluation, tuple[CaseChange, ...]]]:
    """Return the newly misunderstood tests that do not count as failed, by evaluation, if there are any."""
    if comparison is None or report.settings.misunderstood == "fail":
        return []
    return [(name, found) for name, cases in tests_of(comparison) if (found := cases.newly_misunderstood)]


def tests_of(comparison: Comparison) -> tuple[tuple[Evaluation, ChangedCases], ...]:
    """Return the cases that are tests, by their evaluation."""
    return ("core", comparison.stories), ("e2e", comparison.e2e), ("batch", comparison.batch)


# --- that something was tested ---------------------------------------------------------------------------------------


_WITHOUT_TESTS: Final[dict[Evaluation, str]] = {
    "validate": "the data",
    "strength": "the strength of the tests",
    "robustness": "robustness",
}
"""Evaluations that run no tests, and what they judge."""


def judged_without_tests(report: Report) -> tuple[str, ...]:
    """Return what was judged if nothing but evaluations without tests was requested, such as ``validate``."""
    requested = report.settings.evaluations
    if not all(name in _WITHOUT_TESTS and has_results(report, name) for name in requested):
        return ()
    return tuple(what for name, what in _WITHOUT_TESTS.items() if name in requested)


def judge_something_was_tested(report: Report, *, switched_off: bool) -> GateResult:
    """A run that tested nothing must never look like success.

    If only ``validate`` was requested, the data are what is tested; but a change must not switch off the tests that the
    base runs (``switched_off``).
    """
    name = "something-was-tested"
    found = tallies(report)
    if not switched_off and (judged := judged_without_tests(report)):
        return GateResult(name=name, outcome="passed", reason=f"tested: {' and '.join(judged)}, as requested")
    sentences = [count(report.nlu.examples, "sentence")] if report.nlu and report.nlu.examples else []
    if tested := [*sentences, *(tally.counted(tally.ran) for tally in found if tally.ran)]:
        return GateResult(name=name, outcome="passed", reason=f"tested: {', '.join(tested)}")
    if faults := faults_of(report):  # once they are fixed, something is tested
        reasons = tuple(map(failed_by_fault, unlike(faults)))
        return GateResult(name=name, outcome="failed", reason="nothing was tested", failed_by=reasons)
    reasons = tuple(
        FailedBy(what=f"{s.evaluation} was skipped: {s.reason}", location=s.location) for s in report.skipped_to_report
    )
    reasons += tuple(cause for tally in found for cause in tally.not_run)
    return GateResult(name=name, outcome="failed", reason="nothing was tested", failed_by=reasons)


def judge_required(report: Report, evaluation: Evaluation) -> GateResult:
    """All tests of an evaluation must have run: a single one that was left out is enough to fail."""
    name = f"require: {evaluation}"
    left_out = _left_out(report, evaluation)
    if left_out:
        causes = next((tally.not_run for tally in tallies(report) if tally.evaluation == evaluation), ())
        causes = causes or tuple(map(failed_by_fault, faults_of(report, (evaluation,))))
        return GateResult(name=name, outcome="failed", reason="; ".join(left_out), failed_by=causes)
    if has_results(report, evaluation):
        return GateResult(name=name, outcome="passed", reason=f"{evaluation} was run")
    skipped = next((one for one in report.skipped if one.evaluation == evaluation), None)
    if skipped is not None and skipped.fault:
        causes = (failed_by_fault(skipped),)
        return GateResult(name=name, outcome="failed", reason=f"{evaluation} was not run", failed_by=causes)
    why = skipped.reason if skipped is not None else "there was nothing to judge"
    return GateResult(name=name, outcome="failed", reason=f"{evaluation} was not run: {why}")


def _left_out(report: Report, evaluation: Evaluation) -> list[str]:
    """Which tests of an evaluation were not run, why, and how to get them run."""
    found = []
    for tally in tallies(report):
        if tally.evaluation == evaluation and tally.not_run:
            cases = [case.name for case in (report.e2e.cases if report.e2e else ()) if case.outcome == "skipped"]
            of = tally.counted(tally.ran + len(cases))
            remedy = how_to_run(report)
            words = f"{len(cases):,} of {of} not run ({few(cases)}): {tally.reason}"
            found.append(f"{words}. To run them, {remedy}" if remedy else words)
    if evaluation == "nlu" and report.nlu and report.nlu.unjudged:
        intents = few([one.intent for one in report.nlu.unjudged])
        number = count(len(report.nlu.unjudged), "intent")
        found.append(f"{number} not judged ({intents}): fewer examples than there are folds")
    found += [without_place(one) for one in report.skipped if one.part and one.evaluation == evaluation]
    if report.stopped is not None and has_results(report, evaluation):
        found.append(f"the run ended before its end: {report.stopped.partition(chr(10))[0]}")
    return found
