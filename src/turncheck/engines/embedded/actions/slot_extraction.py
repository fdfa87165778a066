"""``action_extract_slots``: after every user message, fill slots by their mappings. Mirrors Rasa 3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.dialogue.defaults import ACTION_VALIDATE_SLOT_MAPPINGS, DEFAULT_SLOTS, SLOT_REQUESTED
from turncheck.dialogue.events import BotUttered, SlotSet
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.embedded.actions.base import ActionError, ActionRejectedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.engines.embedded.actions.base import ActionContext
    from turncheck.project.model import Slot, SlotMapping


def extract_slots(context: ActionContext, tracker: Tracker) -> list[Event]:
    """Return a slot event for each slot that the latest message fills, after validation.

    For each slot its mappings are tried in order, until one gives a value. A custom mapping's action runs once; what it
    returns besides slots and messages is dropped. ``action_validate_slot_mappings``, if the domain has it, may
    replace what was extracted.
    """
    events: list[Event] = []
    done: set[str] = set()
    for slot in context.domain.slots.values():
        if slot.name not in DEFAULT_SLOTS:
            events += _extract(slot, context, tracker, done)
    return _validate(events, context, tracker)


def _extract(slot: Slot, context: ActionContext, tracker: Tracker, done: set[str]) -> list[Event]:
    events: list[Event] = []
    for mapping in slot.mappings:
        if not _applies(slot, mapping, context.domain, tracker):
            continue
        values = _values(mapping, tracker)
        if values:
            value = values if slot.type == "list" else values[-1]
            if value is not None or tracker.slots.get(slot.name) is not None:
                return [*events, SlotSet(slot.name, value)]
        if mapping.type == "custom" and mapping.action and mapping.action not in done:
            done.add(mapping.action)
            events += _slots_and_messages(mapping.action, context, tracker)
    return events


def _applies(slot: Slot, mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> bool:
    return (
        _is_valid(mapping, domain)
        and _intent_fits(mapping, domain, tracker)
        and _conditions_fit(slot, mapping, tracker)
        and not _is_ambiguous_in_form(slot, mapping, domain, tracker)
    )


def _is_valid(mapping: SlotMapping, domain: DialogueDomain) -> bool:
    """Whether the domain knows the mapping's entity or intents; an invalid mapping is skipped."""
    if mapping.type == "from_entity":
        return mapping.entity in domain.domain.entities
    if mapping.type == "from_intent":
        return all(intent in domain.used_entities for intent in mapping.intents)
    return True


def _intent_fits(mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> bool:
    intent = tracker.latest_message.intent_name
    if mapping.intents:
        return intent in mapping.intents
    return intent not in mapping.not_intents and intent not in _ignored_intents(mapping, domain, tracker)


def _ignored_intents(mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> Sequence[str]:
    """Return what the active form ignores, for the mappings that are tied to it or to none."""
    form = domain.domain.forms.get(tracker.active_loop_name or "")
    if form is None:
        return ()
    if mapping.conditions and not any(c.active_loop == form.name for c in mapping.conditions):
        return ()
    return form.ignored_intents


def _conditions_fit(slot: Slot, mapping: SlotMapping, tracker: Tracker) -> bool:
    if not mapping.conditions or mapping.type == "from_trigger_intent":
        return True
    loop, requested = tracker.active_loop_name, tracker.slots.get(SLOT_REQUESTED)
    if tracker.is_active_loop_rejected and requested == slot.name:
        return False
    return any(
        (condition.active_loop is None and loop is None)
        or (
            bool(condition.active_loop)
            and condition.active_loop == loop
            and (not condition.requested_slot or condition.requested_slot == requested)
        )
        for condition in mapping.conditions
    )


def _is_ambiguous_in_form(slot: Slot, mapping: SlotMapping, domain: DialogueDomain, tracker: Tracker) -> bool:
    """Whether the entity could also fill another slot of the active form: then only the requested one is filled."""
    form = domain.domain.forms.get(tracker.active_loop_name or "")
    if mapping.type != "from_entity" or form is None or slot.name not in form.required_slots:
        return False
    if tracker.slots.get(SLOT_REQUESTED) == slot.name:
        return False
    same = [
        other
        for name in form.required_slots
        if name in domain.domain.slots
        for other in domain.domain.slots[name].mappings
        if _content(other) == _content(mapping)
    ]
    return len(same) > 1


def _content(mapping: SlotMapping) -> tuple[Any, ...]:
    """Return everything in a mapping except its place in the file."""
    return (
        mapping.type,
        mapping.entity,
        mapping.role,
        mapping.group,
        mapping.intents,
        mapping.not_intents,
        mapping.value,
        mapping.conditions,
    )


def _values(mapping: SlotMapping, tracker: Tracker) -> list[Any]:
    match mapping.type:
        case "from_entity" if mapping.entity is not None:
            return tracker.entity_values(mapping.entity, mapping.role, mapping.group)
        case "from_intent":
            return [mapping.value]
        case "from_text":
            return [tracker.latest_message.text]
        case "from_trigger_intent" if _is_triggered(mapping, tracker):
            return [mapping.value]
        case _:
            return []


def _is_triggered(mapping: SlotMapping, tracker: Tracker) -> bool:
    """Whether a loop that the mapping allows is active; it is extracted while the form is being activated."""
    if tracker.active_loop_name is None:
        return False
    loops = [condition.active_loop for condition in mapping.conditions]
    return not loops or tracker.active_loop_name in loops


def _validate(events: Sequence[Event], context: ActionContext, tracker: Tracker) -> list[Event]:
    """Let ``action_validate_slot_mappings`` check the slots; those that it does not return count as valid.

    The messages of custom actions are lost here, as in Rasa.
    """
    extracted: list[Event] = [event for event in events if isinstance(event, SlotSet)]
    if ACTION_VALIDATE_SLOT_MAPPINGS not in context.domain.domain.actions:
        return extracted
    candidate = Tracker.of(tracker.domain, [*tracker.events_since_restart(), *extracted], tracker.name)
    validated = _slots_and_messages(ACTION_VALIDATE_SLOT_MAPPINGS, context, candidate)
    names = {event.name for event in validated if isinstance(event, SlotSet)}
    return [*validated, *(e for e in extracted if isinstance(e, SlotSet) and e.name not in names)]


def _slots_and_messages(action: str, context: ActionContext, tracker: Tracker) -> list[Event]:
    """Run a custom action; one that fails has no effect."""
    try:
        events = context.custom.run(action, context, tracker)
    except (ActionError, ActionRejectedError):
        return []
    return [event for event in events if isinstance(event, (SlotSet, BotUttered))]
