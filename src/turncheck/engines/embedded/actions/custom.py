"""Custom actions: run by an action server, or stubbed by a test; the outcome of each is recorded."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.dialogue.event_reading import JsonObject, ShapeError, from_json, kind_of
from turncheck.dialogue.events import Event, UserUttered
from turncheck.dialogue.outward_events import BotUttered, ReminderScheduled
from turncheck.engines.action_server.server import CallFailedError
from turncheck.engines.conversation import ActionOutcome, ActionServer, CustomAction
from turncheck.engines.embedded.actions import base

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from turncheck.dialogue.situation import Loop
    from turncheck.dialogue.tracker import Tracker
    from turncheck.project.model import Domain, Entity, Form, Intent, Slot, SlotMapping


# The request to an action server: tracker and domain in the JSON shapes of Rasa 3.6.

RASA_VERSION = "3.6.21"
"""The Rasa version to claim: rasa-sdk compares it with its own version."""

Json = dict[str, Any]


def action_call(name: str, tracker: Tracker, *, with_domain: bool) -> Json:
    """Return the request that runs this action."""
    call: Json = {
        "next_action": name,
        "sender_id": tracker.name,
        "tracker": tracker_json(tracker),
        "version": RASA_VERSION,
    }
    if with_domain:
        call["domain"] = domain_json(tracker.domain.domain)
    return call


def tracker_json(tracker: Tracker) -> Json:
    """Return the state of the conversation with all its events."""
    message = tracker.latest_message
    parsed = message.content()["parse_data"]
    action = tracker.situation.latest_action
    return {
        "sender_id": tracker.name,
        "slots": dict(tracker.slots),
        "latest_message": {**parsed, "entities": [dict(entity) for entity in message.entities]},
        "latest_event_time": tracker.events[-1].timestamp if tracker.events else None,
        "followup_action": tracker.followup_action,
        "paused": tracker.paused,
        "events": [event.to_json() for event in tracker.events],
        "latest_input_channel": tracker.latest_input_channel,
        "active_loop": _loop_json(tracker.active_loop),
        "latest_action": {} if action is None else _without_none(action_name=action.name, action_text=action.text),
        "latest_action_name": tracker.latest_action_name,
    }


def _loop_json(loop: Loop | None) -> Json:
    if loop is None:
        return {}
    trigger = loop.trigger_message
    return {
        "name": loop.name,
        "is_interrupted": loop.is_interrupted,
        "rejected": loop.rejected,
        "trigger_message": None if trigger is None else trigger.content()["parse_data"],
    }


@lru_cache(maxsize=4)
def _domain_json(holder: _ById) -> Json:
    domain = holder.domain
    document: Json = {
        "version": "3.1",
        "session_config": {
            "session_expiration_time": domain.session.session_expiration_time,
            "carry_over_slots_to_new_session": domain.session.carry_over_slots_to_new_session,
        },
        "intents": [_intent_json(domain.intents[name]) for name in sorted(domain.intents)],
        "entities": [_entity_json(entity) for entity in domain.entities.values()],
        "slots": {name: _slot_json(slot) for name, slot in domain.slots.items()},
        "responses": {
            name: [dict(variation.content) for variation in response.variations]
            for name, response in domain.responses.items()
        },
        "actions": list(domain.actions),
        "forms": {name: _form_json(form) for name, form in domain.forms.items()},
        "e2e_actions": list(domain.end_to_end_actions),
    }
    return {key: value for key, value in document.items() if value not in ({}, [])}


class _ById:
    """A domain as a key of the cache: domains hold mappings and cannot be hashed by content."""

    __slots__ = ("domain",)

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def __hash__(self) -> int:
        return id(self.domain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.domain is self.domain


def domain_json(domain: Domain) -> Json:
    """Return the domain as its YAML would be read; the caller must not change it."""
    return _domain_json(_ById(domain))


def _intent_json(intent: Intent) -> str | Json:
    properties: Json = {}
    if intent.use_entities is not True:
        properties["use_entities"] = list(intent.use_entities) if intent.use_entities else []
    if intent.ignore_entities:
        properties["ignore_entities"] = list(intent.ignore_entities)
    return {intent.name: properties} if properties else intent.name


def _entity_json(entity: Entity) -> str | Json:
    properties: Json = {}
    if entity.roles:
        properties["roles"] = list(entity.roles)
    if entity.groups:
        properties["groups"] = list(entity.groups)
    if entity.influence_conversation is not None:
        properties["influence_conversation"] = entity.influence_conversation
    return {entity.name: properties} if properties else entity.name


def _slot_json(slot: Slot) -> Json:
    optional = _without_none(
        initial_value=slot.initial_value,
        influence_conversation=slot.influence_conversation,
        values=None if slot.values is None else list(slot.values),
        min_value=slot.min_value,
        max_value=slot.max_value,
        value_reset_delay=slot.value_reset_delay,
    )
    return {"type": slot.type, **optional, "mappings": [_mapping_json(mapping) for mapping in slot.mappings]}


def _mapping_json(mapping: SlotMapping) -> Json:
    conditions = [
        {"active_loop": c.active_loop, **_without_none(requested_slot=c.requested_slot)} for c in mapping.conditions
    ]
    return {
        "type": mapping.type,
        **_without_none(
            entity=mapping.entity,
            role=mapping.role,
            group=mapping.group,
            intent=list(mapping.intents) or None,
            not_intent=list(mapping.not_intents) or None,
            value=mapping.value,
            action=mapping.action,
            conditions=conditions or None,
        ),
    }


def _form_json(form: Form) -> Json:
    ignored = {"ignored_intents": list(form.ignored_intents)} if form.ignored_intents else {}
    return {**ignored, "required_slots": list(form.required_slots)}


def _without_none(**values: Any) -> Mapping[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


# An action server's answer → typed messages and events, checked once, on arrival.
#
# A malformed answer is not used at all. It is malformed if it makes Rasa 3.6 fail the action, or lose the message when
# it is to be sent; whatever Rasa accepts is accepted here with the same effect. In one respect this is stricter: a
# ``text`` that is not a string is malformed even with buttons, although some of Rasa's channels would pass it on.

DEEPEST: Final = 100
"""Levels of lists and objects in an answer. Rasa's limit is Python's stack, some hundreds deeper."""
_NOT_FOR_RESPONSES: Final = ("utter_action", "tracker", "output_channel")
"""Names of what Rasa itself passes to a response, besides what the action gives."""


class BotMessages(Struct, frozen=True):
    """A message of an action: the domain's ``response`` if one is named, and what is ``given`` by the action itself."""

    response: str | None
    given: Mapping[str, Any]
    place: str


