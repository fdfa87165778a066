"""The shapes of ``stub_custom_actions``: messages and events as in an action server's answer, key by key.

A stub is written by hand, so more is an error here than in a server's answer: a key that is never read, a number in
place of a string. What is valid here is an answer that Rasa accepts.
"""

from __future__ import annotations

from typing import Final

from turncheck.yaml_tree.shapes import Anything, Either, Key, Kinds, ListOf, MapOf, Number, Record, Text, Truth

_TEXT: Final = Text(is_typed=True)
_TEXT_OR_NOTHING: Final = Text(is_typed=True, or_nothing=True, what="a string, or nothing")
_NAME: Final = Text(is_typed=True, may_be_empty=False, what="a name")
_NAME_OR_NOTHING: Final = Text(is_typed=True, may_be_empty=False, or_nothing=True, what="a name, or nothing")
_MAP: Final = MapOf(Anything(), or_nothing=True)
_NUMBER: Final = Number(or_nothing=True)

# --- messages ---------------------------------------------------------------------------------------------------------

_BUTTONS: Final = ListOf(
    Record(
        "a button",
        {"title": Key(_TEXT, "What it shows.", required=True), "payload": Key(_TEXT, "What it sends.")},
        is_open=True,
    ),
    or_nothing=True,
    what="a list of buttons, each with a 'title' and perhaps a 'payload'",
)
_DATA: Final = {
    "buttons": Key(_BUTTONS, "Its buttons."),
    "quick_replies": Key(ListOf(_MAP, or_nothing=True, what="a list of maps"), "Buttons that go away once used."),
    "elements": Key(ListOf(_MAP, or_nothing=True, what="a list of maps"), "A carousel."),
    "attachment": Key(Anything(), "An attachment."),
    "image": Key(_TEXT_OR_NOTHING, "An image's address."),
    "custom": Key(Anything(), "A payload for the channel."),
}
_MESSAGE: Final = {
    "text": Key(_TEXT_OR_NOTHING, "Its text."),
    **_DATA,
    "template": Key(Anything(), "Written by rasa-sdk; it is not read."),
}
_RESPONSE: Final = Key(_NAME_OR_NOTHING, "A response of the domain; further keys fill its placeholders.", required=True)
_NAMED: Final = {"response": _RESPONSE, **_MESSAGE}
MESSAGE_KEYS: Final = tuple(_NAMED)
RESPONSES: Final = ListOf(
    Either(
        (
            Record("a message", _NAMED, marker="response", is_open=True),
            Record("a message", _MESSAGE, others=("response",)),
        ),
        "a map, such as 'text: …' or 'response: …'",
    ),
    or_nothing=True,
    what="a list of messages",
)

# --- events -----------------------------------------------------------------------------------------------------------

_ENTITIES: Final = ListOf(
    Record(
        "an entity",
        {
            "entity": Key(_TEXT, "Its type.", required=True),
            "value": Key(Anything(), "What it stands for.", required=True),
            "start": Key(Number(), "The index of its first character in the message."),
            "end": Key(Number(), "The index behind its last character."),
            "confidence": Key(_NUMBER, "How sure the extractor is, 0 to 1."),
            "extractor": Key(_TEXT_OR_NOTHING, "The component that found it."),
            "role": Key(_TEXT_OR_NOTHING, "Its role."),
            "group": Key(_TEXT_OR_NOTHING, "Its group."),
        },
        is_open=True,
    ),
    may_be_empty=True,
    what="a list of entities",
)
_INTENT: Final = Record(
    "an intent",
    {"name": Key(_TEXT, "The intent."), "confidence": Key(Number(), "How sure the classifier is, 0 to 1.")},
    is_open=True,
    may_be_empty=True,
)
_PARSED: Final = Record(
    "what was understood",
    {
        "text": Key(_TEXT_OR_NOTHING, "What the user said."),
        "intent": Key(_INTENT, "The intent that was understood."),
        "intent_ranking": Key(
            ListOf(_INTENT, may_be_empty=True, what="a list of intents"), "The most likely intents, the best first."
        ),
        "entities": Key(_ENTITIES, "The entities that were found."),
        "response_selector": Key(
            Record(
                "what response selectors chose",
                {
                    "all_retrieval_intents": Key(
                        ListOf(Anything(), may_be_empty=True), "The retrieval intents that there are.", required=True
                    )
                },
                is_open=True,
            ),
            "What response selectors chose.",
        ),
    },
    is_open=True,
    may_be_empty=True,
)
_ACTION: Final = {
    "policy": Key(_TEXT_OR_NOTHING, "The policy that predicted it."),
    "confidence": Key(_NUMBER, "How sure that policy was, 0 to 1."),
}
_LOOP: Final = {"name": Key(_TEXT_OR_NOTHING, "The loop; nothing ends it.", required=True)}


