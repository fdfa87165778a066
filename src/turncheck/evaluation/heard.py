"""What the messages of end-to-end cases were understood as: read from a turn, compared, and converted back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turncheck.engines.parse import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.evaluation.predictions import RANKING_LENGTH
from turncheck.report.end_to_end import FALLBACK
from turncheck.report.model import EntitySpan, RankedIntent, StoryParse

if TYPE_CHECKING:
    from turncheck.engines.conversation import Turn

_ENTITY_KEYS = frozenset({"start", "end", "entity", "value", "role", "group", "extractor", "confidence_entity"})


def heard_in(turn: Turn) -> StoryParse | None:
    """Return what the turn's message was understood as, according to its event; ``None`` if there is none.

    Events have Rasa's shape, and other servers may leave out what is optional there.
    """
    event = next((event for event in turn.events if event["event"] == "user"), None)
    if event is None:
        return None
    parsed: Mapping[str, Any] = event["parse_data"]
    intent, ranking = _intent(parsed["intent"]), _ranking(parsed.get("intent_ranking"))
    fallback = intent.name == FALLBACK
    if fallback and len(ranking) > 1:
        intent, ranking = ranking[1], ranking[1:]
    response, confidence = _response(parsed.get("response_selector"), intent.name)
    return StoryParse(
        intent=intent.name or None,
        confidence=intent.confidence,
        ranking=tuple(ranking[:RANKING_LENGTH]),
        response=response,
        response_confidence=confidence,
        entities=tuple(span for entity in parsed["entities"] if (span := _span(entity)) is not None),
        fallback=fallback,
    )


def as_parse(text: str, understood: StoryParse) -> Parse:
    """Return the engine's answer that leads to this understanding: the opposite of :func:`heard_in`.

    A response is both that of the selector of its intent and that of the selector for all intents.
    """
    intent = PredictedIntent(understood.intent, understood.confidence or 0.0)
    ranking = tuple(PredictedIntent(one.name, one.confidence) for one in understood.ranking)
    if understood.fallback and understood.intent != FALLBACK:
        ranking = ranking or (intent,)
        intent = PredictedIntent(FALLBACK, 1.0 - intent.confidence)
        ranking = (intent, *ranking)
    response, sure = understood.response, understood.response_confidence or 0.0
    selectors = (response.partition("/")[0], "default") if response else ()
    return Parse(
        text=text,
        intent=intent,
        ranking=ranking,
        entities=tuple(map(_entity, understood.entities)),
        responses={name: SelectedResponse(name, response, sure) for name in selectors},
    )


def _intent(shape: Mapping[str, Any]) -> RankedIntent:
    name, confidence = shape.get("name"), shape.get("confidence")
    return RankedIntent(
        name=name if isinstance(name, str) else "",
        confidence=float(confidence) if isinstance(confidence, int | float) else 0.0,
    )


def _ranking(shapes: object) -> list[RankedIntent]:
    return [_intent(shape) for shape in shapes if isinstance(shape, Mapping)] if isinstance(shapes, list) else []


def _response(selectors: object, intent: str) -> tuple[str | None, float | None]:
    """The response that was selected for this intent, if any."""
    for selector in selectors.values() if isinstance(selectors, Mapping) else ():
        chosen = selector.get("response") if isinstance(selector, Mapping) else None
        key = chosen.get("intent_response_key") if isinstance(chosen, Mapping) else None
        if isinstance(chosen, Mapping) and isinstance(key, str) and key.partition("/")[0] == intent:
            confidence = chosen.get("confidence")
            return key, float(confidence) if isinstance(confidence, int | float) else None
    return None, None


def _span(shape: Mapping[str, Any]) -> EntitySpan | None:
    """An entity. In ``/inform{"city": "Bonn"}`` its place is that of the braces; without a place it is at the start."""
    entity, start, end = shape.get("entity"), shape.get("start"), shape.get("end")
    if not isinstance(entity, str):
        return None
    confidence = shape.get("confidence_entity")
    return EntitySpan(
        start=start if isinstance(start, int) else 0,
        end=end if isinstance(end, int) else 0,
        entity=entity,
        value=shape.get("value"),
        role=_text(shape.get("role")),
        group=_text(shape.get("group")),
        extractor=_text(shape.get("extractor")),
        confidence=float(confidence) if isinstance(confidence, int | float) else None,
        extra={key: value for key, value in shape.items() if key not in _ENTITY_KEYS} or None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _entity(span: EntitySpan) -> PredictedEntity:
    return PredictedEntity(
        start=span.start,
        end=span.end,
        entity=span.entity,
        value=span.value,
        extractor=span.extractor or "",
        role=span.role,
        group=span.group,
        confidence=span.confidence,
        extra=span.extra or {},
    )


def lacks(before: StoryParse, understood: StoryParse) -> tuple[frozenset[str], frozenset[str]]:
    """Return the intents and the entities that were understood before and are not now."""
    intents = _intents(before) - _intents(understood)
    return intents, frozenset(span.entity for span in before.entities) - {span.entity for span in understood.entities}


def _intents(understood: StoryParse) -> frozenset[str]:
    return frozenset() if understood.fallback or understood.intent is None else frozenset({understood.intent})
