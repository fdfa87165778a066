"""Runs end-to-end cases: each is a conversation of its own, judged turn by turn."""

from __future__ import annotations

import time
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from turncheck.engines.base import Workers
from turncheck.evaluations.answers import COMPUTE_LOCALLY, Answers, DelegatedError, answers_here, unanswered, units_of
from turncheck.evaluations.e2e.case import CaseOutcome, CaseRun, run_case, skipped_case
from turncheck.evaluations.e2e.steps import Exercised, within_limits
from turncheck.messages.errors import INTERRUPTED, EngineError, IncompleteError, TransientError
from turncheck.messages.phrasing import count
from turncheck.report.model import Attempt, CaseResult, EndToEnd
from turncheck.work.workplace import Executor, batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from turncheck.engines.conversation import ConversationEngine
    from turncheck.project.e2e.model import E2ECase


NOT_RUN: Final = "an earlier case failed (--fail-fast)"
EXPECTS_NOTHING: Final = "the case expects nothing"


def case_units(cases: Iterable[E2ECase]) -> list[str]:
    """Return the names of the cases as units of answers."""
    return units_of("case", (case.name for case in cases))


def evaluate_cases(
    engine: ConversationEngine | None,
    cases: Sequence[E2ECase],
    run: CaseRun,
    finished: Callable[[CaseResult], None] | None = None,
    timed: Callable[[int, float], None] | None = None,
    *,
    answers: Answers = COMPUTE_LOCALLY,
    ended: Callable[[CaseOutcome], None] | None = None,
) -> EndToEnd:
    """Run the cases; the results are in the cases' order, whatever the number of workers.

    ``finished`` is called with each result in that order, once it is known; ``timed`` is called at the end with the
    index and the seconds of each case that was run, ``ended`` with the outcome of each case. A case is a unit of
    ``answers``; without an ``engine`` all of them are known, or asked elsewhere.

    Raises:
        DelegatedError: other cases are run elsewhere.
        UnfitAnswerError: what is known of a case is not the outcome of one run.
        IncompleteError: the engine failed during the run, or the run was interrupted; in ``finished``, cases that were
            not run to the end are skipped.
    """
    everything, units = cases, case_units(cases)
    own = answers_here(answers, units, CaseOutcome)
    here = [(everything[index], units[index], answer) for index, answer in own.items()]
    cases = [case for case, _, _ in here]
    lost: dict[int, EngineError] = {}
    unanswered: list[int] = []
    workers = Workers(run.workers)
    tasks = (
        partial(_run_and_note, engine, case, run, lost, number, unanswered)
        if known is None
        else partial(_as_known, known)
        for number, (case, _, known) in enumerate(here)
    )
    futures = [workers.submit(task) for task in tasks]
    try:
        outcomes, interrupt = _waited_for(cases, futures, run, lost, finished)
    finally:
        for future in futures:
            future.cancel()
        workers.close()
    first_lost = next((number for number in sorted(lost) if not outcomes[number].left_out), None)
    if first_lost is None or interrupt is not None:
        unanswered.clear()
    for number in unanswered:  # these errors are the engine's end, and say nothing of the cases
        outcomes[number] = _not_run(cases[number], lost)
    for number, ((_, unit, known), future) in enumerate(zip(here, futures, strict=True)):
        if known is not None or number in unanswered or not future.done() or future.cancelled():
            continue
        if (answer := future.result()) is not None:
            answers.keep(unit, answer)
    for index, outcome in enumerate(outcomes):
        if timed is not None and outcome.seconds is not None and outcome.result.outcome != "skipped":
            timed(index, outcome.seconds)
        if ended is not None:
            ended(outcome)
    section = section_of(outcomes, (INTERRUPTED,) if interrupt is not None else ())
    if interrupt is not None:
        raise IncompleteError(interrupt, section)
    if first_lost is not None:
        raise IncompleteError(lost[first_lost], section)
    if len(here) < len(everything):
        raise DelegatedError
    return section


def _waited_for(
    cases: Sequence[E2ECase],
    futures: Sequence[Future[CaseOutcome | None]],
    run: CaseRun,
    lost: Mapping[int, EngineError],
    finished: Callable[[CaseResult], None] | None,
) -> tuple[list[CaseOutcome], KeyboardInterrupt | None]:
    """Wait for the cases in their order; after an interrupt those that are not done are skipped."""
    outcomes: list[CaseOutcome] = []
    try:
        for case, future in zip(cases, futures, strict=True):
            outcomes.append(_outcome(case, future, run, outcomes, lost))
            if finished is not None:
                finished(outcomes[-1].result)
    except KeyboardInterrupt as interrupt:
        rest = list(zip(cases, futures, strict=True))[len(outcomes) :]
        outcomes += [
            (future.done() and future.result()) or CaseOutcome(skipped_case(case, INTERRUPTED), Exercised())
            for case, future in rest
        ]
        return outcomes, interrupt
    return outcomes, None


