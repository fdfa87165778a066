"""Names that are used and not defined, which Rasa accepts silently: slots, entities, actions, in buttons and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.dialogue.domain import DEFAULT_SLOTS
from turncheck.dialogue.situation import features_of, influences
from turncheck.dialogue.story_steps import EVENT_NAMES
from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.checks import own_check
from turncheck.validation.facts import UTTER, Facts
from turncheck.validation.findings import found, of_blocks
from turncheck.validation.mappings import check_mappings
from turncheck.validation.places import Places
from turncheck.validation.response_variables import check_conditions, check_variables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from turncheck.project import model
    from turncheck.project.nlu_data import EntityAnnotation


CHECKS: Final = (
    own_check(
        "slot-undefined",
        "warning",
        "A story or rule sets a slot that the domain does not define",
        "Setting it has no effect, so the story does not mean what it says. Define the slot, or correct its name.",
        "- slot_was_set:\n  - pizza_sise: large",
        "- slot_was_set:\n  - pizza_size: large",
        matters_always=True,
        needs=("domain",),
        about=("slot",),
    ),
    own_check(
        "slot-value-undefined",
        "warning",
        "A slot is set to a value that it does not hold",
        "One that a categorical slot does not list counts as “some other value”; a bool slot that is neither true nor"
        " false, and a float slot that is no number, count as not set. Correct the value, or add it to the slot's"
        " `values`.",
        "- slot_was_set:\n  - pizza_size: huge   # values: small, large",
        "- slot_was_set:\n  - pizza_size: large",
        matters_always=True,
        about=("slot", "value"),
    ),
    own_check(
        "entity-undefined",
        "warning",
        "An entity is used that the domain does not list",
        "Stories and slot mappings cannot see it. List it below `entities`, or correct its name.",
        "- I live in [Rome](citty)",
        "- I live in [Rome](city)",
        matters_always=True,
        needs=("domain",),
        about=("entity",),
    ),
    own_check(
        "entity-role-undefined",
        "warning",
        "A role or group of an entity is used that the domain does not list",
        "Without it the dialogue cannot distinguish the roles. List it below the entity.",
        '- to [Rome]{"entity": "city", "role": "destinaton"}',
        '- to [Rome]{"entity": "city", "role": "destination"}',
        matters_always=True,
        needs=("domain",),
        about=("entity", "role", "group"),
    ),
    own_check(
        "action-undefined",
        "warning",
        "A story or rule uses an action or form that nothing defines",
        "Rasa checks names that begin with `action_` or `utter_`; this one begins differently. Training ends with an"
        " error or the step never runs. Define it, or correct its name.",
        "- action: piza_form",
        "- action: pizza_form",
        matters_always=True,
        needs=("domain",),
        about=("action",),
    ),
    own_check(
        "used-entity-undefined",
        "warning",
        "`use_entities` or `ignore_entities` names an entity that the domain does not list",
        "It has no effect. List the entity, or correct its name.",
        "intents:\n- inform:\n    use_entities: [citty]",
        "intents:\n- inform:\n    use_entities: [city]",
        matters_always=True,
        needs=("domain",),
        about=("intent", "entity"),
    ),
    own_check(
        "ignored-intent-undefined",
        "warning",
        "A form ignores an intent that the domain does not list",
        "It has no effect. List the intent, or correct its name.",
        "forms:\n  pizza_form:\n    ignored_intents: [chitchatt]",
        "forms:\n  pizza_form:\n    ignored_intents: [chitchat]",
        matters_always=True,
        needs=("domain",),
        about=("form", "intent"),
    ),
    own_check(
        "retrieval-response-missing",
        "warning",
        "A key of a retrieval intent has no response",
        "When it is chosen, there is nothing to say. Write the response.",
        "- intent: faq/prices   # and no response utter_faq/prices\n  examples: |\n    - what does it cost",
        'responses:\n  utter_faq/prices:\n  - text: "Five each."',
        matters_always=True,
        needs=("domain", "responses"),
        about=("intent",),
    ),
)


def check_undefined(facts: Facts) -> Iterator[Finding]:
    """All checks of this module that need the domain."""
    yield from _undefined_slots(facts)
    yield from check_slot_values(facts, list(facts.slot_steps()))
    yield from _values_of_domain(facts)
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


def _values_of_domain(facts: Facts) -> Iterator[Finding]:
    """Values that the domain gives to a slot that does not hold them: at the beginning, or for an intent."""
    places = Places(facts.project)
    for slot in facts.domain.slots.values():
        if not influences(slot):
            continue
        # One that a float slot starts with is compared with its range.
        initial = None if slot.type == "float" else slot.initial_value
        given: list[tuple[str, object, Location, tuple[str | int, ...]]] = [
            ("starts with", initial, slot.location, ("initial_value",)),
            *(
                ("is filled with", mapping.value, mapping.location, ("mappings", number, "value"))
                for number, mapping in enumerate(slot.mappings)
                if mapping.type in _GIVING
            ),
        ]
        for verb, value, around, path in given:
            if value is None or not _is_lost(slot, value):
                continue
            yield found(
                "slot-value-undefined",
                f"The {slot.type} slot '{slot.name}' {verb} '{value}', which it does not hold.",
                places.of_entry(value, around, "slots", slot.name, *path),
                suggestion(str(value).lower(), [str(listed) for listed in slot.values or ()]),
                about=(Name("slot", slot.name), Name("value", str(value))),
            )


_GIVING: Final = frozenset({"from_intent", "from_trigger_intent"})
"""The mappings that fill a slot with a ``value`` of their own."""


def _is_lost(slot: model.Slot, value: object) -> bool:
    if slot.type == "categorical" and slot.values:
        return str(value).lower() not in {"__other__", *(str(listed).lower() for listed in slot.values)}
    return slot.type in _HELD and not any(features_of(slot, value))


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
                names=(Name("response", UTTER + intent),),
                about=(Name("intent", intent),),
            )
