"""Undefined names that Rasa accepts silently: slots, entities, actions, mappings, conditions, buttons."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.domain import DEFAULT_SLOTS
from turncheck.dialogue.story_steps import EVENT_NAMES
from turncheck.messages.finding import Finding, Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.facts import UTTER
from turncheck.validation.findings import Places, found, of_blocks
from turncheck.yaml_tree.tree import YamlMapping, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.messages.finding import Location
    from turncheck.project.model import MappingCondition, Slot, SlotMapping, StoryEntity
    from turncheck.project.nlu_data import EntityAnnotation
    from turncheck.validation.facts import Facts


# Slot mappings that name undefined things, which Rasa accepts silently.

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


def _requestable(facts: Facts, condition: MappingCondition) -> set[str]:
    """The slots that a form asks for; any if no form is named, or if an action may decide what is asked."""
    form = facts.domain.forms.get(condition.active_loop or "")
    if form is None or f"validate_{form.name}" in facts.domain.actions:
        return set(facts.domain.slots)
    return set(form.required_slots)


def _entity_of_mapping(
    facts: Facts, places: Places, slot: Slot, mapping: SlotMapping, path: tuple[str | int, ...]
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
    facts: Facts, places: Places, slot: Slot, mapping: SlotMapping, path: tuple[str | int, ...]
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
    facts: Facts, places: Places, slot: Slot, mapping: SlotMapping, path: tuple[str | int, ...]
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


# What Rasa reads from text that begins with a slash: intent, confidence, entities, and a rest that is dropped.
_SLOT = re.compile(r"(?<!\{)\{[^\W\d]\w*\}")
_PAYLOAD = re.compile(r"/(?P<intent>[^{@]+)(?P<confidence>@[0-9.]+)?(?P<entities>\{.+\})?(?P<rest>.*)", re.DOTALL)


def check_undefined(facts: Facts) -> Iterator[Finding]:
    """All checks of this module that need the domain."""
    yield from _slots(facts)
    yield from _slot_values(facts)
    yield from _entities(facts)
    yield from _actions(facts)
    yield from check_mappings(facts)
    yield from _domain_lists(facts)
    yield from _conditions(facts)
    yield from _retrieval_responses(facts)


def check_buttons(facts: Facts) -> Iterator[Finding]:
    """Payloads of buttons and quick replies."""
    places = Places(facts.project)
    for response in facts.domain.responses.values():
        for number, variation in enumerate(response.variations):
            for key in ("buttons", "quick_replies"):
                for position, button in enumerate(variation.content.get(key) or ()):
                    payload = button.get("payload") if isinstance(button, dict) else None
                    if isinstance(payload, str) and payload.strip().startswith("/"):
                        path = ("responses", response.name, number, key, position, "payload")
                        location = places.of_entry(payload, variation.location, *path)
                        yield from _payload(facts, response.name, payload.strip(), location)


def filled_payload(payload: str) -> str:
    """Return the payload as Rasa sends it, with 1 for each slot: double braces become single ones."""
    filled = _SLOT.sub("1", payload)
    if "{{" not in payload or filled.count("{{") != filled.count("}}"):
        return payload
    return filled.replace("{{", "{").replace("}}", "}")


def _payload(facts: Facts, response: str, payload: str, location: Location) -> Iterator[Finding]:
    match = _PAYLOAD.fullmatch(filled_payload(payload))
    where = f"The payload '{payload}' of a button of '{response}'"
    entities: Any = {}
    if match is not None and match["entities"]:
        try:
            entities = json.loads(match["entities"])
        except (ValueError, RecursionError):
            entities = None
    if match is None or match["rest"] or not isinstance(entities, dict):
        yield found("button-payload-invalid", f"{where} cannot be read.", location)
        return
    left = _SLOT.search(match["entities"] or "")
    if left is not None:
        advice = "Double the braces of the JSON: '/intent{{…}}'."
        yield found("button-payload-invalid", f"{where} is said with '{left[0]}' as is.", location, advice)
    intent = match["intent"].strip()
    if intent.partition("/")[0] not in facts.intents:
        yield found(
            "button-intent-undefined",
            f"{where} names the intent '{intent}', which the domain does not list.",
            location,
            suggestion(intent, facts.intents),
            names=(Name("payload", payload), Name("intent", intent.partition("/")[0])),
        )
    for name in entities:
        if name not in facts.domain.entities:
            yield found(
                "button-entity-undefined",
                f"{where} names the entity '{name}', which the domain does not list.",
                location,
                suggestion(name, facts.entities),
                names=(Name("payload", payload), Name("entity", name)),
            )


def _slots(facts: Facts) -> Iterator[Finding]:
    uses = (
        (step.slot, (block, step))
        for block, step in facts.slot_steps()
        if step.slot not in facts.domain.slots and step.slot not in DEFAULT_SLOTS
    )
    yield from of_blocks(
        "slot-undefined", "slot", uses, "The slot '{name}' of the {where} is not defined in the domain.", facts.slots
    )


def _slot_values(facts: Facts) -> Iterator[Finding]:
    listed = {
        slot.name: {str(value).lower() for value in slot.values}
        for slot in facts.domain.slots.values()
        if slot.type == "categorical" and slot.values
    }
    seen: set[tuple[str, str]] = set()
    for block, step in facts.slot_steps():
        values = listed.get(step.slot)
        value = str(step.value).lower()
        if values is None or step.value is None or step.named_only or value in values or value == "__other__":
            continue
        if (step.slot, value) not in seen:
            seen.add((step.slot, value))
            yield found(
                "slot-value-undefined",
                f"The {block.kind} '{block.name}' sets the slot '{step.slot}' to '{step.value}', which is none of its"
                " values.",
                step.location,
                suggestion(value, values),
            )


def _entities(facts: Facts) -> Iterator[Finding]:
    places = Places(facts.project)
    known = {
        (entity.name, role, group)
        for entity in facts.domain.entities.values()
        for role in (None, *entity.roles)
        for group in (None, *entity.groups)
    }
    uses: dict[_EntityKey, list[tuple[EntityAnnotation | StoryEntity, str, Location]]] = {}
    for example in facts.project.nlu.examples:
        for annotation in example.entities:
            key = (annotation.entity, annotation.role, annotation.group)
            if key not in known:
                location = places.in_example(example, annotation.start)
                uses.setdefault(key, []).append((annotation, f"The example '{example.text}'", location))
    for block, step in facts.user_steps():
        for entity in step.entities:
            key = (entity.entity, entity.role, entity.group)
            if key not in known:
                location = places.of_story_entity(entity.entity, step.location)
                uses.setdefault(key, []).append((entity, f"The {block.kind} '{block.name}'", location))
    for (used, where, location), *others in uses.values():
        yield from _entity(facts, used, where, location, tuple(dict.fromkeys(other for *_, other in others)))


_EntityKey = tuple[str, str | None, str | None]
"""An entity, its role and its group."""


def _entity(
    facts: Facts, used: EntityAnnotation | StoryEntity, where: str, location: Location, others: tuple[Location, ...]
) -> Iterator[Finding]:
    entity = facts.domain.entities.get(used.entity)
    if entity is None:
        yield found(
            "entity-undefined",
            f"{where} has the entity '{used.entity}', which the domain does not list.",
            location,
            suggestion(used.entity, facts.entities),
            others,
            subject=used.entity,
            names=(Name("entity", used.entity),),
        )
        return
    for kind, name, listed in (("role", used.role, entity.roles), ("group", used.group, entity.groups)):
        if name is not None and name not in listed:
            yield found(
                "entity-role-undefined",
                f"{where} gives the entity '{used.entity}' the {kind} '{name}', which the domain does not list.",
                location,
                suggestion(name, listed),
                others,
                subject=f"{used.entity} {kind} {name}",
            )


def _actions(facts: Facts) -> Iterator[Finding]:
    uses = (
        (step.action, (block, step))
        for block, step in facts.action_steps()
        if not step.action.startswith(("action_", UTTER)) and step.action not in {*facts.actions, *EVENT_NAMES}
    )
    yield from of_blocks(
        "action-undefined",
        "action",
        uses,
        "The action or form '{name}' of the {where} is defined nowhere.",
        facts.actions,
    )


def _domain_lists(facts: Facts) -> Iterator[Finding]:
    places = Places(facts.project)
    for intent in facts.domain.intents.values():
        used = intent.use_entities if isinstance(intent.use_entities, tuple) else ()
        for name in dict.fromkeys((*used, *intent.ignore_entities)):
            if name not in facts.domain.entities:
                key = "use_entities" if name in used else "ignore_entities"
                yield found(
                    "used-entity-undefined",
                    f"The intent '{intent.name}' uses or ignores the entity '{name}', which the domain does not list.",
                    places.of_entry(name, intent.location, "intents", intent.name, key),
                    suggestion(name, facts.entities),
                    names=(Name("intent", intent.name), Name("entity", name)),
                )
    for form in facts.domain.forms.values():
        for name in form.ignored_intents:
            if name not in facts.intents:
                yield found(
                    "ignored-intent-undefined",
                    f"The form '{form.name}' ignores the intent '{name}', which the domain does not list.",
                    places.of_entry(name, form.location, "forms", form.name, "ignored_intents"),
                    suggestion(name, facts.intents),
                    names=(Name("form", form.name), Name("intent", name)),
                )


def _conditions(facts: Facts) -> Iterator[Finding]:
    places = Places(facts.project)
    for response in facts.domain.responses.values():
        for number, variation in enumerate(response.variations):
            for position, name in _condition_slots(variation.content):
                path = ("responses", response.name, number, "condition", position, "name")
                if name not in facts.domain.slots and name not in DEFAULT_SLOTS:
                    yield found(
                        "condition-slot-undefined",
                        f"A condition of the response '{response.name}' names the slot '{name}', which is not defined.",
                        places.of_entry(name, variation.location, *path),
                        suggestion(name, facts.slots),
                        names=(Name("response", response.name), Name("slot", name)),
                    )


def _condition_slots(content: Mapping[str, Any]) -> list[tuple[int, str]]:
    conditions = enumerate(content.get("condition") or ())
    return [(n, c["name"]) for n, c in conditions if isinstance(c, dict) and isinstance(c.get("name"), str)]


def _retrieval_responses(facts: Facts) -> Iterator[Finding]:
    seen: set[str] = set()
    for example in facts.project.nlu.examples:
        intent = example.intent
        if intent is None or "/" not in intent or intent in seen:
            continue
        seen.add(intent)
        if UTTER + intent not in facts.domain.responses:
            yield found(
                "retrieval-response-missing",
                f"The retrieval intent '{intent}' has no response '{UTTER}{intent}'.",
                example.location,
                suggestion(UTTER + intent, facts.responses),
            )
