"""Templates, variations and messages of responses."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.engines.embedded.actions.base import (
    MOST_FILLED,
    Responses,
    TemplateError,
    bot_event,
    fill,
    fill_text,
    render,
)
from turncheck.messages.finding import NOWHERE
from turncheck.project.model import Response, ResponseVariation


def responses(*variations: dict[str, Any], channel: str = "rest", seed: int = 0) -> Responses:
    content = tuple(ResponseVariation(variation, NOWHERE) for variation in variations)
    return Responses({"utter_x": Response("utter_x", content, NOWHERE)}, channel, random.Random(seed))


def test_the_dialogues_own_responses_know_all_responses_and_those_of_actions_do_not() -> None:
    """Rasa 3.6 gives them to `ActionBotResponse` alone, and interpolates with `str.format`."""
    made = responses({"text": "{domain_responses}"})
    assert text_of(made.generate("utter_x", {})) == "{'utter_x': [{'text': '{domain_responses}'}]}"
    assert text_of(made.generate("utter_x", {}, {})) == "{domain_responses}"
    assert text_of(responses({"text": "{}"}).generate("utter_x", {"a": 1})) == (
        "{'a': 1, 'domain_responses': {'utter_x': [{'text': '{}'}]}}"
    )


def text_of(made: dict[str, Any] | None) -> str | None:
    return None if made is None else made["text"]


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("Hi {name}", "Hi Ida"),
        ("Hi {nothing}", "Hi None"),
        ("Hi {name} and {unknown}", "Hi {name} and {unknown}"),
        ("{{name}}", "{name}"),
        ("{{name}} {name}", "{{name}} {name}"),
        ("{a b}", "spaced"),
        ("{tags}", "['x']"),
        ("100%", "100%"),
        ("{name!r}", "{name!r}"),
        ("{\n}", "{\n}"),
    ],
)
def test_a_template_is_filled_as_rasa_fills_it(template: str, filled: str) -> None:
    assert fill_text(template, {"name": "Ida", "nothing": None, "a b": "spaced", "tags": ["x"]}) == filled


@pytest.mark.parametrize("template", ["a { b", "a } b", "{\n", "{} {name}"])
def test_braces_that_do_not_match_are_an_error(template: str) -> None:
    with pytest.raises(TemplateError):
        fill_text(template, {"name": "Ida"})


@given(st.text(), st.dictionaries(st.text(min_size=1), st.text()))
def test_filling_gives_a_text_or_the_one_error_whatever_the_template(template: str, values: dict[str, str]) -> None:
    with suppress(TemplateError):
        assert isinstance(fill_text(template, values), str)


PIECES = st.sampled_from(
    ["{", "}", "{{", "[", "]", "{0[a]", "!r", ":", ">", "99999999", "\n", "a", "{a}", "{b}", "{c}", "{}", ".__class__"]
)
VALUES = st.dictionaries(
    st.sampled_from("abc"), st.one_of(st.text(max_size=9), st.just(">99999999"), st.lists(st.text()))
)


@pytest.mark.slow
@given(st.lists(PIECES).map("".join), VALUES)
def test_no_filled_text_is_longer_than_the_template_and_the_values_that_it_names(
    template: str, values: dict[str, Any]
) -> None:
    with suppress(TemplateError):
        longest = max(len(str(values)), 1)
        assert len(fill_text(template, values)) <= len(template) + template.count("{") * longest


@pytest.mark.parametrize("template", ["{0[text]:>{width}}", "{0!r:>{width}}", "{:\n>{width}}"])
def test_no_placeholder_pads_to_a_width(template: str, golden: Golden) -> None:
    """``str.format`` takes the width from another value here, and all memory for it."""
    with pytest.raises(TemplateError) as refused:
        fill_text(template, {"text": "x", "width": "99999999999"})
    golden(refused.value)


def test_a_large_value_is_not_filled_in_any_number_of_times() -> None:
    large = "x" * 100_000
    assert len(fill_text("{a}" * 10, {"a": large})) == MOST_FILLED
    with pytest.raises(TemplateError, match="more than 1,000,000 characters"):
        fill_text("{a}" * 11, {"a": large})
    with pytest.raises(TemplateError, match="more than 1,000,000 characters"):
        fill({"texts": ["{a}{a}", {"deep": ["{a}"] * 9}]}, {"a": large})


def test_a_long_text_is_named_by_its_beginning() -> None:
    with pytest.raises(TemplateError) as raised:
        fill_text("{" * 5001, {})
    assert len(str(raised.value)) < 200


@given(st.text(alphabet=st.characters(exclude_characters="{}")))
def test_a_text_without_braces_stays_as_it_is(text: str) -> None:
    assert fill_text(text, {"a": "b"}) == text


def test_a_template_cannot_reach_into_values() -> None:
    assert fill_text("{name.__class__}", {"name": "Ida"}) == "{name.__class__}"


def test_nested_payloads_are_filled_and_the_original_is_left_alone() -> None:
    payload = {"list": ["{a}", {"deep": "x {a}"}], "number": 3}
    assert fill(payload, {"a": 1}) == {"list": ["1", {"deep": "x 1"}], "number": 3}
    assert payload["list"] == ["{a}", {"deep": "x {a}"}]


def test_a_condition_that_holds_comes_before_the_default() -> None:
    speech = responses(
        {"text": "default"},
        {"text": "vip", "condition": [{"type": "slot", "name": "vip", "value": True}]},
    )
    assert text_of(speech.generate("utter_x", {"vip": True})) == "vip"
    assert text_of(speech.generate("utter_x", {"vip": "true"})) == "default"


def test_texts_in_conditions_are_compared_without_case() -> None:
    speech = responses({"text": "hit", "condition": [{"type": "slot", "name": "city", "value": "Rome"}]})
    assert text_of(speech.generate("utter_x", {"city": "rOME"})) == "hit"
    assert speech.generate("utter_x", {"city": "Oslo"}) is None


def test_the_channels_own_variation_comes_before_a_conditional_one() -> None:
    speech = responses(
        {"text": "conditional", "condition": [{"type": "slot", "name": "a", "value": 1}]},
        {"text": "own", "channel": "slack"},
        channel="slack",
    )
    assert text_of(speech.generate("utter_x", {"a": 1})) == "own"


def test_another_channels_variation_is_never_said() -> None:
    assert responses({"text": "x", "channel": "slack"}).generate("utter_x", {}) is None


def test_variations_are_chosen_by_the_seed_alone() -> None:
    variations = [{"text": str(number)} for number in range(20)]
    first, again = responses(*variations, seed=7), responses(*variations, seed=7)
    chosen = [text_of(first.generate("utter_x", {})) for _ in range(30)]
    assert chosen == [text_of(again.generate("utter_x", {})) for _ in range(30)]
    assert len(set(chosen)) > 5


def test_what_an_action_gives_wins_over_a_slot() -> None:
    assert text_of(responses({"text": "{a}"}).generate("utter_x", {"a": 1}, {"a": 2})) == "2"


def test_a_response_that_nobody_wrote_is_nothing() -> None:
    assert responses({"text": "a"}).generate("utter_y", {}) is None


def messages(content: dict[str, Any]) -> list[dict[str, Any]]:
    return list(render(bot_event(content)))


def test_text_and_image_are_two_messages() -> None:
    assert messages({"text": "a", "image": "i.png"}) == [{"text": "a"}, {"image": "i.png"}]


def test_an_empty_line_splits_a_text() -> None:
    assert messages({"text": " a\n\nb\nc "}) == [{"text": "a"}, {"text": "b\nc"}]


def test_quick_replies_come_as_buttons_and_elements_as_texts() -> None:
    made = messages({"text": "a", "quick_replies": [{"title": "t"}], "elements": [{"title": "e", "subtitle": "s"}]})
    assert made == [{"text": "a", "buttons": [{"title": "t"}]}, {"text": "e : s", "buttons": []}]


def test_buttons_without_a_text_are_a_message_of_their_own() -> None:
    assert messages({"buttons": [{"title": "t"}]}) == [{"buttons": [{"title": "t"}]}]


def test_custom_payload_and_attachment_are_kept_apart() -> None:
    assert messages({"custom": {"a": 1}, "attachment": "f.pdf"}) == [{"custom": {"a": 1}}, {"attachment": "f.pdf"}]


def test_keys_that_mean_nothing_to_a_channel_become_metadata() -> None:
    event = bot_event({"text": "a", "utter_action": "utter_x", "button_type": "vertical"})
    assert event.metadata == {"utter_action": "utter_x", "button_type": "vertical"}
