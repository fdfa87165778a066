"""Suites made of what is there: generated cases, conversations, and the project's own training sentences."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.batch.model import MAX_ALTERNATIVES, ExpectedEntity, SuiteCase, comparable
from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.project.formats.rasa_nlu_writer import annotated
from turncheck.project.nlu_data import EntityAnnotation, Example

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.project.model import Project
    from turncheck.yaml_tree.source import Source


_WORD: Final = re.compile(r"\w+")
_MOST_PER_SENTENCE: Final = 3


class Suggestions(Struct, frozen=True):
    """Generated cases, by intent in the order of the data. ``near``: how many were too close to a training sentence.

    ``without``: the intents for which nothing could be generated. ``unwritable``: those that a suite cannot name.
    """

    cases: tuple[SuiteCase, ...]
    near: int
    without: tuple[str, ...] = ()
    unwritable: tuple[str, ...] = ()


def suggest(project: Project, *, intent: str | None = None, most: int | None = 50) -> Suggestions:
    """Return up to ``most`` (``None``: all) generated cases, of one intent or of all, each marked as generated.

    Each entity value in a sentence is replaced by others that the project's data have for the same entity. A result
    that has the words of a training sentence, in whatever order, is dropped and counted.
    """
    values, meant = _values(project), _meant(project)
    known = {words_of_case(example.text) for example in project.nlu.examples}
    wanted = None if intent is None else comparable(intent)
    cases: list[SuiteCase] = []
    near = 0
    seen: set[tuple[str, ...]] = set()
    for example in project.nlu.examples:
        if not example.intent or (wanted is not None and comparable(example.intent) != wanted):
            continue
        for case in _variations(example, values, meant):
            words = words_of_case(case.text)
            if words in known:
                near += 1
            elif words not in seen and (most is None or len(cases) < most):
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
    for name, values in project.native.listed_values() if project.native else ():
        found[name].update(dict.fromkeys(value for value, _ in values))
    return {name: [value for value in some if value.strip()] for name, some in found.items()}


def _meant(project: Project) -> dict[tuple[str, str], str]:
    """The value that a word for an entity means, if it is another: of annotations, and of the synonyms of lists."""
    found = {
        (entity.entity, example.text[entity.start : entity.end].strip().casefold()): str(entity.value).strip()
        for example in project.nlu.examples
        for entity in example.entities
        if entity.value is not None
    }
    for name, values in project.native.listed_values() if project.native else ():
        found |= {(name, word.strip().casefold()): value for value, words in values for word in words}
    return found


def _variations(
    example: Example, values: dict[str, list[str]], meant: Mapping[tuple[str, str], str]
) -> Iterable[SuiteCase]:
    entities = sorted(example.entities, key=lambda entity: entity.start)
    overlapping = any(annotation.end > other.start for annotation, other in pairwise(entities))
    if not entities or overlapping:
        return
    for number in range(_MOST_PER_SENTENCE):
        chosen = [_other(example, entity, values.get(entity.entity, ()), number) for entity in entities]
        if any(value is None for value in chosen):
            return
        yield _with_values(example, entities, [value or "" for value in chosen], meant)


def _other(example: Example, entity: EntityAnnotation, values: Sequence[str], number: int) -> str | None:
    surface = example.text[entity.start : entity.end]
    others = [value for value in values if value.casefold() != surface.casefold()]
    if number >= len(others):
        return None
    start = (values.index(surface) if surface in values else 0) % len(others)
    return others[(start + number) % len(others)]


def _with_values(
    example: Example,
    entities: Sequence[EntityAnnotation],
    chosen: Sequence[str],
    meant: Mapping[tuple[str, str], str],
) -> SuiteCase:
    parts: list[str] = []
    place = 0
    expected: dict[str, list[str]] = {}
    for entity, value in zip(entities, chosen, strict=True):
        parts += (example.text[place : entity.start], value)
        place = entity.end
        expected.setdefault(entity.entity, []).append(
            meant.get((entity.entity, value.strip().casefold())) or value.strip()
        )
    return SuiteCase(
        "".join((*parts, example.text[place:])).strip(),
        (example.intent or "",),
        entities=tuple(ExpectedEntity(name, ("||".join(dict.fromkeys(found)),)) for name, found in expected.items()),
        generated=True,
        location=example.location,
    )


def words_of_case(text: str) -> tuple[str, ...]:
    """Return a sentence's words in whatever order: two with the same words count as the same."""
    return tuple(sorted(_WORD.findall(text.casefold())))


