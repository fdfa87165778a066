"""What the project defines and nothing uses, odd definitions, and what messages can be understood as at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.dialogue.domain import ACTION_VALIDATE_SLOT_MAPPINGS, DEFAULT_ACTIONS, DEFAULT_SLOTS
from turncheck.dialogue.situation import influences
from turncheck.dialogue.story_steps import entities_of_command
from turncheck.messages.finding import Finding, Name
from turncheck.project.components import (
    DUCKLING_DIMENSIONS,
    LEARNING_EXTRACTORS,
    SPACY_DIMENSIONS,
    is_custom,
    short_name,
)
from turncheck.validation.facts import UTTER
from turncheck.validation.findings import found
from turncheck.validation.undefined import filled_payload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.project.model import Action, Component, Config, Project, Slot
    from turncheck.project.nlu_data import NluData
    from turncheck.validation.facts import Facts


_PLACEHOLDER = re.compile(r"\{([^{}\s]+)\}")
_RESPONSE_NAME = re.compile(r"utter_[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)?")


def check_unused(facts: Facts) -> Iterator[Finding]:
    """Actions, slots, forms, entities and retrieval responses that nothing uses."""
    # Custom actions may read a slot or call an action; their code is only read if there is something to look for.
    for action in _actions(facts):
        if action.name not in facts.code.called:
            message = f"The action '{action.name}' is used in no story or rule."
            yield found("action-unused", message, action.location, names=(Name("action", action.name),))
    for slot in _slots(facts):
        if slot.name not in facts.code.quoted:
            message = f"The slot '{slot.name}' is not used anywhere."
            yield found("slot-unused", message, slot.location, names=(Name("slot", slot.name),))
    yield from _forms(facts)
    yield from _entities(facts)
    yield from _retrieval_responses(facts)


def check_definitions(facts: Facts) -> Iterator[Finding]:
    """Definitions of the domain that are allowed but hardly intended."""
    for action in facts.domain.actions.values():
        if action.name in DEFAULT_ACTIONS:
            yield found(
                "action-overrides-default", f"The action '{action.name}' replaces a default action.", action.location
            )
    for slot in facts.domain.slots.values():
        if slot.type == "categorical" and not slot.values:
            yield found("slot-values-missing", f"The categorical slot '{slot.name}' has no values.", slot.location)
    for response in facts.domain.responses.values():
        if not response.variations:
            yield found("response-empty", f"The response '{response.name}' has no variations.", response.location)
        if not _RESPONSE_NAME.fullmatch(response.name):
            yield found("response-name-invalid", f"'{response.name}' is an odd name for a response.", response.location)


def _actions(facts: Facts) -> Iterator[Action]:
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


def _slots(facts: Facts) -> Iterator[Slot]:
    used = {slot for form in facts.domain.forms.values() for slot in form.required_slots}
    used |= {step.slot for _, step in facts.slot_steps()}
    for response in facts.domain.responses.values():
        for variation in response.variations:
            used.update(_PLACEHOLDER.findall(str(dict(variation.content))))
            used.update(str(condition.get("name")) for condition in variation.conditions if isinstance(condition, dict))
    for slot in facts.domain.slots.values():
        if slot.name not in used and slot.name not in DEFAULT_SLOTS and not _influences_by_itself(slot):
            yield slot


def _influences_by_itself(slot: Slot) -> bool:
    """Whether a mapping fills the slot and policies see it, which is a use, although no file names the slot."""
    return influences(slot) and any(mapping.type != "custom" or mapping.action for mapping in slot.mappings)


def _forms(facts: Facts) -> Iterator[Finding]:
    used = {step.name for _, step in facts.loop_steps()} | {step.action for _, step in facts.action_steps()}
    for form in facts.domain.forms.values():
        if form.name not in used:
            message = f"The form '{form.name}' is activated in no story or rule."
            yield found("form-unused", message, form.location, names=(Name("form", form.name),))


def _entities(facts: Facts) -> Iterator[Finding]:
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


def pretrained_entities(config: Config) -> frozenset[str]:
    """The entities that Duckling and spaCy can extract without an annotated example."""
    names: set[str] = set()
    for component in config.pipeline or ():
        known = {"DucklingEntityExtractor": DUCKLING_DIMENSIONS, "SpacyEntityExtractor": SPACY_DIMENSIONS}
        dimensions = component.parameters.get("dimensions")
        if short_name(component.name) in known:
            names |= set(map(str, dimensions)) if isinstance(dimensions, list) else known[short_name(component.name)]
    return frozenset(names)


def _retrieval_responses(facts: Facts) -> Iterator[Finding]:
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
            )


# What messages can possibly be understood as: the intents and entities that a pipeline can learn from a project.

_FALLBACK: Final = "nlu_fallback"


class Learnable(NamedTuple):
    """Names of intents and entities."""

    intents: frozenset[str]
    entities: frozenset[str]

    def holds(self, intent: str | None, entities: Iterable[str] = ()) -> bool:
        """Whether a message can be understood this way."""
        return (intent is None or intent in self.intents) and self.entities.issuperset(entities)


def learnable(project: Project) -> Learnable | None:
    """Return what the pipeline can learn; ``None`` if that is not known because of a custom component."""
    pipeline = project.config.pipeline
    if not pipeline or any(is_custom(component.name) for component in pipeline):
        return None
    intents = {example.base_intent for example in project.nlu.examples if example.base_intent is not None}
    entities = pretrained_entities(project.config) | _trained_entities(project.nlu, pipeline)
    return Learnable(frozenset({*intents, _FALLBACK}), frozenset(entities))


def _trained_entities(nlu: NluData, pipeline: Sequence[Component]) -> set[str]:
    """The entities that the pipeline learns from examples, and annotated ones found by regex or lookup table."""
    annotated = {annotation.entity for example in nlu.examples for annotation in example.entities}
    trained: set[str] = set()
    for component in pipeline:
        name, parameters = short_name(component.name), component.parameters
        if name in LEARNING_EXTRACTORS and (name != "DIETClassifier" or parameters.get("entity_recognition", True)):
            trained |= annotated
        elif name == "RegexEntityExtractor":
            if parameters.get("use_regexes", True):
                trained |= annotated & {regex.name for regex in nlu.regexes}
            if parameters.get("use_lookup_tables", True):
                trained |= annotated & {table.name for table in nlu.lookups}
    return trained
