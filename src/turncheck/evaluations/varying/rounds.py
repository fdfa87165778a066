"""Tests of an assistant whose answers vary: asked in rounds, until their runs say how each fares."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Final, Generic

from turncheck.comparison import repeats
from turncheck.comparison.shares import ENOUGH_OF_A_BASE
from turncheck.engines.base import Workers
from turncheck.evaluations.varying import progress
from turncheck.evaluations.varying.all_together import AllTogether
from turncheck.evaluations.varying.attempts import Answer, AskFunction, BudgetShare, RepeatedTest, Run
from turncheck.messages.errors import INTERRUPTED, EngineError, IncompleteError
from turncheck.messages.phrasing import count
from turncheck.report.repeats import MOST_ERRORS, RUNS_FOR_AN_ERROR, HowRepeated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from turncheck.evaluations.varying.base_runner import BaseRunner
    from turncheck.settings.repeats import RepeatRules, Worth

_MOST_LOST: Final = 0.1
"""What part of the runs in turn with the base may have nothing to compare, as one side ended in an error."""
_OF_BUDGET: Final = 0.5
"""What part of the turns left after the first runs may be used to run all again, also those that seem to pass."""


@dataclass(eq=False)
class Rounds(Generic[Answer]):
    """Tests in progress, and what is left of their share of the budget.

    ``here``, ``on_base``: run a test; ``on_base`` is ``None`` if the base cannot be asked, and opened when it first is.
    ``find_base``: called once, after every test has run, gives each that was judged its runs on the base, and returns
    how often the tests of the base fail, those of other shards, too. Neither takes anything of the budget.
    ``say``: is told how far it is. ``clock``: the seconds that have passed.
    """

    tests: Sequence[RepeatedTest[Answer]]
    rules: RepeatRules
    here: AskFunction[Answer]
    find_base: Callable[[Sequence[RepeatedTest[Answer]]], float]
    workers: int = 1
    on_base: BaseRunner[AskFunction[Answer]] | None = None
    share: BudgetShare | None = None
    """What they may cost; ``None``: they are all tests of the run."""
    say: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    every: float = 0.0
    """How many seconds are between two messages at least; 0: one after each test."""
    what: str = "case"
    """What a test is called."""
    must_pass: bool = True
    """Whether a test that never passes has failed, also if more runs could show that this is a chance."""
    worth: Callable[[], Worth] | None = None
    """Returns what the base and whoever started the run say of ``worth``; called once, after every test has run."""
    measures_base: bool = False
    """Whether the base is asked after each of the first runs as well, only for what its turns take."""
    begin: float = field(init=False)
    said: float = field(init=False)
    """When it last said how far it is."""
    turns: int = 0
    is_short: bool = False
    """Whether a test was not run since its turns were too many for what was left."""
    lost: dict[int, EngineError] = field(default_factory=dict)
    unanswered: list[int] = field(default_factory=list)
    """The test of each run that ended in an error since the engine last answered."""
    tolerates_worse: bool = False
    """Whether tests may fail more often by less than ``worth``, since somebody other than this change set that."""
    base_lost: EngineError | None = None
    """Why the base is not asked any more."""
    base_errors: list[int] = field(default_factory=list)
    """The test of each run of the base that ended in an error."""
    base_unanswered: list[RepeatedTest[Answer]] = field(default_factory=list)
    """The test of each of these since the base last answered."""
    base_gone: EngineError | None = None
    """Why the base, which had answered, does not any more."""
    typical: float = 0.0
    """How often tests of the base fail, by its report."""
    beside: int = 0
    """How many runs were made in turn with the base."""
    lost_in_turn: int = 0
    """How many of these were too many and have nothing to compare: one side ended in an error."""
    all: AllTogether[Answer] = field(init=False)
    interrupt: KeyboardInterrupt | None = None

    def __post_init__(self) -> None:
        """Note when it began."""
        self.begin = self.said = self.clock()
        self.all = AllTogether(self.tests, self.rules, self._allowed, self._is_run_beside)

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
        found = []
        if self.lost_in_turn:
            runs = count(self.lost_in_turn, "run")
            found.append(
                f"{runs} in turn with the base ended in an error on one side: too many for the others to count."
            )
        elif self.base_errors:
            runs = count(len(self.base_errors), "run")
            found.append(f"{runs} of the base, asked in turn with this side, ended in an error.")
        if self.all.is_cut_off:
            found.append(
                f"The budget does not suffice to run each {self.what} in turn with the base: its report counts."
            )
        if self.all.lacks_runs or any(map(self._lacks_runs_of_base, self.tests)):
            found.append(_too_few(self.what))
        if self.base_lost is not None:
            found.append(f"The base was not asked in turn with this side to the end: {self.base_lost.message}.")
        return tuple(found)

    def _lacks_runs_of_base(self, test: RepeatedTest[Answer]) -> bool:
        is_open = test.verdict is None and bool(test.runs) and not test.in_turn
        return is_open and self._base_is_too_short(test)

    def _base_is_too_short(self, test: RepeatedTest[Answer]) -> bool:
        base, worth = test.base.runs, self.rules.worth
        return repeats.base_is_too_short(test.failed, len(test.runs), base, worth, self.typical)

    @property
    def stopped(self) -> EngineError | KeyboardInterrupt | None:
        """What ended it before its time."""
        return self.interrupt or (self.lost[min(self.lost)] if self.lost else self.base_gone)

    @property
    def why_no_more(self) -> str:
        """Why tests that are not decided are not run again."""
        if self.interrupt is not None:
            return INTERRUPTED
        if self.lost:
            return self.lost[min(self.lost)].message
        return self._out_of_budget or f"after {self.rules.most} runs, the most that `repeats` allows"

    @property
    def _allowed(self) -> BudgetShare:
        return self.share or BudgetShare(self.rules.turns, self.rules.seconds, len(self.tests))

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
        first = self.rules.first
        while wanted := [test for test in self.tests if test.is_wanted and len(test.runs) < first]:
            before = self._runs
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
        self._run_again()
        self._conclude()

    def _run_again(self) -> None:
        """Run those that were not judged again, until they are or no more can be run.

        With them all others, as long as all together may fail more often than on the base.
        """
        most = self.rules.most
        turns = self.turns + _OF_BUDGET * (self._allowed.turns - self.turns)
        self.all.begin(in_turn=self.on_base is not None, must_pass=self.must_pass)
        while not (self.lost or self.interrupt is not None or self._out_of_budget):
            if self.all.in_turn and self.on_base is None:
                self.all.begin(in_turn=False, must_pass=self.must_pass)
            if self.turns >= turns or self.turns + self._turns_of(self.all.wanted) > self._allowed.turns:
                self.all.cut_off()
            if not self.all.is_open:
                self._judge_late()
            wanted = [test for test in self.tests if test.has_more or (test.is_wanted and len(test.runs) < most)]
            wanted += [test for test in self.all.wanted if test not in wanted]
            if not wanted:
                break
            before = self._runs
            self._ask(wanted, usual=False)
            if self._runs == before:
                break
            self._decide()
            if self.is_short:
                self.all.cut_off()
            self.all.look()
        lost = self.beside - sum(len(test.in_turn) // 2 for test in self.tests if test.known is None)
        self.lost_in_turn = lost if lost > _MOST_LOST * self.beside else 0
        if not self.lost and self.interrupt is None:
            self.all.cut_off()
        if self.lost_in_turn or self.all.is_cut_off:  # what is left is no fair sample: a side could choose what counts
            for test in self.tests:
                test.in_turn = ""

    def _turns_of(self, wanted: Iterable[RepeatedTest[Answer]]) -> int:
        """Return what it takes to run each of these once more, on the base as well if that is asked."""
        return sum((2 if self._is_run_beside(test) else 1) * test.turns for test in wanted)

    def _judge_late(self) -> None:
        """Judge those that failed when all were run again; if these are not few, each is a question of its own."""
        for test in self.tests:
            if test.is_late and test.verdict is None:
                weighed = self._weigh(test, self._level)
                test.is_late = False
                if weighed is None or not weighed.is_doubtful:
                    test.verdict = test.as_usual

    def stop(self, why: EngineError | KeyboardInterrupt) -> None:
        """Note what ended it before its first round."""
        if isinstance(why, KeyboardInterrupt):
            self.interrupt = why
        else:
            self.lost[0] = why

    def ensure_still_there(self, number: int, *, must_answer: bool = True) -> None:
        """Note that the engine is gone, if tests end in errors, and it does not answer others either.

        If it does, the errors say something of these tests alone: they cost nothing but these. Else those since its
        last answer are no errors of the tests. ``number``: how many tests there are, those of others included.
        ``must_answer``: whether an engine that has answered none of them counts as gone.
        """
        self._ensure_base_is_still_there()
        broken = [test.number for test in self.tests if test.is_broken and test.known is None]
        if broken and self.stopped is None and self.unanswered:
            self._probe(broken, number, must_answer=must_answer)
        if self.lost:
            self._withdraw_errors()

    def _probe(self, broken: Sequence[int], number: int, *, must_answer: bool) -> None:
        """Ask for tests that were answered before, until one is answered."""
        good = sorted((test for test in self.tests if test.judged), key=lambda test: test.is_broken)
        own = {test.number for test in self.tests}
        others = [*(test.number for test in good), *(one for one in range(number) if one not in own)]
        if not others and not must_answer:
            return
        last = next((run.why for test in self.tests for run in reversed(test.answers) if run.why), "")
        try:
            for other in others[:MOST_ERRORS]:
                run = self.here(other, 0)
                if run.sign != "error":
                    return
                last = run.why or last
        except EngineError as error:
            self.lost[broken[0]] = error
            return
        what = f"{count(len(broken), 'answer')} could not be had: {MOST_ERRORS} tries each went wrong"
        self.lost[broken[0]] = EngineError(last, hint=f"{what}.") if last else EngineError(what)

    def _ensure_base_is_still_there(self) -> None:
        """Note that the base is gone, if it only errs: also in tests that it has answered before."""
        base = self.on_base
        if base is None or not self.base_unanswered or self.stopped is not None:
            return
        known = [test for test in self.tests if test.base.runs[: len(test.base.runs) - len(test.in_turn) // 2]]
        known.sort(key=lambda test: test in self.base_unanswered)
        why = ""
        for test in islice(cycle(known), MOST_ERRORS):
            try:
                run = base.engine(test.number, 0)
            except EngineError as error:
                self.base_gone = _gone(error.message, error.hint)
                return
            if run.sign != "error":
                return
            why = run.why or why
        if known:
            self.base_gone = _gone(why or "it only errs")

    def _withdraw_errors(self) -> None:
        """Leave out the errors since the engine's last answer: they are its end, and say nothing of the tests."""
        ended = Counter(self.unanswered)
        for test in self.tests:
            test.errors = max(0, test.errors - ended[test.number])

    def _compare(self) -> None:
        """Find the runs of the base; also of tests that never failed, which a later change is compared with."""
        begin = self.clock()
        self.typical = self.find_base([test for test in self.tests if test.runs or test.errors])
        if self.worth is not None:
            worth = self.worth()
            self.rules, self.tolerates_worse = replace(self.rules, worth=worth.share), worth.is_set
        is_known = any(test.base.runs for test in self.tests)
        for test in self.tests:
            test.is_compared = is_known
        self.begin += self.clock() - begin

    def _is_run_beside(self, test: RepeatedTest[Answer]) -> bool:
        """Whether a test that is suspicious is run on the base as well."""
        base = self.on_base
        is_known = base is not None and (bool(test.base.runs) or not base.has_report())
        return base is not None and is_known and not any(base.shares(run.answer) for run in test.answers)

    def _open_base(self) -> bool:
        """Have the base ready, also for several at once; return whether it is: else its report says how it fares."""
        begin = self.clock()
        try:
            if self.on_base is not None:
                _ = self.on_base.engine
        except EngineError as error:
            self.on_base, self.base_lost = None, error
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
        self.begin += self.clock() - begin
        return self.on_base is not None and self.interrupt is None

    def _ask(self, wanted: Sequence[RepeatedTest[Answer]], *, usual: bool) -> None:
        """Run each of these tests once more, as far as the budget goes."""
        if any(test.known is None and self._is_asked_twice(test, usual=usual) for test in wanted):
            self._open_base()
        if self.interrupt is not None:
            return
        of_all = [] if usual or self.all.in_turn else self.all.wanted

        def add(test: RepeatedTest[Answer], run: Run[Answer]) -> None:
            test.add(run, usual=usual or test in of_all)
            self.beside += not usual and a_run[test.number] == 2 and (bool(run.base) or self.base_lost is None)

        workers = Workers(min(self.workers, len(wanted)))
        futures: list[tuple[RepeatedTest[Answer], Future[Run[Answer] | None]]] = []
        a_run = {test.number: 2 if self._is_asked_twice(test, usual=usual) else 1 for test in wanted}
        for test in wanted:
            if test.known is not None:
                test.add(test.known[len(test.answers)], usual=usual or len(test.answers) < test.known_usual)
                continue
            turns = test.turns * a_run[test.number]
            if self.turns + turns <= self._allowed.turns:
                self.turns += turns
                both = partial(self._both, counts=not usual) if a_run[test.number] == 2 else self._one
                task = partial(both, test, test.asked)
                futures.append((test, workers.submit(task)))
                test.asked += 1
            else:
                self.is_short = True
        added = 0
        try:
            for test, future in futures:
                if (run := Workers.result(future)) is not None:
                    add(test, run)
                added += 1
                self._say_progress(sum(one.turns * a_run[one.number] for one, _ in futures[added:]))
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
        finally:
            for test, future in futures[added:]:
                future.cancel()
                if future.done() and not future.cancelled() and not future.exception() and (run := future.result()):
                    add(test, run)
            workers.close()

    def _is_asked_twice(self, test: RepeatedTest[Answer], *, usual: bool) -> bool:
        """Whether the next run of a test is followed by one on the base."""
        return self.measures_base and self.on_base is not None if usual else self._is_run_beside(test)

    def _both(self, test: RepeatedTest[Answer], attempt: int, *, counts: bool) -> Run[Answer] | None:
        """Run a test once here and once on the base, one directly after the other: a model drifts for both alike.

        The base is asked first every second time: what is asked again may be answered faster. ``counts``: whether it
        matters how the base fares; else only what its turns take does.
        """
        first = self._one_on_base(test, attempt) if (test.number + attempt) % 2 else None
        here = self._one(test, attempt)
        there = first or (None if here is None else self._one_on_base(test, attempt))
        if here is None or there is None:
            return here
        sign = there.sign
        here = here._replace(base_turns=there.turns if sign in {"passed", "failed"} else ())
        if not counts:
            return here
        if sign == "error":
            self.base_errors.append(test.number)
            self.base_unanswered.append(test)
        else:
            self.base_unanswered.clear()
        return here._replace(base="p" if sign == "passed" else "f" if sign == "failed" else "")

    def _one_on_base(self, test: RepeatedTest[Answer], attempt: int) -> Run[Answer] | None:
        """Run a test once on the base, unless the time is up.

        A base that no longer answers is not asked again: then its report alone says how it fares, and the run fails.
        """
        base = self.on_base
        if base is None or self.lost or self._seconds_left <= 0:
            return None
        try:
            return base.engine(test.number, attempt)
        except EngineError as error:
            self.on_base, self.base_lost, self.base_gone = None, error, _gone(error.message, error.hint)
            return None

    def _one(self, test: RepeatedTest[Answer], attempt: int) -> Run[Answer] | None:
        """Run a test once; ``None``: the engine is gone, or the time is up."""
        if self.lost or self._seconds_left <= 0:
            return None
        begin = self.clock()
        try:
            run = self.here(test.number, attempt)
        except EngineError as error:
            self.lost[test.number] = error
            return None
        if run.sign == "error":
            self.unanswered.append(test.number)
        elif run.sign != "left out":
            self.unanswered.clear()
        return run._replace(seconds=self.clock() - begin)

    def _settle(self) -> None:
        """Note which tests have passed, without the base. Each run that ended in an error takes more that passed."""
        for test in self.tests:
            enough = min(self.rules.most, self.rules.first + RUNS_FOR_AN_ERROR * test.errors)
            if test.verdict is None and len(test.runs) >= enough and not test.failed:
                test.verdict = "passed"

    def _conclude(self) -> None:
        """Judge what is undecided when no more runs are made: a test that never passed must not pass for a chance.

        Nor does it pass if the base, asked in turn, never passed it either: there it may be the change that answers.
        """
        if self.lost or self.interrupt is not None:
            return
        self._judge_late()
        for test in self.tests:
            if test.verdict is not None or test.is_broken or not test.runs:
                continue
            if not test.failed and len(test.runs) >= self.rules.first:
                test.verdict = "passed"
            elif not test.passed and self.must_pass:
                test.verdict, test.is_concluded = "failed", True
        for test in self.all.worse():
            test.verdict, test.is_tolerated = "worse", self.tolerates_worse

    def _decide(self) -> None:
        """Judge each test that may be judged by its runs so far."""
        self._settle()
        number = max(1, self._allowed.tests)
        before = sum(test.is_worse for test in self.tests)
        of_test: dict[int, tuple[RepeatedTest[Answer], repeats.Weighed]] = {}
        for test in self.tests:
            if test.is_over or len(test.runs) < self.rules.first or not test.failed:
                continue  # one without a failure passes as soon as its errors allow it
            if (weighed := self._weigh(test, self._level)) is None:
                test.verdict = test.as_usual
            else:
                of_test[test.number] = test, weighed
        evidence = {one: weighed.evidence for one, (_, weighed) in of_test.items()}
        worse = repeats.alarms(evidence, self.rules.false_alarms, number, before)
        for one, (test, weighed) in of_test.items():
            if one in worse:
                test.is_worse, test.is_tolerated = True, self.tolerates_worse and test.loses_less_than(self.rules.worth)
                test.verdict = "worse" if test.is_tolerated else "regressed" if test.base.runs else "failed"
            elif weighed.is_usual:
                test.verdict = test.as_usual

    @property
    def _level(self) -> float:
        return self.rules.false_alarms / max(1, self._allowed.tests)

    def _weigh(self, test: RepeatedTest[Answer], level: float) -> repeats.Weighed | None:
        """Weigh the runs of a test; ``None``: nothing could be worse, or no number of runs that are allowed tells.

        If the base was asked and never answered, its report alone says how it fares.
        """
        base, worth = test.base.runs.upper(), self.rules.worth
        is_beside = any(run.base for run in test.known or test.answers)
        if test.known is None:
            is_beside = self._is_run_beside(test) and (is_beside or len(test.runs) <= self.rules.first)
        if is_beside:
            if test.base.never_passes:
                return None
            before = base[: len(base) - sum(bool(run.base) for run in test.answers)]
            return repeats.weigh_pairs(test.beside_base, before.count("F"), len(before), worth, level)
        rates = repeats.rate_test(base.count("F"), len(base), worth, self.typical)
        can_tell = rates is not None and rates.can_tell(self.rules.most, level)
        weighed = rates.weigh(test.failed, test.passed, level) if rates is not None and can_tell else None
        if self._base_is_too_short(test):
            return repeats.Weighed(0.0 if weighed is None else weighed.evidence, is_usual=False, is_doubtful=True)
        return weighed

    def _say_progress(self, under_way: int = 0) -> None:
        """Say how far it is; ``under_way``: turns of this round that were not made yet."""
        if self.clock() - self.said < self.every:
            return
        self.said = self.clock()
        with_all = self.all.wanted
        left = progress.Left(
            self.rules,
            [test for test in self.tests if test.is_wanted or test in with_all],
            turns_of=lambda test: (2 if self._is_run_beside(test) else 1) * test.turns,
            is_run=lambda test: bool(test.failed) or test in with_all,
        )
        allowed = self._allowed.turns - self.turns + under_way
        self.say(left.in_words(self.tests, self.what, self.workers, allowed, self._seconds_left))


def _gone(why: str, hint: str | None = None) -> EngineError:
    """Return the error of a base that does not answer, or not any more: that is no excuse for this side."""
    return EngineError(f"the base does not answer: {why}", hint=hint)


def _too_few(what: str) -> str:
    return (
        f"More runs fail than in the report of the base, which has too few of each {what} to tell whether all together"
        f" fail more often. Say where the base runs, or have its runs made with"
        f" `repeats: {{first: {ENOUGH_OF_A_BASE}}}`."
    )


def _used_up(budget: str, *, is_all: bool) -> str:
    return f"the budget of {budget} was used up" if is_all else f"its share of the budget, {budget}, was used up"


def raise_if_stopped(rounds: Rounds[Answer], section: object) -> None:
    """Say that tests were not run to their end, with the section of what was.

    Raises:
        IncompleteError: the engine failed, or the run was interrupted.
    """
    if rounds.stopped is not None:
        raise IncompleteError(rounds.stopped, section)
