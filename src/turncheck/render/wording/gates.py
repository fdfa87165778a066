"""Gates in words: why each ended as it did and what made it fail, and the verdict that they make together."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, assert_never

from msgspec import UNSET, UnsetType

from turncheck.comparison.chosen_rules import Because, because, with_chosen
from turncheck.comparison.compare import shown_beside_base
from turncheck.comparison.failures import (
    BadFinding,
    FailedTest,
    FaultOf,
    GoneTest,
    NoLongerMeasured,
    NotRunTest,
    Uncovered,
    WrongSentence,
)
from turncheck.evaluations.kinds import CASES, TESTS
from turncheck.gates.table import AUTO
from turncheck.gates.verdict import counted_by, judge_gates
from turncheck.render.wording.figures import expected_got
from turncheck.render.wording.reasons.reason import reason_of
from turncheck.render.wording.reasons.tests import lost_assistant, lost_evaluation
from turncheck.render.wording.summary import reservation, summarize
from turncheck.render.wording.tests import failed_test, names_of, removed_test_text
from turncheck.render.wording.verdict import ChosenRules, FailedBy, GateResult, Verdict

if TYPE_CHECKING:
    from turncheck.comparison.failures import Cause
    from turncheck.comparison.model import Comparison
    from turncheck.comparison.rules import Places
    from turncheck.gates.judged import JudgedGate
    from turncheck.report.model import GateSettings, Report


def judge(
    report: Report, comparison: Comparison | None, settings: GateSettings, places: Places = MappingProxyType({})
) -> Verdict:
    """Judge all gates and say how it went; ``places`` says where they are set.

    Raises:
        UserError: a rule that cannot be parsed, or that is about an unknown metric.
    """
    chosen = _chosen(settings, comparison)
    settings = with_chosen(settings, comparison)
    report = counted_by(shown_beside_base(report, comparison), settings)
    gates = judge_gates(report, comparison, settings, places)
    failed = any(gate.fails for gate in gates)
    return Verdict(
        outcome="failed" if failed else "passed",
        summary=summarize(report, comparison, gates, settings),
        gates=tuple(gate_result(gate, report, comparison) for gate in gates),
        not_judged=settings.not_judged,
        reservation="" if failed else reservation(report, comparison, gates),
        chosen=chosen,
    )


_BECAUSE: Final[dict[Because, str]] = {
    "a base": "there is a base to compare with",
    "only an ancestor": "there is a base, of which an ancestor was measured",
    "base out of reach": "there is a base, although it could not be reached",
    "base unreadable": "there is a base, although it could not be read",
    "own branch": "this is the branch that changes are compared with",
    "no base": "there is no base to compare with",
}


def _chosen(settings: GateSettings, comparison: Comparison | None) -> ChosenRules | UnsetType:
    """Say which rules ``auto`` stands for, and why."""
    if AUTO not in settings.fail_on:
        return UNSET
    fail_on = with_chosen(settings, comparison).fail_on
    why = because(comparison)
    if why == "no base" and comparison is not None and not isinstance(comparison.many_losses, UnsetType):
        return ChosenRules(fail_on=fail_on, because="there is no report of the base")
    return ChosenRules(fail_on=fail_on, because=_BECAUSE[why])


def gate_result(gate: JudgedGate, report: Report, comparison: Comparison | None) -> GateResult:
    """Write a gate as ``verdict.json`` has it."""
    reason = reason_of(gate, report, comparison)
    brief = reason_of(gate, report, comparison, brief=True)
    return GateResult(
        name=gate.name,
        outcome=gate.outcome,
        reason=reason,
        without_base=brief if brief != reason else UNSET,
        metric=gate.metric,
        fails=gate.fails,
        needs_base=gate.needs_base,
        location=gate.location,
        failed_by=tuple(map(failed_by, gate.causes)),
        follows=gate.follows,
    )


def failed_by(cause: Cause) -> FailedBy:
    """Say in a few words what made a gate fail."""
    match cause:
        case FailedTest():
            what = failed_test(cause)
        case NotRunTest(evaluation, name, reason):
            how = "is unclear" if cause.is_unclear else "was not run"
            what = f"{CASES[evaluation][0]} {name} {how}{f': {reason}' if reason else ''}"
            is_told = bool(reason) and evaluation == "e2e" and not cause.is_unclear
            return FailedBy(what=what, location=cause.location, not_run=True if is_told else UNSET)
        case GoneTest(evaluation, _, case, commit):
            what = removed_test_text(TESTS[evaluation][0], case, commit)
        case BadFinding(finding, message, advises):
            what = f"{finding.code}: {message} {finding.hint}".strip() if advises else f"{finding.code}: {message}"
            return FailedBy(what=what, location=finding.location, message=finding.message if advises else "")
        case FaultOf(reason, skipped, named):
            were = "was" if len(skipped) == 1 else "were"
            what = f"{names_of(skipped)} {were} skipped: {reason}" if skipped else reason
            is_named, is_skipped = True if named else UNSET, True if skipped else UNSET
            return FailedBy(what=what, location=cause.location, named=is_named, not_run=is_skipped)
        case WrongSentence(text, expected, got):
            what = f"{text}: {expected_got(expected, got or 'no intent')}"
        case Uncovered(kind, name):
            what = f"{kind}: {name}" if kind else name
        case NoLongerMeasured(gone):
            what = lost_assistant(gone) if isinstance(gone, str) else lost_evaluation(gone, faulty=False)
            return FailedBy(what=what, named=True)
        case _:
            assert_never(cause)
    return FailedBy(what=what, location=cause.location)
