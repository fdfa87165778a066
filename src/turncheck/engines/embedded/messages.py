"""From what a user typed to a parse result in Rasa's JSON shape: by ``/intent{…}``, or by the NLU engine."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.engines.base import NluEngine, Parse, PredictedEntity, SelectedResponse

Json = dict[str, Any]

_SHORTHAND = re.compile(r"^/(?P<intent>[^{@]+)(?P<confidence>@[0-9.]+)?(?P<entities>{.+})?(?P<rest>.*)")
_SHORTHAND_EXTRACTOR = "RegexMessageHandler"


def parse_message(text: str, domain: DialogueDomain, nlu: NluEngine | None) -> Json:
    """Understand a message.

    ``/intent@0.9{"entity": "value"}`` names intent, confidence and entities itself, if the domain knows the intent;
    everything else is for the NLU engine. Without one nothing is understood: intent ``None``, confidence 0.
    """
    shorthand = read_shorthand(text, domain)
    if shorthand is not None:
        return shorthand
    if nlu is None:
        return {"text": text, "intent": {"name": None, "confidence": 0.0}, "entities": []}
    return parse_json(nlu.parse([text])[0], domain)


def read_shorthand(text: str, domain: DialogueDomain) -> Json | None:
    """Read ``/intent@confidence{entities}``; ``None`` where it is none, or names an intent the domain does not know.

    Entities that the domain does not know are left out; broken JSON gives no entities.
    """
    match = _SHORTHAND.match(text)
    if match is None:
        return None
    name = match["intent"].strip()
    if name not in domain.used_entities:
        return None
    intent = {"name": name, "confidence": _confidence(match["confidence"])}
    span = {"start": match.start("entities"), "end": match.end("entities"), "extractor": _SHORTHAND_EXTRACTOR}
    entities = [
        {"entity": entity, "value": value, **span}
        for entity, value in _entities(match["entities"])
        if entity in domain.domain.entities
    ]
    return {"text": text, "intent": intent, "intent_ranking": [intent], "entities": entities}


def _confidence(written: str | None) -> float:
    """Return the confidence after the ``@``: 1 without one, 0 for what is no number."""
    if written is None:
        return 1.0
    try:
        return min(1.0, max(0.0, float(written[1:])))
    except ValueError:
        return 0.0


def _entities(written: str | None) -> Iterator[tuple[str, Any]]:
    try:
        entities = json.loads(written or "{}")
    except ValueError:
        return
    if not isinstance(entities, dict):
        return
    for entity, values in entities.items():
        yield from ((entity, value) for value in (values if isinstance(values, list) else [values]))


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
            **{name: _selector_json(selected) for name, selected in parse.responses.items()},
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


def _selector_json(selected: SelectedResponse) -> Json:
    key = selected.intent_response_key
    return {
        "response": {
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
