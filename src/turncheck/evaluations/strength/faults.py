"""All mutants of a project, in an order that depends only on its files and the seed."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from turncheck.evaluations.strength.bench import BY_NAME, Lines, Mutant, is_changed
from turncheck.project import model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from turncheck.messages.finding import Location
    from turncheck.project.nlu_data import EntityAnnotation, Example, NluData, Synonym


# Faults in the configuration: thresholds, components, policies.

_OF_PIPELINE: Final = {"FallbackClassifier": {"threshold": 0.3, "ambiguity_threshold": 0.1}}
_OF_FALLBACK: Final = {"nlu_threshold": 0.3, "ambiguity_threshold": 0.1, "core_threshold": 0.3}
_OF_POLICIES: Final = {
    "RulePolicy": {"core_fallback_threshold": 0.4},
    "FallbackPolicy": _OF_FALLBACK,
    "TwoStageFallbackPolicy": _OF_FALLBACK,
    "UnexpecTEDIntentPolicy": {"tolerance": 0.0},
}
"""Thresholds of components, with Rasa's defaults; the fallback policies are those of Rasa 1 and 2."""


def config_faults(project: model.Project) -> Iterator[Mutant]:
    """Yield the project with a fault in its configuration."""
    config = project.config
    for key, thresholds, moved, dropped in (
        ("pipeline", _OF_PIPELINE, "move-nlu-threshold", "drop-component"),
        ("policies", _OF_POLICIES, "move-policy-threshold", "drop-policy"),
    ):
        components: tuple[model.Component, ...] = getattr(config, key) or ()
        for number, component in enumerate(components):
            name = component.name.rpartition(".")[2]
            for parameter, default in thresholds.get(name, {}).items():
                value = component.parameters.get(parameter, default)
                for other in _beside(value):
                    new = dataclasses.replace(component, parameters={**component.parameters, parameter: other})
                    what = f"{name} with {parameter} {other:g} instead of {value:g}"
                    changed = (*components[:number], new, *components[number + 1 :])
                    location = component.places.get(parameter, component.location)
                    yield _mutant(moved, what, location, _with_components(config, key, changed), project)
            if len(components) > 1:
                rest = (*components[:number], *components[number + 1 :])
                yield _mutant(
                    dropped, f"without {name}", component.location, _with_components(config, key, rest), project
                )


def _beside(value: Any) -> tuple[float, ...]:
    """Return the value half way to 1 and half the value; fewer if it is not a number, or already at an end."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return ()
    return tuple(other for other in (round((1 + value) / 2, 4), round(value / 2, 4)) if other != value)


def _mutant(operator: str, what: str, location: Location, config: model.Config, project: model.Project) -> Mutant:
    return Mutant(BY_NAME[operator], what, location, dataclasses.replace(project, config=config), places=(location,))


def _with_components(config: model.Config, key: str, components: tuple[model.Component, ...]) -> model.Config:
    return replace(config, pipeline=components) if key == "pipeline" else replace(config, policies=components)


# Faults in the domain: responses, slots, forms.

REPLACED: Final = "(another text)"
"""The text that replaces a response's own."""


def domain_faults(project: model.Project) -> Iterator[Mutant]:
    """Yield the project with a fault in its domain."""
    domain = project.domain
    yield from _of_responses(project)
    for slot in domain.slots.values():
        touched = frozenset(
            {
                f"slot {slot.name}",
                *(f"entity {slot_mapping.entity}" for slot_mapping in slot.mappings if slot_mapping.entity),
            }
        )
        for number, mapping in enumerate(slot.mappings):
            kept = (*slot.mappings[:number], *slot.mappings[number + 1 :])
            yield Mutant(
                BY_NAME["drop-mapping"], f"the slot '{slot.name}' without its mapping {mapping.type}",
                mapping.location, _with_slot(project, dataclasses.replace(slot, mappings=kept)), touched,
                (mapping.location,),
            )  # fmt: skip
            if mapping.conditions:
                free = (*slot.mappings[:number], replace(mapping, conditions=()), *slot.mappings[number + 1 :])
                yield Mutant(
                    BY_NAME["drop-mapping-condition"],
                    f"the mapping {mapping.type} of the slot '{slot.name}' without its conditions",
                    mapping.location, _with_slot(project, dataclasses.replace(slot, mappings=free)), touched,
                    (mapping.location,),
                )  # fmt: skip
        for number, value in enumerate(slot.values or ()):
            if isinstance(value, str):
                values = slot.values or ()
                renamed = (*values[:number], f"{value}_x", *values[number + 1 :])
                location = slot.places[number] if number < len(slot.places) else slot.location
                yield Mutant(
                    BY_NAME["rename-category"], f"the value '{value}' of the slot '{slot.name}' is called '{value}_x'",
                    location, _with_slot(project, dataclasses.replace(slot, values=renamed)), touched, (location,),
                )  # fmt: skip
    for form in domain.forms.values():
        for number, name in enumerate(form.required_slots):
            location = form.places[number] if number < len(form.places) else form.location
            kept_slots = tuple(one for one in form.required_slots if one != name)
            yield Mutant(
                BY_NAME["drop-required-slot"], f"the form '{form.name}' without '{name}'", location,
                _with_form(project, dataclasses.replace(form, required_slots=kept_slots)),
                frozenset({f"form {form.name}", f"slot {name}", f"action utter_ask_{name}"}), (location,),
            )  # fmt: skip


