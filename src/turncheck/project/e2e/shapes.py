"""The shapes of a file of end-to-end cases, key by key: what the reader accepts and what ``docs/`` publishes."""

from __future__ import annotations

from typing import Any, Final

from turncheck.project.e2e.stub_shapes import EVENTS, RESPONSES
from turncheck.yaml_tree.shapes import Anything, Either, Key, ListOf, MapOf, Record, Share, Text, Truth, json_schema

_NAME: Final = Text(may_be_empty=False, what="a name")
_NAMES: Final = ListOf(_NAME, or_one=True, or_nothing=True, what="a name, or a list of names")

# --- assertions -------------------------------------------------------------------------------------------------------

_FLOW: Final = Key(_NAME, "The flow's id.", required=True)
_FLOWS: Final = Either(
    (
        _NAME,
        Record(
            "the assertion 'flow_started'",
            {
                "operator": Key(Text(one_of=("all", "any")), "Whether all of the flows, or one of them."),
                "flow_ids": Key(ListOf(_NAME, what="a list of flows"), "The flows.", required=True),
            },
        ),
    ),
    "a flow's id, or a map with 'flow_ids'",
)
_SLOT_ASSERTION: Final = ListOf(
    Record(
        "a slot of an assertion",
        {
            "name": Key(_NAME, "The slot.", required=True),
            "value": Key(Anything(), "Its value; omitted: any."),
        },
    ),
    or_one=True,
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
            "threshold": Key(Share(), "The lowest score that is good enough."),
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
    "pattern_clarification_contains": Key(
        ListOf(_NAME, what="a list of the flows' names"), "Flows that the user is asked to choose between."
    ),
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

# --- steps and cases --------------------------------------------------------------------------------------------------

_SLOTS: Final = ListOf(
    Either((_NAME, MapOf(Anything(), what="a slot with its value")), "a slot, or a slot and its value"),
    or_one=True,
    what="a list of slots: a name, or a name and a value",
)
USER: Final = Record(
    "a user step",
    {
        "user": Key(Text(), "What the user says.", required=True),
        "metadata": Key(_NAMES, "Names of metadata to send with it; they win over those of the case."),
        "assertions": Key(
            ListOf(Record("an assertion", ASSERTIONS, single=True), what="a list of assertions"),
            "What is asserted of the turn; other steps of the turn are then ignored.",
        ),
        "assertion_order_enabled": Key(Truth(), "Whether each must be met after the one before.", needs="assertions"),
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

_VALUES: Final = MapOf(Anything(), or_nothing=True, what="a map of names with their values")
NAMED: Final = ListOf(
    MapOf(
        ListOf(_VALUES, or_one=True, or_nothing=True, what="names with their values"),
        single=True,
        what="a map with one key, its name",
    ),
    or_nothing=True,
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
    or_nothing=True,
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
        "test_cases": Key(ListOf(CASE, or_nothing=True), "The cases.", required=True),
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
    from turncheck.report.schemas import ADDRESS  # reading cases does not need msgspec

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}e2e_test_cases.schema.json",
        "title": "End-to-end test cases",
        **json_schema(FILE),
    }