class Answer(Struct, frozen=True):
    """What an action did: its messages come before its events, as in Rasa."""

    said: tuple[BotMessages, ...] = ()
    happened: tuple[Event, ...] = ()


def read_answer(document: Any) -> Answer:
    """Read an answer: ``{"responses": […], "events": […]}``, both optional. Times of events are left out.

    Raises:
        ShapeError: it is malformed.
    """
    answer = JsonObject.of(_sound(document), "")
    said, happened = answer.objects("responses"), answer.objects("events")
    return Answer(tuple(map(_said, said)), tuple(_event(event) for event in happened))


def _sound(value: Any, levels: int = DEEPEST) -> Any:
    """Return the value with lone surrogates (``"\\ud800"``) replaced, which cannot be written or shown."""
    if not levels:
        raise ShapeError(f"it is nested deeper than {DEEPEST} levels")
    match value:
        case str() if value.isascii():
            return value
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list() | tuple():
            return [_sound(item, levels - 1) for item in value]
        case dict():
            return {_sound(str(key)): _sound(item, levels - 1) for key, item in value.items()}
        case _:
            return value


def _said(shape: JsonObject) -> BotMessages:
    given = dict(shape.items)
    response = given.pop("response", None) or None
    if isinstance(response, (list, dict)):
        raise ShapeError(f"{shape.below('response')} must be a response's name, not {kind_of(response)}")
    if response and (taken := [key for key in _NOT_FOR_RESPONSES if key in given]):
        raise ShapeError(f"{shape.below(taken[0])} is a name that Rasa itself uses where a response is named")
    buttons = given.get("buttons")
    if buttons and not isinstance(buttons, (list, dict, str)):  # Rasa accepts whatever it can append to a list
        raise ShapeError(f"{shape.below('buttons')} must be a list, not {kind_of(buttons)}")
    if given.get("text"):
        shape.text("text")
    return BotMessages(None if response is None else str(response), given, shape.place)


def _event(shape: JsonObject) -> Event:
    event = replace(from_json(shape.items, shape.place), timestamp=None)
    if isinstance(event, ReminderScheduled) and event.date_time is None:
        raise ShapeError(f"{shape.place} needs the key 'date_time'")
    if isinstance(event, UserUttered) and "name" in event.intent and event.intent_name is None:
        raise ShapeError(f"{shape.place}.parse_data.intent.name must be a string, not null")
    if isinstance(event, BotUttered):
        check_message(event, shape.place)
    return event


def check_message(event: BotUttered, place: str) -> None:
    """Make sure that the message can be sent.

    Raises:
        ShapeError: it cannot; Rasa loses the user's message then.
    """
    problem = base.cannot_be_sent(event)
    if problem is not None:
        raise ShapeError(f"{place}: {problem}")


