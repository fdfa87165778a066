"""Sentences of stories with their entities, as Rasa writes them into its results and as policies find them."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turncheck.dialogue.events import ActionExecuted, SlotSet, UserUttered
from turncheck.evaluations.nlu.scores import score_pairs
from turncheck.report.entities import NO_ENTITY, Tokens, token_labels
from turncheck.report.model import Confusion, EntitySpan, PolicyEntities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.conversation import Parse


def annotated(text: str, entities: Sequence[Mapping[str, Any]]) -> str:
    """Mark the entities that have a position; a text that begins with ``/`` names its entities itself.

    >>> annotated("to Rome", [{"start": 3, "end": 7, "entity": "city", "value": "Rome"}])
    'to [Rome](city)'
    """
    if text.startswith("/"):
        return text
    by_start: dict[int, list[Mapping[str, Any]]] = {}
    for entity in entities:
        if entity.get("start") is not None and entity.get("end") is not None:
            by_start.setdefault(entity["start"], []).append(entity)
    parts: list[str] = []
    position = 0
    for start, found in sorted(by_start.items()):
        parts.extend((text[position:start], annotation(text, *found)))
        position = found[0]["end"]
    return "".join((*parts, text[position:]))


def annotation(text: str, *entities: Mapping[str, Any]) -> str:
    """Write one annotation: ``[Rome](city)``, or with the attributes as JSON if the short form is not enough.

    >>> annotation("NYC", {"start": 0, "end": 3, "entity": "city", "value": "New York"})
    '[NYC]{"entity": "city", "value": "New York"}'
    """
    surface = text[entities[0]["start"] : entities[0]["end"]]
    attributes = [_attributes(surface, entity) for entity in entities]
    if len(entities) > 1:
        return f"[{surface}][{', '.join(json.dumps(found) for found in attributes)}]"
    if attributes[0].keys() <= {"entity"}:
        return f"[{surface}]({entities[0].get('entity')})"
    return f"[{surface}]{json.dumps(attributes[0])}"


def _attributes(surface: str, entity: Mapping[str, Any]) -> dict[str, Any]:
    value = entity.get("value")
    shown = {
        "entity": entity.get("entity"),
        "role": entity.get("role"),
        "group": entity.get("group"),
        "value": None if value and value == surface else value,
    }
    return {key: found for key, found in shown.items() if found is not None}


# Entities annotated in test stories, compared with those that policies find in the texts: ``TEDPolicy_report.json``.
#
# Only Rasa's TEDPolicy, trained on end-to-end stories with entities, finds any; no stand-in does, and a server does
# not report what its policies found. So all of them count as missed, as they do in Rasa with any other policy.


class AnnotatedText(Struct, frozen=True):
    """A message with its entities as in the story: ``{start, end, entity, value}``, optionally role and group."""

    text: str
    entities: tuple[Mapping[str, Any], ...]


def annotated_text(tracker: Tracker) -> AnnotatedText | None:
    """Return the message right before the next prediction, if it has annotated entities.

    Slots may be set between the two; if there is anything else, Rasa ignores the entities.
    """
    last = tracker.events[-1] if tracker.events else None
    if isinstance(last, SlotSet):
        last = tracker.last_applied(UserUttered, ActionExecuted)
    if not isinstance(last, UserUttered) or not last.text:
        return None
    entities = tuple(entity for entity in last.entities if "start" in entity and "end" in entity)
    return AnnotatedText(last.text, entities) if entities else None


def score_policy_entities(judged: Sequence[AnnotatedText], tokens: Mapping[str, Tokens]) -> PolicyEntities:
    """Score by Rasa's tag scheme; a text whose tokens are not known does not count."""
    pairs: Counter[tuple[str, str]] = Counter()
    errors = []
    for annotated_text in judged:
        labels = token_labels(
            tokens.get(annotated_text.text, ()), [_span(entity) for entity in annotated_text.entities]
        )
        pairs.update((label, NO_ENTITY) for label in labels)
        if any(label != NO_ENTITY for label in labels):
            entities = [dict(entity) for entity in annotated_text.entities]
            errors.append({"text": annotated_text.text, "entities": entities, "predicted_entities": []})
    return PolicyEntities(
        report=score_pairs(pairs, excluded=NO_ENTITY).report,
        errors=tuple(errors),
        labels=tuple(
            Confusion(expected=expected, predicted=predicted, count=count)
            for (expected, predicted), count in sorted(pairs.items())
        ),
    )


def _span(entity: Mapping[str, Any]) -> EntitySpan:
    return EntitySpan(
        start=entity["start"],
        end=entity["end"],
        entity=entity["entity"],
        value=entity.get("value"),
        role=entity.get("role"),
        group=entity.get("group"),
    )


# The parts of a message that matter to a story: its intent, its response, its entities.

Entity = dict[str, Any]


def predicted_intent(parse: Parse, expected: str | None) -> str | None:
    """Return the intent, with its response if the story names a retrieval intent in full or the intent is wrong."""
    intent = parse.intent.name
    if intent == expected or intent is None:
        return intent
    return response_key(parse, intent) or intent


def response_key(parse: Parse, intent: str) -> str | None:
    """Return the response that was selected for a retrieval intent: ``faq/ask_hours``."""
    for selected in parse.responses.values():
        key = selected.intent_response_key
        if key is not None and key.partition("/")[0] == intent:
            return key
    return None


def selects_this(parse: Parse, response: str | None) -> bool:
    """Whether no response is selected other than the one that the story names."""
    chosen = None if response is None else response_key(parse, response.partition("/")[0])
    return chosen in {None, response}


def found(entity: Any) -> dict[str, Any]:
    return {
        "start": entity.start,
        "end": entity.end,
        "entity": entity.entity,
        "value": entity.value,
        "extractor": entity.extractor,
    }


def cleaned(text: str | None, entity: Mapping[str, Any]) -> Entity:
    """Keep what is compared. The value of a found entity is compared as a string, since annotations are strings."""
    cleaned: Entity = {"text": text}
    cleaned |= {key: entity[key] for key in ("start", "end", "entity", "value") if key in entity}
    if "extractor" in entity and "value" in cleaned:
        cleaned["value"] = str(cleaned["value"])
    return cleaned


def as_set(entities: Sequence[Entity]) -> set[str]:
    return {json.dumps(entity, sort_keys=True, default=str) for entity in entities}


def shown(text: str, entities: Sequence[Entity]) -> str:
    if any("start" in entity for entity in entities):
        return annotated(text, entities)
    return ", ".join(f"{entity['entity']}: {entity.get('value')}" for entity in entities)
