"""The request to an action server: tracker and domain in the JSON shapes of Rasa 3.6."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.situation import Loop
    from turncheck.dialogue.tracker import Tracker
    from turncheck.project.model import Domain, Entity, Form, Intent, Slot, SlotMapping

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
