"""Searches for the parts that make tests fail, by trying: delta debugging within a budget that is counted in work.

Each part is tried by itself first, the closest to a test before the others; a trial runs all tests that are not
explained yet. What no single part explains is searched by ``ddmin`` (Zeller and Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input", IEEE Transactions on Software Engineering 28(2), 2002): it ends with parts of which none can
be left out. What counts is work, never time: the same causes are found on any machine and at any load.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Taken = frozenset[int]
"""The parts that are taken back, by number."""

MOST_SINGLES: Final = 16
"""For one test so many parts are tried by themselves, before all of them are halved."""
MOST_TOGETHER: Final = 4
"""If more parts than this are needed together, none of them is a cause that somebody can act on."""


class Trials(Struct, frozen=True):
    """How parts are tried.

    ``run`` takes parts back and returns which of the given tests then end as on the base; ``cost`` is the work of it.
    ``closest`` orders parts by how close they are to a test, ``rank`` and ``learns`` tell parts that are cheap to try.
    """

    parts: int
    tests: int
    run: Callable[[Taken, Sequence[int]], frozenset[int]]
    cost: Callable[[Taken], int]
    closest: Callable[[int], Sequence[int]]
    groups: Sequence[Taken] = ()
    """Parts that are cheap to try together: those without language understanding, and those of it alone."""
    obvious: Mapping[int, int] = MappingProxyType({})
    """Tests of which no trial has to show the part without which they end as on the base."""
    unsteady: Taken = frozenset()
    """Parts that a model learns from which a test on the edge may be tipped by, whichever of them is taken back."""
    share_of_singles: int = 6
    """Trying parts by themselves may take this part of the budget for one test; halving takes fewer trials."""


class Found(Struct, frozen=True):
    """What was found: for each explained test its parts; ``unexplained`` tests end as here whatever is taken back.

    ``on_edge``: tests that many a part tips, none of which is enough. All others are open: the budget was used up.
    ``spent`` is the work, ``tried`` the number of trials.
    """

    causes: Mapping[int, tuple[int, ...]]
    unexplained: frozenset[int]
    spent: int
    tried: int
    on_edge: frozenset[int] = frozenset()


NOTHING_FOUND: Final = Found({}, frozenset(), 0, 0)


class _UsedUpError(Exception):
    """The next trial would exceed the budget."""


@dataclass
class _Search:
    trials: Trials
    budget: int
    spent: int = 0
    known: dict[Taken, dict[int, bool]] = field(default_factory=dict)
    causes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    unexplained: set[int] = field(default_factory=set)
    on_edge: set[int] = field(default_factory=set)

    def holds(self, taken: Taken, test: int) -> bool:
        """Whether a test ends as on the base without these parts; all open tests are tried with it."""
        results = self.known.setdefault(taken, {})
        if test not in results:
            cost = self.trials.cost(taken)
            if self.spent + cost > self.budget:
                raise _UsedUpError
            self.spent += cost
            asked = [one for one in range(self.trials.tests) if one not in results and self.is_open(one)]
            passed = self.trials.run(taken, asked)
            results.update({one: one in passed for one in asked})
        return results[test]

    def is_open(self, test: int) -> bool:
        return test not in self.causes and test not in self.unexplained and test not in self.on_edge

    def is_enough(self, parts: Taken, test: int) -> bool:
        """Whether a test ends as it does by these parts, of all that a model learns from; so if it costs too much.

        A test on the edge passes again without any of several sentences: none of them is what broke it.
        """
        others = self.trials.unsteady - parts
        if not others or not parts & self.trials.unsteady:
            return True
        try:
            return not self.holds(others, test)
        except _UsedUpError:
            return True

    def explain(self, test: int) -> None:
        """Find the cause of a test.

        Raises:
            _UsedUpError: it would take more work than is left.
        """
        ranked, tipping = self.trials.closest(test), list[int]()
        allowed = self.spent + max(self.budget // self.trials.share_of_singles, self.trials.cost(frozenset(ranked[:1])))
        for part in ranked[:MOST_SINGLES]:
            if self.spent + self.trials.cost(frozenset({part})) > allowed:
                break
            if self.holds(frozenset({part}), test):
                tipping.append(part)
                if self.is_enough(frozenset({part}), test):
                    self.causes[test] = (part,)
                    return
        if len(tipping) > MOST_TOGETHER:
            self.on_edge.add(test)
            return
        if tipping:
            self._name(tipping, test)
            return
        for group in (*self.trials.groups, frozenset(ranked)):
            if group and self.holds(group, test):
                parts = [part for part in ranked if part in group]
                self._name(self._least(parts, test), test)
                return
        self.unexplained.add(test)

    def _name(self, parts: Sequence[int], test: int) -> None:
        """Name these parts, unless they are too many, or others tip the test as well."""
        if not self.is_enough(frozenset(parts), test):
            self.on_edge.add(test)
        elif len(parts) > MOST_TOGETHER:
            self.unexplained.add(test)
        else:
            self.causes[test] = tuple(sorted(parts))  # tests with the same causes name them alike

    def _least(self, parts: Sequence[int], test: int) -> list[int]:
        """``ddmin``: return parts that together make the test end as on the base, none of which can be left out."""
        parts, pieces = list(parts), 2
        while len(parts) > 1:
            chunks = [parts[len(parts) * at // pieces : len(parts) * (at + 1) // pieces] for at in range(pieces)]
            rests = [[part for part in parts if part not in chunk] for chunk in chunks] if pieces > 2 else []
            smaller = next((one for one in (*chunks, *rests) if self.holds(frozenset(one), test)), None)
            if smaller is not None:
                pieces = max(pieces - 1, 2) if smaller in rests else 2
                parts = smaller
            elif pieces >= len(parts):
                return parts
            else:
                pieces = min(len(parts), 2 * pieces)
        return parts


def search(trials: Trials, budget: int) -> Found:
    """Search the cause of each test, within so much work.

    What ends as on the base although nothing is taken back does not depend on the change: nothing explains it.
    """
    searching = _Search(trials, budget, causes={test: (part,) for test, part in trials.obvious.items()})
    tests = range(trials.tests) if trials.parts else ()
    for test in tests:
        with suppress(_UsedUpError):
            if searching.is_open(test) and searching.holds(frozenset(), test):
                searching.unexplained.add(test)
    for test in tests:
        for taken, results in list(searching.known.items()):  # an earlier trial may have shown it already
            if searching.is_open(test) and len(taken) == 1 and results.get(test) and searching.is_enough(taken, test):
                searching.causes[test] = tuple(taken)
        if searching.is_open(test):
            try:
                searching.explain(test)
            except _UsedUpError:
                continue
    tried = sum(bool(results) for taken, results in searching.known.items() if taken)
    unexplained, on_edge = frozenset(searching.unexplained), frozenset(searching.on_edge)
    return Found(searching.causes, unexplained, searching.spent, tried, on_edge)
