"""What a policy sees of slots."""

from __future__ import annotations

from typing import Any

import pytest
from dialogues import DIALOGUE, DOMAIN

from turncheck.dialogue.situation import SlotValues, features_of


@pytest.mark.parametrize(
    ("slot", "value", "features"),
    [
        ("city", "", (1.0,)),
        ("city", None, (0.0,)),
        ("known", True, (1.0, 1.0)),
        ("known", "FALSE", (1.0, 0.0)),
        ("known", "1", (1.0, 1.0)),
        ("known", "½", (0.0, 0.0)),
        ("known", [1], (0.0, 0.0)),
        ("kind", "b", (0.0, 1.0, 0.0)),
        ("kind", "elsewhere", (0.0, 0.0, 1.0)),
        ("kind", None, (0.0, 0.0, 0.0)),
        ("size", 20, (1.0, 1.0)),
        ("size", "2.5", (1.0, 0.25)),
        ("size", "much", (0.0, 0.0)),
        ("all", ["x"], (1.0,)),
        ("all", [], (0.0,)),
        ("note", "x", ()),
    ],
)
def test_features_are_those_of_rasa(slot: str, value: Any, features: tuple[float, ...]) -> None:
    assert features_of(DOMAIN.slots[slot], value) == features


def test_setting_a_slot_leaves_earlier_values_alone() -> None:
    before = SlotValues(DIALOGUE.slots)
    after = before.with_value("city", "Rome")
    assert (before.values["city"], after.values["city"]) == (None, "Rome")
    assert (dict(before.features), dict(after.features)) == ({}, {"city": (1.0,)})


def test_a_list_slot_wraps_a_single_value_and_an_unknown_slot_is_left_out() -> None:
    values = SlotValues(DIALOGUE.slots).with_value("all", "x").with_value("unknown", 1)
    assert values.values["all"] == ["x"]
    assert "unknown" not in values.values


def test_what_was_never_set_is_not_among_the_features_of_set_slots() -> None:
    values = SlotValues(DIALOGUE.slots).with_value("known", True)
    assert dict(values.features_of_set) == {"known": (1.0, 1.0)}
    assert dict(values.reset().features) == {}


def test_dialogues_that_set_the_same_slots_share_what_policies_see() -> None:
    before = SlotValues(DIALOGUE.slots)
    way = before.with_value("city", "Rome").with_value("known", True)
    other = before.with_value("known", True).with_value("city", "Rome")

    assert way is before.with_value("city", "Rome").with_value("known", True)
    assert way.features is other.features
    assert way.features_of_set is other.features_of_set


def test_equal_values_of_different_types_stay_apart() -> None:
    before = SlotValues(DIALOGUE.slots)
    values = [True, 1, 1.0, "1", ["1"], None]

    kept = [before.with_value("note", value).values["note"] for value in values]

    assert [(type(value), value) for value in kept] == [(type(value), value) for value in values]


def test_a_slot_is_what_it_was_set_to_however_many_others_there_were() -> None:
    before = SlotValues(DIALOGUE.slots)
    values = [f"{number}" for number in range(3_000)] * 2

    assert [before.with_value("city", value).values["city"] for value in values] == values
