"""Tests of an assistant whose answers vary: asked in rounds, until their runs say how each fares."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, Protocol, TypeVar

from msgspec import UnsetType

from turncheck.comparison.repeats import RunBesideBase, Weighed, alarms, rate_test, weigh_pairs
from turncheck.engines.base import Engine, UtteranceAnswer, Workers
from turncheck.messages.errors import INTERRUPTED, CutShortError, EngineError
from turncheck.messages.phrasing import count
from turncheck.process.screen import duration
from turncheck.report.model import LONGEST_BASE, MOST_ERRORS, Attempt, HowRepeated, RepeatedOutcome, Repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence
    from concurrent.futures import Future

    from turncheck.engines.conversation import Parse
    from turncheck.evaluation.e2e_case import CaseOutcome
    from turncheck.settings.repeats import RepeatRules

_RUNS_THAT_TELL: Final = 5
"""A test that passes in half of its runs fails in so many of them once in 32 times."""
_OTHER_BASE: Final = "its shard took it for judged: it compared with other runs of the base"
_EVERY: Final = 15.0
"""Seconds between two messages about the progress of a round."""
Answer = TypeVar("Answer")
Section = TypeVar("Section")
Sign = Literal["passed", "failed", "error", "left out"]
Beside = Literal["", "p", "f"]


# What is known of a test from its base.


@dataclass(frozen=True, slots=True)
class BaseRuns:
    """The runs of a test on the base, and whether it counted as failed there."""

    runs: str = ""
    failed: bool = False

    @property
    def never_passes(self) -> bool:
        """Whether none of its runs passed, and there are enough to tell."""
        return len(self.runs) >= _RUNS_THAT_TELL and "P" not in self.runs.upper()


NO_RUNS: Final = BaseRuns()


def base_runs(repeats: Repeats | UnsetType, attempts: Attempt | UnsetType, *, passed: bool) -> BaseRuns:
    """Return the runs that a test of the base says something about; one that was run once has one."""
    if isinstance(repeats, UnsetType):
        runs = (passed,) if isinstance(attempts, UnsetType) else attempts.runs
        return BaseRuns("".join("P" if one else "F" for one in runs)[-LONGEST_BASE:], not passed)
    return BaseRuns(repeats.usual_runs, not passed and repeats.outcome != "unclear")


def by_key(keys: Iterable[Hashable], known: Iterable[tuple[Hashable, BaseRuns]]) -> list[BaseRuns]:
    """Return for each key the runs of the base's test with it; several tests of one key belong together in order."""
    found: dict[Hashable, list[BaseRuns]] = defaultdict(list)
    for key, runs in known:
        found[key].append(runs)
    return [found[key].pop(0) if found[key] else NO_RUNS for key in keys]


# How tests are run, and what that may cost.


class Run(NamedTuple, Generic[Answer]):
    """One run of a test; ``base``: how the base fared directly after it, ``p`` or ``f``, if it was asked."""

    answer: Answer
    sign: Sign
    seconds: float = 0.0
    base: Beside = ""


class Asked(Protocol[Answer]):
    """What runs a test, by its number and that of its run: here, or on the base if that can be asked."""

    def __call__(self, number: int, attempt: int) -> Run[Answer]:
        """Run it once.

        Raises:
            EngineError: the engine is gone.
        """


# Runs that were made elsewhere.


