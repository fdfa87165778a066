"""Which tests of a run are repeated, and what is left of the budget that they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.evaluations.varying.attempts import BudgetShare
from turncheck.settings.repeats import ONCE, RepeatRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.report.evaluations import Evaluation


class RepeatedTests(Struct, frozen=True):
    """The tests of an evaluation that are repeated.

    ``turns``: how many messages their first runs send within the budget. That of the first time that a sentence or
    utterance is asked is not: it is what a run without repeats costs. ``part``: how much of them is run here.
    """

    number: int
    turns: int
    rules: RepeatRules
    part: Fraction = Fraction(1)

    @property
    def turns_here(self) -> int:
        """How many messages the first runs send of those that are run here."""
        return int(self.turns * self.part)


@dataclass(eq=False)
class RepeatPlan:
    """Which tests of a run are repeated, and what is left of the budget that they share.

    Each evaluation may use what its first runs take, and of the rest a part in proportion to these; what one leaves is
    for those after it. Of the turns, a shard has its part; of the time it has all, as the others run beside it.
    ``too_many``: whether sentences and utterances are so many that only those that fail are asked again.
    """

    rules: RepeatRules = ONCE
    tests: Mapping[Evaluation, RepeatedTests] = field(default_factory=dict)
    too_many: bool = False
    turns: int = 0
    seconds: float = 0.0
    done: set[Evaluation] = field(default_factory=set)

    def share(self, evaluation: Evaluation) -> BudgetShare:
        """Return what the tests of an evaluation may cost here, and how many tests share the false alarms."""
        left = {name: tests.turns_here for name, tests in self.tests.items() if name not in self.done}
        part = _part_of(evaluation, left)
        rest = max(0, self._turns_here - self.turns - sum(left.values()))
        seconds = max(0.0, self.rules.seconds - self.seconds)
        number = sum(tests.number for tests in self.tests.values())
        for_all = evaluation == "e2e" or not self.too_many
        return BudgetShare(left[evaluation] + int(rest * part), float(seconds * part), number, len(self.tests), for_all)

    @cached_property
    def _turns_here(self) -> int:
        """The turns of all tests that are run here: their part of what each evaluation may use."""
        if all(tests.part == 1 for tests in self.tests.values()):
            return self.rules.turns
        first = {name: tests.turns for name, tests in self.tests.items()}
        rest = max(0, self.rules.turns - sum(first.values()))
        return sum(int((turns + rest * _part_of(name, first)) * self.tests[name].part) for name, turns in first.items())

    def spend(self, evaluation: Evaluation, turns: int, seconds: float) -> None:
        """Take what an evaluation used from the budget; it is done."""
        self.turns += turns
        self.seconds += seconds
        self.done.add(evaluation)


def _part_of(evaluation: Evaluation, turns: Mapping[Evaluation, int]) -> Fraction:
    """Return an evaluation's part in proportion to the turns of first runs."""
    weights = {name: max(1, number) for name, number in turns.items()}
    return Fraction(weights[evaluation], sum(weights.values()))
