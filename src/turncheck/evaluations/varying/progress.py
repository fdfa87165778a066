"""How far the rounds of repeated tests are: how many are left, and how long these take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turncheck.messages.phrasing import count
from turncheck.process.screen import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.evaluations.varying.attempts import RepeatedTest
    from turncheck.settings.repeats import RepeatRules


class Left(Struct, frozen=True):
    """The tests that are still run.

    How often a test that failed is run, nobody knows: then the time is that of the most runs. ``turns_of``: how many
    turns a run takes, on the base as well; ``is_run``: whether a test is run again after its first runs.
    """

    rules: RepeatRules
    wanted: Sequence[RepeatedTest[Any]]
    turns_of: Callable[[RepeatedTest[Any]], int]
    is_run: Callable[[RepeatedTest[Any]], bool]

    def in_words(
        self, tests: Sequence[RepeatedTest[Any]], what: str, workers: int, allowed: int, seconds_left: float
    ) -> str:
        """Return how many runs were made, how many tests need more, and how long that takes at the pace so far.

        Args:
            tests: all of them.
            what: what one is called.
            workers: how many are run at once.
            allowed: how many turns may still be made.
            seconds_left: how long it may still take.
        """
        first, most = self.rules.first, self.rules.most
        new = [test for test in self.wanted if len(test.runs) < first]
        left = len(new) + sum(first <= len(test.runs) < most for test in self.wanted)
        if new:
            turns = [test.turns * (first - len(test.runs)) for test in new]
            of_what = f" for the first {first} runs of each"
        else:
            turns = [self.turns_of(test) * (most - len(test.runs)) for test in self.wanted if self.is_run(test)]
            of_what = " more"
        seconds = _time_of(tests, turns, workers, allowed)
        words = ""
        if seconds is not None:
            shown = duration(max(0.0, min(seconds, seconds_left)))
            words = f", {'about' if new else 'at most'} {shown}{of_what}"
        runs = sum(run.sign != "left out" for test in tests for run in test.answers)
        return f"{count(runs, 'run')}, {count(left, what)} left{words}"


def _time_of(tests: Sequence[RepeatedTest[Any]], turns: Sequence[int], workers: int, allowed: int) -> float | None:
    """How long tests take that have so many turns left each, of which some run at once; ``None``: not known yet."""
    timed = [(test.turns, run.seconds) for test in tests for run in test.answers if run.seconds]
    if not timed:
        return None
    a_turn = sum(seconds for _, seconds in timed) / sum(number for number, _ in timed)
    one_by_one = max(sum(turns) / workers, *turns, 0)
    return a_turn * min(one_by_one, allowed)
