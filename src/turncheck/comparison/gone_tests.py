"""The gate about tests that the base judged and this side does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import and_copies, number_of
from turncheck.comparison.faults import failed_by_fault, faults_of, names_of
from turncheck.comparison.gates_on_tests import tests_of
from turncheck.comparison.tally import NAMES
from turncheck.comparison.verdict import FailedBy, GateResult
from turncheck.comparison.wording import count, why_no_baseline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import CaseChange, FindingChange
    from turncheck.comparison.model import Comparison, OneSided
    from turncheck.report.model import Evaluation, Report

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
        causes += [FailedBy(what=gone_from(NAMES[evaluation][0], case, commit)) for case in gone]
        if fault is not None and hidden and left_out:
            causes.append(failed_by_fault(fault))
        else:
            causes += [FailedBy(what=_not_run(evaluation, case), location=case.location) for case in left_out]
    if lines or kept_from:
        unseen = "".join(f"; {one.message.rstrip('.')}" for one in out_of_sight(comparison) if lines)
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


def out_of_sight(comparison: Comparison) -> list[FindingChange]:
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


def gone_from(kind: str, case: CaseChange, commit: str | None) -> str:
    """Name a test that only the base has, and the place where the base, at this commit, has it."""
    place = case.base_location
    at = "the base" if place is None else place.path if place.line is None else f"{place.path}:{place.line}"
    where = f"was at {at} in `{commit[:8]}`" if commit else f"was at {at} on the base"
    return f"{kind} {case.name}{and_copies(case)} is gone ({where})"


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
