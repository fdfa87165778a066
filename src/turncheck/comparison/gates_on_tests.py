"""Gates about tests and data errors: what failed, newly failed, is gone, was suppressed, or was not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import number_of, with_copy_count
from turncheck.comparison.faults import failed_by_fault, faults_in_words, faults_of, names_of, unlike
from turncheck.comparison.matching import has_results
from turncheck.comparison.tally import NAMES, how_to_run, misunderstood_test, tallies
from turncheck.comparison.verdict import FailedBy, GateResult
from turncheck.comparison.wording import count, few, why_no_baseline
from turncheck.messages.finding import Finding
from turncheck.messages.phrasing import first_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases, FindingChange
    from turncheck.comparison.model import Comparison, OneSided
    from turncheck.comparison.tally import Tally
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report, Skipped


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
            misunderstood_test(kind, f"{case.name}{with_copy_count(case)}", case.sentences, case.location)
            if case.misunderstood
            else FailedBy(what=f"{kind} {case.name}{with_copy_count(case)}", location=case.location)
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
    found += [one.without_place or one.reason for one in report.skipped if one.part and one.evaluation == evaluation]
    if report.stopped is not None and has_results(report, evaluation):
        found.append(f"the run ended before its end: {first_line(report.stopped)}")
    return found


# The gate about tests that the base judged and this side does not.

GONE_TESTS: Final = "gone-tests"
_NOT_LOOKED_FOR: Final = "test-file-not-looked-for"
"""The code of a file with tests whose name no search for tests matches: it explains why tests are gone."""
LOST: Final[dict[Evaluation, str]] = {
    "validate": "the data are no longer checked",
    "nlu": "language understanding is no longer judged",
    "core": "the stories are no longer run",
    "e2e": "the end-to-end cases are no longer run",
    "batch": "the batch cases are no longer run",
}


def judge_gone_tests(report: Report, comparison: Comparison | None, accepted: Sequence[str]) -> GateResult:
    """Judge tests that the base judged and this side does not: deleted, or no longer run. Not moved or renamed ones.

    Single test sentences may go: they are a sample, and figures are compared on the sentences of both sides. All
    held-out sentences together may not, since no held-out data would be judged any more.

    Args:
        report: this side.
        comparison: with the base.
        accepted: what may be removed: names of tests, their files or folders, evaluations.
    """
    if comparison is None or not comparison.judged:
        return GateResult(name=GONE_TESTS, outcome="not judged", reason=why_no_baseline(comparison))
    if report.stopped is not None:
        return GateResult(name=GONE_TESTS, outcome="not judged", reason="the run ended before its end")
    lines: list[str] = []
    kept_from: list[str] = []
    causes: list[FailedBy] = []
    faults = {fault.evaluation: fault for fault in faults_of(report)}
    for path in comparison.gone_assistants:
        if not _may_go(path, accepted):
            lines.append(f"the assistant '{path}', which the base measures, is no longer measured")
            causes.append(FailedBy(what=lines[-1]))
    for one in comparison.lost:
        if not _is_accepted(one, accepted):
            fault = faults.get(one.evaluation)
            (kept_from if fault else lines).append(_lost(one, faulty=fault is not None))
            causes.append(failed_by_fault(fault) if fault else FailedBy(what=lines[-1]))
    whole = {one.evaluation for one in comparison.lost}
    for evaluation, cases in tests_of(comparison):
        gone = _not_accepted(cases.gone, evaluation, accepted)
        left_out = [] if evaluation in whole else _not_accepted(cases.not_run, evaluation, accepted)
        if gone:
            lines.append(f"{count(number_of(gone), *NAMES[evaluation])} of the base {_is(gone)} gone")
        fault = faults.get(evaluation)
        hidden = fault is not None and all(case.actual == fault.reason for case in left_out)
        if left_out:
            ran = f"{count(number_of(left_out), *NAMES[evaluation])} that ran on the base {_was(left_out)} not run"
            why = "" if hidden else left_out[0].actual
            (kept_from if hidden else lines).append(f"{ran}: {why}" if why else ran)
        commit = comparison.baseline.commit
        causes += [FailedBy(what=removed_test_text(NAMES[evaluation][0], case, commit)) for case in gone]
        if fault is not None and hidden and left_out:
            causes.append(failed_by_fault(fault))
        else:
            causes += [FailedBy(what=_not_run(evaluation, case), location=case.location) for case in left_out]
    if lines or kept_from:
        unseen = "".join(f"; {one.message.rstrip('.')}" for one in no_longer_checked(comparison) if lines)
        reason = f"{'; '.join(lines or kept_from)} (`accept-gone` lists what may be deleted){unseen}"
        return GateResult(name=GONE_TESTS, outcome="failed", reason=reason, failed_by=tuple(causes))
    unknown = [one for one in comparison.base_faults if one.evaluation not in accepted]
    if unknown:
        named = names_of(one.evaluation for one in unknown)
        reason = f"the base could not run {named}, so it is not known which tests are gone: {unknown[0].reason}"
        return GateResult(name=GONE_TESTS, outcome="not judged", reason=reason)
    if comparison.baseline.way == "ancestor":
        reason = "the base itself was not measured, but an ancestor: which tests came after that is not known"
        return GateResult(name=GONE_TESTS, outcome="not judged", reason=reason)
    lost = bool(comparison.lost) or any(cases.gone or cases.not_run for _, cases in tests_of(comparison))
    reason = "what is gone was accepted by `accept-gone`" if lost else "all tests of the base are there"
    return GateResult(name=GONE_TESTS, outcome="passed", reason=reason)


def tests_switched_off(comparison: Comparison | None, accepted: Sequence[str]) -> bool:
    """Whether the base has results of an evaluation that this side does not run, which nobody accepted."""
    return (
        comparison is not None and comparison.judged and any(not _is_accepted(one, accepted) for one in comparison.lost)
    )


def no_longer_checked(comparison: Comparison) -> list[FindingChange]:
    """Return the files that this change renamed so that their tests are no longer found."""
    return [finding for finding in comparison.new_findings if finding.code == _NOT_LOOKED_FOR]


def _lost(one: OneSided, *, faulty: bool) -> str:
    if one.files:
        return one.reason
    return LOST[one.evaluation] if faulty else f"{LOST[one.evaluation]}: {one.reason}"


def _is(cases: Sequence[CaseChange]) -> str:
    return "is" if number_of(cases) == 1 else "are"


def _was(cases: Sequence[CaseChange]) -> str:
    return "was" if number_of(cases) == 1 else "were"


def _not_run(evaluation: Evaluation, case: CaseChange) -> str:
    why = f": {case.actual}" if case.actual else ""
    return f"{NAMES[evaluation][0]} {case.name} was not run{why}"


def removed_test_text(kind: str, case: CaseChange, commit: str | None) -> str:
    """Name a test that only the base has, and the place where the base, at this commit, has it."""
    place = case.base_location
    at = "the base" if place is None else place.path if place.line is None else f"{place.path}:{place.line}"
    where = f"was at {at} in `{commit[:8]}`" if commit else f"was at {at} on the base"
    return f"{kind} {case.name}{with_copy_count(case)} is gone ({where})"


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


# Errors in the data beside those of the base: which are new, and the gate about them.

NEW_ERRORS: Final = "new-errors"


def judge_new_errors(report: Report, comparison: Comparison | None) -> GateResult:
    """Judge errors in the data that the base does not have; if there is no base to compare with, these are all.

    With a base that could not be reached or read, it is not known which are new.
    """
    found, faults = _new(report, comparison)
    place = {finding.location for finding in found}
    unsaid = [one for one in faults if one.location not in place]
    if report.validation is None and not unsaid:
        skipped = next((one.reason for one in report.skipped if one.evaluation == "validate"), None)
        return GateResult(name=NEW_ERRORS, outcome="not judged", reason=skipped or "there was nothing to judge")
    compared = comparison is not None and comparison.judged
    none = "" if compared else why_no_baseline(comparison)
    if not found and not unsaid:
        reason = "no errors in the data that the base does not have" if compared else f"no errors in the data; {none}"
        return GateResult(name=NEW_ERRORS, outcome="passed", reason=reason)
    causes = (*(failed_by_finding(one, _message_now(one)) for one in found), *map(failed_by_fault, unlike(unsaid)))
    parts = [f"{count(len(found), 'error')} in the data"] if found else []
    parts += [faults_in_words(unsaid)] if unsaid else []
    if comparison is not None and comparison.baseline.status in {"unreachable", "unreadable"}:
        reason = f"{'; '.join(parts)}; {none}, so it is not known which are new"
        return GateResult(name=NEW_ERRORS, outcome="not judged", reason=reason, failed_by=causes, needs_base=True)
    of_base = " that the base does not have" if compared else f"; {none}, so every error counts as new"
    return GateResult(name=NEW_ERRORS, outcome="failed", reason=f"{'; '.join(parts)}{of_base}", failed_by=causes)


def _new(report: Report, comparison: Comparison | None) -> tuple[list[Finding | FindingChange], Sequence[Skipped]]:
    """The errors to judge, and what could not be run because of a fault."""
    if comparison is None or not comparison.judged:
        findings = report.validation.findings if report.validation else ()
        return [one for one in findings if one.severity == "error"], faults_of(report)
    new = [one for one in comparison.new_findings if one.severity == "error"]
    lost = {one.evaluation for one in comparison.lost}
    return [*new], [one for one in faults_of(report) if one.evaluation in lost]


def _message_now(finding: Finding | FindingChange) -> str:
    renamed = "" if isinstance(finding, Finding) else finding.message_now
    return renamed or finding.message


def failed_by_finding(finding: Finding | FindingChange, message: str) -> FailedBy:
    """Describe a finding that fails a gate; ``message`` may add the new name of what the change renamed."""
    what = f"{finding.code}: {message} {finding.hint}".strip()
    return FailedBy(what=what, location=finding.location, message=finding.message)


def old_in_words(found: Sequence[Finding], comparison: Comparison | None, severity: str) -> str:
    """``, both on the base too``: how many of the findings of a severity the base has; empty if none or not known."""
    if (
        comparison is None
        or not comparison.judged
        or any(one.evaluation == "validate" for one in comparison.base_lacks)
    ):
        return ""
    old = len(found) - sum(one.severity == severity for one in comparison.new_findings)
    if old <= 0:
        return ""
    many = {1: "", 2: "both "}.get(old, "all ") if old == len(found) else f"{old:,} of them "
    return f", {many}on the base too"


# The gate about errors that a change suppresses in place of fixing them.

NEW_SUPPRESSIONS: Final = "new-suppressions"


def judge_new_suppressions(comparison: Comparison | None) -> GateResult:
    """Judge errors that a comment or the setting ``ignore`` suppresses here and did not on the base."""
    if comparison is None or not comparison.judged:
        return GateResult(name=NEW_SUPPRESSIONS, outcome="not judged", reason=why_no_baseline(comparison))
    if found := comparison.new_suppressions:
        failed_by = tuple(FailedBy(what=f"{one.code}: {one.message}", location=one.location) for one in found)
        reason = suppressed_in_words(found)
        return GateResult(name=NEW_SUPPRESSIONS, outcome="failed", reason=reason, failed_by=failed_by)
    if not comparison.suppressions_known:
        reason = "the baseline's report is of an older version, which does not say what is suppressed"
        return GateResult(name=NEW_SUPPRESSIONS, outcome="not judged", reason=reason)
    return GateResult(name=NEW_SUPPRESSIONS, outcome="passed", reason="no error is newly suppressed")


def suppressed_in_words(found: Sequence[FindingChange]) -> str:
    """Return ``2 errors newly suppressed``; warnings are counted apart."""
    numbers = {one: sum(finding.severity == one for finding in found) for one in ("error", "warning")}
    return f"{' and '.join(count(number, what) for what, number in numbers.items() if number)} newly suppressed"
