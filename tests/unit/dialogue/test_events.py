"""Events and their JSON shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.dialogue.event_reading import from_json
from turncheck.dialogue.events import ActionExecuted, SlotSet, UserUttered

RECORDED = Path(__file__).parents[2] / "oracle" / "conversations"


def recorded_events() -> list[dict[str, object]]:
    files = sorted(RECORDED.glob("*/conversations.json"))
    contents = [json.loads(file.read_text()) for file in files]
    conversations = [one for content in contents for one in (content if isinstance(content, list) else [content])]
    flat = [one for content in conversations for one in content.get("conversations", [content])]
    return [event for conversation in flat for event in conversation["events"]]


def test_every_recorded_event_is_read_and_written_back_the_same() -> None:
    events = recorded_events()
    assert len(events) > 1000
    for shape in events:
        assert from_json(shape).to_json() == shape


@given(name=st.text(), value=st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), st.lists(st.text())))
def test_a_slot_event_survives_json(name: str, value: object) -> None:
    event = SlotSet(name, value)
    assert from_json(json.loads(json.dumps(event.to_json()))) == event


@pytest.mark.parametrize("shape", [{}, {"event": "nothing"}, {"event": "slot"}, {"event": "action"}])
def test_what_is_no_event_is_refused(shape: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"event"):
        from_json(shape)


def test_a_message_with_only_a_text_is_seen_by_its_text_and_one_with_only_an_intent_by_that() -> None:
    assert UserUttered("hi").use_text is True
    assert UserUttered(None, {"name": "greet"}).use_text is False
    assert UserUttered("hi", {"name": "greet"}).use_text is None


def test_who_predicted_an_action_does_not_decide_whether_two_are_equal() -> None:
    assert ActionExecuted("utter_hi", "RulePolicy", 1.0) == ActionExecuted("utter_hi")
    assert ActionExecuted("utter_hi") != ActionExecuted("utter_bye")
