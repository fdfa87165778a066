"""The shapes of the JSON files of ``rasa test``, with which the files are compared when they are read.

As Rasa 3.6 writes them (``tests/oracle``). There may be other keys; known ones must have the right type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from turncheck.messages.errors import UserError

Json = Any

MOST_STORIES: Final = 100_000
"""No project has more test stories; a file from anywhere may claim so, and the report lists each that failed."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_STORIES)]


class _Figures(msgspec.Struct, rename={"f1": "f1-score"}):
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    support: float | None = None
    confused_with: dict[str, int] | None = None


class _Conversations(msgspec.Struct):
    accuracy: float | None = None
    correct: _Count | None = None
    total: _Count | None = None


class _StoryFigures(msgspec.Struct):
    conversation_accuracy: _Conversations | None = None


class _Prediction(msgspec.Struct):
    name: str | None = None
    confidence: float | None = None


class IntentEntry(msgspec.Struct):
    """An entry of ``intent_errors.json``."""

    text: str
    intent: str | None = None
    intent_prediction: _Prediction | None = None


class ResponseEntry(msgspec.Struct):
    """An entry of ``response_selection_errors.json``."""

    text: str
    intent_response_key_target: str | None = None
    intent_response_key_prediction: _Prediction | None = None


class _Entity(msgspec.Struct):
    start: int
    end: int
    entity: str
    role: str | None = None
    group: str | None = None
    extractor: str | None = None
    confidence_entity: float | None = None


class EntityEntry(msgspec.Struct):
    """An entry of ``<Extractor>_errors.json``."""

    text: str
    entities: list[_Entity] | None = None
    predicted_entities: list[_Entity] | None = None


def read_json(content: str, name: str) -> Json:
    """Decode a file strictly: without NaN and lone surrogates.

    Raises:
        UserError: it is not JSON.
    """
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name} is not JSON: {error}") from None


def ensure_entries(found: Json, shape: type[msgspec.Struct] | None, name: str) -> None:
    """Compare a list of entries with their shape; ``None``: any objects.

    Raises:
        UserError: it is not a list, or an entry has another shape.
    """
    if not isinstance(found, list):
        raise UserError(f"{name} is not a list, as `rasa test` writes it")
    _ensure(found, list[shape] if shape else list[dict[str, Any]], name)  # type: ignore[valid-type]  # made here


def ensure_report(found: Json, name: str) -> None:
    """Compare a report, label to figures, with its shape.

    Raises:
        UserError: it is not a report, or a figure is not a number.
    """
    if not isinstance(found, Mapping):
        raise UserError(f"{name} is not a report, as `rasa test` writes it")
    _ensure(found, dict[str, _Figures | float | None], name)
    if name.endswith("story_report.json"):
        _ensure(found, _StoryFigures, name)


def figure(row: Json, name: str) -> float:
    """Return a figure of a report's row, 0 if it has none."""
    value = row.get(name) if isinstance(row, dict) else None
    return float(value) if isinstance(value, int | float) else 0.0


def _ensure(found: Json, shape: Any, name: str) -> None:
    try:
        msgspec.convert(found, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UserError(f"{name} is not as `rasa test` writes it: {error}") from None
