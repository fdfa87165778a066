"""End-to-end cases of an assistant whose answers vary: run in rounds, until their runs say how each fares."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from msgspec import UnsetType, structs

from turncheck.comparison.repeats import alarms, rate_test
from turncheck.engines.at_once import Workers
from turncheck.evaluation.answers import ASKED_HERE, DelegatedError, UnfitAnswerError
from turncheck.evaluation.e2e import EXPECTS_NOTHING, NOT_FINISHED, case_units, section_of
from turncheck.evaluation.e2e_case import CaseOutcome, RepeatedRun, RepeatedRuns, run_case, skipped_case
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
    from turncheck.evaluation.answers import Answers
    from turncheck.evaluation.e2e_case import CaseRun
    from turncheck.project.e2e.model import E2ECase
    from turncheck.report.conversations import RepeatedOutcome
    from turncheck.report.model import CaseResult, EndToEnd
    from turncheck.settings.repeats import RepeatRules

_MOST_ERRORS: Final = 3
"""After so many runs that ended in an error, a case is not run any more."""
_JUDGED: Final = frozenset({"passed", "failed"})
_OTHER_BASE: Final = "its shard took it for judged: it compared with other runs of the base"


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
    """The runs of one case so far, and what they say; ``known``: runs that were made elsewhere, if they were."""

    number: int
    case: E2ECase
    known: RepeatedRuns | None = None
    held: list[RepeatedRun] = field(default_factory=list)
    runs: str = ""
    errors: int = 0
    asked: int = 0
    base: BaseRuns = _NO_RUNS
    verdict: RepeatedOutcome | None = None
    is_worse: bool = False
    """Whether the test found it to be worse than it may be."""
    seconds: float = 0.0

    @property
    def outcomes(self) -> list[CaseOutcome]:
        """What came of each run."""
        return [one.outcome for one in self.held]

    @property
    def turns(self) -> int:
        """How many messages a run of it sends."""
        return turns_of(self.case)

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
        return bool(self.held) and self.held[-1].outcome.result.outcome == "skipped"

    @property
    def is_wanted(self) -> bool:
        """Whether another run of it is needed, and may be had."""
        return not self.is_over and (self.known is None or len(self.held) < len(self.known.runs))

    def add(self, run: RepeatedRun, *, usual: bool) -> None:
        """Add a run; ``usual``: one of those that every case gets."""
        self.base = replace(self.base, runs=f"{self.base.runs}{run.base}"[-LONGEST_BASE:])
        self.held.append(run)
        outcome = run.outcome
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
            why = why_unclear if self.known is None else self.known.why
            last = self.held[-1].outcome.result if self.held else skipped_case(self.case, f"not run: {why}")
            return CaseOutcome(last, exercised, self.seconds or None)
        if self.errors >= _MOST_ERRORS:
            why_unclear = f"{self.errors} runs ended in an error"
        elif self.known is not None:
            why_unclear = self.known.why or _OTHER_BASE
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


def turns_of(case: E2ECase) -> int:
    """Return how many messages a run of a case sends."""
    return sum(turn.user is not None for turn in case.turns) or 1


# All cases.


@dataclass(eq=False)
class _Suite:
    """All cases in progress, and what is left of the budget; ``in_all``: how many cases there are, also elsewhere."""

    cases: list[_Case]
    in_all: int
    rules: RepeatRules
    run: CaseRun
    engine: ConversationEngine | None
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
        return sum(len(case.held) for case in self.cases)

    def ask(self, wanted: Sequence[_Case], *, usual: bool) -> KeyboardInterrupt | None:
        """Run each of these cases once more, as far as the budget goes; an interrupt is returned."""
        workers = Workers(self.run.workers)
        futures: list[tuple[_Case, Future[RepeatedRun | None]]] = []
        on_base = self.base_engine is not None and not usual
        for case in wanted:
            if case.known is not None:
                case.add(case.known.runs[len(case.held)], usual=usual)
                continue
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
                if future.done() and not future.cancelled() and not future.exception() and (run := future.result()):
                    case.add(run, usual=usual)
            workers.close()
        return None

    def _both(self, case: _Case, attempt: int, *, on_base: bool) -> RepeatedRun | None:
        """Run a case once here and, directly after, on the base: a model that drifts meanwhile is the same to both.

        A base that no longer answers is not asked again: then its report alone says how it fares.
        """
        here = self._one(case, attempt)
        if here is None:
            return None
        if not on_base or (base := self.base_engine) is None:
            return RepeatedRun(here)
        try:
            there = run_case(base, case.case, self.run, attempt).result
        except EngineError:
            self.base_engine = None
            return RepeatedRun(here)
        beside: Literal["", "p", "f"] = "" if there.outcome not in _JUDGED else "p" if there.passed else "f"
        return RepeatedRun(here, beside)

    def _one(self, case: _Case, attempt: int) -> CaseOutcome | None:
        """Run a case once; ``None``: the engine is gone, or the time is up."""
        if self.engine is None:
            raise ValueError("a case has to be run, and there is no engine")
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
        number = self.in_all
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


def share_of(rules: RepeatRules, own: Sequence[E2ECase], cases: Sequence[E2ECase]) -> RepeatRules:
    """Return the rules for some of the cases: of the turns they get their share, by what their first runs take.

    The time is not shared: whoever runs the other cases does so at the same time.
    """
    part, whole = (sum(turns_of(case) for case in some if not case.expects_nothing) for some in (own, cases))
    return rules if part == whole else replace(rules, turns=rules.turns * part // whole)


def evaluate_repeatedly(
    engine: ConversationEngine | None,
    cases: Sequence[E2ECase],
    run: CaseRun,
    rules: RepeatRules,
    base: Callable[[], EndToEnd | None],
    *,
    base_engine: ConversationEngine | None = None,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    timed: Callable[[int, float], None] | None = None,
    answers: Answers = ASKED_HERE,
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
        base_engine: the base itself, if it can be asked: suspicious cases are run there, too, in turn.
        say: is told after each round how far it is.
        clock: the seconds that have passed.
        timed: called at the end with the index and the seconds of each case that was run.
        answers: the runs that are known, and where those go that are made here.

    Raises:
        DelegatedError: other cases are run elsewhere.
        UnfitAnswerError: what is known of a case is not its runs.
        CutShortError: the engine failed, or the run was interrupted; ``finished`` has what was measured until then.
    """
    units, own = _own_cases(cases, answers)
    if engine is None:
        clock = _no_time  # the budget was kept where the runs were made
    rules = share_of(rules, [case.case for case in own], cases)
    suite = _Suite(own, len(cases), rules, run, engine, clock, base_engine, clock())
    for case in suite.cases:
        if case.known is None and (why_not := _why_not_run(case.case)) is not None:
            case.held.append(RepeatedRun(CaseOutcome(skipped_case(case.case, why_not), Exercised())))
    interrupt = _run_rounds(suite, base, say)
    why = suite.out_of_budget or f"after {rules.most} runs, the most that are allowed"
    if interrupt is not None:
        why = NOT_FINISHED.removeprefix("not run: ")
    elif suite.lost:
        why = suite.lost[min(suite.lost)].what
    outcomes = [case.outcome(why) for case in suite.cases]
    is_whole = interrupt is None and not suite.lost
    for unit, case in zip(units, suite.cases, strict=True):
        if case.known is None and (is_whole or case.verdict is not None):
            answers.keep(unit, RepeatedRuns(tuple(case.held), "" if case.verdict is not None else why))
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
    if len(own) < len(cases):
        raise DelegatedError
    return section


