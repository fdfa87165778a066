"""What a user typed → a parse result in Rasa's JSON shape: from ``/intent{…}``, or from the NLU engine."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from turncheck.dialogue.defaults import INTENT_NLU_FALLBACK
from turncheck.engines.direct_message import read_direct_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.engines.parse import NluEngine, Parse, PredictedEntity, SelectedResponse

Json = dict[str, Any]


def parse_message(text: str, domain: DialogueDomain, nlu: NluEngine | None) -> Json:
    """Understand a message.

    ``/intent@0.9{"entity": "value"}`` names its intent, confidence and entities, if the domain knows the intent;
    everything else is for the NLU engine. Without one, nothing is understood: intent ``None``, confidence 0.
    """
    direct = read_direct_message(text, domain.domain, domain.retrieval_intents)
    if direct is not None:
        return parse_json(direct, domain)
    if nlu is None:
        return {"text": text, "intent": {"name": None, "confidence": 0.0}, "entities": []}
    parse = nlu.parse([text])[0]
    if all(intent.name == INTENT_NLU_FALLBACK for intent in parse.ranking):
        # No classifier before the fallback gave a ranking; then Rasa's output has none.
        parse = replace(parse, ranking=())
    return parse_json(parse, domain)


def parse_json(parse: Parse, domain: DialogueDomain) -> Json:
    """Return a parse in the shape of Rasa's ``parse_data``."""
    document: Json = {
        "text": parse.text,
        "intent": {"name": parse.intent.name, "confidence": parse.intent.confidence},
        "entities": [_entity_json(entity) for entity in parse.entities],
    }
    if parse.tokens is not None:
        document["text_tokens"] = [list(token) for token in parse.tokens]
    if parse.ranking:
        document["intent_ranking"] = [{"name": i.name, "confidence": i.confidence} for i in parse.ranking]
    if parse.responses:
        document["response_selector"] = {
            "all_retrieval_intents": sorted(domain.retrieval_intents),
            **{name: _selector_json(selected, domain) for name, selected in parse.responses.items()},
        }
        _name_full_intent(document, domain)
    return document


def _entity_json(entity: PredictedEntity) -> Json:
    fields = asdict(entity)
    extra = fields.pop("extra")
    for optional in ("role", "group", "confidence"):
        if fields[optional] is None:
            del fields[optional]
    if "confidence" in fields:
        fields["confidence_entity"] = fields.pop("confidence")
    return {**fields, **extra}


def _selector_json(selected: SelectedResponse, domain: DialogueDomain) -> Json:
    key = selected.intent_response_key
    response = domain.domain.responses.get(f"utter_{key}")
    return {
        "response": {
            "responses": [dict(variation.content) for variation in response.variations] if response else [],
            "confidence": selected.confidence,
            "intent_response_key": key,
            "utter_action": f"utter_{key}",
        },
        "ranking": [{"intent_response_key": r.name, "confidence": r.confidence} for r in selected.ranking],
    }


def _name_full_intent(document: Json, domain: DialogueDomain) -> None:
    intent = document["intent"]
    if intent["name"] in domain.retrieval_intents:
        selected: Mapping[str, Any] = document["response_selector"].get(intent["name"], {})
        intent["full_retrieval_intent_name"] = selected.get("response", {}).get("intent_response_key")
