"""Faults in the NLU training data."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.strength.mutant import BY_NAME, Mutant, is_changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from turncheck.evaluation.strength.mutant import Lines
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import EntityAnnotation, Example, NluData, Synonym

_KEPT: Final = 2
"""An intent keeps this many sentences."""
_ANNOTATIONS: Final = 2
"""This many annotations of an entity (with its role and group) are removed, one at a time."""


def sentence_faults(project: Project, seed: int, changed: Lines | None = None) -> Iterator[Mutant]:
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
            _with(project, replace(nlu, synonyms=kept, examples=plain)),
            frozenset(f"entity {name}" for name in values), (synonym.location,),
        )  # fmt: skip
    for lookup in nlu.lookups:
        kept_lookups = tuple(one for one in nlu.lookups if one is not lookup)
        yield Mutant(
            BY_NAME["drop-lookup"], f"without the lookup table '{lookup.name}'", lookup.location,
            _with(project, replace(nlu, lookups=kept_lookups)), frozenset({f"entity {lookup.name}"}),
            (lookup.location,),
        )  # fmt: skip
    for regex in nlu.regexes:
        kept_regexes = tuple(one for one in nlu.regexes if one is not regex)
        yield Mutant(
            BY_NAME["drop-regex"], f"without a pattern of '{regex.name}'", regex.location,
            _with(project, replace(nlu, regexes=kept_regexes)), frozenset({f"entity {regex.name}"}), (regex.location,),
        )  # fmt: skip


def _of_intents(project: Project) -> Iterator[Mutant]:
    by_intent: dict[str, list[Example]] = {}
    for example in project.nlu.examples:
        if example.intent:
            # Each response of a retrieval intent separately: "faq/hours" and "faq/price".
            by_intent.setdefault(example.intent, []).append(example)
    for intent, examples in by_intent.items():
        places = tuple(example.location for example in examples)
        touched = frozenset({f"intent {examples[0].base_intent}", *_entities(examples)})
        if len(by_intent) > 1:
            yield Mutant(
                BY_NAME["drop-intent"], f"'{intent}' has no sentences", places[0],
                _without(project, examples), touched, places,
            )  # fmt: skip
        if len(examples) > _KEPT:
            yield Mutant(
                BY_NAME["cut-intent"], f"'{intent}' has {_KEPT} sentences instead of {len(examples)}", places[_KEPT],
                _without(project, examples[_KEPT:]), touched, places[_KEPT:],
            )  # fmt: skip


def _of_annotations(project: Project, seed: int, changed: Lines | None) -> Iterator[Mutant]:
    groups: dict[tuple[str, str | None, str | None], list[tuple[int, EntityAnnotation]]] = {}
    examples = project.nlu.examples
    for number, example in enumerate(examples):
        for one in example.entities:
            groups.setdefault((one.entity, one.role, one.group), []).append((number, one))
    for (entity, role, group), found in groups.items():
        name = ", ".join(filter(None, (f"'{entity}'", role and f"role '{role}'", group and f"group '{group}'")))
        chance = random.Random(f"{seed}/{entity}/{role}/{group}")
        near = [pair for pair in found if changed is None or is_changed(examples[pair[0]].location, changed)]
        for number, one in sorted(chance.sample(near, min(_ANNOTATIONS, len(near))), key=lambda pair: pair[0]):
            example = examples[number]
            said = example.text[one.start : one.end]
            kept = tuple(other for other in example.entities if other is not one)
            with_less = (*examples[:number], _annotated(example, kept), *examples[number + 1 :])
            yield Mutant(
                BY_NAME["drop-annotation"], f"'{said}' is not annotated as {name}", example.location,
                _with(project, replace(project.nlu, examples=with_less)),
                frozenset({f"intent {example.base_intent}", f"entity {entity}"}), (example.location,),
            )  # fmt: skip
        if role is not None:
            yield _renamed_role(project, entity, role, found)
    for entity in dict.fromkeys(entity for entity, _, _ in groups):
        found = [pair for (name, _, _), pairs in groups.items() if name == entity for pair in pairs]
        places = tuple(examples[number].location for number in sorted({number for number, _ in found}))
        none = _annotations(examples, partial(_unless, entity))
        yield Mutant(
            BY_NAME["drop-entity"], f"no sentence annotates '{entity}'", places[0],
            _with(project, replace(project.nlu, examples=none)),
            frozenset({f"entity {entity}"}), places,
        )  # fmt: skip


def _renamed_role(project: Project, entity: str, role: str, found: list[tuple[int, EntityAnnotation]]) -> Mutant:
    examples = project.nlu.examples
    renamed = _annotations(
        examples, lambda _, one: replace(one, role=f"{role}_x") if (one.entity, one.role) == (entity, role) else one
    )
    places = tuple(examples[number].location for number in dict.fromkeys(number for number, _ in found))
    return Mutant(
        BY_NAME["rename-role"], f"the role '{role}' of '{entity}' is called '{role}_x'", places[0],
        _with(project, replace(project.nlu, examples=renamed)), frozenset({f"entity {entity}"}), places,
    )  # fmt: skip


def _as_said(lost: Synonym, text: str, one: EntityAnnotation) -> EntityAnnotation:
    """Return the annotation without the value that the synonym maps to."""
    said = text[one.start : one.end]
    return replace(one, value=said) if one.value == lost.value and said.lower() == lost.synonym.lower() else one


def _unless(entity: str, _: str, one: EntityAnnotation) -> EntityAnnotation | None:
    return None if one.entity == entity else one


def _annotations(
    examples: Iterable[Example], change: Callable[[str, EntityAnnotation], EntityAnnotation | None]
) -> tuple[Example, ...]:
    """Return the examples with their annotations changed, or removed for ``None``."""
    changed = []
    for example in examples:
        new = tuple(one for old in example.entities if (one := change(example.text, old)) is not None)
        changed.append(example if new == example.entities else _annotated(example, new))
    return tuple(changed)


def _annotated(example: Example, entities: tuple[EntityAnnotation, ...]) -> Example:
    return type(example)(example.text, example.intent, entities, example.metadata, example.origin, example.index)


def _values(examples: Iterable[Example]) -> Iterator[tuple[str, object]]:
    yield from ((one.entity, one.value) for example in examples for one in example.entities)


def _entities(examples: Iterable[Example]) -> set[str]:
    return {f"entity {one.entity}" for example in examples for one in example.entities}


def _without(project: Project, lost: Iterable[Example]) -> Project:
    gone = {id(example) for example in lost}
    kept = tuple(example for example in project.nlu.examples if id(example) not in gone)
    return _with(project, replace(project.nlu, examples=kept))


def _with(project: Project, nlu: NluData) -> Project:
    return replace(project, nlu=nlu)
