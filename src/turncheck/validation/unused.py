"""What the domain defines and nothing uses, and definitions that have no effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.dialogue.domain import ACTION_VALIDATE_SLOT_MAPPINGS, DEFAULT_ACTIONS, DEFAULT_SLOTS
from turncheck.dialogue.situation import influences
from turncheck.dialogue.story_steps import entities_of_command
from turncheck.messages.finding import Finding, Name
from turncheck.project.config import DUCKLING_DIMENSIONS, LEARNING_EXTRACTORS, SPACY_DIMENSIONS, is_custom, short_name
from turncheck.validation.checks import own_check
from turncheck.validation.facts import UTTER, Facts
from turncheck.validation.findings import found
from turncheck.validation.payloads import filled_payload
from turncheck.validation.response_variables import variables_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.project import model


_RESPONSE_NAME: Final = re.compile(r"utter_[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)?")

CHECKS: Final = (
    own_check(
        "retrieval-examples-missing",
        "warning",
        "A response of a retrieval intent has no examples",
        "It can never be chosen. Write examples for its key, or remove it.",
        'responses:\n  utter_faq/prices:   # and no examples for faq/prices\n  - text: "Five each."',
        "nlu:\n- intent: faq/prices\n  examples: |\n    - what does it cost",
        needs=("nlu",),
        about=("response",),
    ),
    own_check(
        "action-unused",
        "warning",
        "An action of the domain is used in no story or rule",
        "Nothing but another action can call it. Use it, or remove it.",
        "actions:\n- action_old_lookup",
        "actions: []",
        needs=("domain", "stories"),
        about=("action",),
    ),
    own_check(
        "slot-unused",
        "warning",
        "A slot is not used anywhere",
        "No form, story, rule, response or condition names it, and no mapping fills it so that policies see it. A"
        " custom action may use it; else remove it.",
        "slots:\n  left_over:\n    type: text\n    mappings:\n    - type: custom",
        "slots: {}",
        needs=("domain", "stories"),
        about=("slot",),
    ),
    own_check(
        "form-unused",
        "warning",
        "A form is activated in no story or rule",
        "Write a rule that activates it, or remove it.",
        "forms:\n  old_form:\n    required_slots: []",
        "- rule: order\n  steps:\n  - intent: order\n  - action: order_form\n  - active_loop: order_form",
        needs=("stories",),
        about=("form",),
    ),
    own_check(
        "entity-unused",
        "warning",
        "An entity of the domain is annotated in no example",
        "Only a pre-trained extractor, a regex or a lookup can find it. Annotate examples, or remove it.",
        "entities:\n- color   # and no [red](color) anywhere",
        "- a [red](color) one",
        needs=("nlu", "stories", "config"),
        about=("entity",),
    ),
    own_check(
        "action-overrides-default",
        "info",
        "An action of the domain has the name of a default action",
        "Your action server runs instead of it. If this is unintended, rename it.",
        "actions:\n- action_restart   # by accident",
        "actions:\n- action_restart_order",
        about=("action",),
    ),
    own_check(
        "slot-values-missing",
        "warning",
        "A categorical slot has no values",
        "All values count as the same “other” value. List its values.",
        "size:\n  type: categorical",
        "size:\n  type: categorical\n  values: [small, large]",
        about=("slot",),
    ),
    own_check(
        "response-empty",
        "warning",
        "A response has no variations",
        "Nothing is said. Write its text.",
        "utter_greet: []",
        'utter_greet:\n- text: "Hello!"',
        about=("response",),
    ),
    own_check(
        "response-name-invalid",
        "warning",
        "The name of a response has invalid characters or does not begin with `utter_`",
        "Only `utter_…` names are treated as responses in stories. Use letters, digits, underscores, and a slash in"
        " retrieval responses.",
        'utter good-bye!:\n- text: "Bye!"',
        'utter_good_night:\n- text: "Bye!"',
        about=("response",),
    ),
)


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