def _of_responses(project: model.Project) -> Iterator[Mutant]:
    with_text = [one for one in project.domain.responses.values() if any(v.text for v in one.variations)]
    for response in with_text:
        new = replace(
            response,
            variations=tuple(
                replace(response_variation, content={**response_variation.content, "text": REPLACED})
                if response_variation.text
                else response_variation
                for response_variation in response.variations
            ),
        )
        yield Mutant(
            BY_NAME["replace-response"], f"'{response.name}' says something else", response.location,
            _with_responses(project, new), _touched(response), _places(response),
        )  # fmt: skip
        for number, variation in enumerate(response.variations):
            if variation.conditions:
                free = {key: value for key, value in variation.content.items() if key != "condition"}
                variations = (
                    *response.variations[:number], replace(variation, content=free), *response.variations[number + 1 :],
                )  # fmt: skip
                yield Mutant(
                    BY_NAME["drop-response-condition"], f"a variation of '{response.name}' without its condition",
                    variation.location, _with_responses(project, replace(response, variations=variations)),
                    _touched(response), (variation.location,),
                )  # fmt: skip
    with_text.sort(key=lambda response: response.name)
    for one, other in zip(with_text[::2], with_text[1::2], strict=False):
        swapped = replace(one, variations=other.variations), replace(other, variations=one.variations)
        yield Mutant(
            BY_NAME["swap-responses"], f"'{one.name}' and '{other.name}' are swapped", one.location,
            _with_responses(project, *swapped), _touched(one) | _touched(other), (*_places(one), *_places(other)),
        )  # fmt: skip


def _places(response: model.Response) -> tuple[Location, ...]:
    return (response.location, *(variation.location for variation in response.variations))


def _touched(response: model.Response) -> frozenset[str]:
    return frozenset({f"action {response.name}", f"action {response.name.partition('/')[0]}"})


def _with_responses(project: model.Project, *responses: model.Response) -> model.Project:
    changed = {**project.domain.responses, **{response.name: response for response in responses}}
    return _with_domain(project, replace(project.domain, responses=changed))


def _with_slot(project: model.Project, slot: model.Slot) -> model.Project:
    return _with_domain(project, replace(project.domain, slots={**project.domain.slots, slot.name: slot}))


def _with_form(project: model.Project, form: model.Form) -> model.Project:
    return _with_domain(project, replace(project.domain, forms={**project.domain.forms, form.name: form}))


def _with_domain(project: model.Project, domain: model.Domain) -> model.Project:
    return dataclasses.replace(project, domain=domain)


# Faults in the NLU training data.

_KEPT: Final = 2
"""An intent keeps this many sentences."""
_ANNOTATIONS: Final = 2
"""This many annotations of an entity (with its role and group) are removed, one at a time."""


