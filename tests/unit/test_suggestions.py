"""Names that an unknown one is close to."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from turncheck.validation.suggestions import suggestion


def test_a_close_name_is_suggested_and_a_far_one_is_not() -> None:
    assert suggestion("utter_gret", {"utter_greet", "utter_bye"}) == "Did you mean 'utter_greet'?"
    assert suggestion("weather", ["utter_greet"]) == ""
    assert suggestion("", ["utter_greet"]) == ""


def test_among_many_names_the_close_one_is_found() -> None:
    known = frozenset(f"ask_about_topic_{number}" for number in range(5000))
    assert suggestion("ask_abuot_topic_4170", known) == "Did you mean 'ask_about_topic_4170'?"
    assert suggestion("utter_gret", known | {"utter_greet"}) == "Did you mean 'utter_greet'?"


@given(st.text(alphabet="abcdefgh_", min_size=8, max_size=20), st.integers(0, 19))
def test_a_name_with_one_letter_too_many_is_found_among_many(name: str, place: int) -> None:
    known = frozenset({name, *(f"ask_about_topic_{number}" for number in range(300))})
    assert suggestion(f"{name[:place]}x{name[place:]}", known) == f"Did you mean '{name}'?"


def test_thousands_of_unknown_names_cost_little() -> None:
    known = frozenset(f"ask_about_topic_{number}" for number in range(3000))
    began = time.process_time()
    assert all(suggestion(f"ask_abuot_topic_{number}", known) for number in range(3000))
    assert time.process_time() - began < 8.0


def test_endless_names_are_compared_with_none() -> None:
    began = time.process_time()
    assert suggestion("ab" * 500_000, ["ab" * 499_999]) == ""
    assert time.process_time() - began < 1.0