@dataclass(frozen=True, slots=True)
class RepeatedRun:
    """One of several runs of a test; ``answer`` is ``None`` if a sentence had none.

    ``base``: whether the base passed directly after it, if it was asked.
    """

    answer: CaseOutcome | Parse | UtteranceAnswer | None
    base: Literal["", "p", "f"] = ""


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """All runs of a test, in their order; ``why``: why there are no more, unless they say how it fares."""

    runs: tuple[RepeatedRun, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """What some tests of a run may cost: their share of the budget. ``tests``: how many share the false alarms."""

    turns: int
    seconds: float
    tests: int


@dataclass(frozen=True, slots=True)
class Repeating(Generic[Section]):
    """How the tests of a section are repeated, each of which was asked once.

    ``base``: returns the base's section; ``on_base``: the base itself, if it can be asked. ``workers``: how many are
    asked at once. ``share``: what they may cost. ``spent`` is told how many turns and seconds they took.
    """

    rules: RepeatRules
    base: Callable[[], Section | None]
    on_base: Engine | None = None
    workers: int = 1
    share: Share | None = None
    say: Callable[[str], None] = lambda _: None
    spent: Callable[[int, float], None] = lambda _, __: None

    def rounds(
        self,
        tests: Sequence[Repeated[Answer]],
        ask: Callable[[Engine, int], Run[Answer]],
        here: Engine,
        find_base: Callable[[Sequence[Repeated[Answer]]], None],
        *,
        number: int,
        what: str,
    ) -> Rounds[Answer]:
        """Run the tests in rounds; ``ask`` asks an engine for one of all tests by its number, below ``number``.

        Each is a ``what``.
        """

        def on(engine: Engine, number: int, _: int) -> Run[Answer]:
            return ask(engine, number)

        there = None if self.on_base is None else partial(on, self.on_base)
        rounds = Rounds(
            tests, self.rules, partial(on, here), find_base, self.workers, there, self.share, self.say, what=what
        )
        rounds.run()
        rounds.ensure_still_there(number)
        self.spent(rounds.turns, rounds.seconds)
        return rounds


# A test in progress.


@dataclass(eq=False)
class Repeated(Generic[Answer]):
    """The runs of one test so far, and what they say. ``turns``: how many messages a run of it sends.

    ``known``: its runs, if they were made elsewhere; ``why_known``: why there are no more, unless it was judged.
    """

    number: int
    turns: int = 1
    known: Sequence[Run[Answer]] | None = None
    why_known: str = ""
    answers: list[Run[Answer]] = field(default_factory=list)
    runs: str = ""
    errors: int = 0
    asked: int = 0
    base: BaseRuns = NO_RUNS
    verdict: RepeatedOutcome | None = None
    is_worse: bool = False
    """Whether the statistical test found it to be worse than it may be."""

    @property
    def failed(self) -> int:
        """How many of its runs failed."""
        return self.runs.upper().count("F")

    @property
    def passed(self) -> int:
        """How many of its runs passed."""
        return self.runs.upper().count("P")

    @property
    def seconds(self) -> float | None:
        """How long its runs took, if there were any."""
        return sum(run.seconds for run in self.answers) or None

    @property
    def is_over(self) -> bool:
        """Whether it is not run again: what it says is known, or it cannot be judged."""
        left_out = bool(self.answers) and self.answers[-1].sign == "left out"
        return self.verdict is not None or self.errors >= MOST_ERRORS or left_out

    @property
    def is_broken(self) -> bool:
        """Whether so many of its runs ended in an error that it is not known how it fares."""
        return self.verdict is None and self.errors >= MOST_ERRORS

    @property
    def is_wanted(self) -> bool:
        """Whether another run of it is needed, and may be had."""
        return not self.is_over and (self.known is None or len(self.answers) < len(self.known))

    @property
    def judged(self) -> list[Answer]:
        """The answers of the runs that passed or failed."""
        return [run.answer for run in self.answers if run.sign in {"passed", "failed"}]

    @property
    def beside_base(self) -> list[RunBesideBase]:
        """Its runs that passed or failed, each with the base's that followed it."""
        return [
            RunBesideBase(run.sign == "failed", run.base == "f" if run.base else None)
            for run in self.answers
            if run.sign in {"passed", "failed"}
        ]

    @property
    def passes(self) -> bool:
        """Whether it counts as passed."""
        return self.verdict in {"passed", "flaky"}

    @property
    def shown(self) -> Answer:
        """The answer of the first run that shows what became of it."""
        sign = "passed" if self.passes else "failed"
        return next((run.answer for run in self.answers if run.sign == sign), self.judged[0])

    def add(self, run: Run[Answer], *, usual: bool) -> None:
        """Add a run; ``usual``: one of those that every test gets."""
        self.base = replace(self.base, runs=f"{self.base.runs}{run.base}"[-LONGEST_BASE:])
        self.answers.append(run)
        if run.sign == "error":
            self.errors += 1
        elif run.sign != "left out":
            sign = "P" if run.sign == "passed" else "F"
            self.runs += sign if usual else sign.lower()

    def repeats(self) -> Repeats:
        """Return its runs as the report has them."""
        return Repeats(runs=self.runs, outcome=self.verdict or "unclear", errors=self.errors, base=self.base.runs)

    def written(self, of: Callable[[Run[Answer]], Any], why_unclear: str) -> RepeatedRuns:
        """Return its runs to be judged elsewhere; ``of``: returns what is kept of a run."""
        runs = tuple(RepeatedRun(of(run), run.base) for run in self.answers)
        return RepeatedRuns(runs, "" if self.verdict is not None else self.why_unclear(why_unclear))

    @property
    def errors_in_words(self) -> str:
        """``3 runs ended in an error; 1 of 1 other passed``."""
        return f"{self.errors} runs ended in an error; {self.passed} of {count(len(self.runs), 'other')} passed"

    def why_unclear(self, otherwise: str) -> str:
        """Return why its runs do not say how it fares."""
        if self.errors >= MOST_ERRORS:
            return f"{self.errors} runs ended in an error"
        return otherwise if self.known is None else self.why_known or _OTHER_BASE


def in_words(repeats: Repeats, why_unclear: str = "") -> str:
    """Return ``regressed: 0 of 6 runs pass; base 19 of 20``; of what is unclear, the outcome of the test says that."""
    base = f"base {repeats.base_passed} of {len(repeats.base)}" if repeats.base else "the base has no runs of it"
    why = f" ({why_unclear})" if repeats.outcome == "unclear" and why_unclear else ""
    runs = count(len(repeats.runs), "run passes", "runs pass")
    outcome = "" if repeats.outcome == "unclear" else f"{repeats.outcome}: "
    return f"{outcome}{repeats.passed} of {runs}; {base}{why}"


# All tests of one kind.


@dataclass(eq=False)
class Rounds(Generic[Answer]):
    """Tests in progress, and what is left of their share of the budget.

    ``here``, ``on_base``: run a test; ``on_base`` is ``None`` if the base cannot be asked. ``find_base``: called once,
    after every test has run, gives each that was judged its runs on the base; it takes nothing of the budget.
    ``say``: is told how far it is. ``clock``: the seconds that have passed.
    """

    tests: Sequence[Repeated[Answer]]
    rules: RepeatRules
    here: Asked[Answer]
    find_base: Callable[[Sequence[Repeated[Answer]]], None]
    workers: int = 1
    on_base: Asked[Answer] | None = None
    share: Share | None = None
    """What they may cost; ``None``: they are all tests of the run."""
    say: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    what: str = "case"
    """What a test is called."""
    begin: float = field(init=False)
    turns: int = 0
    is_short: bool = False
    """Whether a test was not run since its turns were too many for what was left."""
    lost: dict[int, EngineError] = field(default_factory=dict)
    base_lost: EngineError | None = None
    """Why the base is not asked any more."""
    interrupt: KeyboardInterrupt | None = None

    def __post_init__(self) -> None:
        """Note when it began."""
        self.begin = self.clock()

    @property
    def how(self) -> HowRepeated:
        """The rules, as the report has them."""
        return HowRepeated(first=self.rules.first, most=self.rules.most, false_alarms=self.rules.false_alarms)

    @property
    def seconds(self) -> float:
        """How many seconds it has taken."""
        return self.clock() - self.begin

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of how the base was asked."""
        if self.base_lost is None:
            return ()
        return (f"The base was not asked in turn with this side to the end: {self.base_lost.message}.",)

    @property
    def stopped(self) -> EngineError | KeyboardInterrupt | None:
        """What ended it before its time."""
        return self.interrupt or (self.lost[min(self.lost)] if self.lost else None)

    @property
    def why_no_more(self) -> str:
        """Why tests that are not decided are not run again."""
        if self.interrupt is not None:
            return INTERRUPTED
        if self.lost:
            return self.lost[min(self.lost)].message
        return self._out_of_budget or f"after {self.rules.most} runs, the most that are allowed"

    @property
    def _allowed(self) -> Share:
        return self.share or Share(self.rules.turns, self.rules.seconds, len(self.tests))

    @property
    def _seconds_left(self) -> float:
        return self._allowed.seconds - self.seconds

    @property
    def _out_of_budget(self) -> str:
        """Why no more runs are made; empty: there may be more."""
        share = self._allowed
        if all(test.known is not None for test in self.tests):  # the budget was kept where they were run
            return ""
        if self._seconds_left <= 0:
            return _used_up(count(round(share.seconds), "second"), is_all=share.seconds >= self.rules.seconds)
        if self.is_short or self.turns >= share.turns:
            return _used_up(count(share.turns, "turn"), is_all=share.turns >= self.rules.turns)
        return ""

    @property
    def _runs(self) -> int:
        return sum(len(test.answers) for test in self.tests)

    def run(self) -> None:
        """Run the tests in rounds, until all are judged or no more can be run."""
        first, most = self.rules.first, self.rules.most
        while wanted := [test for test in self.tests if test.is_wanted and len(test.runs) < first]:
            before = self._runs
            if before:
                self._say_progress()
            self._ask(wanted, usual=True)
            if self.interrupt is not None:
                self._settle()
                return
            if self.lost or self._out_of_budget or self._runs == before:
                break
        try:
            self._compare()
        except KeyboardInterrupt as error:
            self.interrupt = error
            self._settle()
            return
        self._decide()
        while wanted := [test for test in self.tests if test.is_wanted and first <= len(test.runs) < most]:
            if self.lost or self._out_of_budget:
                break
            self._say_progress()
            before = self._runs
            self._ask(wanted, usual=False)
            if self.interrupt is not None or self._runs == before:
                break
            self._decide()

    def ensure_still_there(self, number: int) -> None:
        """Note that the engine is gone, if tests end in errors, and it does not answer others either.

        If it does, the errors say something of these tests alone: they cost nothing but these. ``number``: how many
        tests there are, those of others included.
        """
        broken = [test.number for test in self.tests if test.is_broken and test.known is None]
        if not broken or self.stopped is not None:
            return
        good = [test.number for test in self.tests if test.judged and not test.is_broken]
        own = {test.number for test in self.tests}
        try:
            for other in [*good, *(one for one in range(number) if one not in own)][:MOST_ERRORS]:
                if self.here(other, 0).sign != "error":
                    return
        except EngineError as error:
            self.lost[broken[0]] = error
            return
        what = f"{count(len(broken), 'answer')} could not be had: {MOST_ERRORS} tries each went wrong"
        self.lost[broken[0]] = EngineError(what)

    def _compare(self) -> None:
        """Find the runs of the base; also of tests that never failed, which a later change is compared with."""
        begin = self.clock()
        self.find_base([test for test in self.tests if test.runs or test.errors])
        self.begin += self.clock() - begin

    def _ask(self, wanted: Sequence[Repeated[Answer]], *, usual: bool) -> None:
        """Run each of these tests once more, as far as the budget goes."""
        workers = Workers(min(self.workers, len(wanted)))
        futures: list[tuple[Repeated[Answer], Future[Run[Answer] | None]]] = []
        on_base = self.on_base is not None and not usual
        a_run = 2 if on_base else 1
        for test in wanted:
            if test.known is not None:
                test.add(test.known[len(test.answers)], usual=usual)
                continue
            turns = test.turns * a_run
            if self.turns + turns <= self._allowed.turns:
                self.turns += turns
                task = partial(self._both, test, test.asked, on_base=on_base)
                futures.append((test, workers.submit(task)))
                test.asked += 1
            else:
                self.is_short = True
        said = self.clock()
        added = 0
        try:
            for test, future in futures:
                if (run := Workers.result(future)) is not None:
                    test.add(run, usual=usual)
                added += 1
                if self.clock() - said >= _EVERY:
                    said = self.clock()
                    self._say_progress(sum(one.turns * a_run for one, _ in futures[added:]))
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
        finally:
            for test, future in futures[added:]:
                future.cancel()
                if future.done() and not future.cancelled() and not future.exception() and (run := future.result()):
                    test.add(run, usual=usual)
            workers.close()

    def _both(self, test: Repeated[Answer], attempt: int, *, on_base: bool) -> Run[Answer] | None:
        """Run a test once here and, directly after, on the base: a model that drifts meanwhile is the same to both.

        A base that no longer answers is not asked again: then its report alone says how it fares.
        """
        here = self._one(test, attempt)
        if here is None or not on_base or (base := self.on_base) is None:
            return here
        try:
            there = base(test.number, attempt).sign
        except EngineError as error:
            self.on_base, self.base_lost = None, error
            return here
        return here._replace(base="p" if there == "passed" else "f" if there == "failed" else "")

    def _one(self, test: Repeated[Answer], attempt: int) -> Run[Answer] | None:
        """Run a test once; ``None``: the engine is gone, or the time is up."""
        if self.lost or self._seconds_left <= 0:
            return None
        begin = self.clock()
        try:
            run = self.here(test.number, attempt)
        except EngineError as error:
            self.lost[test.number] = error
            return None
        return run._replace(seconds=self.clock() - begin)

    def _settle(self) -> None:
        """Note which tests have passed, without the base."""
        for test in self.tests:
            if test.verdict is None and len(test.runs) >= self.rules.first and not test.failed:
                test.verdict = "passed"

    def _decide(self) -> None:
        """Judge each test that may be judged by its runs so far."""
        self._settle()
        number = max(1, self._allowed.tests)
        before = sum(test.is_worse for test in self.tests)
        level = self.rules.false_alarms / number
        of_test: dict[int, tuple[Repeated[Answer], Weighed]] = {}
        for test in self.tests:
            if test.is_over or len(test.runs) < self.rules.first:
                continue
            if (weighed := self._weigh(test, level)) is None:
                test.verdict = _as_usual(test)
            else:
                of_test[test.number] = test, weighed
        evidence = {one: weighed.evidence for one, (_, weighed) in of_test.items()}
        worse = alarms(evidence, self.rules.false_alarms, number, before)
        for one, (test, weighed) in of_test.items():
            if one in worse:
                test.is_worse = True
                test.verdict = "regressed" if test.base.runs else "failed"
            elif weighed.is_usual:
                test.verdict = _as_usual(test)

    def _weigh(self, test: Repeated[Answer], level: float) -> Weighed | None:
        """Weigh the runs of a test; ``None``: nothing could be worse, or no number of runs that are allowed tells."""
        base, worth = test.base.runs.upper(), self.rules.worth
        is_beside = self.on_base is not None if test.known is None else any(run.base for run in test.known)
        if is_beside:
            if test.base.never_passes:
                return None
            before = base[: len(base) - sum(bool(run.base) for run in test.answers)]
            return weigh_pairs(test.beside_base, before.count("F"), len(before), worth, level)
        rates = rate_test(base.count("F"), len(base), worth)
        if rates is None or not rates.can_tell(self.rules.most, level):
            return None
        return rates.weigh(test.failed, test.passed, level)

    # --- how far it is -----------------------------------------------------------------------------------------------

    def _say_progress(self, under_way: int = 0) -> None:
        """Say how many runs were made, how many tests need more, and how long that takes, as fast as it went so far.

        How often a test that failed is still run, nobody knows: then the time is that of the most runs. ``under_way``:
        turns of this round that were not made yet.
        """
        first, most = self.rules.first, self.rules.most
        wanted = [test for test in self.tests if test.is_wanted]
        new = [test for test in wanted if len(test.runs) < first]
        left = len(new) + sum(bool(test.failed) and first <= len(test.runs) < most for test in wanted)
        if new:
            turns = [test.turns * (first - len(test.runs)) for test in new]
            of_what = f" for the first {first} runs of each"
        else:
            a_run = 1 if self.on_base is None else 2
            turns = [a_run * test.turns * (most - len(test.runs)) for test in wanted if test.failed]
            of_what = " more"
        seconds = self._time_of(turns, self._allowed.turns - self.turns + under_way)
        words = f", {'about' if new else 'at most'} {duration(seconds)}{of_what}" if seconds is not None else ""
        runs = sum(run.sign != "left out" for test in self.tests for run in test.answers)
        self.say(f"{count(runs, 'run')}, {count(left, self.what)} left{words}")

    def _time_of(self, turns: Sequence[int], allowed: int) -> float | None:
        """How long tests take that have so many turns left each, of which some run at once; ``None``: not known yet."""
        timed = [(test.turns, run.seconds) for test in self.tests for run in test.answers if run.seconds]
        if not timed:
            return None
        a_turn = sum(seconds for _, seconds in timed) / sum(number for number, _ in timed)
        one_by_one = max(sum(turns) / self.workers, *turns, 0)
        return max(0.0, min(a_turn * min(one_by_one, allowed), self._seconds_left))


def _used_up(budget: str, *, is_all: bool) -> str:
    return f"the budget of {budget} was used up" if is_all else f"its share of the budget, {budget}, was used up"


def _as_usual(test: Repeated[Answer]) -> RepeatedOutcome | None:
    """What a test is that is not worse than on the base: failed, as it was there, or flaky once a run has passed.

    One that never passes, neither here nor in so many runs there, has failed, whether or not there is a report of the
    base.
    """
    if test.base.failed or (test.base.never_passes and not test.passed):
        return "failed"
    return "flaky" if test.passed else None


def raise_if_stopped(rounds: Rounds[Answer], section: object) -> None:
    """Say that tests were not run to their end, with the section of what was.

    Raises:
        CutShortError: the engine failed, or the run was interrupted.
    """
    if rounds.stopped is not None:
        raise CutShortError(rounds.stopped, section)
