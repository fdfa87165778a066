"""A Rasa server as an engine: it understands, decides and answers; ours only asks and reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.at_once import ask_all
from turncheck.engines.base import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.engines.embedded.policies.decision import Decision
from turncheck.engines.rasa_server.client import ServerError
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.rasa_server.client import RasaClient

NAME: Final = "rasa"
ALTERNATIVES: Final = 3
_ENTITY_KEYS: Final = {"start", "end", "entity", "value", "extractor", "role", "group", "confidence_entity"}


def describe(client: RasaClient) -> EngineInfo:
    """Ask the server for its version and model.

    Raises:
        ServerError: it cannot be reached, refuses, or has no model.
    """
    version, model = client.version(), client.model()
    if model is None:
        raise ServerError(
            f"the Rasa server at {client.name} has no model loaded",
            remedy="Train one and start the server with it (`rasa run -m models`).",
        )
    return EngineInfo(name=NAME, version=version, model=model)


@dataclass(frozen=True, slots=True)
class RasaNlu:
    """Language understanding by ``/model/parse``. ``extractors`` are those of the project's pipeline."""

    client: RasaClient
    info: EngineInfo
    extractors: tuple[str, ...] = ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; some at a time, the answers in the texts' order.

        Raises:
            CutShortError: the server failed; ``finished`` holds the answers so far.
        """
        return ask_all(self._parse, texts, self.client.at_once)

    def _parse(self, text: str) -> Parse:
        return read_parse(text, self.client.parse(text))


def read_parse(text: str, answer: Mapping[str, Any]) -> Parse:
    """Read an answer of ``/model/parse``.

    Raises:
        ServerError: it has another shape.
    """
    try:
        tokens = answer.get("text_tokens")
        return Parse(
            text=text,
            intent=_intent(answer.get("intent") or {}),
            ranking=tuple(map(_intent, answer.get("intent_ranking") or ())),
            entities=tuple(map(_entity, answer.get("entities") or ())),
            responses={
                name: _selected(name, chosen)
                for name, chosen in (answer.get("response_selector") or {}).items()
                if isinstance(chosen, dict) and "response" in chosen
            },
            tokens=None if tokens is None else tuple((int(start), int(end)) for start, end in tokens),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ServerError(f"the Rasa server's answer about a sentence cannot be read ({error!r})") from None


def _intent(shape: Mapping[str, Any]) -> PredictedIntent:
    return PredictedIntent(shape.get("name"), float(shape.get("confidence") or 0.0))


def _entity(shape: Mapping[str, Any]) -> PredictedEntity:
    return PredictedEntity(
        start=int(shape["start"]),
        end=int(shape["end"]),
        entity=str(shape["entity"]),
        value=shape.get("value"),
        extractor=str(shape.get("extractor")),
        role=shape.get("role"),
        group=shape.get("group"),
        confidence=shape.get("confidence_entity"),
        extra={key: value for key, value in shape.items() if key not in _ENTITY_KEYS},
    )


def _selected(name: str, shape: Mapping[str, Any]) -> SelectedResponse:
    response = shape["response"]
    return SelectedResponse(
        selector=name,
        intent_response_key=response.get("intent_response_key"),
        confidence=float(response.get("confidence") or 0.0),
        ranking=tuple(
            PredictedIntent(entry.get("intent_response_key"), float(entry.get("confidence") or 0.0))
            for entry in shape.get("ranking") or ()
        ),
    )


@dataclass(frozen=True, slots=True)
class RasaPolicies:
    """The next action by ``/model/predict``, from the events so far; what stands in for an ensemble of policies."""

    client: RasaClient
    domain: DialogueDomain

    def next(self, tracker: Tracker) -> Decision:
        """Ask the server; nothing is kept there between two calls.

        Raises:
            ServerError: it cannot tell.
        """
        answer = self.client.predict([event.to_json() for event in tracker.events])
        if answer is None:
            raise ServerError(
                "the Rasa server predicts nothing: its model knows no dialogue",
                remedy="Train it with stories or rules, or leave the evaluation 'core' out.",
            )
        try:
            ranked = sorted(
                ((str(entry["action"]), float(entry["score"] or 0.0)) for entry in answer["scores"]),
                key=lambda pair: -pair[1],
            )
            action, score = ranked[0]  # of equals the first in the domain, as Rasa chooses
            policy, confidence = answer.get("policy"), answer.get("confidence")
            return Decision(
                action=action,
                policy=str(policy) if policy else None,
                confidence=score if confidence is None else float(confidence),
                alternatives=tuple((name, value) for name, value in ranked[1:] if value > 0)[:ALTERNATIVES],
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ServerError(f"the Rasa server's prediction cannot be read ({error!r})") from None
