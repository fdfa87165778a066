"""End-to-end cases of an assistant whose answers vary: run in rounds, until their runs say how each fares."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType, structs

from turncheck.comparison.repeats import alarms, rate_test
from turncheck.engines.at_once import Workers
from turncheck.evaluation.e2e import EXPECTS_NOTHING, NOT_FINISHED, section_of
from turncheck.evaluation.e2e_case import CaseOutcome, run_case, skipped_case
from turncheck.evaluation.e2e_steps import Exercised
from turncheck.messages.errors import CutShortError, EngineError, PassingError
from turncheck.messages.phrasing import count
from turncheck.report.conversations import LONGEST_BASE
from turncheck.report.model import HowRepeated, Repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from turncheck.comparison.repeats import RateTest
    from turncheck.engines.conversation import ConversationEngine
    from turncheck.evaluation.e2e_case import CaseRun
    from turncheck.project.e2e.model import E2ECase
    from turncheck.report.conversations import RepeatedOutcome
    from turncheck.report.model import CaseResult, EndToEnd
    from turncheck.settings.repeats import RepeatRules

_MOST_ERRORS: Final = 3
"""After so many runs that ended in an error, a case is not run any more."""
_JUDGED: Final = frozenset({"passed", "failed"})


# What is known of a case from its base.


@dataclass(frozen=True, slots=True)
class BaseRuns:
    """The runs of a case on the base, and whether it counted as failed there."""

    runs: str = ""
    failed: bool = False


_NO_RUNS: Final = BaseRuns()


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
        found.append(_runs_of(candidates[0]) if candidates else _NO_RUNS)
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


# A case in progress.


@dataclass(eq=False)
class _Case:
    """The runs of one case so far, and what they say."""

    number: int
    case: E2ECase
    outcomes: list[CaseOutcome] = field(default_factory=list)
    runs: str = ""
    errors: int = 0
    asked: int = 0
    base: BaseRuns = _NO_RUNS
    verdict: RepeatedOutcome | None = None
    is_worse: bool = False
    """Whether the test found it to be worse than it may be."""
    seconds: float = 0.0

    @property
    def turns(self) -> int:
        """How many messages a run of it sends."""
        return sum(turn.user is not None for turn in self.case.turns) or 1

    @property
    def failed(self) -> int:
        return self.runs.upper().count("F")

    @property
    def passed(self) -> int:
        return self.runs.upper().count("P")

    @property
    def is_over(self) -> bool:
        """Whether it is not run again: what it says is known, or it cannot be judged."""
        return self.verdict is not None or self.errors >= _MOST_ERRORS or self._is_left_out

    @property
    def _is_left_out(self) -> bool:
        return bool(self.outcomes) and self.outcomes[-1].result.outcome == "skipped"

    def add(self, outcome: CaseOutcome | None, base: CaseOutcome | None, *, usual: bool) -> None:
        """Add a run here, and one of the base; ``usual``: one of those that every case gets."""
        if base is not None and base.result.outcome in _JUDGED:
            runs = f"{self.base.runs}{'p' if base.result.passed else 'f'}"[-LONGEST_BASE:]
            self.base = replace(self.base, runs=runs)
        if outcome is None:
            return
        self.outcomes.append(outcome)
        self.seconds += outcome.seconds or 0.0
        if outcome.result.outcome == "error":
            self.errors += 1
        elif outcome.result.outcome in _JUDGED:
            sign = "P" if outcome.result.passed else "F"
            self.runs += sign if usual else sign.lower()

    def outcome(self, why_unclear: str) -> CaseOutcome:
        """Return its result: that of the first run that shows what became of it, with all of its runs."""
        exercised = Exercised()
        for one in self.outcomes:
            exercised = exercised.with_all(one.exercised)
        if not self.runs:
            last = self.outcomes[-1].result if self.outcomes else skipped_case(self.case, f"not run: {why_unclear}")
            return CaseOutcome(last, exercised, self.seconds or None)
        if self.errors >= _MOST_ERRORS:
            why_unclear = f"{self.errors} runs ended in an error"
        verdict = self.verdict or "unclear"
        repeats = Repeats(runs=self.runs, outcome=verdict, errors=self.errors, base=self.base.runs)
        passes = verdict in {"passed", "flaky"}
        shown = [one.result for one in self.outcomes if one.result.outcome in _JUDGED]
        result = next((one for one in shown if one.passed == passes), shown[0])
        words = "" if verdict == "passed" else in_words(repeats, why_unclear)
        reason = "; ".join(part for part in (words, result.reason) if part) or None
        outcome = "unclear" if verdict == "unclear" else result.outcome
        result = structs.replace(
            result, passed=passes, outcome=outcome, reason=reason, repeats=repeats, difference=result.difference
        )
        return CaseOutcome(result, exercised, self.seconds or None)


def in_words(repeats: Repeats, why_unclear: str = "") -> str:
    """Return ``regressed: 0 of 6 runs pass; base 19 of 20``."""
    base = f"base {repeats.base_passed} of {len(repeats.base)}" if repeats.base else "the base has no runs of it"
    why = f" ({why_unclear})" if repeats.outcome == "unclear" and why_unclear else ""
    return f"{repeats.outcome}: {repeats.passed} of {count(len(repeats.runs), 'run')} pass; {base}{why}"


# All cases.


@dataclass(eq=False)
class _Suite:
    """All cases in progress, and what is left of the budget."""

    cases: list[_Case]
    rules: RepeatRules
    run: CaseRun
    engine: ConversationEngine
    clock: Callable[[], float]
    base_engine: ConversationEngine | None = None
    """The base itself, if it can be asked: suspicious cases are run there in turn with this side."""
    begin: float = 0.0
    turns: int = 0
    is_short: bool = False
    """Whether a case was not run since its turns were too many for what was left."""
    lost: dict[int, EngineError] = field(default_factory=dict)

    @property
    def seconds_left(self) -> float:
        return self.rules.seconds - (self.clock() - self.begin)

    @property
    def out_of_budget(self) -> str:
        """Why no more runs are made; empty: there may be more."""
        if self.seconds_left <= 0:
            return f"the budget of {self.rules.seconds:,} seconds was used up"
        is_used = self.is_short or self.turns >= self.rules.turns
        return f"the budget of {self.rules.turns:,} turns was used up" if is_used else ""

    @property
    def runs(self) -> int:
        return sum(len(case.outcomes) for case in self.cases)

    def ask(self, wanted: Sequence[_Case], *, usual: bool) -> KeyboardInterrupt | None:
        """Run each of these cases once more, as far as the budget goes; an interrupt is returned."""
        workers = Workers(self.run.workers)
        futures: list[tuple[_Case, Future[tuple[CaseOutcome | None, CaseOutcome | None]]]] = []
        on_base = self.base_engine is not None and not usual
        for case in wanted:
            turns = case.turns * (2 if on_base else 1)
            if self.turns + turns <= self.rules.turns:
                self.turns += turns
                futures.append((case, workers.submit(partial(self._both, case, case.asked, on_base=on_base))))
                case.asked += 1
            else:
                self.is_short = True
        try:
            for _, future in futures:
                Workers.result(future)
        except KeyboardInterrupt as interrupt:
            return interrupt
        finally:
            for case, future in futures:
                future.cancel()
                if future.done() and not future.cancelled() and not future.exception():
                    here, there = future.result()
                    case.add(here, there, usual=usual)
            workers.close()
        return None

    def _both(self, case: _Case, attempt: int, *, on_base: bool) -> tuple[CaseOutcome | None, CaseOutcome | None]:
        """Run a case once here and, directly after, on the base: a model that drifts meanwhile is the same to both.

        A base that no longer answers is not asked again: then its report alone says how it fares.
        """
        here = self._one(case, attempt)
        if here is None or not on_base or (base := self.base_engine) is None:
            return here, None
        try:
            return here, run_case(base, case.case, self.run, attempt)
        except EngineError:
            self.base_engine = None
            return here, None

    def _one(self, case: _Case, attempt: int) -> CaseOutcome | None:
        """Run a case once; ``None``: the engine is gone, or the time is up."""
        if self.lost or self.seconds_left <= 0:
            return None
        begin = time.perf_counter()
        try:
            try:
                outcome = run_case(self.engine, case.case, self.run, attempt)
            except PassingError:
                outcome = run_case(self.engine, case.case, self.run, attempt)
        except EngineError as error:
            self.lost[case.number] = error
            return None
        return CaseOutcome(outcome.result, outcome.exercised, time.perf_counter() - begin)

    def settle(self) -> None:
        """Note which cases have passed, without the base."""
        for case in self.cases:
            if case.verdict is None and len(case.runs) >= self.rules.first and not case.failed:
                case.verdict = "passed"

    def decide(self) -> None:
        """Judge each case that may be judged by its runs so far."""
        self.settle()
        number = len(self.cases)
        before = sum(case.is_worse for case in self.cases)
        level = self.rules.false_alarms / max(1, number)
        tests: dict[int, RateTest] = {}
        for case in self.cases:
            if case.is_over or len(case.runs) < self.rules.first:
                continue
            base = case.base.runs.upper()
            test = rate_test(base.count("F"), len(base), self.rules.worth)
            if test is None or not test.can_tell(self.rules.most, level):
                case.verdict = _as_usual(case)
            else:
                tests[case.number] = test
        evidence = {one: test.evidence(self.cases[one].failed, self.cases[one].passed) for one, test in tests.items()}
        worse = alarms(evidence, self.rules.false_alarms, number, before)
        for one, test in tests.items():
            case = self.cases[one]
            if one in worse:
                case.is_worse = True
                case.verdict = "regressed" if case.base.runs else "failed"
            elif test.decide(case.failed, case.passed, level) == "usual":
                case.verdict = _as_usual(case)


def _as_usual(case: _Case) -> RepeatedOutcome | None:
    """What a case is that is not worse than on the base: failed, as it was there, or flaky once a run has passed."""
    if case.base.failed:
        return "failed"
    return "flaky" if case.passed else None


def evaluate_repeatedly(
    engine: ConversationEngine,
    cases: Sequence[E2ECase],
    run: CaseRun,
    rules: RepeatRules,
    base: Callable[[], EndToEnd | None],
    *,
    base_engine: ConversationEngine | None = None,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    timed: Callable[[int, float], None] | None = None,
) -> EndToEnd:
    """Run every case ``first`` times, then those again that failed, until it is known how they fare.

    Args:
        engine: what holds the conversations.
        cases: the cases.
        run: how they are run.
        rules: how often, and at what cost at most.
        base: returns the base's results; called once, after every case has run. It takes nothing of the budget.
        base_engine: the base itself, if it can be asked: suspicious cases are run there, too, in turn.
        say: is told after each round how far it is.
        clock: the seconds that have passed.
        timed: called at the end with the index and the seconds of each case that was run.

    Raises:
        CutShortError: the engine failed, or the run was interrupted; ``finished`` has what was measured until then.
    """
    suite = _Suite(
        [_Case(number, case) for number, case in enumerate(cases)], rules, run, engine, clock, base_engine, clock()
    )
    for case in suite.cases:
        if case.case.expects_nothing:
            case.outcomes.append(CaseOutcome(skipped_case(case.case, EXPECTS_NOTHING), Exercised()))
    interrupt = _run_rounds(suite, base, say)
    why = suite.out_of_budget or f"after {rules.most} runs, the most that are allowed"
    if interrupt is not None:
        why = NOT_FINISHED.removeprefix("not run: ")
    elif suite.lost:
        why = suite.lost[min(suite.lost)].what
    outcomes = [case.outcome(why) for case in suite.cases]
    if timed is not None:
        for number, outcome in enumerate(outcomes):
            if outcome.seconds is not None:
                timed(number, outcome.seconds)
    how = HowRepeated(first=rules.first, most=rules.most, false_alarms=rules.false_alarms)
    remarks = (NOT_FINISHED,) if interrupt is not None else ()
    section = structs.replace(section_of(outcomes, remarks), repeats=how)
    if interrupt is not None:
        raise CutShortError(interrupt, section)
    if suite.lost:
        raise CutShortError(suite.lost[min(suite.lost)], section)
    return section


def _run_rounds(
    suite: _Suite, base: Callable[[], EndToEnd | None], say: Callable[[str], None]
) -> KeyboardInterrupt | None:
    """Run the cases in rounds, until all are judged or no more can be run; an interrupt is returned."""
    first, most = suite.rules.first, suite.rules.most
    while wanted := [case for case in suite.cases if not case.is_over and len(case.runs) < first]:
        asked = suite.runs
        if interrupt := suite.ask(wanted, usual=True):
            suite.settle()
            return interrupt
        if suite.lost or suite.out_of_budget or suite.runs == asked:
            break
        say(_progress(suite, len(wanted)))
    try:
        _compare_with(suite, base)
    except KeyboardInterrupt as error:
        suite.settle()
        return error
    suite.decide()
    while wanted := [case for case in suite.cases if not case.is_over and first <= len(case.runs) < most]:
        if suite.lost or suite.out_of_budget:
            break
        say(_progress(suite, len(wanted)))
        asked = suite.runs
        if interrupt := suite.ask(wanted, usual=False):
            return interrupt
        if suite.runs == asked:
            break
        suite.decide()
    return None


def _compare_with(suite: _Suite, base: Callable[[], EndToEnd | None]) -> None:
    """Find the runs of the base; also of cases that never failed, which a later change is compared with."""
    begin = suite.clock()
    known = base()
    suite.begin += suite.clock() - begin
    judged = [case for case in suite.cases if case.runs]
    results = [next(one.result for one in case.outcomes if one.result.outcome in _JUDGED) for case in judged]
    for case, found in zip(judged, base_runs(results, known), strict=True):
        case.base = found


def _progress(suite: _Suite, left: int) -> str:
    minutes = max(0.0, suite.seconds_left) / 60
    time_left = f"{minutes:.0f} minutes" if minutes >= 2 else f"{minutes * 60:.0f} seconds"
    return f"{count(suite.runs, 'run')}, {count(left, 'case')} left, at most {time_left} more"
