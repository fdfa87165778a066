"""Why a gate about tests ended as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison import failed_tests
from turncheck.comparison.changes import number_of
from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.failures import BadFinding
from turncheck.comparison.tally import faults_of
from turncheck.evaluations.kinds import KINDS, TESTS
from turncheck.gates.judged import GoneTests, LossesOverall, LostAssistant, LostEvaluation
from turncheck.gates.table import COULD_BE_RUN, SOMETHING_WAS_TESTED
from turncheck.messages.phrasing import count
from turncheck.render.wording import tests as wording
from turncheck.render.wording.figures import few, why_no_baseline
from turncheck.render.wording.reasons.context import STOPPED, Context, hidden_on_base, no_base, unclear
from turncheck.render.wording.repeats import losses_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import Comparison, OneSided
    from turncheck.comparison.tally import Tally
    from turncheck.gates.judged import Fact, JudgedGate
    from turncheck.render.wording.reasons.context import Reasons
    from turncheck.report.model import Report

STAND_IN: Final = "by the embedded engine, which stands in for the assistant's own"
"""Why failed batch cases do not fail the run by themselves."""
WARN: Final = "misunderstood: warn"
"""Why misunderstood tests do not fail the run."""


def _failed_tests(gate: JudgedGate, context: Context) -> str:
    """What failed in tests, and what kept them from running."""
    faults = faults_of(context.report, TESTS)
    failed = [_failed(context.found)] if any(tally.failed for tally in context.found) else []
    failed += [*wording.unanswered_in_words(context.report), *wording.unexpected_in_words(context.found)]
    return "; ".join([*_losses(gate), *failed, *([wording.faults_in_words(faults)] if faults else [])])


def _newly_failed(gate: JudgedGate, context: Context) -> str:
    """What failed in tests or in the data and did not on the base; or more runs of all cases."""
    losses = _losses(gate)
    words = [_new_failures(gate, context)] if gate.causes or not losses else []
    return "; ".join([*losses, *words])


def _losses(gate: JudgedGate) -> list[str]:
    return [losses_in_words(fact.losses) for fact in gate.facts if isinstance(fact, LossesOverall)]


def _new_failures(gate: JudgedGate, context: Context) -> str:
    compared = context.compared
    if compared is not None:
        half = "".join(f"; {_half(lacking)}" for lacking in compared.base_lacks)
        copies = sum(
            case.copies
            for _, cases in failed_tests.tests_of(compared)
            for case in failed_tests.failing_of(context.report, cases)
        )
        return f"{count(len(gate.causes) + copies, 'failure')} that the base does not have{half}"
    errors = sum(isinstance(cause, BadFinding) for cause in gate.causes)
    unexpected = [*wording.unanswered_in_words(context.report), *wording.unexpected_in_words(context.found)]
    parts = [_all_failed(context.found)] if any(tally.failed or tally.tolerated for tally in context.found) else []
    parts += unexpected
    parts += [f"{count(errors, 'error')} in the data"] if errors else []
    none = why_no_baseline(context.comparison, brief=context.brief, brackets=True)
    return f"{none}, so every failure counts as new: {', '.join(parts)}"


def _tests_not_run(_: JudgedGate, context: Context) -> str:
    """Which tests were not run and why, unless another gate says that."""
    faulty = {fault.evaluation for fault in faults_of(context.report)}
    reasons: dict[str, list[str]] = {}
    for tally in context.found:
        if tally.none_ran:
            nothing = failed_tests.is_nothing_run(context.report) and not tally.not_run
            nothing = nothing and consistency_of(context.report) is None
            by = COULD_BE_RUN.name if tally.evaluation in faulty else SOMETHING_WAS_TESTED.name if nothing else ""
            is_told = context.brief and tally.evaluation == "e2e" and bool(tally.not_run)
            why = f"see `{by}`" if by else "" if is_told else wording.why_not_run(tally)
            reasons.setdefault(why, []).append(wording.not_run_in_words(tally))
    not_run = "; ".join(f"{', '.join(tests)}{': ' if why else ''}{why}" for why, tests in reasons.items())
    others = [tally for tally in context.found if tally.ran]
    return f"{not_run}; {_passed(others)}" if others else not_run


def _nothing_new(_: JudgedGate, context: Context) -> str:
    words = ["nothing fails that passed on the base" if context.compared else f"nothing fails; {context.none}"]
    words += [wording.quarantined_in_words(tally) for tally in context.found if tally.quarantined]
    for evaluation, cases in failed_tests.newly_misunderstood(context.report, context.comparison):
        words.append(f"{count(number_of(cases), *TESTS[evaluation])} newly misunderstood ({WARN})")
    return "; ".join(words)


def _base_faults(gate: JudgedGate, context: Context) -> str:
    unknown = [fact.lost for fact in gate.facts if isinstance(fact, LostEvaluation)]
    short = _base_faults_in_short(gate, context.report)
    if not (whole := [one for one in unknown if not one.files]):
        its = "its tests" if len({file for one in unknown for file in one.files}) == 1 else "their tests"
        return f"{short}, so it is not known which of {its} are gone"
    why = "" if _has_same_faults(whole, context.report) else f": {whole[0].reason}"
    return f"{short}, so it is not known which tests are gone{why}"


def _base_faults_in_short(gate: JudgedGate, report: Report) -> str:
    """``the base could not run core``, or which of its files cannot be read."""
    unknown = [fact.lost for fact in gate.facts if isinstance(fact, LostEvaluation)]
    if whole := [one for one in unknown if not one.files]:
        either = " either" if _has_same_faults(whole, report) else ""
        return f"the base could not run {wording.names_of(one.evaluation for one in whole)}{either}"
    return f"the base cannot read {few(sorted({file for one in unknown for file in one.files}))}"


def _has_same_faults(whole: Sequence[OneSided], report: Report) -> bool:
    """Whether this side cannot run either what the base could not."""
    return {one.evaluation for one in whole} <= {fault.evaluation for fault in faults_of(report)}


def _failed(found: Sequence[Tally]) -> str:
    """``1 of 2 stories and 3 of 4 end-to-end cases failed``."""
    return ", ".join(
        [
            f"{wording.joined(wording.failed_of(tally) for tally in found if tally.failed)} failed",
            *_misunderstood(found),
        ]
    )


def _all_failed(found: Sequence[Tally]) -> str:
    """The same, including the failures that are tolerated elsewhere."""
    return (
        f"{wording.joined(wording.all_failed_of(tally) for tally in found if tally.failed or tally.tolerated)} failed"
    )


def _passed(found: Sequence[Tally]) -> str:
    """``2 stories and 3 end-to-end cases passed, 1 end-to-end case not run``."""
    words = f"{wording.joined(wording.passed_in_words(tally) for tally in found if tally.ran)} passed"
    return ", ".join(
        [words, *_misunderstood(found), *(wording.not_run_in_words(tally) for tally in found if tally.reason)]
    )


def _misunderstood(found: Sequence[Tally]) -> list[str]:
    parts = [f"{wording.misunderstood_in_words(tally)} ({WARN})" for tally in found if tally.misunderstood]
    parts += [wording.quarantined_in_words(tally) for tally in found if tally.quarantined]
    return [*parts, *(f"{wording.tolerated_in_words(tally)} ({STAND_IN})" for tally in found if tally.tolerated)]


def _half(lacking: OneSided) -> str:
    """What the base lacks, and the consequence."""
    name = lacking.evaluation
    if lacking.cases is not None:
        return f"the base did not run {count(lacking.cases, *TESTS[name])} ({lacking.reason})"
    then = f", so all {TESTS[name][1]} that fail count as new" if name in TESTS else KINDS[name].without_base_note
    return f"the base has no results of {name} ({lacking.reason}){then}"


MAY_BE_DELETED: Final = " (`accept-gone` lists what may be deleted)"


def _gone(facts: Sequence[Fact], compared: Comparison | None) -> str:
    """What is gone; where a fault keeps all of it from running, that."""
    lines: list[str] = []
    kept_from: list[str] = []
    for fact in facts:
        match fact:
            case LostAssistant(path):
                lines.append(lost_assistant(path))
            case LostEvaluation(lost, faulty):
                (kept_from if faulty else lines).append(lost_evaluation(lost, faulty=faulty))
            case GoneTests(evaluation, cases, run, because, faulty):
                number = number_of(cases)
                tests, one = count(number, *TESTS[evaluation]), number == 1
                if not run:
                    lines.append(f"{tests} of the base {'is' if one else 'are'} gone")
                    continue
                words = f"{tests} that ran on the base {'was' if one else 'were'} not run"
                (kept_from if faulty else lines).append(f"{words}: {because}" if because else words)
            case _:
                pass
    unseen = "".join(
        f"; {change.message.rstrip('.')}"
        for change in (failed_tests.no_longer_checked(compared) if lines and compared else ())
    )
    only_not_run = all(isinstance(fact, GoneTests) and fact.run for fact in facts)
    remedy = "" if only_not_run else MAY_BE_DELETED
    return f"{'; '.join(lines or kept_from)}{remedy}{unseen}"


def lost_assistant(path: str) -> str:
    """Say that an assistant is no longer measured."""
    return f"the assistant '{path}', which the base measures, is no longer measured"


def lost_evaluation(one_sided: OneSided, *, faulty: bool) -> str:
    """Say what of the base is no longer judged, and why; of what a fault keeps from running another gate says why."""
    if one_sided.files:
        return one_sided.reason
    lost = KINDS[one_sided.evaluation].lost
    return lost if faulty else f"{lost}: {one_sided.reason}"


def in_short(gate: JudgedGate, context: Context) -> str | None:
    """Say the same without the details that belong in the gate's own line; ``None``: there is nothing shorter."""
    return _base_faults_in_short(gate, context.report) if gate.why == "base faults" else None


REASONS: Final[Reasons] = {
    "failed": _failed_tests,
    "new": _newly_failed,
    "no tests": "no stories and no end-to-end cases were run",
    "not run": _tests_not_run,
    "hidden on base": hidden_on_base,
    "unclear": unclear,
    "passed": lambda _, context: _passed(context.found),
    "nothing new": _nothing_new,
    "no base": no_base,
    "stopped": STOPPED,
    "gone": lambda gate, context: _gone(gate.facts, context.compared),
    "base faults": _base_faults,
    "ancestor": "the base itself was not measured, but an ancestor: which tests came after that is not known",
    "accepted": "what is gone was accepted by `accept-gone`",
    "all there": "all tests of the base are there",
    "all run there": "all tests that the base ran are there; `consistent-tests` judges the others",
}
