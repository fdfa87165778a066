"""Sentences with their entities marked in brackets, as Rasa writes them into its results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
