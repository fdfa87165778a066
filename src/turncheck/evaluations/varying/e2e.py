"""End-to-end cases of an assistant whose answers vary: run in rounds, until their runs say how each fares."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType, structs
from msgspec.structs import replace

from turncheck.comparison.repeats import typical_rate
from turncheck.evaluations.answers import COMPUTE_LOCALLY, DelegatedError, UnfitAnswerError, answers_here
from turncheck.evaluations.e2e.case import CaseOutcome, run_case, skipped_case
from turncheck.evaluations.e2e.judging import EXPECTS_NOTHING, case_units, section_of
from turncheck.evaluations.e2e.steps import Exercised
from turncheck.evaluations.varying.attempts import (
    NO_RUNS,
    AskFunction,
    BaseRuns,
    BudgetShare,
    RepeatedTest,
    Run,
    StoredRuns,
)
from turncheck.evaluations.varying.rounds import Rounds, raise_if_stopped
from turncheck.messages.errors import INTERRUPTED, TransientError
from turncheck.messages.phrasing import first_line
from turncheck.report.conversations import FailedRun, measured_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from turncheck.engines.conversation import ConversationEngine
    from turncheck.evaluations.answers import Answers
    from turncheck.evaluations.e2e.case import CaseRun
    from turncheck.evaluations.varying.attempts import Sign
    from turncheck.evaluations.varying.base_runner import BaseRunner
    from turncheck.project.e2e.model import E2ECase
    from turncheck.report.model import CaseResult, EndToEnd, Outcome
    from turncheck.settings.repeats import RepeatRules, Worth

_SIGNS: Final[Mapping[Outcome, Sign]] = {"passed": "passed", "failed": "failed", "error": "error"}


# What is known of a case from its base.


def base_runs(
    results: Sequence[CaseResult], base: EndToEnd | None, names: Iterable[str] | None = None
) -> list[BaseRuns]:
    """Return, case by case, the runs that the same test has on the base: the same messages and expectations.

    One that the base does not have by its name was renamed, if one that is gone says and expects the same.

    Args:
        results: the cases.
        base: the base's results.
        names: the names of all cases of this side, if these are some of them: none of those was renamed.
    """
    of_base = base.cases if base is not None else ()
    found = _partners(results, of_base, lambda case: case.name)
    kept = {case.name for case in results} if names is None else set(names)
    renamed = _partners(
        [case for case, partner in zip(results, found, strict=True) if partner is None],
        [case for case in of_base if case.name not in kept],
        lambda case: tuple(message.as_written for message in case.messages),
    )
    others = iter(renamed)
    partners = [next(others) if partner is None else partner for partner in found]
    return [NO_RUNS if partner is None else _runs_of(partner) for partner in partners]


def _partners(
    results: Iterable[CaseResult], of_base: Iterable[CaseResult], key: Callable[[CaseResult], Hashable]
) -> list[CaseResult | None]:
    """Return for each case the same test of the base with the same key, of the same file first; none is taken twice."""
    left: dict[Hashable, list[CaseResult]] = defaultdict(list)
    for case in of_base:
        left[key(case)].append(case)
    found: list[CaseResult | None] = []
    for result in results:
        candidates = [case for case in left[key(result)] if case.tests_the_same_as(result)]
        partner = min(candidates, key=lambda case: case.location.path != result.location.path, default=None)
        found.append(partner)
        if partner is not None:
            left[key(result)].remove(partner)
    return found


def _runs_of(case: CaseResult) -> BaseRuns:
    failed = case.outcome == "failed"
    if not isinstance(case.repeats, UnsetType):
        return BaseRuns(case.repeats.usual_runs, failed)
    if case.attempts is not None and case.attempts.runs:
        return BaseRuns("".join("P" if passed else "F" for passed in case.attempts.runs), failed)
    return BaseRuns({"passed": "P", "failed": "F"}.get(case.outcome, ""), failed)


# All cases.


def turns_of(case: E2ECase) -> int:
    """Return how many messages a run of a case sends."""
    return sum(turn.user is not None for turn in case.turns) or 1


def evaluate_repeatedly(
    engine: ConversationEngine | None,
    cases: Sequence[E2ECase],
    run: CaseRun,
    rules: RepeatRules,
    base: Callable[[], EndToEnd | None],
    *,
    on_base: BaseRunner[ConversationEngine] | None = None,
    share: BudgetShare | None = None,
    worth: Callable[[], Worth] | None = None,
    measures_base: bool = False,
    say: Callable[[str], None] = lambda _: None,
    every: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    timed: Callable[[int, float], None] | None = None,
    spent: Callable[[int, float], None] = lambda _, __: None,
    answers: Answers = COMPUTE_LOCALLY,
    ended: Callable[[CaseOutcome], None] | None = None,
) -> EndToEnd:
    """Run every case ``first`` times, then those again that failed, until it is known how they fare.

    A case is a unit of ``answers``. Its runs are kept as they were, and judged again where all cases are known: so a
    run in several parts says what one of them all would have said.

    Args:
        engine: what holds the conversations; ``None``: the runs of all cases are known, or made elsewhere.
        cases: the cases.
        run: how they are run.
        rules: how often, and at what cost at most.
        base: returns the base's results; called once, after every case has run. It takes nothing of the budget.
        on_base: the base itself, if it can be asked: suspicious cases are run there, too, in turn.
        share: what they may cost, if other tests are repeated, too.
        measures_base: whether the base is asked after each of the first runs, too, for what its turns take.
        worth: returns what the base and whoever started the run say of ``worth``; ``None``: the rules are theirs.
        say: is told how far it is.
        every: how many seconds are between two such messages at least; 0: one after each case.
        clock: the seconds that have passed.
        timed: called at the end with the index and the seconds of each case that was run.
        spent: called at the end with the turns and the seconds that it took.
        answers: the runs that are known, and where those go that are made here.
        ended: called at the end with the outcome of each case, with all that its runs reached.

    Raises:
        DelegatedError: other cases are run elsewhere.
        UnfitAnswerError: what is known of a case is not its runs.
        IncompleteError: the engine failed, or the run was interrupted; ``finished`` has what was measured until then.
    """
    units = case_units(cases)
    own = [(units[index], cases[index], known) for index, known in answers_here(answers, units, StoredRuns).items()]
    tests = [_test(number, *one) for number, one in enumerate(own)]

    def by(asked: ConversationEngine | None) -> AskFunction[CaseOutcome]:
        return lambda number, attempt: _run_once(asked, own[number][1], run, attempt)

    rounds = Rounds(
        tests,
        rules,
        by(engine),
        lambda judged: _find_base(judged, base(), [case.name for case in cases]),
        run.workers,
        on_base=None if on_base is None else on_base.then(by),
        share=share,
        worth=worth,
        measures_base=measures_base,
        say=say,
        every=every,
        clock=clock,
    )
    rounds.run()
    rounds.ensure_still_there(len(own), must_answer=False)
    spent(rounds.turns, rounds.seconds)
    why = rounds.why_no_more
    is_over = rounds.stopped is None
    outcomes = [_outcome(case, test, why, is_over=is_over) for (_, case, _), test in zip(own, tests, strict=True)]
    made = [(unit, test) for (unit, _, known), test in zip(own, tests, strict=True) if known is None]
    _keep(answers, [(unit, test) for unit, test in made if is_over or test.verdict is not None], why)
    _tell(outcomes, timed, ended)
    remarks = (INTERRUPTED,) if rounds.interrupt is not None else ()
    section = structs.replace(section_of(outcomes, (*rounds.remarks, *remarks)), repeats=rounds.how)
    raise_if_stopped(rounds, section)
    if len(own) < len(cases):
        raise DelegatedError
    return section


def _run_once(asked: ConversationEngine | None, case: E2ECase, run: CaseRun, attempt: int) -> Run[CaseOutcome]:
    """Run a case, and once more if what kept it from its end may have passed.

    Raises:
        ValueError: nothing holds conversations here.
    """
    if asked is None:
        raise ValueError("a case has to be run, and there is no engine")
    try:
        return _run(run_case(asked, case, run, attempt))
    except TransientError:
        return _run(run_case(asked, case, run, attempt, again=True))


def _find_base(judged: Sequence[RepeatedTest[CaseOutcome]], there: EndToEnd | None, names: Sequence[str]) -> float:
    """Give each case its runs on the base, and return the rate that is usual there."""
    results = [(test.judged or [test.answers[0].answer])[0].result for test in judged]
    for test, found in zip(judged, base_runs(results, there, names), strict=True):
        test.base = found
    return typical_rate(_runs_of(case).runs for case in (there.cases if there is not None else ()))


def _keep(answers: Answers, made: Iterable[tuple[str, RepeatedTest[CaseOutcome]]], why: str) -> None:
    """Keep the runs that were made here."""
    for unit, test in made:
        answers.keep(unit, test.written(lambda one: replace(one.answer, seconds=one.seconds), why))


def _tell(
    outcomes: Iterable[CaseOutcome],
    timed: Callable[[int, float], None] | None,
    ended: Callable[[CaseOutcome], None] | None,
) -> None:
    for number, outcome in enumerate(outcomes):
        if timed is not None and outcome.seconds is not None:
            timed(number, outcome.seconds)
        if ended is not None:
            ended(outcome)


def _test(number: int, unit: str, case: E2ECase, known: StoredRuns | None) -> RepeatedTest[CaseOutcome]:
    if known is not None:
        runs = []
        for run in known.runs:
            if not isinstance(run.answer, CaseOutcome):
                raise UnfitAnswerError(unit)
            known_run = _run(run.answer)._replace(base=run.base, base_turns=run.base_turns)
            runs.append(known_run._replace(seconds=run.answer.seconds or 0.0))
        return RepeatedTest(number, turns_of(case), runs, known.why, in_turn=known.in_turn, known_usual=known.usual)
    test: RepeatedTest[CaseOutcome] = RepeatedTest(number, turns_of(case))
    if (why_not := _why_not_run(case)) is not None:
        test.is_never_judged = True
        test.add(_run(CaseOutcome(skipped_case(case, why_not), Exercised())), usual=True)
    return test


def _why_not_run(case: E2ECase) -> str | None:
    if case.not_judged is not None:
        return f"not judged: {case.not_judged.why}"
    return EXPECTS_NOTHING if case.expects_nothing else None


def _run(outcome: CaseOutcome) -> Run[CaseOutcome]:
    result = outcome.result
    why = first_line(result.reason or "")
    return Run(outcome, _SIGNS.get(result.outcome, "left out"), why=why, turns=measured_turns(result))


def _error_of(test: RepeatedTest[CaseOutcome]) -> CaseResult:
    """Return the result of a case whose runs end in errors: an assistant that is gone must not pass for a chance."""
    error = next(run.answer.result for run in reversed(test.answers) if run.sign == "error")
    words = test.errors_in_words if test.runs else ""
    reason = "; ".join(part for part in (words, error.reason) if part) or None
    return structs.replace(error, reason=reason, repeats=test.repeats())


def _outcome(case: E2ECase, test: RepeatedTest[CaseOutcome], why_unclear: str, *, is_over: bool) -> CaseOutcome:
    """Return a case's result: that of the first run that shows what became of it, with all of its runs.

    ``is_over``: whether it was run as often as it may be; else one whose few runs ended in an error counts as not run.
    """
    exercised = Exercised()
    for run in test.answers:
        exercised = exercised.with_all(run.answer.exercised)
    if test.is_broken:
        return CaseOutcome(_error_of(test), exercised, test.seconds)
    if not test.runs:
        last = test.answers[-1] if test.answers else None
        if last is not None and (is_over or last.sign == "left out"):
            return CaseOutcome(last.answer.result, exercised, test.seconds)
        not_run = skipped_case(case, test.why_unclear(why_unclear))
        return CaseOutcome(not_run, exercised, test.seconds)
    repeats, result = test.repeats(), test.shown.result
    words = "" if repeats.outcome == "passed" else test.in_words(why_unclear)
    reason = "; ".join(part for part in (words, result.reason) if part) or None
    outcome = "unclear" if repeats.outcome == "unclear" else result.outcome
    result = structs.replace(
        result,
        passed=test.passes,
        outcome=outcome,
        reason=reason,
        repeats=repeats,
        difference=result.difference,
        measured=test.measured(),
        failed_run=_failed_run(test) if test.passes else UNSET,
    )
    return CaseOutcome(result, exercised, test.seconds)


def _failed_run(test: RepeatedTest[CaseOutcome]) -> FailedRun | UnsetType:
    """Return the first run that failed, if any did: it says what goes wrong now and then."""
    failed = next((run.answer.result for run in test.answers if run.sign == "failed"), None)
    if failed is None:
        return UNSET
    return FailedRun(steps=failed.steps, messages=failed.messages, opening=failed.opening, difference=failed.difference)
