"""Suites from NLU data, and NLU data from suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.batch.model import ExpectedEntity, SuiteCase
from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.project.formats.rasa_nlu_writer import annotated
from turncheck.project.nlu_data import EntityAnnotation, Example

if TYPE_CHECKING:
    from collections.abc import Iterable


def case_of(example: Example) -> SuiteCase:
    """Return a sentence as a case: its intent, and its entities with their values."""
    values: dict[str, list[str]] = {}
    for entity in example.entities:
        values.setdefault(entity.entity, []).append(str(entity.value).strip())
    return SuiteCase(
        example.text.strip(),
        (example.intent,) if example.intent else (),
        entities=tuple(
            ExpectedEntity(name, ("||".join(dict.fromkeys(found)),)) for name, found in values.items() if all(found)
        ),
        location=example.location,
    )


def examples_of(cases: Iterable[SuiteCase]) -> tuple[list[Example], list[tuple[SuiteCase, str]]]:
    """Return cases as sentences of NLU data, and the cases that such data cannot hold, each with the reason."""
    kept: list[Example] = []
    left_out: list[tuple[SuiteCase, str]] = []
    for case in cases:
        example = _example(case)
        if isinstance(example, str):
            left_out.append((case, example))
        else:
            kept.append(example)
    return kept, left_out


def _example(case: SuiteCase) -> Example | str:
    if case.is_trait:
        return "NLU data have no traits"
    if len(case.intents) != 1:
        return "NLU data have one intent per sentence"
    if case.parent or case.bots or case.order:
        return "NLU data have neither parent intents nor bots nor an order of entities"
    entities: list[EntityAnnotation] = []
    for entity in case.entities:
        if len(entity.values) != 1:
            return f"the entity '{entity.name}' has alternative values"
        for value in entity.values[0].split("||"):
            start = _free_place(case.text, value.strip(), entities)
            if start < 0:
                return f"the value of the entity '{entity.name}' does not appear in the sentence"
            entities.append(EntityAnnotation(start, start + len(value.strip()), entity.name, value.strip()))
    example = Example(case.text, case.intents[0], tuple(sorted(entities, key=lambda one: one.start)))
    try:
        text, found = parse_annotations(annotated(example))
    except AnnotationError:
        text, found = "", ()
    if text != case.text or len(found) != len(entities):
        return "the sentence holds what NLU data take for an annotation"
    return example


def _free_place(text: str, value: str, taken: list[EntityAnnotation]) -> int:
    start = text.find(value) if value else -1
    while start >= 0 and any(one.start < start + len(value) and start < one.end for one in taken):
        start = text.find(value, start + 1)
    return start