def sentence_faults(project: model.Project, seed: int, changed: Lines | None = None) -> Iterator[Mutant]:
    """Yield the project with a fault in its sentences, synonyms, lookup tables or regular expressions.

    ``changed``: the lines that matter; only annotations on them are then removed one at a time.
    """
    yield from _of_intents(project)
    yield from _of_annotations(project, seed, changed)
    nlu = project.nlu
    for synonym in nlu.synonyms:
        if not synonym.location.path or synonym.synonym.lower() == synonym.value.lower():
            continue
        words = f"'{synonym.synonym}' no longer stands for '{synonym.value}'"
        kept = tuple(one for one in nlu.synonyms if one is not synonym)
        # An annotation with the value implies the synonym: both must be removed for any effect.
        plain = _annotations(nlu.examples, partial(_as_said, synonym))
        values = {name for name, value in _values(nlu.examples) if value == synonym.value}
        yield Mutant(
            BY_NAME["drop-synonym"], words, synonym.location,
            _with_nlu(project, replace(nlu, synonyms=kept, examples=plain)),
            frozenset(f"entity {name}" for name in values), (synonym.location,),
        )  # fmt: skip
    for lookup in nlu.lookups:
        kept_lookups = tuple(one for one in nlu.lookups if one is not lookup)
        yield Mutant(
            BY_NAME["drop-lookup"], f"without the lookup table '{lookup.name}'", lookup.location,
            _with_nlu(project, replace(nlu, lookups=kept_lookups)), frozenset({f"entity {lookup.name}"}),
            (lookup.location,),
        )  # fmt: skip
    for regex in nlu.regexes:
        kept_regexes = tuple(one for one in nlu.regexes if one is not regex)
        yield Mutant(
            BY_NAME["drop-regex"], f"without a pattern of '{regex.name}'", regex.location,
            _with_nlu(project, replace(nlu, regexes=kept_regexes)), frozenset({f"entity {regex.name}"}),
            (regex.location,),
        )  # fmt: skip


def _of_intents(project: model.Project) -> Iterator[Mutant]:
    by_intent: dict[str, list[Example]] = {}
    for example in project.nlu.examples:
        if example.intent:
            # Each response of a retrieval intent separately: "faq/hours" and "faq/price".
            by_intent.setdefault(example.intent, []).append(example)
    for intent, examples in by_intent.items():
        locations = tuple(example.location for example in examples)
        touched = frozenset({f"intent {examples[0].base_intent}", *_entities(examples)})
        if len(by_intent) > 1:
            yield Mutant(
                BY_NAME["drop-intent"], f"'{intent}' has no sentences", locations[0],
                _without(project, examples), touched, locations,
            )  # fmt: skip
        if len(examples) > _KEPT:
            yield Mutant(
                BY_NAME["cut-intent"], f"'{intent}' has {_KEPT} sentences instead of {len(examples)}", locations[_KEPT],
                _without(project, examples[_KEPT:]), touched, locations[_KEPT:],
            )  # fmt: skip


def _of_annotations(project: model.Project, seed: int, changed: Lines | None) -> Iterator[Mutant]:
    groups: dict[tuple[str, str | None, str | None], list[tuple[int, EntityAnnotation]]] = {}
    examples = project.nlu.examples
    for number, example in enumerate(examples):
        for annotation in example.entities:
            groups.setdefault((annotation.entity, annotation.role, annotation.group), []).append((number, annotation))
    for (entity, role, group), found in groups.items():
        name = ", ".join(filter(None, (f"'{entity}'", role and f"role '{role}'", group and f"group '{group}'")))
        chance = random.Random(f"{seed}/{entity}/{role}/{group}")
        near = [pair for pair in found if changed is None or is_changed(examples[pair[0]].location, changed)]
        for number, annotation in sorted(chance.sample(near, min(_ANNOTATIONS, len(near))), key=lambda pair: pair[0]):
            example = examples[number]
            said = example.text[annotation.start : annotation.end]
            kept = tuple(other for other in example.entities if other is not annotation)
            with_less = (*examples[:number], _annotated(example, kept), *examples[number + 1 :])
            yield Mutant(
                BY_NAME["drop-annotation"], f"'{said}' is not annotated as {name}", example.location,
                _with_nlu(project, replace(project.nlu, examples=with_less)),
                frozenset({f"intent {example.base_intent}", f"entity {entity}"}), (example.location,),
            )  # fmt: skip
        if role is not None:
            yield _renamed_role(project, entity, role, found)
    for entity in dict.fromkeys(entity for entity, _, _ in groups):
        found = [pair for (name, _, _), pairs in groups.items() if name == entity for pair in pairs]
        locations = tuple(examples[number].location for number in sorted({number for number, _ in found}))
        none = _annotations(examples, partial(_unless, entity))
        yield Mutant(
            BY_NAME["drop-entity"], f"no sentence annotates '{entity}'", locations[0],
            _with_nlu(project, replace(project.nlu, examples=none)),
            frozenset({f"entity {entity}"}), locations,
        )  # fmt: skip