def _as_known(outcome: CaseOutcome) -> CaseOutcome:
    return outcome


def none_run(cases: Sequence[E2ECase], reason: str) -> EndToEnd:
    """Return the report's section for cases none of which could be run."""
    return section_of([CaseOutcome(skipped_case(case, reason), Exercised()) for case in cases], ())


def _outcome(
    case: E2ECase,
    future: Future[CaseOutcome | None],
    run: CaseRun,
    before: Sequence[CaseOutcome],
    lost: Mapping[int, EngineError],
) -> CaseOutcome:
    """Wait for a case; with ``fail_fast``, cases after a failed one are left out, whether they were run or not."""
    has_failed = before and before[-1].result.outcome in {"failed", "error"}
    stopped = run.fail_fast and (has_failed or (before and before[-1].left_out))
    if stopped:
        future.cancel()
        return CaseOutcome(skipped_case(case, NOT_RUN), Exercised(), left_out=True)
    outcome = Workers.result(future)
    return outcome or _not_run(case, lost)


def _not_run(case: E2ECase, lost: Mapping[int, EngineError]) -> CaseOutcome:
    # All before this one are done: the first lost case determines the reason for all, however many run at a time.
    return CaseOutcome(skipped_case(case, lost[min(lost)].message), Exercised())


def section_of(outcomes: Sequence[CaseOutcome], remarks: tuple[str, ...]) -> EndToEnd:
    results = within_limits([outcome.result for outcome in outcomes])
    exercised = reduce(Exercised.with_all, (outcome.exercised for outcome in outcomes), Exercised())
    return EndToEnd(
        cases=results,
        passed=sum(result.outcome == "passed" for result in results),
        failed=sum(result.outcome in {"failed", "error"} for result in results),
        skipped=sum(result.outcome == "skipped" for result in results),
        exercised=exercised.by_kind(),
        remarks=remarks,
    )


def run_unless_lost(
    engine: ConversationEngine | None, case: E2ECase, run: CaseRun, lost: dict[int, EngineError], number: int
) -> CaseOutcome | None:
    """Run the case, and run it again from the beginning if the engine failed in a way that may be temporary.

    ``None``: the engine failed, now or in an earlier case; the error is in ``lost``, by case.
    """
    if engine is None:
        raise ValueError("a case has to be run, and there is no engine")
    if any(earlier < number for earlier in list(lost)):
        return None
    begin = time.perf_counter()
    try:
        try:
            outcome = _run_repeatedly(engine, case, run)
        except TransientError:
            outcome = _run_repeatedly(engine, case, run, again=True)
    except EngineError as error:
        lost[number] = error
        return None
    return replace(outcome, seconds=time.perf_counter() - begin)


def _run_and_note(  # noqa: PLR0917 - as of one case, and where errors are noted
    engine: ConversationEngine | None,
    case: E2ECase,
    run: CaseRun,
    lost: dict[int, EngineError],
    number: int,
    unanswered: list[int],
) -> CaseOutcome | None:
    """Run the case; ``unanswered`` are the cases that ended in an error since the engine last answered."""
    outcome = run_unless_lost(engine, case, run, lost, number)
    if outcome is not None and outcome.result.outcome == "error":
        unanswered.append(number)
    elif outcome is not None and outcome.result.outcome != "skipped":
        unanswered.clear()
    return outcome


def _run_repeatedly(engine: ConversationEngine, case: E2ECase, run: CaseRun, *, again: bool = False) -> CaseOutcome:
    """Run the case as often as requested; the first failed attempt becomes the result."""
    if case.not_judged is not None:
        return CaseOutcome(skipped_case(case, f"not judged: {case.not_judged.why}"), Exercised())
    if case.expects_nothing:
        return CaseOutcome(skipped_case(case, EXPECTS_NOTHING), Exercised())
    outcomes = [run_case(engine, case, run, attempt, again=again) for attempt in range(run.repeat)]
    if run.repeat == 1:
        return outcomes[0]
    runs = tuple(outcome.result.passed for outcome in outcomes)
    good = sum(runs)
    shown = min(outcomes, key=_telling)
    attempts = Attempt(passed=good, of=run.repeat, runs=runs)
    result = replace(shown.result, attempts=attempts)
    if 0 < good < run.repeat:
        flaky = f"flaky: passed {good} of {run.repeat} times"
        result = replace(result, reason=f"{flaky}; {result.reason}" if result.reason else flaky)
    exercised = Exercised()
    for outcome in outcomes:
        exercised = exercised.with_all(outcome.exercised)
    return CaseOutcome(result, exercised)


