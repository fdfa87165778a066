"""Generated cases for review: the project's own sentences with other values of the same entity."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from turncheck.project.batch.model import ExpectedEntity, SuiteCase, comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.project.model import Project
    from turncheck.project.nlu_data import EntityAnnotation, Example

_WORD: Final = re.compile(r"\w+")
_MOST_PER_SENTENCE: Final = 3


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Generated cases, by intent in the order of the data. ``near``: how many were too close to a training sentence."""

    cases: tuple[SuiteCase, ...]
    near: int


def suggest(project: Project, *, intent: str | None = None, most: int = 50) -> Suggestions:
    """Return up to ``most`` generated cases, of one intent or of all, each marked as generated.

    Each entity value in a sentence is replaced by others that the project's data have for the same entity. A result
    that has the words of a training sentence, in whatever order, is dropped and counted.
    """
    values = _values(project)
    known = {_words(example.text) for example in project.nlu.examples}
    wanted = None if intent is None else comparable(intent)
    cases: list[SuiteCase] = []
    near = 0
    seen: set[tuple[str, ...]] = set()
    for example in project.nlu.examples:
        if not example.intent or (wanted is not None and comparable(example.intent) != wanted):
            continue
        for case in _variations(example, values):
            words = _words(case.text)
            if words in known:
                near += 1
            elif words not in seen and len(cases) < most:
                seen.add(words)
                cases.append(case)
    return Suggestions(tuple(cases), near)


def _values(project: Project) -> dict[str, list[str]]:
    """The possible values of each entity: its annotations, the elements of its lookup table, a list's values."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for example in project.nlu.examples:
        for entity in example.entities:
            found[entity.entity].setdefault(example.text[entity.start : entity.end])
    for lookup in project.nlu.lookups:
        found[lookup.name].update(dict.fromkeys(lookup.elements))
    for one in project.kore.entities if project.kore else ():
        found[one.name].update(dict.fromkeys(name for name, _ in one.values))
    return {name: [value for value in values if value.strip()] for name, values in found.items()}


def _variations(example: Example, values: dict[str, list[str]]) -> Iterable[SuiteCase]:
    entities = sorted(example.entities, key=lambda one: one.start)
    overlapping = any(one.end > other.start for one, other in pairwise(entities))
    if not entities or overlapping:
        return
    for number in range(_MOST_PER_SENTENCE):
        chosen = [_other(example, entity, values.get(entity.entity, ()), number) for entity in entities]
        if any(value is None for value in chosen):
            return
        yield _with_values(example, entities, [value or "" for value in chosen])


def _other(example: Example, entity: EntityAnnotation, values: Sequence[str], number: int) -> str | None:
    surface = example.text[entity.start : entity.end]
    others = [value for value in values if value.casefold() != surface.casefold()]
    if number >= len(others):
        return None
    start = (values.index(surface) if surface in values else 0) % len(others)
    return others[(start + number) % len(others)]


def _with_values(example: Example, entities: Sequence[EntityAnnotation], chosen: Sequence[str]) -> SuiteCase:
    parts: list[str] = []
    place = 0
    expected: dict[str, list[str]] = {}
    for entity, value in zip(entities, chosen, strict=True):
        parts += (example.text[place : entity.start], value)
        place = entity.end
        expected.setdefault(entity.entity, []).append(value.strip())
    return SuiteCase(
        "".join((*parts, example.text[place:])).strip(),
        (example.intent or "",),
        entities=tuple(ExpectedEntity(name, ("||".join(dict.fromkeys(found)),)) for name, found in expected.items()),
        generated=True,
        location=example.location,
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(sorted(_WORD.findall(text.casefold())))
