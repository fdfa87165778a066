"""The parts of a message that matter to a story: its intent, its response, its entities."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from turncheck.evaluation.annotated import annotated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.parse import Parse

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
