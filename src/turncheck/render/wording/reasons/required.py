"""Why a gate that holds a run to be complete ended as it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison import failed_tests
from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.matching import has_results
from turncheck.comparison.tally import faults_of, lacks_actions, tallies
from turncheck.evaluations.kinds import WITHOUT_TESTS
from turncheck.gates.judged import NoFigure
from turncheck.messages.phrasing import count, first_line, on_one_line
from turncheck.render.wording import tests as wording
from turncheck.render.wording.figures import few
from turncheck.render.wording.reasons.consistency import consistent_in_words, nothing_tested_in_words
from turncheck.render.wording.reasons.context import STOPPED, Context, not_run

if TYPE_CHECKING:
    from turncheck.gates.judged import JudgedGate
    from turncheck.render.wording.reasons.context import Reasons
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report


def _without_tests(_: JudgedGate, context: Context) -> str:
    untested = [WITHOUT_TESTS[test] for test in failed_tests.judged_without_tests(context.report)]
    return f"tested: {wording.joined(untested)}, as requested"


def _tested(report: Report) -> str:
    found = [(wording.counted(tally, tally.ran), len(tally.unclear)) for tally in tallies(report) if tally.ran]
    if report.nlu and report.nlu.examples:
        unclear = sum(one.unclear for one in report.nlu.predictions)
        found.insert(0, (count(report.nlu.examples, "sentence"), unclear))
    return f"tested: {', '.join(f'{words} ({number:,} unclear)' if number else words for words, number in found)}"


def _nothing_tested(report: Report) -> str:
    """``nothing was tested``; with no tests at all, how to get some."""
    is_nothing_there = not tallies(report) and any(one.no_tests for one in report.skipped)
    first = "; `turncheck init --write` makes first tests" if is_nothing_there else ""
    return f"{nothing_tested_in_words(report)}{first}"


def _all_in_quarantine(report: Report) -> str:
    so = ", so nothing was tested" if consistency_of(report) is None else ""
    return f"every test that ran is in quarantine{so}"


def _left_out(report: Report, evaluation: Evaluation | None) -> list[tuple[str, str]]:
    """Return which tests of an evaluation were not run, why, and how to get them run; each also in short."""
    found = []
    for tally in tallies(report):
        if tally.evaluation == evaluation and tally.not_run:
            number = len(tally.not_run)
            short = f"{number:,} of {wording.counted(tally, tally.ran + number)} not run"
            words = (
                f"{short} ({few([not_run_test.name for not_run_test in tally.not_run])}): {wording.why_not_run(tally)}"
            )
            found.append(
                (f"{words}. To run them, {wording.HOW_TO_RUN_ACTIONS}" if lacks_actions(report) else words, short)
            )
    if evaluation == "nlu" and report.nlu and report.nlu.unjudged:
        intents = few([unjudged.intent for unjudged in report.nlu.unjudged])
        short = f"{count(len(report.nlu.unjudged), 'intent')} not judged"
        found.append((f"{short} ({intents}): fewer examples than there are folds", short))
    parts = [skipped for skipped in report.skipped if skipped.part and skipped.evaluation == evaluation]
    found += [(part.without_place or part.reason, part.without_place or part.reason) for part in parts]
    if report.stopped is not None and evaluation is not None and has_results(report, evaluation):
        found.append((f"the run ended before its end: {first_line(report.stopped)}",) * 2)
    return found


def in_short(gate: JudgedGate, context: Context) -> str | None:
    """Say the same without the details that belong in the gate's own line; ``None``: there is nothing shorter."""
    match gate.facts:
        case (NoFigure(short=short),) if short:
            return f"{gate.requires} was not run: {short}"
        case _ if gate.why == "left out":
            return next(short for _, short in _left_out(context.report, gate.requires))
        case _:
            return None


REASONS: Final[Reasons] = {
    "broke off": lambda _, context: on_one_line(context.report.stopped or ""),
    "faults": lambda _, context: wording.faults_in_words(faults_of(context.report)),
    "not asked for tests": _without_tests,
    "files checked": "flows and tests were checked against each other; no conversation was run",
    "only files": lambda _, context: f"the base ran tests, here only files: {consistent_in_words(context.report)}",
    "tested": lambda _, context: _tested(context.report),
    "nothing tested": lambda _, context: _nothing_tested(context.report),
    "all in quarantine": lambda _, context: _all_in_quarantine(context.report),
    "stopped": STOPPED,
    "left out": lambda gate, context: "; ".join(words for words, _ in _left_out(context.report, gate.requires)),
    "ran": lambda gate, _: f"{gate.requires} was run",
    "fault": lambda gate, _: f"{gate.requires} was not run",
    "skipped": lambda gate, context: f"{gate.requires} was not run: {not_run(gate, context)}",
}
