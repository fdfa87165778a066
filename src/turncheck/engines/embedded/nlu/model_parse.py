"""The result of understanding, in the shape of a Rasa server's answer to ``POST /model/parse``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.engines.embedded.nlu.duckling import EXTRACTOR as DUCKLING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from turncheck.engines.parse import Parse, PredictedEntity, PredictedIntent, SelectedResponse
    from turncheck.project.model import Response


def as_model_parse(
    parse: Parse, responses: Mapping[str, Response], retrieval_intents: Collection[str] = ()
) -> dict[str, Any]:
    """Return ``parse`` as Rasa 3.6 writes it, ready for JSON.

    ``responses`` are the domain's, for the texts a response selector chose; ``retrieval_intents`` those of the training
    data. Empty keys are absent if they are absent in Rasa's.
    """
    answer: dict[str, Any] = {
        "text": parse.text,
        "intent": _intent(parse.intent),
        "entities": [_entity(entity) for entity in parse.entities],
    }
    if parse.tokens is not None:
        answer["text_tokens"] = [list(span) for span in parse.tokens]
    if parse.ranking:
        answer["intent_ranking"] = [_intent(intent) for intent in parse.ranking]
    if parse.responses:
        answer["response_selector"] = {
            "all_retrieval_intents": sorted(retrieval_intents),
            **{name: _choice(choice, responses) for name, choice in parse.responses.items()},
        }
        if parse.intent.name in retrieval_intents:
            own = parse.responses.get(str(parse.intent.name))
            full = own.intent_response_key if own else None
            for intent in (answer["intent"], *answer.get("intent_ranking", ())):
                if intent["name"] == parse.intent.name:
                    intent["full_retrieval_intent_name"] = full
    return answer


def _intent(intent: PredictedIntent) -> dict[str, Any]:
    return {"name": intent.name, "confidence": intent.confidence}


def _entity(entity: PredictedEntity) -> dict[str, Any]:
    extra = dict(entity.extra)
    written: dict[str, Any] = {"entity": entity.entity, "start": entity.start, "end": entity.end}
    if entity.confidence is not None:
        written["confidence" if entity.extractor == DUCKLING else "confidence_entity"] = entity.confidence
    for name, value in (("role", entity.role), ("group", entity.group)):
        if value is not None:
            written[name] = value
            if (confidence := extra.pop(f"confidence_{name}", None)) is not None:
                written[f"confidence_{name}"] = confidence
    return {**written, "value": entity.value, "extractor": entity.extractor, **extra}


def _choice(choice: SelectedResponse, responses: Mapping[str, Response]) -> dict[str, Any]:
    key = choice.intent_response_key
    known = responses.get(f"utter_{key}")
    texts = [dict(variation.content) for variation in known.variations] if known else [{"text": key}]
    return {
        "response": {
            "responses": texts,
            "confidence": choice.confidence,
            "intent_response_key": key,
            "utter_action": f"utter_{key}",
        },
        "ranking": [{"confidence": ranked.confidence, "intent_response_key": ranked.name} for ranked in choice.ranking],
    }
