"""The shapes of a file of end-to-end cases, key by key: what the reader accepts and what ``docs/`` publishes."""

from __future__ import annotations

from typing import Any, Final

from turncheck.yaml_tree.shapes import (
    Anything,
    Boolean,
    Either,
    Fraction,
    Key,
    Kinds,
    ListOf,
    MapOf,
    Number,
    Record,
    Text,
    json_schema,
)

# The shapes of ``stub_custom_actions``: messages and events as in an action server's answer, key by key.
#
# A stub is written by hand, so more is an error here than in a server's answer: a key that is never read, a number in
# place of a string. What is valid here is an answer that Rasa accepts.

_TEXT: Final = Text(is_typed=True)
_TEXT_OR_NOTHING: Final = Text(is_typed=True, nullable=True, what="a string, or nothing")
_STUB_NAME: Final = Text(is_typed=True, may_be_empty=False, what="a name")
_NAME_OR_NOTHING: Final = Text(is_typed=True, may_be_empty=False, nullable=True, what="a name, or nothing")
_MAP: Final = MapOf(Anything(), nullable=True)
_NUMBER: Final = Number(nullable=True)

# --- messages ---------------------------------------------------------------------------------------------------------

_BUTTONS: Final = ListOf(
    Record(
        "a button",
        {"title": Key(_TEXT, "What it shows.", required=True), "payload": Key(_TEXT, "What it sends.")},
        is_open=True,
    ),
    nullable=True,
    what="a list of buttons, each with a 'title' and perhaps a 'payload'",
)
_DATA: Final = {
    "buttons": Key(_BUTTONS, "Its buttons."),
    "quick_replies": Key(ListOf(_MAP, nullable=True, what="a list of maps"), "Buttons that go away once used."),
    "elements": Key(ListOf(_MAP, nullable=True, what="a list of maps"), "A carousel."),
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
    nullable=True,
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
    _event(
        "slot", name=Key(_STUB_NAME, "The slot.", required=True), value=Key(Anything(), "Its value.", required=True)
    ),
    _event("followup", name=Key(_STUB_NAME, "The action that comes next.", required=True)),
    _event("active_loop", **_LOOP),
    _event("form", **_LOOP),
    _event("loop_interrupted", is_interrupted=Key(Boolean(), "Whether the loop is interrupted.")),
    _event("form_validation", validate=Key(Boolean(), "Whether the form validates the next message.")),
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
        hide_rule_turn=Key(Boolean(), "Whether policies other than rules shall not see it."),
        **_ACTION,
    ),
    _event("action_execution_rejected", name=Key(_STUB_NAME, "The action that declined.", required=True), **_ACTION),
    _event("entities", entities=Key(_ENTITIES, "Entities that are added to the message.", required=True)),
    _event(
        "user_featurization",
        use_text_for_featurization=Key(Anything(), "Whether policies see the message's text instead of its intent."),
    ),
    _event(
        "reminder",
        intent=Key(_STUB_NAME, "The intent that is triggered.", required=True),
        date_time=Key(_TEXT, "When, as in ISO 8601.", required=True),
        name=Key(_TEXT_OR_NOTHING, "The reminder's name."),
        entities=Key(Anything(), "The entities that come with the intent."),
        kill_on_user_msg=Key(Boolean(), "Whether a message of the user cancels it."),
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
    nullable=True,
    what="a list of events",
)


_NAME: Final = Text(may_be_empty=False, what="a name")
_NAMES: Final = ListOf(_NAME, scalar_ok=True, nullable=True, what="a name, or a list of names")

# --- assertions -------------------------------------------------------------------------------------------------------

_FLOW: Final = Key(_NAME, "The flow's id.", required=True)


def _flows(kind: str) -> Record:
    return Record(
        f"the assertion '{kind}'",
        {
            "operator": Key(Text(one_of=("all", "any")), "Whether all of the flows, or one of them."),
            "flow_ids": Key(ListOf(_NAME, what="a list of flows"), "The flows.", required=True),
        },
    )


_FLOWS: Final = Either((_NAME, _flows("flow_started")), "a flow's id, or a map with 'flow_ids'")
_OFFERED: Final = Either(
    (ListOf(_NAME, what="a list of the flows' names"), _flows("pattern_clarification_contains")),
    "a list of the flows' names, or a map with 'flow_ids'",
)
_SLOT_ASSERTION: Final = ListOf(
    Record(
        "a slot of an assertion",
        {
            "name": Key(_NAME, "The slot.", required=True),
            "value": Key(Anything(), "Its value; omitted: any."),
        },
    ),
    scalar_ok=True,
    what="a list of slots, each with a 'name' and perhaps a 'value'",
)
_BUTTON: Final = Record("a button", {"title": Key(Text(), "What it shows."), "payload": Key(Text(), "What it sends.")})
_UTTER_NAME: Final = Key(_NAME, "The response that the message comes from.")


def _message(kind: str) -> Record:
    return Record(
        f"the assertion '{kind}'",
        {
            "utter_name": _UTTER_NAME,
            "text_matches": Key(
                Text(may_be_empty=False, is_pattern=True), "A regular expression that is found in the message."
            ),
            "buttons": Key(ListOf(_BUTTON, what="a list of buttons"), "Its buttons, all of them, in their order."),
        },
    )


def _judged_by_a_model(kind: str, **more: Key) -> Record:
    return Record(
        f"the assertion '{kind}'",
        {
            "threshold": Key(Fraction(), "The lowest score that is good enough."),
            "utter_name": _UTTER_NAME,
            "utter_source": Key(_NAME, "What made the message."),
            **more,
        },
    )


