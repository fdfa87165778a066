"""Names that are used and not defined, or defined and not used.

Undefined names that Rasa accepts silently are those of slots, entities, actions, in mappings, conditions and buttons.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.dialogue.domain import ACTION_VALIDATE_SLOT_MAPPINGS, DEFAULT_ACTIONS, DEFAULT_SLOTS
from turncheck.dialogue.situation import features_of, influences
from turncheck.dialogue.story_steps import EVENT_NAMES, entities_of_command
from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.project.config import DUCKLING_DIMENSIONS, LEARNING_EXTRACTORS, SPACY_DIMENSIONS, is_custom, short_name
from turncheck.validation.facts import UTTER, Facts
from turncheck.validation.findings import found, of_blocks
from turncheck.validation.payloads import filled_payload
from turncheck.validation.places import Places
from turncheck.validation.response_variables import check_conditions, check_variables, variables_of
from turncheck.yaml_tree.tree import YamlMapping, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from turncheck.project import model
    from turncheck.project.nlu_data import EntityAnnotation

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


def check_undefined(facts: Facts) -> Iterator[Finding]:
    """All checks of this module that need the domain."""
    yield from _undefined_slots(facts)
    yield from check_slot_values(facts, list(facts.slot_steps()))
    yield from _undefined_entities(facts)
    yield from _undefined_actions(facts)
    yield from check_mappings(facts)
    yield from _domain_lists(facts)
    yield from check_variables(facts)
    yield from check_conditions(facts)
    yield from _undefined_retrieval_responses(facts)


def _undefined_slots(facts: Facts) -> Iterator[Finding]:
    uses = (
        (step.slot, (block, step))
        for block, step in facts.slot_steps()
        if step.slot not in facts.domain.slots and step.slot not in DEFAULT_SLOTS
    )
    yield from of_blocks(
        "slot-undefined", "slot", uses, "The slot '{name}' of the {where} is not defined in the domain.", facts.slots
    )


def check_slot_values(facts: Facts, steps: Sequence[tuple[model.Story, model.SlotWasSetStep]]) -> Iterator[Finding]:
    """Values that slots do not hold, once for each slot and value; ``steps``: those of training data, or of tests."""
    listed = {
        slot.name: {str(value).lower() for value in slot.values}
        for slot in facts.domain.slots.values()
        if slot.type == "categorical" and slot.values
    }
    seen: set[tuple[str, str]] = set()
    yield from _values_without_effect(facts, steps)
    for block, step in steps:
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
                about=(Name("slot", step.slot), Name("value", value)),
            )


_HELD: Final = frozenset({"bool", "float"})
"""Types of slots that turn a value of another type into nothing."""


def _values_without_effect(
    facts: Facts, steps: Iterable[tuple[model.Story, model.SlotWasSetStep]]
) -> Iterator[Finding]:
    """Values that policies see as if the slot was not set, since it does not hold them."""
    seen: set[tuple[str, str]] = set()
    for block, step in steps:
        slot = facts.domain.slots.get(step.slot)
        if slot is None or step.value is None or step.named_only or slot.type not in _HELD or not influences(slot):
            continue
        key = (step.slot, str(step.value))
        if key not in seen and not any(features_of(slot, step.value)):
            seen.add(key)
            what = "neither true nor false" if slot.type == "bool" else "not a number"
            yield found(
                "slot-value-undefined",
                f"The {block.kind} '{block.name}' sets the {slot.type} slot '{step.slot}' to '{step.value}', which is"
                f" {what}: policies see it as not set.",
                step.location,
                about=(Name("slot", step.slot), Name("value", key[1])),
            )


def _undefined_entities(facts: Facts) -> Iterator[Finding]:
    places = Places(facts.project)
    known = {
        (entity.name, role, group)
        for entity in facts.domain.entities.values()
        for role in (None, *entity.roles)
        for group in (None, *entity.groups)
    }
    uses: dict[_EntityKey, list[tuple[EntityAnnotation | model.StoryEntity, str, Location]]] = {}
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
    tested = _entities_of_tests(facts, places, uses)
    for key, ((used, where, location), *others) in uses.items():
        elsewhere = tuple(dict.fromkeys((*(other for *_, other in others), *tested[key])))
        yield from _entity(facts, used, where, location, elsewhere)


def _entities_of_tests(
    facts: Facts, places: Places, used: Collection[_EntityKey]
) -> Mapping[_EntityKey, Sequence[Location]]:
    """Where tests have the entities that training data use: they can be found, so that no test is wrong for itself."""
    found_in: dict[_EntityKey, list[Location]] = {key: [] for key in used}
    for example in facts.tests.examples if used else ():
        for annotation in example.entities:
            if (key := (annotation.entity, annotation.role, annotation.group)) in found_in:
                found_in[key].append(places.in_example(example, annotation.start))
    for step in facts.tests.user_steps() if used else ():
        for entity in step.entities:
            if (key := (entity.entity, entity.role, entity.group)) in found_in:
                found_in[key].append(places.of_story_entity(entity.entity, step.location))
    return found_in


_EntityKey = tuple[str, str | None, str | None]
"""An entity, its role and its group."""


def _entity(
    facts: Facts,
    used: EntityAnnotation | model.StoryEntity,
    where: str,
    location: Location,
    others: tuple[Location, ...],
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
                about=(Name("entity", used.entity), Name(kind, name)),
            )


def _undefined_actions(facts: Facts) -> Iterator[Finding]:
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


def _undefined_retrieval_responses(facts: Facts) -> Iterator[Finding]:
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
                about=(Name("intent", intent),),
            )


_RESPONSE_NAME = re.compile(r"utter_[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)?")


def check_unused(facts: Facts) -> Iterator[Finding]:
    """Actions, slots, forms, entities and retrieval responses that nothing uses."""
    # Custom actions may read a slot or call an action; their code is only read if there is something to look for.
    for action in _unused_actions(facts):
        if action.name not in facts.code.called:
            message = f"The action '{action.name}' is used in no story or rule."
            yield found("action-unused", message, action.location, names=(Name("action", action.name),))
    for slot in _unused_slots(facts):
        if slot.name not in facts.code.quoted:
            message = f"The slot '{slot.name}' is not used anywhere."
            yield found("slot-unused", message, slot.location, names=(Name("slot", slot.name),))
    yield from _forms(facts)
    yield from _unused_entities(facts)
    yield from _unused_retrieval_responses(facts)


def check_definitions(facts: Facts) -> Iterator[Finding]:
    """Definitions of the domain that are allowed but hardly intended."""
    for action in facts.domain.actions.values():
        if action.name in DEFAULT_ACTIONS:
            message, about = f"The action '{action.name}' replaces a default action.", (Name("action", action.name),)
            yield found("action-overrides-default", message, action.location, about=about)
    for slot in facts.domain.slots.values():
        if slot.type == "categorical" and not slot.values:
            message, about = f"The categorical slot '{slot.name}' has no values.", (Name("slot", slot.name),)
            yield found("slot-values-missing", message, slot.location, about=about)
    for response in facts.domain.responses.values():
        about = (Name("response", response.name),)
        if not response.variations:
            message = f"The response '{response.name}' has no variations."
            yield found("response-empty", message, response.location, about=about)
        if not _RESPONSE_NAME.fullmatch(response.name):
            message = f"'{response.name}' is an odd name for a response."
            yield found("response-name-invalid", message, response.location, about=about)


def _unused_actions(facts: Facts) -> Iterator[model.Action]:
    used = {step.action for _, step in facts.action_steps()}
    used |= {intent.triggers for intent in facts.domain.intents.values() if intent.triggers}
    used |= {m.action for slot in facts.domain.slots.values() for m in slot.mappings if m.action}
    used |= {f"validate_{form}" for form in facts.domain.forms} | {ACTION_VALIDATE_SLOT_MAPPINGS}
    used |= {
        f"action_ask_{name}"
        for form in facts.domain.forms.values()
        for slot in form.required_slots
        for name in (slot, f"{form.name}_{slot}")
    }
    for action in facts.domain.actions.values():
        name = action.name
        if (
            name not in used
            and not name.startswith(UTTER)
            and name not in DEFAULT_ACTIONS
            and name not in facts.domain.forms
        ):
            yield action


def _unused_slots(facts: Facts) -> Iterator[model.Slot]:
    used = {slot for form in facts.domain.forms.values() for slot in form.required_slots}
    used |= {step.slot for _, step in facts.slot_steps()}
    for response in facts.domain.responses.values():
        for variation in response.variations:
            used.update(variables_of(variation.content))
            used.update(str(condition.get("name")) for condition in variation.conditions if isinstance(condition, dict))
    for slot in facts.domain.slots.values():
        if slot.name not in used and slot.name not in DEFAULT_SLOTS and not _influences_by_itself(slot):
            yield slot


def _influences_by_itself(slot: model.Slot) -> bool:
    """Whether a mapping fills the slot and policies see it, which is a use, although no file names the slot."""
    return influences(slot) and any(mapping.type != "custom" or mapping.action for mapping in slot.mappings)


def _forms(facts: Facts) -> Iterator[Finding]:
    used = {step.name for _, step in facts.loop_steps()} | {step.action for _, step in facts.action_steps()}
    for form in facts.domain.forms.values():
        if form.name not in used:
            message = f"The form '{form.name}' is activated in no story or rule."
            yield found("form-unused", message, form.location, names=(Name("form", form.name),))


def _unused_entities(facts: Facts) -> Iterator[Finding]:
    nlu = facts.project.nlu
    seen = {annotation.entity for example in nlu.examples for annotation in example.entities}
    seen |= {entity.entity for _, step in facts.user_steps() for entity in step.entities}
    seen |= (
        {regex.name for regex in nlu.regexes}
        | {table.name for table in nlu.lookups}
        | pretrained_entities(facts.project.config)
    )
    seen |= _button_entities(facts)
    if any(is_custom(component.name) for component in facts.project.config.pipeline or ()):
        return  # a custom component may extract anything
    for entity in facts.domain.entities.values():
        if entity.name not in seen:
            message = f"The entity '{entity.name}' is annotated nowhere."
            yield found("entity-unused", message, entity.location, names=(Name("entity", entity.name),))


def _button_entities(facts: Facts) -> set[str]:
    """The entities that payloads such as ``/order{"size": "large"}`` set."""
    payloads = (
        button["payload"].strip()
        for response in facts.domain.responses.values()
        for variation in response.variations
        for key in ("buttons", "quick_replies")
        for button in variation.content.get(key) or ()
        if isinstance(button, dict) and isinstance(button.get("payload"), str)
    )
    return {str(entity["entity"]) for payload in payloads for entity in entities_of_command(filled_payload(payload))}


def pretrained_entities(config: model.Config) -> frozenset[str]:
    """The entities that Duckling and spaCy can extract without an annotated example."""
    names: set[str] = set()
    for component in config.pipeline or ():
        known = {"DucklingEntityExtractor": DUCKLING_DIMENSIONS, "SpacyEntityExtractor": SPACY_DIMENSIONS}
        dimensions = component.parameters.get("dimensions")
        if short_name(component.name) in known:
            names |= set(map(str, dimensions)) if isinstance(dimensions, list) else known[short_name(component.name)]
    return frozenset(names)


def learning_extractors(pipeline: Iterable[model.Component]) -> list[str]:
    """The components that learn from annotated examples to find entities, by name."""
    return [
        name
        for component in pipeline
        if (name := short_name(component.name)) in LEARNING_EXTRACTORS
        and (name != "DIETClassifier" or component.parameters.get("entity_recognition", True))
    ]


def _unused_retrieval_responses(facts: Facts) -> Iterator[Finding]:
    keys = {
        UTTER + example.intent for example in facts.project.nlu.examples if example.intent and "/" in example.intent
    }
    for response in facts.domain.responses.values():
        base = response.name.partition("/")[0].removeprefix(UTTER)
        if "/" in response.name and response.name not in keys and base in facts.retrieval_intents:
            yield found(
                "retrieval-examples-missing",
                f"The response '{response.name}' can never be chosen: there are no examples for its key.",
                response.location,
                about=(Name("response", response.name),),
            )
