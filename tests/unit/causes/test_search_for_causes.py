"""Delta debugging over changed parts: which of them, taken back, make a test end as on the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from turncheck.causes.search import MOST_SINGLES, Taken, Trials, search

if TYPE_CHECKING:
    from collections.abc import Sequence


class Change:
    """A change of so many parts; each test needs certain ones to be taken back, and fails if ``spoilt`` ones are."""

    def __init__(self, parts: int, *needed: frozenset[int], spoilt: frozenset[frozenset[int]] = frozenset()) -> None:
        self.parts, self.needed, self.spoilt = parts, needed, spoilt
        self.tried: list[Taken] = []

    def run(self, taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        self.tried.append(taken)
        if any(spoils <= taken for spoils in self.spoilt):
            return frozenset()
        return frozenset(test for test in asked if self.needed[test] and self.needed[test] <= taken)

    def trials(self, *, cost: int = 1, groups: Sequence[Taken] = ()) -> Trials:
        order = range(self.parts)
        return Trials(self.parts, len(self.needed), self.run, lambda _: cost, lambda _: order, groups=groups)


def test_one_part_is_found_and_tests_with_one_cause_are_tried_together() -> None:
    change = Change(10, frozenset({4}), frozenset({4}), frozenset({4}))

    found = search(change.trials(), 100)

    assert found.causes == {0: (4,), 1: (4,), 2: (4,)}
    assert found.tried == 5  # parts 0 to 4
    assert len(change.tried) == found.tried + 1 == found.spent  # with one that takes nothing back


def test_two_that_only_do_it_together_are_both_named() -> None:
    change = Change(12, frozenset({3, 9}))

    found = search(change.trials(), 100)

    assert found.causes == {0: (3, 9)}


def test_tests_with_the_same_causes_name_them_alike_whichever_is_closest() -> None:
    change = Change(8, frozenset({2, 5, 6}), frozenset({2, 5, 6}))
    orders = (range(8), range(7, -1, -1))
    trials = structs.replace(change.trials(), closest=lambda test: orders[test])

    assert search(trials, 200).causes == {0: (2, 5, 6), 1: (2, 5, 6)}


def test_a_test_that_no_part_explains_has_no_cause() -> None:
    change = Change(6, frozenset(), frozenset({2}))

    found = search(change.trials(), 100)

    assert found.causes == {1: (2,)}
    assert found.unexplained == {0}


def test_a_test_that_ends_so_although_nothing_is_taken_back_has_no_cause() -> None:
    change = Change(6, frozenset({2}), frozenset({3}))
    run = change.run

    def unsteady(taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        return run(taken, asked) | ({0} & set(asked))

    found = search(structs.replace(change.trials(), run=unsteady), 100)

    assert found.causes == {1: (3,)}
    assert found.unexplained == {0}


def test_too_many_parts_together_are_no_cause() -> None:
    found = search(Change(8, frozenset(range(6))).trials(), 1_000)

    assert found.causes == {}
    assert found.unexplained == {0}


def test_the_budget_is_work_and_what_is_left_is_open() -> None:
    change = Change(10, frozenset({7}), frozenset({0}))

    found = search(change.trials(cost=10), 55)

    assert found.causes == {1: (0,)}
    assert found.unexplained == frozenset()
    assert found.spent == 50
    assert len(change.tried) == 5


def test_halving_finds_a_part_among_many() -> None:
    change = Change(200, frozenset({150}))

    found = search(change.trials(), 1_000)

    assert found.causes == {0: (150,)}
    assert found.tried < MOST_SINGLES + 20


def test_what_is_cheap_to_try_together_is_tried_before_everything() -> None:
    change = Change(60, frozenset({50}))

    found = search(change.trials(groups=[frozenset(range(40, 60)), frozenset(range(40))]), 1_000)

    assert found.causes == {0: (50,)}
    assert all(taken <= frozenset(range(40, 60)) for taken in change.tried[MOST_SINGLES + 1 :])


class Tipped(Change):
    """A change that a model learns from: its test passes if any of certain parts is taken back."""

    def run(self, taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        return frozenset(asked) if taken & self.needed[0] else frozenset()

    def learnt(self) -> Trials:
        return structs.replace(self.trials(), unsteady=frozenset(range(self.parts)))


def test_two_sentences_that_only_break_it_together_are_both_named() -> None:
    found = search(Tipped(8, frozenset({2, 5})).learnt(), 100)

    assert found.causes == {0: (2, 5)}


def test_of_those_that_tip_a_test_the_one_that_is_enough_is_named() -> None:
    """Without part 0 it passes as well; but with part 0 alone, too."""
    change = Change(8, frozenset({0}), frozenset({3}))

    def run(taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        return frozenset(asked) if 3 in taken or taken == {0} else frozenset()

    found = search(structs.replace(change.trials(), tests=1, run=run, unsteady=frozenset(range(8))), 100)

    assert found.causes == {0: (3,)}


def test_a_test_on_the_edge_has_no_proved_cause() -> None:
    """Whatever sentence is taken back, it passes: each trains another model."""
    found = search(Tipped(8, frozenset(range(8))).learnt(), 100)

    assert found.causes == {}
    assert found.on_edge == {0}
    assert not found.unexplained


@given(
    parts=st.integers(1, 40),
    needed=st.lists(st.frozensets(st.integers(0, 39), max_size=3), min_size=1, max_size=4),
    spoilt=st.frozensets(st.frozensets(st.integers(0, 39), min_size=2, max_size=3), max_size=3),
    budget=st.integers(0, 300),
)
def test_every_cause_holds_and_nothing_of_it_can_be_left_out(
    parts: int, needed: list[frozenset[int]], spoilt: frozenset[frozenset[int]], budget: int
) -> None:
    change = Change(parts, *needed, spoilt=spoilt)

    found = search(change.trials(), budget)

    assert found.spent <= budget
    assert not found.causes.keys() & found.unexplained
    for test, causes in found.causes.items():
        assert change.run(frozenset(causes), [test]) == {test}
        for part in causes:
            assert len(causes) == 1 or not change.run(frozenset(causes) - {part}, [test])
    assert search(Change(parts, *needed, spoilt=spoilt).trials(), budget) == found


@pytest.mark.parametrize("tests", [(), (frozenset({0}),)])
def test_without_parts_or_tests_nothing_is_tried(tests: tuple[frozenset[int], ...]) -> None:
    change = Change(0, *tests)

    found = search(change.trials(), 100)

    assert (found.causes, found.spent, change.tried) == ({}, 0, [])