def _renamed_role(project: model.Project, entity: str, role: str, found: list[tuple[int, EntityAnnotation]]) -> Mutant:
    examples = project.nlu.examples
    renamed = _annotations(
        examples,
        lambda _, annotation: (
            replace(annotation, role=f"{role}_x")
            if (annotation.entity, annotation.role) == (entity, role)
            else annotation
        ),
    )
    locations = tuple(examples[number].location for number in dict.fromkeys(number for number, _ in found))
    return Mutant(
        BY_NAME["rename-role"], f"the role '{role}' of '{entity}' is called '{role}_x'", locations[0],
        _with_nlu(project, replace(project.nlu, examples=renamed)), frozenset({f"entity {entity}"}), locations,
    )  # fmt: skip


def _as_said(lost: Synonym, text: str, entity_annotation: EntityAnnotation) -> EntityAnnotation:
    """Return the annotation without the value that the synonym maps to."""
    said = text[entity_annotation.start : entity_annotation.end]
    return (
        replace(entity_annotation, value=said)
        if entity_annotation.value == lost.value and said.lower() == lost.synonym.lower()
        else entity_annotation
    )


def _unless(entity: str, _: str, entity_annotation: EntityAnnotation) -> EntityAnnotation | None:
    return None if entity_annotation.entity == entity else entity_annotation


def _annotations(
    examples: Iterable[Example], change: Callable[[str, EntityAnnotation], EntityAnnotation | None]
) -> tuple[Example, ...]:
    """Return the examples with their annotations changed, or removed for ``None``."""
    changed = []
    for example in examples:
        new = tuple(
            entity_annotation
            for old in example.entities
            if (entity_annotation := change(example.text, old)) is not None
        )
        changed.append(example if new == example.entities else _annotated(example, new))
    return tuple(changed)


def _annotated(example: Example, entities: tuple[EntityAnnotation, ...]) -> Example:
    return type(example)(example.text, example.intent, entities, example.metadata, example.origin, example.index)


def _values(examples: Iterable[Example]) -> Iterator[tuple[str, object]]:
    yield from ((entity.entity, entity.value) for example in examples for entity in example.entities)


def _entities(examples: Iterable[Example]) -> set[str]:
    return {f"entity {entity.entity}" for example in examples for entity in example.entities}


def _without(project: model.Project, lost: Iterable[Example]) -> model.Project:
    gone = {id(example) for example in lost}
    kept = tuple(example for example in project.nlu.examples if id(example) not in gone)
    return _with_nlu(project, replace(project.nlu, examples=kept))


def _with_nlu(project: model.Project, nlu: NluData) -> model.Project:
    return dataclasses.replace(project, nlu=nlu)


# Faults in stories and rules.


def story_faults(project: model.Project) -> Iterator[Mutant]:
    """Yield the project with a fault in one of its stories or rules."""
    for story in (*project.stories, *project.rules):
        name = f"{story.kind} '{story.name}'"

        def mutant(
            operator: str, what: str, location: Location, new: model.Story | None, of: model.Story = story
        ) -> Mutant:
            return Mutant(BY_NAME[operator], what, location, _with_story(project, of, new), touched_by(of), (location,))

        said = [number for number, step in enumerate(story.steps) if isinstance(step, model.ActionStep | model.BotStep)]
        for number, step in enumerate(story.steps):
            if isinstance(step, model.CheckpointStep | model.EventStep):
                continue
            rest = (*story.steps[:number], *story.steps[number + 1 :])
            # A story without any action has nothing to learn from, and Rasa does not accept it.
            new = replace(story, steps=rest) if said != [number] else None
            yield mutant("drop-step", f"{name} without {_called(step)}", step.location, new)
        for number in said:
            if number + 1 in said and _called(story.steps[number]) != _called(story.steps[number + 1]):
                one, other = story.steps[number : number + 2]
                swapped = (*story.steps[:number], other, one, *story.steps[number + 2 :])
                what = f"{name} with {_called(other)} before {_called(one)}"
                yield mutant("swap-steps", what, one.location, replace(story, steps=swapped))
        for condition in story.condition:
            kept = tuple(one for one in story.condition if one is not condition)
            what = f"{name} without its condition on {_condition(condition)}"
            yield mutant("drop-rule-condition", what, condition.location, replace(story, condition=kept))
        for number, step in enumerate(story.steps):
            if (
                isinstance(step, model.SlotWasSetStep)
                and not step.named_only
                and (value := _another(step.value)) is not None
            ):
                steps = (*story.steps[:number], replace(step, value=value), *story.steps[number + 1 :])
                what = f"{name} with '{step.slot}' set to '{value}' instead of '{step.value}'"
                yield mutant("rename-slot-value", what, step.location, replace(story, steps=steps))