def _telling(outcome: CaseOutcome) -> int:
    """Rank attempts: the first that failed, else the first in which something went wrong, becomes the result."""
    if not outcome.result.passed:
        return 0
    return 1 if outcome.result.warning is not None else 2


# End-to-end cases that are run by the workers of a cluster.


class CasesRun(Struct, frozen=True):
    """The answers of ``others``, and the outcomes of the cases that workers ran."""

    others: Answers
    outcomes: Mapping[str, CaseOutcome]

    def known(self, unit: str) -> Any | None:
        """Return the outcome of a case."""
        return self.outcomes.get(unit) or self.others.known(unit)

    def is_asked(self, unit: str) -> bool:
        """Whether ``others`` says so."""
        return self.others.is_asked(unit)

    def keep(self, unit: str, answer: Any) -> None:
        """Pass the answer on to ``others``."""
        self.others.keep(unit, answer)


_MET_BY_SILENCE: Final = frozenset({"bot_did_not_utter", "slot_was_not_set"})
"""Steps that also pass if the assistant does nothing at all."""
_ALWAYS_RUN: Final = frozenset({"action_session_start", "action_listen"})


def require_any_answer(section: EndToEnd) -> EndToEnd:
    """Return the section, unless cases passed only because the assistant never said or did anything, in any of them.

    A single case may expect silence; an assistant that is silent in all of them is not there.

    Raises:
        IncompleteError: so it is.
    """
    ran = [case for case in section.cases if case.outcome in {"passed", "failed", "unclear", "misunderstood"}]
    if not any(case.passed for case in ran) or any(map(_shows_life, ran)):
        return section
    turns = sum(len(case.messages) for case in ran)
    error = EngineError(
        f"no reply in any of {count(turns, 'turn')}: the assistant said nothing, so that nothing was tested",
        hint="Is it the right address, and are its replies where they are looked for (`replies` under `bot:`)?",
    )
    raise IncompleteError(error, section)


def _shows_life(case: CaseResult) -> bool:
    """Whether the assistant did anything in a case: it said something, or a step passed that silence does not meet."""
    traces = (case.opening, *(message.trace for message in case.messages))
    events = [event for trace in traces if trace is not None for event in trace.events]
    acted = any(event.kind == "bot" or (event.kind == "action" and event.name not in _ALWAYS_RUN) for event in events)
    met = any(step.outcome == "passed" and step.kind not in _MET_BY_SILENCE for step in case.steps)
    several = not isinstance(case.repeats, UnsetType) and len(set(case.repeats.runs.upper())) > 1
    return acted or met or several


def run_elsewhere(
    engine: ConversationEngine, cases: Sequence[E2ECase], run: CaseRun, answers: Answers, work: Executor
) -> Answers:
    """Have the requested cases run by workers, and return the answers with their outcomes.

    A case in which the engine failed has none: it is run here, which shows why.

    Raises:
        IncompleteError: the cluster could not go on, or the run was interrupted; in ``finished``, cases that were not
            run are skipped.
    """
    by_unit = dict(zip(case_units(cases), cases, strict=True))
    parts = batches([(unit, by_unit[unit]) for unit in unanswered(answers, by_unit)], work)
    outcomes: dict[str, CaseOutcome] = {}
    try:
        for _, found in work.each(_run_batch, (engine, run), parts, total=len(parts), kind="batch of cases"):
            for unit, outcome in found.items():
                outcomes[unit] = outcome
                answers.keep(unit, outcome)
    except (EngineError, KeyboardInterrupt) as error:
        stopped = IncompleteError(error)
        reason = INTERRUPTED if stopped.interrupted else stopped.message
        known = CasesRun(answers, outcomes)
        all_of_them = [
            known.known(unit) or CaseOutcome(skipped_case(case, reason), Exercised()) for unit, case in by_unit.items()
        ]
        raise IncompleteError(error, section_of(all_of_them, (INTERRUPTED,) if stopped.interrupted else ())) from error
    return CasesRun(answers, outcomes)


def _run_batch(
    shared: tuple[ConversationEngine, CaseRun], cases: Sequence[tuple[str, E2ECase]]
) -> dict[str, CaseOutcome]:
    engine, run = shared
    found = ((unit, run_unless_lost(engine, case, run, {}, 0)) for unit, case in cases)
    return {unit: outcome for unit, outcome in found if outcome is not None}