# The suite of successful user utterances, from a log with the matched intent of each and whether its task completed.
#
# JSON (a list of objects, one object per line, or a list below ``conversations``, ``messages`` or ``data``) and CSV.
# An utterance counts if it matched an intent and its task was completed.

_UTTERANCE: Final = ("utterance", "input", "text", "message", "userinput")
_INTENT: Final = ("intent", "matchedintent", "task", "taskname", "intentname")
_COMPLETED: Final = ("completed", "taskcompleted", "taskstatus", "completionstatus", "iscompleted", "taskcompletion")
_YES: Final = frozenset({"true", "1", "yes", "completed", "complete", "success", "successful", "done", "finished"})
_NONE: Final = frozenset({"", "none", "default fallback intent", "nlu_fallback"})
_LISTS: Final = ("conversations", "messages", "data", "utterances")


class Successful(Struct, frozen=True):
    """The cases, one for each utterance and what it matched, and how many records were read and left out.

    Several intents of one utterance are alternatives.
    """

    cases: tuple[SuiteCase, ...]
    records: int
    left_out: int


def successful_utterances(source: Source) -> Successful:
    """Return the utterances of a log that matched an intent and whose task was completed.

    Raises:
        UserError: it is neither JSON nor CSV, or lacks the utterances, the matched intents or what was completed.
    """
    records = _records(source)
    keys = {_key(name) for record in records for name in record}
    lacking = [
        what
        for what, names in (
            ("the utterance (`utterance`)", _UTTERANCE),
            ("the matched intent (`intent`)", _INTENT),
            ("whether its task was completed (`completed`)", _COMPLETED),
        )
        if keys.isdisjoint(names)
    ]
    if lacking:
        raise UserError(
            f"the log lacks {' and '.join(lacking)}",
            location=Location(source.path),
            hint="Only utterances whose task ran to its end belong in this suite; export them with these fields.",
        )
    kept: dict[SuiteCase, None] = {}
    left_out = 0
    for record in records:
        text, intents = _value(record, _UTTERANCE), _intents(record)
        if text and intents and _value(record, _COMPLETED).casefold() in _YES:
            kept.setdefault(SuiteCase(text, intents))
        else:
            left_out += 1
    return Successful(tuple(kept), len(records), left_out)


def _records(source: Source) -> list[Mapping[str, Any]]:
    text = source.file_text
    first = text.lstrip()[:1]
    try:
        if first in {"[", "{"}:
            return _json_records(text)
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except (ValueError, RecursionError, csv.Error) as error:
        line = getattr(error, "lineno", None)
        raise UserError(
            "the log is neither JSON nor CSV", location=Location(source.path, line), hint="Export it as one of them."
        ) from None


def _json_records(text: str) -> list[Mapping[str, Any]]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        data = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(data, dict):
        data = next((data[name] for name in _LISTS if isinstance(data.get(name), list)), [data])
    return [record for record in data if isinstance(record, dict)] if isinstance(data, list) else []


def _key(name: object) -> str:
    return str(name).replace(" ", "").replace("_", "").casefold()


def _intents(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the intents that an utterance matched, as many as a suite can hold as alternatives."""
    found = _found(record, _INTENT)
    names = [_written(name) for name in found] if isinstance(found, list) else _written(found).split("|")
    intents = dict.fromkeys(name for one in names if (name := one.strip()).casefold() not in _NONE)
    return tuple(intents)[:MAX_ALTERNATIVES]


def _value(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return _written(_found(record, names))


def _found(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    by_key = {_key(name): value for name, value in record.items()}
    return next((by_key[name] for name in names if by_key.get(name) is not None), "")


def _written(value: Any) -> str:
    return str(value).strip() if isinstance(value, str | int | float | bool) else ""


# Suites from NLU data, and NLU data from suites.


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
    example = Example(
        case.text, case.intents[0], tuple(sorted(entities, key=lambda entity_annotation: entity_annotation.start))
    )
    try:
        text, entity_annotations = parse_annotations(annotated(example))
    except AnnotationError:
        text, entity_annotations = "", ()
    if text != case.text or len(entity_annotations) != len(entities):
        return "the sentence holds what NLU data take for an annotation"
    return example


def _free_place(text: str, value: str, taken: list[EntityAnnotation]) -> int:
    start = text.find(value) if value else -1
    while start >= 0 and any(annotation.start < start + len(value) and start < annotation.end for annotation in taken):
        start = text.find(value, start + 1)
    return start