def touched_by(story: model.Story) -> frozenset[str]:
    """Return the names of what a story uses, and its own name."""
    names = {f"{story.kind} {story.name}"}
    for step in _opened(story.steps):
        match step:
            case model.UserStep():
                names.add(f"intent {step.base_intent}")
                names |= {f"entity {entity.entity}" for entity in step.entities}
            case model.ActionStep():
                names.add(f"action {step.action}")
            case model.SlotWasSetStep():
                names.add(f"slot {step.slot}")
            case model.ActiveLoopStep() if step.name:
                names.add(f"form {step.name}")
            case _:
                pass
    return frozenset(names)


def _opened(steps: tuple[model.Step, ...]) -> Iterator[model.Step]:
    for step in steps:
        if isinstance(step, model.OrStep):
            yield from (part for alternative in step.alternatives for part in alternative)
        else:
            yield step


def _called(step: model.Step) -> str:
    match step:
        case model.ActionStep():
            return f"'{step.action}'"
        case model.UserStep():
            return f"the message '{step.intent or step.text}'"
        case model.SlotWasSetStep():
            return f"the slot '{step.slot}'"
        case model.ActiveLoopStep():
            return f"the loop '{step.name}'" if step.name else "the end of the loop"
        case model.OrStep():
            return "its alternatives"
        case _:
            return f"'{getattr(step, 'text', '')}'"


def _another(value: Any) -> str | bool | None:
    """Return another value for a string or a Boolean; ``None`` for any other value."""
    if isinstance(value, bool):
        return not value
    return f"{value}_x" if isinstance(value, str) and value else None


def _condition(condition: model.SlotWasSetStep | model.ActiveLoopStep) -> str:
    return f"the slot '{condition.slot}'" if isinstance(condition, model.SlotWasSetStep) else "the active loop"


def _with_story(project: model.Project, story: model.Story, new: model.Story | None) -> model.Project:
    """Return the project with another story in place of this one, or without it."""
    stories, rules = (
        tuple(kept for one in group if (kept := new if one is story else one) is not None)
        for group in (project.stories, project.rules)
    )
    return dataclasses.replace(project, stories=stories, rules=rules)


def mutants_of(project: model.Project, seed: int, changed: Lines | None = None) -> list[Mutant]:
    """Return all mutants, shuffled by the seed: the first ones are a fair sample of all.

    With ``changed``, line numbers by file: only the mutants of these lines.

    The position of a mutant depends only on itself and the seed, so that a change elsewhere in the project does not
    affect the order of the others. Which sentences and annotations it takes away hangs on what they say, not on their
    places in the files.
    """
    project = dataclasses.replace(
        project,
        nlu=project.nlu.in_order(),
        stories=model.in_order_of_names(project.stories),
        rules=model.in_order_of_names(project.rules),
    )
    found = {mutant.key: mutant for mutant in _all(project, seed, changed) if changed is None or is_in(mutant, changed)}
    return sorted(found.values(), key=lambda mutant: (_chance(mutant, seed), mutant.key))


def _all(project: model.Project, seed: int, changed: Lines | None) -> Iterator[Mutant]:
    yield from sentence_faults(project, seed, changed)
    yield from domain_faults(project)
    yield from story_faults(project)
    yield from config_faults(project)


def _chance(mutant: Mutant, seed: int) -> str:
    # Without the place: what was only moved keeps its position.
    words = f"{seed}/{mutant.operator.name}/{mutant.what}"
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def is_in(mutant: Mutant, changed: Lines) -> bool:
    """Whether a mutant concerns one of these lines, by file."""
    return any(is_changed(location, changed) for location in mutant.places or (mutant.location,))
