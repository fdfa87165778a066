"""Whether all tests together fail more often than on the base: run again and again, until that is known.

What each of them says by itself is found with the few that failed; what all say, only with all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from turncheck.comparison import together
from turncheck.comparison.shares import ENOUGH_OF_A_BASE
from turncheck.evaluations.varying.attempts import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from turncheck.evaluations.varying.attempts import BudgetShare, RepeatedTest
    from turncheck.settings.repeats import RepeatRules


@dataclass(eq=False)
class AllTogether(Generic[Answer]):
    """The tests of one kind, as long as all are run again since they may fail more often than on the base.

    ``is_beside``: whether a test is run on the base as well, which says more than the base's report.
    """

    tests: Sequence[RepeatedTest[Answer]]
    rules: RepeatRules
    share: BudgetShare
    is_beside: Callable[[RepeatedTest[Answer]], bool]
    is_open: bool = False
    in_turn: bool = False
    """Whether the base is asked in turn; else its report says how it fares."""
    is_cut_off: bool = False
    """Whether no more runs could be had before those in turn with the base said anything."""
    lacks_runs: bool = False
    """Whether more seem to fail, and the base's report has too few runs to tell, whatever is run here."""

    @property
    def members(self) -> list[RepeatedTest[Answer]]:
        """The tests that count: what is worse by itself needs no other evidence."""
        return [
            test
            for test in self.tests
            if test.known is None
            and test.runs
            and not (test.is_worse or test.is_left_out or test.is_broken or test.base.never_passes)
            and (self.is_beside(test) if self.in_turn else test.base.runs)
        ]

    @property
    def wanted(self) -> list[RepeatedTest[Answer]]:
        """The tests that are run once more; none if what they say is known."""
        return [test for test in self.members if len(test.runs) < self.rules.most] if self.is_open else []

    def begin(self, *, in_turn: bool, must_pass: bool) -> None:
        """Begin after the first runs, if any failed and the base's report does not say that as many did there.

        ``must_pass``: whether any failure is suspicious, also without a report of the base.
        """
        self.in_turn = in_turn
        tests = self.members
        if not (self.share.suffices_for_all and any(test.failed for test in tests)):
            return
        if not in_turn:
            self.is_open = True
            self.look()
        elif any(test.base.runs for test in tests):
            self.is_open = together.p_value_of_losses(_strata(tests), middle=True) < together.EVEN_CHANCE
        else:
            self.is_open = must_pass

    def look(self) -> None:
        """Look whether it is known by now, or not worth more runs."""
        if self.is_open:
            self.is_open = self._may_show_in_turn() if self.in_turn else self._may_show_in_report()

    def cut_off(self) -> None:
        """Run all others no more, whatever they say: the budget is for those that are suspicious by themselves."""
        tests = self.members
        pairs = sum(len(test.in_turn) // 2 for test in tests)
        self.is_cut_off |= self.is_open and self.in_turn and not together.are_enough(pairs, len(tests))
        self.is_open = False

    def worse(self) -> list[RepeatedTest[Answer]]:
        """Return those whose runs differ from the base's beyond chance, though not by as much as they must.

        By Holm's method. If all together fail more often, there is a loss, and each is looked at by itself.
        """
        chances = [(chance, test) for test in self.tests if (chance := _chance_of_loss(test)) is not None]
        chances.sort(key=lambda one: one[0])
        if self.finds_loss:
            return [test for chance, test in chances if chance <= self.rules.false_alarms]
        found: list[RepeatedTest[Answer]] = []
        for chance, test in chances:
            if chance > self._level / max(1, self.share.tests - len(found)):
                break
            found.append(test)
        return found

    @property
    def finds_loss(self) -> bool:
        """Whether all together fail more often than on the base."""
        tests = [test for test in self.tests if test.runs]
        if in_turn := [test.in_turn for test in tests if test.in_turn]:
            lost, gained, _ = together.pairs_of(in_turn)
            return together.evidence_of_pairs(lost, gained) >= together.alarm(self._level)
        strata = [one for one in _strata(tests) if one.runs and one.base_runs]
        runs = min((one.runs for one in strata), default=0)
        level = together.level_at(runs, self.rules.first, self.rules.most, self._level)
        return together.p_value_of_losses(strata, middle=True) <= level

    @property
    def _level(self) -> float:
        return together.allowed(self.rules.false_alarms, self.share.kinds)

    def _may_show_in_turn(self) -> bool:
        tests = self.members
        lost, gained, pairs = together.pairs_of(test.in_turn for test in tests)
        if together.evidence_of_pairs(lost, gained) >= together.alarm(self._level):
            return False
        lost, gained, _ = together.pairs_of(test.in_turn for test in _others(tests))
        if not together.are_enough(pairs, len(tests)):
            return lost > gained or not gained
        most = (self.rules.most - self.rules.first) * len(tests)
        return bool(tests) and together.may_still_show(lost, gained, max(1.0, most / pairs), self._level)

    def _may_show_in_report(self) -> bool:
        tests = self.members
        first, most = self.rules.first, self.rules.most
        runs = min((sum(map(str.isupper, test.runs)) for test in tests), default=most)
        if runs not in together.looks(first, most):
            return bool(tests)
        strata = _strata(tests)
        p_value = together.p_value_of_losses(strata, middle=True)
        if p_value <= together.level_at(runs, first, most, self._level):
            return False
        if runs > first:
            p_value = together.p_value_of_losses(_strata(_others(tests, half=True)), middle=True)
        if not together.is_worth_another_look(p_value, runs, first, most):
            return False
        has_few = sum(one.base_runs for one in strata) < ENOUGH_OF_A_BASE * len(strata)
        if has_few and not together.would_be_shown(strata, runs, most, self._level):
            self.lacks_runs = True
            return False
        return True


def _chance_of_loss(test: RepeatedTest[Answer]) -> float | None:
    """How likely so many runs fail of a test that is not known to be worse; ``None``: there is nothing to compare.

    One that is as usual may still differ: ``worth`` says what is usual.
    """
    if test.verdict not in {None, "flaky"} or test.is_broken or not (test.failed and test.passed and test.base.runs):
        return None
    stratum = together.stratum_of(test.runs.upper(), test.base.runs.upper(), test.in_turn)
    return together.p_value_of_losses([stratum], middle=True)


def _others(tests: Iterable[RepeatedTest[Answer]], *, half: bool = False) -> list[RepeatedTest[Answer]]:
    """What fails in at least half of its runs is found by itself, and no reason to run all others again.

    ``half``: with what fails in exactly half of them. Of the few at the first looks, that is as often chance.
    """
    return [test for test in tests if 2 * test.failed < len(test.runs) + half]


def _strata(tests: Iterable[RepeatedTest[Answer]]) -> list[together.Stratum]:
    return [together.stratum_of(test.runs, test.base.runs) for test in tests]
