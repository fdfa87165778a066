"""Names that an unknown one is close to."""

from __future__ import annotations

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from timing import Timing

from turncheck.messages.phrasing import suggestion


def test_a_close_name_is_suggested_and_a_far_one_is_not(golden: Golden) -> None:
    golden(suggestion("utter_gret", {"utter_greet", "utter_bye"}))
    assert suggestion("weather", ["utter_greet"]) == ""
    assert suggestion("", ["utter_greet"]) == ""


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("utter_hours", "utter_opening_hours"),
        ("utter_opening_hours_today", "utter_opening_hours"),
        ("action_order_check", "action_check_order"),
        ("utter_good_bye", "utter_goodbye"),
        ("opening_hours", "utter_opening_hours"),
        ("utter_Goodbye", "utter_goodbye"),
        ("utter_goodbey", "utter_goodbye"),
    ],
)
def test_a_renamed_one_is_found_by_its_words(name: str, meant: str) -> None:
    known = ["utter_ok", "utter_opening_hours", "utter_goodbye", "utter_ask_city", "action_check_order"]
    assert f"'{meant}'" in suggestion(name, known)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("utter_hours", ["utter_ok"]),
        ("utter_ask_name", ["utter_ask_city"]),
        ("action_pay", ["action_say_hello", "action_bill"]),
        ("nonsense", ["response-unused"]),
        ("order", ["order_pizza", "order_status", "cancel_order"]),  # which of them would be a guess
        ("hi", ["hey", "by"]),
        ("action_nothing", ["utter_nothing_to_cancel"]),
        ("mood_great", ["greet"]),
        ("utter_hello_again", ["utter_hallo"]),
        ("wether_today", ["whether"]),
        ("restaurant_form", ["utter_restart"]),
        ("action_set_topic", ["utter_ask_topic"]),
    ],
)
def test_what_names_of_a_kind_have_in_common_brings_them_no_nearer(name: str, known: list[str]) -> None:
    assert suggestion(name, known) == ""


@pytest.mark.parametrize(("slip", "meant"), [("ulr", "url"), ("rnu", "run"), ("teir", "tier"), ("jsn", "json")])
def test_slips_in_short_words_are_seen(slip: str, meant: str) -> None:
    assert f"'{meant}'" in suggestion(slip, [meant, "something"])


def test_among_many_names_the_close_one_is_found(golden: Golden) -> None:
    known = frozenset(f"ask_about_topic_{number}" for number in range(5000))
    golden(suggestion("ask_abuot_topic_4170", known))
    golden(suggestion("utter_gret", known | {"utter_greet"}))


@given(st.text(alphabet="abcdefgh_", min_size=8, max_size=20), st.integers(0, 19))
def test_a_name_with_one_letter_too_many_is_found_among_many(name: str, place: int) -> None:
    known = frozenset({name, *(f"ask_about_topic_{number}" for number in range(300))})
    assert f"'{name}'" in suggestion(f"{name[:place]}x{name[place:]}", known)


@pytest.mark.slow
def test_thousands_of_unknown_names_cost_little(timing: Timing) -> None:
    known = frozenset(f"ask_about_topic_{number}" for number in range(3000))
    with timing.at_most(8.0):
        assert all(suggestion(f"ask_abuot_topic_{number}", known) for number in range(3000))


def test_endless_names_are_compared_with_none(timing: Timing) -> None:
    with timing.at_most(1.0):
        assert suggestion("ab" * 500_000, ["ab" * 499_999]) == ""