def _flow_ended(kind: str) -> Record:
    keys = {"flow_id": _FLOW, "flow_step_id": Key(_NAME, "The step at which it ended.")}
    return Record(f"the assertion '{kind}'", keys)


ASSERTIONS: Final[dict[str, Key]] = {
    "flow_started": Key(_FLOWS, "Flows that began in this turn."),
    "flow_completed": Key(_flow_ended("flow_completed"), "A flow that was completed in this turn."),
    "flow_cancelled": Key(_flow_ended("flow_cancelled"), "A flow that was cancelled in this turn."),
    "pattern_clarification_contains": Key(_OFFERED, "Flows that the user is asked to choose between."),
    "slot_was_set": Key(_SLOT_ASSERTION, "Slots that were set in this turn."),
    "slot_was_not_set": Key(_SLOT_ASSERTION, "Slots that were not set in this turn, or not to this value."),
    "action_executed": Key(_NAME, "An action that ran."),
    "bot_uttered": Key(_message("bot_uttered"), "One message meets all that is listed here."),
    "bot_did_not_utter": Key(_message("bot_did_not_utter"), "No message meets all that is listed here."),
    "generative_response_is_relevant": Key(
        _judged_by_a_model("generative_response_is_relevant"), "A model finds the message relevant to what was said."
    ),
    "generative_response_is_grounded": Key(
        _judged_by_a_model(
            "generative_response_is_grounded", ground_truth=Key(Text(), "What is true, in place of the sources.")
        ),
        "A model finds the message grounded in its sources.",
    ),
}

ASSERTION: Final = Record("an assertion", ASSERTIONS, single=True)

# --- steps and cases --------------------------------------------------------------------------------------------------

_SLOTS: Final = ListOf(
    Either((_NAME, MapOf(Anything(), what="a slot with its value")), "a slot, or a slot and its value"),
    scalar_ok=True,
    what="a list of slots: a name, or a name and a value",
)
USER: Final = Record(
    "a user step",
    {
        "user": Key(Text(), "What the user says.", required=True),
        "metadata": Key(_NAMES, "Names of metadata to send with it; they win over those of the case."),
        "assertions": Key(
            ListOf(ASSERTION, what="a list of assertions"),
            "What is asserted of the turn; other steps of the turn are then ignored.",
        ),
        "commands": Key(
            ListOf(Text(may_be_empty=False), what="a list of commands"),
            "What a dialogue understanding test expects of the message, such as `StartFlow(order)`; it is not run.",
        ),
        "assertion_order_enabled": Key(Boolean(), "Whether each must be met after the one before.", needs="assertions"),
    },
    marker="user",
)
EXPECTATION: Final = Record(
    "a step",
    {
        "bot": Key(Text(), "A message's exact text."),
        "utter": Key(_NAME, "The name of a response."),
        "slot_was_set": Key(_SLOTS, "Slots that were set in this turn: names, or names with values."),
        "slot_was_not_set": Key(_SLOTS, "Slots that were not set in this turn, or not to this value."),
    },
    others=("user",),
)
STEP: Final = Either((USER, EXPECTATION), "a map, such as 'user: …' or 'bot: …'")
CASE: Final = Record(
    "a test case",
    {
        "test_case": Key(_NAME, "The case's name, unique in the file.", required=True),
        "fixtures": Key(_NAMES, "Names of fixtures."),
        "metadata": Key(_NAMES, "Names of metadata to send with every message."),
        "steps": Key(
            ListOf(STEP, what="a list of steps"),
            "What the user says, and what is expected, in turn.",
            required=True,
        ),
    },
)

# --- the file ---------------------------------------------------------------------------------------------------------

_VALUES: Final = MapOf(Anything(), nullable=True, what="a map of names with their values")
NAMED: Final = ListOf(
    MapOf(
        ListOf(_VALUES, scalar_ok=True, nullable=True, what="names with their values"),
        single=True,
        what="a map with one key, its name",
    ),
    nullable=True,
)
STUBS: Final = MapOf(
    Record(
        "a stub",
        {
            "events": Key(EVENTS, "As an action server has them."),
            "responses": Key(RESPONSES, "As an action server has them."),
        },
        may_be_empty=True,
    ),
    nullable=True,
    what="a map of actions",
)
FILE: Final = Record(
    "a file of test cases",
    {
        "version": Key(Anything(), "Ignored."),
        "fixtures": Key(NAMED, "Named slots to fill before the first message."),
        "metadata": Key(NAMED, "Named metadata to send with user messages."),
        "stub_custom_actions": Key(
            STUBS, "What custom actions return instead of being called; `case::action` is for one case alone."
        ),
        "test_cases": Key(ListOf(CASE, nullable=True), "The cases.", required=True),
    },
    description="Files for `turncheck test e2e`, as Rasa Pro users write them.",
)

SHARED: Final = Record(
    "conftest.yml",
    {
        "version": Key(Anything(), "Ignored."),
        "fixtures": Key(Anything(), "As in a file of test cases, and held against the same shape."),
        "llm_judge": Key(Anything(), "Rasa Pro's: the model that judges answers."),
        "llm_e2e_test_conversion": Key(Anything(), "Rasa Pro's: the model that makes cases of conversations."),
    },
    may_be_empty=True,
)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of these files, as it is committed under ``docs/``."""
    from turncheck.report.codec import ADDRESS  # reading cases does not need msgspec

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}e2e_test_cases.schema.json",
        "title": "End-to-end test cases",
        **json_schema(FILE),
    }