VALIDATION_PREFIX = "validate_"
VALIDATE_SLOT_MAPPINGS = "action_validate_slot_mappings"


class CustomActions:
    """Runs the custom actions of one conversation.

    With ``stubs`` (by action: ``{"events": […], "responses": […]}``) the server is never called: an action
    without a stub does nothing, which is recorded; a validation without one accepts all values.
    """

    def __init__(self, server: ActionServer, stubs: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._server = server
        self._stubs = stubs
        self._noted: list[CustomAction] = []
        self.deadline: float | None = None
        """When the turn must be over, on :func:`time.monotonic`."""

    def take_notes(self) -> tuple[CustomAction, ...]:
        """Return the outcomes of the actions since the last call."""
        noted, self._noted = tuple(self._noted), []
        return noted

    def run(self, name: str, context: base.ActionContext, tracker: Tracker) -> list[Event]:
        """Run the action and return its messages and events.

        Raises:
            ActionRejectedError: it refused.
            ActionError: it failed, or nothing is there to run it.
        """
        try:
            document, outcome, reason = self._answer(name, context, tracker)
            answer = read_answer(document)
            events = _events(answer, context.responses, tracker)
        except base.ActionRejectedError as error:
            self._note(name, "rejected", str(error))
            raise
        except ShapeError as error:
            raise self._failed(name, f"'{name}' failed, its answer is malformed: {error}") from error
        except CallFailedError as error:
            self._note(name, error.outcome, str(error))
            raise
        except base.ActionError as error:
            raise self._failed(name, f"'{name}' failed: {error}") from error
        self._note(name, outcome, reason or undefined_response(name, answer, context.domain.domain.responses))
        return events

    def _failed(self, name: str, reason: str) -> CallFailedError:
        self._note(name, "failed", reason)
        return CallFailedError("failed", reason)

    def _note(self, name: str, outcome: ActionOutcome, reason: str) -> None:
        self._noted.append(CustomAction(name, outcome, reason))

    def _answer(self, name: str, context: base.ActionContext, tracker: Tracker) -> tuple[Any, ActionOutcome, str]:
        if self._stubs is not None:
            return stubbed(name, self._stubs)
        timeout = None if self.deadline is None else self.deadline - time.monotonic()
        if timeout is not None and timeout <= 0:
            raise CallFailedError("timed out", f"no time was left in this turn to run '{name}'")
        call = action_call(name, tracker, with_domain=not self._server.selective_domain or _needs_domain(name, context))
        return self._server.run(call, timeout), "ran", ""


def stubbed(name: str, stubs: Mapping[str, Mapping[str, Any]]) -> tuple[Mapping[str, Any], ActionOutcome, str]:
    """Return what runs in place of an action, the name of that outcome, and why.

    Raises:
        CallFailedError: nothing does.
    """
    if name in stubs:
        return stubs[name], "stubbed", ""
    if name.startswith(VALIDATION_PREFIX) or name == VALIDATE_SLOT_MAPPINGS:
        return {}, "assumed", f"'{name}' has no stub: all values count as valid"
    raise CallFailedError("no server", f"'{name}' has no stub where other actions have")


def _needs_domain(name: str, context: base.ActionContext) -> bool:
    action = context.domain.domain.actions.get(name)
    return action is not None and action.send_domain


def undefined_response(name: str, answer: Answer, responses: Container[str]) -> str:
    """Return the remark on a message that the action cannot send for lack of the response; Rasa skips it."""
    named = dict.fromkeys(said.response for said in answer.said if said.response is not None)
    unknown = ", ".join(f"'{response}'" for response in named if response not in responses)
    return f"'{name}' names {unknown}, which the domain has no response for: nothing was said" if unknown else ""


def _events(answer: Answer, responses: base.Speech, tracker: Tracker) -> list[Event]:
    """Turn an answer into events: first its messages, as in Rasa."""
    messages = [message for said in answer.said if (message := _message(said, responses, tracker)) is not None]
    return [*messages, *answer.happened]


def _message(said: BotMessages, responses: base.Speech, tracker: Tracker) -> BotUttered | None:
    """Create a message: the named response, filled, overridden by whatever the action itself gives."""
    given = dict(said.given)
    draft: Json = {}
    if said.response is not None:
        generated = responses.generate(said.response, tracker.slots, given)
        if not generated:
            return None
        draft = {**generated, "utter_action": said.response}
    buttons = given.pop("buttons", None)
    if buttons:
        draft["buttons"] = [*(draft.get("buttons") or ()), *buttons]
    draft.update({key: value for key, value in given.items() if value})
    message = base.bot_event(draft)
    check_message(message, said.place)
    return message