def _event(kind: str, **keys: Key) -> tuple[str, Record]:
    own: dict[str, Key] = {
        "event": Key(Text(one_of=(kind,)), "Which event it is.", required=True),
        **keys,
        "timestamp": Key(_NUMBER, "Ignored."),
        "metadata": Key(_MAP, "Kept with the event; nothing depends on it."),
    }
    return kind, Record(f"the event '{kind}'", own)


_KINDS: Final[tuple[tuple[str, Record], ...]] = (
    _event("slot", name=Key(_NAME, "The slot.", required=True), value=Key(Anything(), "Its value.", required=True)),
    _event("followup", name=Key(_NAME, "The action that comes next.", required=True)),
    _event("active_loop", **_LOOP),
    _event("form", **_LOOP),
    _event("loop_interrupted", is_interrupted=Key(Truth(), "Whether the loop is interrupted.")),
    _event("form_validation", validate=Key(Truth(), "Whether the form validates the next message.")),
    _event(
        "bot",
        text=Key(_TEXT_OR_NOTHING, "What the assistant says."),
        data=Key(Record("a message's data", _DATA, may_be_empty=True), "What the message has beside its text."),
    ),
    _event(
        "user",
        text=Key(_TEXT_OR_NOTHING, "What the user says."),
        parse_data=Key(_PARSED, "What was understood.", required=True),
        input_channel=Key(_TEXT_OR_NOTHING, "The channel it comes by."),
        message_id=Key(_TEXT_OR_NOTHING, "The message's own id."),
    ),
    _event(
        "action",
        name=Key(_TEXT_OR_NOTHING, "The action.", required=True),
        action_text=Key(_TEXT_OR_NOTHING, "What it says, in place of a name."),
        hide_rule_turn=Key(Truth(), "Whether policies other than rules shall not see it."),
        **_ACTION,
    ),
    _event("action_execution_rejected", name=Key(_NAME, "The action that declined.", required=True), **_ACTION),
    _event("entities", entities=Key(_ENTITIES, "Entities that are added to the message.", required=True)),
    _event(
        "user_featurization",
        use_text_for_featurization=Key(Anything(), "Whether policies see the message's text instead of its intent."),
    ),
    _event(
        "reminder",
        intent=Key(_NAME, "The intent that is triggered.", required=True),
        date_time=Key(_TEXT, "When, as in ISO 8601.", required=True),
        name=Key(_TEXT_OR_NOTHING, "The reminder's name."),
        entities=Key(Anything(), "The entities that come with the intent."),
        kill_on_user_msg=Key(Truth(), "Whether a message of the user cancels it."),
    ),
    _event(
        "cancel_reminder",
        name=Key(_TEXT_OR_NOTHING, "The name of the reminders to cancel."),
        intent=Key(_TEXT_OR_NOTHING, "The intent of the reminders to cancel."),
        entities=Key(Anything(), "The entities of the reminders to cancel."),
    ),
    _event(
        "agent",
        text=Key(_TEXT_OR_NOTHING, "What a human agent says."),
        data=Key(Anything(), "What the message has beside its text."),
    ),
    _event("export", path=Key(_TEXT_OR_NOTHING, "The file that the stories are written to.")),
    *map(_event, ("reset_slots", "restart", "rewind", "undo", "pause", "resume", "session_started")),
)
EVENT_SHAPES: Final = dict(_KINDS)
EVENTS: Final = ListOf(
    Kinds("an event", "event", EVENT_SHAPES, what="a map, such as 'event: slot'"),
    or_nothing=True,
    what="a list of events",
)