def _no_time() -> float:
    return 0.0


def _own_cases(cases: Sequence[E2ECase], answers: Answers) -> tuple[list[str], list[_Case]]:
    """Return the cases that are known or run here, and the units that they are."""
    units: list[str] = []
    own: list[_Case] = []
    for case, unit in zip(cases, case_units(cases), strict=True):
        known = answers.known(unit)
        if known is not None and not isinstance(known, RepeatedRuns):
            raise UnfitAnswerError(unit)
        if known is not None or answers.is_asked(unit):
            own.append(_Case(len(own), case, known))
            units.append(unit)
    return units, own


def _why_not_run(case: E2ECase) -> str | None:
    if case.not_judged is not None:
        return f"not judged: {case.not_judged.why}"
    return EXPECTS_NOTHING if case.expects_nothing else None


def _run_rounds(
    suite: _Suite, base: Callable[[], EndToEnd | None], say: Callable[[str], None]
) -> KeyboardInterrupt | None:
    """Run the cases in rounds, until all are judged or no more can be run; an interrupt is returned."""
    first, most = suite.rules.first, suite.rules.most
    while wanted := [case for case in suite.cases if case.is_wanted and len(case.runs) < first]:
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
    while wanted := [case for case in suite.cases if case.is_wanted and first <= len(case.runs) < most]:
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
