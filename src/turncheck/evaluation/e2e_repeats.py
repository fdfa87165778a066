"""End-to-end cases of an assistant whose answers vary: run in rounds, until their runs say how each fares."""

from __future__ import annotations

import time
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType, structs

from turncheck.evaluation.e2e import EXPECTS_NOTHING, NOT_FINISHED, section_of
from turncheck.evaluation.e2e_case import CaseOutcome, run_case, skipped_case
from turncheck.evaluation.e2e_steps import Exercised
from turncheck.evaluation.repeats import NO_RUNS, BaseRuns, Repeated, Rounds, Run, in_words, raise_if_stopped
from turncheck.messages.errors import PassingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.engines.conversation import ConversationEngine
    from turncheck.evaluation.e2e_case import CaseRun
    from turncheck.evaluation.repeats import Share, Sign
    from turncheck.project.e2e.model import E2ECase
    from turncheck.report.model import CaseResult, EndToEnd, Outcome
    from turncheck.settings.repeats import RepeatRules

_SIGNS: Final[Mapping[Outcome, Sign]] = {"passed": "passed", "failed": "failed", "error": "error"}


# What is known of a case from its base.


def base_runs(results: Iterable[CaseResult], base: EndToEnd | None) -> list[BaseRuns]:
    """Return, case by case, the runs that the same test has on the base: the same messages and expectations."""
    named: dict[str, list[CaseResult]] = defaultdict(list)
    for case in base.cases if base is not None else ():
        named[case.name].append(case)
    found = []
    for result in results:
        candidates = [case for case in named[result.name] if _is_same_test(case, result)]
        candidates.sort(key=lambda case: case.location.path != result.location.path)
        if candidates:
            named[result.name].remove(candidates[0])
        found.append(_runs_of(candidates[0]) if candidates else NO_RUNS)
    return found


def _is_same_test(base: CaseResult, now: CaseResult) -> bool:
    """Whether both say and expect the same; what was not judged on a side is not written as it would be."""
    said = [message.text for message in base.messages] == [message.text for message in now.messages]
    steps = list(zip(base.steps, now.steps, strict=False))
    return (
        said
        and len(base.steps) == len(now.steps)
        and all(
            one.kind == other.kind and (one.expected == other.expected or "skipped" in {one.outcome, other.outcome})
            for one, other in steps
        )
    )


def _runs_of(case: CaseResult) -> BaseRuns:
    failed = case.outcome == "failed"
    if not isinstance(case.repeats, UnsetType):
        return BaseRuns(case.repeats.usual_runs, failed)
    if case.attempts is not None and case.attempts.runs:
        return BaseRuns("".join("P" if passed else "F" for passed in case.attempts.runs), failed)
    return BaseRuns({"passed": "P", "failed": "F"}.get(case.outcome, ""), failed)


# All cases.


def evaluate_repeatedly(
    engine: ConversationEngine,
    cases: Sequence[E2ECase],
    run: CaseRun,
    rules: RepeatRules,
    base: Callable[[], EndToEnd | None],
    *,
    base_engine: ConversationEngine | None = None,
    share: Share | None = None,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    timed: Callable[[int, float], None] | None = None,
    spent: Callable[[int, float], None] = lambda _, __: None,
) -> EndToEnd:
    """Run every case ``first`` times, then those again that failed, until it is known how they fare.

    Args:
        engine: what holds the conversations.
        cases: the cases.
        run: how they are run.
        rules: how often, and at what cost at most.
        base: returns the base's results; called once, after every case has run. It takes nothing of the budget.
        base_engine: the base itself, if it can be asked: suspicious cases are run there, too, in turn.
        share: what they may cost, if other tests are repeated, too.
        say: is told how far it is.
        clock: the seconds that have passed.
        timed: called at the end with the index and the seconds of each case that was run.
        spent: called at the end with the turns and the seconds that it took.

    Raises:
        CutShortError: the engine failed, or the run was interrupted; ``finished`` has what was measured until then.
    """
    tests = [_test(number, case) for number, case in enumerate(cases)]

    def find_base(judged: Sequence[Repeated[CaseOutcome]]) -> None:
        results = [test.judged[0].result for test in judged]
        for test, found in zip(judged, base_runs(results, base()), strict=True):
            test.base = found

    def on(asked: ConversationEngine, number: int, attempt: int) -> Run[CaseOutcome]:
        return _run(run_case(asked, cases[number], run, attempt))

    def here(number: int, attempt: int) -> Run[CaseOutcome]:
        try:
            return on(engine, number, attempt)
        except PassingError:
            return on(engine, number, attempt)

    rounds = Rounds(
        tests,
        rules,
        here,
        find_base,
        run.workers,
        on_base=None if base_engine is None else partial(on, base_engine),
        share=share,
        say=say,
        clock=clock,
    )
    rounds.run()
    spent(rounds.turns, rounds.seconds)
    why = rounds.why_no_more
    outcomes = [_outcome(case, test, why) for case, test in zip(cases, tests, strict=True)]
    if timed is not None:
        for number, outcome in enumerate(outcomes):
            if outcome.seconds is not None:
                timed(number, outcome.seconds)
    remarks = (NOT_FINISHED,) if rounds.interrupt is not None else ()
    section = structs.replace(section_of(outcomes, remarks), repeats=rounds.how)
    raise_if_stopped(rounds, section)
    return section


def _test(number: int, case: E2ECase) -> Repeated[CaseOutcome]:
    test: Repeated[CaseOutcome] = Repeated(number, sum(turn.user is not None for turn in case.turns) or 1)
    if case.expects_nothing:
        test.add(_run(CaseOutcome(skipped_case(case, EXPECTS_NOTHING), Exercised())), usual=True)
    return test


def _run(outcome: CaseOutcome) -> Run[CaseOutcome]:
    return Run(outcome, _SIGNS.get(outcome.result.outcome, "left out"))


def _outcome(case: E2ECase, test: Repeated[CaseOutcome], why_unclear: str) -> CaseOutcome:
    """Return a case's result: that of the first run that shows what became of it, with all of its runs."""
    exercised = Exercised()
    for one in test.answers:
        exercised = exercised.with_all(one.answer.exercised)
    if not test.runs:
        not_run = skipped_case(case, f"not run: {why_unclear}")
        return CaseOutcome(test.answers[-1].answer.result if test.answers else not_run, exercised, test.seconds)
    repeats, result = test.repeats(), test.shown.result
    words = "" if repeats.outcome == "passed" else in_words(repeats, test.why_unclear(why_unclear))
    reason = "; ".join(part for part in (words, result.reason) if part) or None
    outcome = "unclear" if repeats.outcome == "unclear" else result.outcome
    result = structs.replace(
        result, passed=test.passes, outcome=outcome, reason=reason, repeats=repeats, difference=result.difference
    )
    return CaseOutcome(result, exercised, test.seconds)
