"""Slot mappings that name undefined things, which Rasa accepts silently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found
from turncheck.validation.places import Places
from turncheck.yaml_tree.tree import YamlMapping, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project import model
    from turncheck.validation.facts import Facts


CHECKS: Final = (
    own_check(
        "mapping-entity-undefined",
        "warning",
        "A `from_entity` mapping names an entity that the domain does not list",
        "The slot is never filled. List the entity, or correct its name.",
        "mappings:\n- type: from_entity\n  entity: citty",
        "mappings:\n- type: from_entity\n  entity: city",
        matters_always=True,
        needs=("domain",),
        about=("slot", "entity"),
    ),
    own_check(
        "mapping-intent-undefined",
        "warning",
        "A slot mapping names an intent that the domain does not list",
        "The mapping never applies. List the intent, or correct its name.",
        "mappings:\n- type: from_intent\n  intent: affrim\n  value: true",
        "mappings:\n- type: from_intent\n  intent: affirm\n  value: true",
        matters_always=True,
        needs=("domain",),
        about=("slot", "intent"),
    ),
    own_check(
        "mapping-role-undefined",
        "warning",
        "A `from_entity` mapping names a role or group that the entity does not list",
        "The slot is never filled. List the role below the entity, or correct its name.",
        "mappings:\n- type: from_entity\n  entity: city\n  role: destinaton",
        "mappings:\n- type: from_entity\n  entity: city\n  role: destination",
        matters_always=True,
        needs=("domain",),
        about=("slot", "entity", "role", "group"),
    ),
    own_check(
        "mapping-action-undefined",
        "warning",
        "A slot mapping names an action that nothing defines",
        "The slot is never filled by it. List the action below `actions`, or correct its name.",
        "mappings:\n- type: custom\n  action: action_find_adress",
        "mappings:\n- type: custom\n  action: action_find_address",
        matters_always=True,
        needs=("domain", "responses"),
        about=("slot", "action"),
    ),
    own_check(
        "mapping-requested-slot-undefined",
        "warning",
        "The condition of a slot mapping waits for a slot that its form never requests",
        "The mapping never applies. List the slot below the form's `required_slots`, or correct its name.",
        "conditions:\n- active_loop: pizza_form   # requires size\n  requested_slot: sise",
        "conditions:\n- active_loop: pizza_form\n  requested_slot: size",
        matters_always=True,
        needs=("domain",),
        about=("slot",),
    ),
    own_check(
        "mapping-key-unknown",
        "warning",
        "A slot mapping has a key that nothing reads",
        "What follows it is ignored, so that the mapping means something else. Correct the spelling.",
        "mappings:\n- type: from_text\n  not_intents: greet",
        "mappings:\n- type: from_text\n  not_intent: greet",
        matters_always=True,
        about=("place",),
    ),
)


_KEYS: Final = frozenset({"type", "intent", "not_intent", "entity", "role", "group", "value", "action", "conditions"})


def check_mappings(facts: Facts) -> Iterator[Finding]:
    """Entities with role and group, intents, actions, requested slots and keys of slot mappings."""
    yield from _keys(facts)
    places = Places(facts.project)
    for slot in facts.domain.slots.values():
        for number, mapping in enumerate(slot.mappings):
            path = ("slots", slot.name, "mappings", number)
            yield from _entity_of_mapping(facts, places, slot, mapping, path)
            yield from _intents(facts, places, slot, mapping, path)
            yield from _action(facts, places, slot, mapping, path)
            for position, condition in enumerate(mapping.conditions):
                requested = condition.requested_slot
                known = _requestable(facts, condition)
                if requested is not None and requested not in known:
                    form = f" of '{condition.active_loop}'" if condition.active_loop else ""
                    yield found(
                        "mapping-requested-slot-undefined",
                        f"A mapping of the slot '{slot.name}' waits for the slot '{requested}'{form}, which is never"
                        " requested.",
                        places.of_entry(requested, mapping.location, *path, "conditions", position, "requested_slot"),
                        suggestion(requested, known),
                        names=(Name("slot", slot.name), Name("slot", requested)),
                    )


def _requestable(facts: Facts, condition: model.MappingCondition) -> set[str]:
    """The slots that a form asks for; any if no form is named, or if an action may decide what is asked."""
    form = facts.domain.forms.get(condition.active_loop or "")
    if form is None or f"validate_{form.name}" in facts.domain.actions:
        return set(facts.domain.slots)
    return set(form.required_slots)


def _entity_of_mapping(
    facts: Facts, places: Places, slot: model.Slot, mapping: model.SlotMapping, path: tuple[str | int, ...]
) -> Iterator[Finding]:
    name = mapping.entity
    if mapping.type != "from_entity" or not name:
        return
    entity = facts.domain.entities.get(name)
    if entity is None:
        yield found(
            "mapping-entity-undefined",
            f"A mapping of the slot '{slot.name}' names the unknown entity '{name}'.",
            places.of_entry(name, mapping.location, *path, "entity"),
            suggestion(name, facts.domain.entities),
            names=(Name("slot", slot.name), Name("entity", name)),
        )
        return
    for key, label, listed in (("role", mapping.role, entity.roles), ("group", mapping.group, entity.groups)):
        if label is not None and label not in listed:
            yield found(
                "mapping-role-undefined",
                f"A mapping of the slot '{slot.name}' names the {key} '{label}', which the entity '{name}' does not"
                " list.",
                places.of_entry(label, mapping.location, *path, key),
                suggestion(label, listed),
                names=(Name("slot", slot.name), Name(key, label), Name("entity", name)),
            )


def _intents(
    facts: Facts, places: Places, slot: model.Slot, mapping: model.SlotMapping, path: tuple[str | int, ...]
) -> Iterator[Finding]:
    for key, intents in (("intent", mapping.intents), ("not_intent", mapping.not_intents)):
        for intent in intents:
            if intent not in facts.intents:
                yield found(
                    "mapping-intent-undefined",
                    f"A mapping of the slot '{slot.name}' names the unknown intent '{intent}'.",
                    places.of_entry(intent, mapping.location, *path, key),
                    suggestion(intent, facts.intents),
                    names=(Name("slot", slot.name), Name("intent", intent)),
                )


def _action(
    facts: Facts, places: Places, slot: model.Slot, mapping: model.SlotMapping, path: tuple[str | int, ...]
) -> Iterator[Finding]:
    if mapping.action and mapping.action not in facts.actions:
        yield found(
            "mapping-action-undefined",
            f"A mapping of the slot '{slot.name}' names the action '{mapping.action}', which nothing defines.",
            places.of_entry(mapping.action, mapping.location, *path, "action"),
            suggestion(mapping.action, facts.actions),
            names=(Name("slot", slot.name), Name("action", mapping.action)),
        )


def _keys(facts: Facts) -> Iterator[Finding]:
    places = Places(facts.project)
    for slot in facts.domain.slots.values():
        mappings = places.written(slot.location.path, "slots", slot.name, "mappings")
        for mapping in mappings.items if isinstance(mappings, YamlSequence) else ():
            if isinstance(mapping, YamlMapping):
                yield from _unknown_keys(slot.name, mapping)


def _unknown_keys(slot: str, mapping: YamlMapping) -> Iterator[Finding]:
    for key in mapping.items:
        if key not in _KEYS:
            yield found(
                "mapping-key-unknown",
                f"Nothing reads the key '{key}' in a mapping of the slot '{slot}'.",
                mapping.key_location(key),
                suggestion(str(key), _KEYS),
            )
