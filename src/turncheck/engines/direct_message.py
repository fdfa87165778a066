"""Messages that name their intent: ``/intent@0.9{"entity": "value"}``, as for Rasa's RegexMessageHandler."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.parse import Parse, PredictedEntity, PredictedIntent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from turncheck.project.model import Domain

EXTRACTOR: Final = "RegexMessageHandler"

_MESSAGE: Final = re.compile(r"^/(?P<intent>[^{@]+)(?P<confidence>@[0-9.]+)?(?P<entities>\{.+\})?(?P<rest>.*)")

_DEFAULT_INTENTS: Final = frozenset({"restart", "back", "out_of_scope", "session_start", "nlu_fallback"})


def read_direct_message(text: str, domain: Domain, retrieval_intents: Collection[str] = ()) -> Parse | None:
    """Read a message that begins with ``/``; ``None`` if it does not, or the domain has no such intent.

    Against a domain with content the intent must be known (from it, or as a retrieval intent of the NLU data) and
    unknown entities are dropped; unreadable confidences and entities are left out, as Rasa does with a
    warning.
    """
    stripped = text.strip()
    match = _MESSAGE.match(stripped)
    if match is None:
        return None
    name = match["intent"].strip()
    known = name in domain.intents or name in _DEFAULT_INTENTS or name in retrieval_intents
    if not known and not domain.is_empty:
        return None
    intent = PredictedIntent(name, _confidence(match["confidence"]))
    entities = _entities(match["entities"], domain)
    start, end = match.span("entities")
    return Parse(
        text=stripped,
        intent=intent,
        ranking=(intent,),
        entities=tuple(
            PredictedEntity(start, end, entity, value, EXTRACTOR)
            for entity, values in entities.items()
            for value in (values if isinstance(values, list) else [values])
        ),
    )


def _confidence(written: str | None) -> float:
    if written is None:
        return 1.0
    try:
        return min(1.0, float(written[1:]))
    except ValueError:
        return 0.0


def _entities(written: str | None, domain: Domain) -> Mapping[str, Any]:
    if written is None:
        return {}
    try:
        entities = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(entities, dict):
        return {}
    return {name: value for name, value in entities.items() if domain.is_empty or name in domain.entities}
