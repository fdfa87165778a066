"""Gates that hold a run to be complete: nothing broke off, nothing kept it from running, something was tested."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.failed_tests import (
    has_only_accepted_losses,
    is_nothing_run,
    judged_without_tests,
    unanswered_sentences,
    unclear_sentences,
)
from turncheck.comparison.failures import FaultOf
from turncheck.comparison.matching import has_results
from turncheck.comparison.quarantine import entry_of
from turncheck.comparison.tally import cause_of, causes_of, faults_of, tallies
from turncheck.gates.judged import JudgedGate, NoFigure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.comparison.failures import Cause
    from turncheck.gates.gate import Gate
    from turncheck.gates.judged import Judging
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report, Skipped

Why = Literal[
    "broke off", "faults",
    "not asked for tests", "tested", "files checked", "only files", "nothing tested", "all in quarantine", "stopped",
    "left out", "ran", "fault", "skipped",
]  # fmt: skip
"""Why such a gate ended as it did."""


def judge_completed(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge a run that ended before its end; of any other there is nothing to say."""
    if judging.report.stopped is not None:
        yield JudgedGate(gate, "failed", "broke off")


def judge_faults(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """What cannot be read or trained completely is not judged in part, and is not a success either."""
    if faults := faults_of(judging.report):
        yield JudgedGate(gate, "failed", "faults", causes=causes_of(faults))


def judge_anything_tested(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """A run that tested nothing must never look like success.

    If only ``validate`` was requested, the data are what is tested; so are flows and their tests, which were checked
    against each other. But a change must not switch off the tests that the base runs.
    """
    report, found = judging.report, tallies(judging.report)
    judged = partial(JudgedGate, gate)
    all_there = has_only_accepted_losses(judging.compared, judging.rules.accept_gone)
    if all_there and judged_without_tests(report):
        yield judged("passed", "not asked for tests")
        return
    if _judged_sentences(report) or any(tally.ran > tally.in_quarantine + len(tally.unclear) for tally in found):
        yield judged("passed", "tested")
        return
    if faults := faults_of(report):  # once they are fixed, something is tested
        yield judged("failed", "nothing tested", causes=causes_of(faults))
        return
    skipped = _causes_of_skipped(report)
    if consistency_of(report) is not None and report.stopped is None and is_nothing_run(report):
        yield judged("passed", "files checked") if all_there else judged("failed", "only files", causes=skipped)
        return
    unclear = [*(cause for tally in found for cause in tally.unclear), *unclear_sentences(report)]
    if unclear and report.stopped is not None:  # they were run, and not to their end
        yield judged("not judged", "stopped")
        return
    unanswered = list(unanswered_sentences(report))
    causes = (*skipped, *(cause for tally in found for cause in tally.not_run), *unclear, *unanswered)
    ran = bool(report.nlu and report.nlu.examples) or any(tally.ran for tally in found)
    all_held = ran and not unclear and not unanswered
    yield judged("failed", "all in quarantine" if all_held else "nothing tested", causes=causes)


def _causes_of_skipped(report: Report) -> tuple[Cause, ...]:
    """What did not run, by its reason."""
    found: dict[str, list[Skipped]] = {}
    for skipped in report.skipped_to_report:
        found.setdefault(skipped.reason, []).append(skipped)
    return tuple(
        FaultOf(reason, skipped=tuple(one.evaluation for one in skipped), location=skipped[0].location)
        for reason, skipped in found.items()
    )


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


def judge_required(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge what must run: a single test that was left out is enough to fail."""
    return (_required(gate, judging.report, evaluation) for evaluation in judging.rules.require)


def _required(gate: Gate, report: Report, evaluation: Evaluation) -> JudgedGate:
    judged = partial(JudgedGate, gate, rule=evaluation, requires=evaluation)
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
        return judged("failed", "fault", causes=(cause_of(skipped),))
    facts = (NoFigure(skipped.reason, short=skipped.cause),) if skipped is not None else ()
    return judged("failed", "skipped", facts)


def _is_left_out(report: Report, evaluation: Evaluation) -> bool:
    """Whether any test of an evaluation was not run."""
    return (
        any(tally.evaluation == evaluation and tally.not_run for tally in tallies(report))
        or (evaluation == "nlu" and report.nlu is not None and bool(report.nlu.unjudged))
        or any(skipped.part and skipped.evaluation == evaluation for skipped in report.skipped)
        or (report.stopped is not None and has_results(report, evaluation))
    )
