"""A Rasa server as an engine: it understands, decides and answers; ours only asks and reads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from turncheck.dialogue.defaults import ACTION_LISTEN
from turncheck.dialogue.events import UserFeaturization
from turncheck.engines.base import Parse, PredictedEntity, PredictedIntent, SelectedResponse, Turn
from turncheck.engines.embedded.policies.decision import Decision
from turncheck.engines.rasa_server.client import CONCURRENCY, RasaClient, ServerError
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker

ALTERNATIVES: Final = 3
_ENTITY_KEYS: Final = {"start", "end", "entity", "value", "extractor", "role", "group", "confidence_entity"}
_DROPPED: Final = {"timestamp", "message_id", "model_id", "assistant_id"}


def describe(client: RasaClient) -> EngineInfo:
    """Ask the server for its version and model.

    Raises:
        ServerError: it cannot be reached, or has no model.
    """
    version, model = client.version(), client.model()
    if model is None:
        raise ServerError(
            f"the Rasa server at {client.access.url} has no model loaded",
            remedy="Train one and start the server with it (`rasa run -m models`).",
        )
    return EngineInfo(name="rasa", version=version, model=model)


@dataclass(frozen=True, slots=True)
class RasaNlu:
    """Language understanding by ``/model/parse``. ``extractors`` are those of the project's pipeline."""

    client: RasaClient
    info: EngineInfo
    extractors: tuple[str, ...] = ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; some at a time, the answers in the texts' order."""
        with ThreadPoolExecutor(CONCURRENCY) as pool:
            return list(pool.map(self._parse, texts))

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
        """Ask the server; nothing is kept there between two calls."""
        answer = self.client.predict([event.to_json() for event in tracker.events])
        try:
            scores = {str(entry["action"]): float(entry["score"] or 0.0) for entry in answer["scores"]}
            policy = answer.get("policy")
        except (KeyError, TypeError, ValueError) as error:
            raise ServerError(f"the Rasa server's prediction cannot be read ({error!r})") from None
        if not scores:
            raise ServerError("the Rasa server predicts nothing: its model knows no dialogue")
        ranked = sorted(scores.items(), key=lambda pair: -pair[1])
        action, score = ranked[0]
        listening = tracker.latest_action_name == ACTION_LISTEN
        return Decision(
            action=action,
            policy=str(policy) if policy else None,
            confidence=float(answer.get("confidence") or score),
            events=(UserFeaturization(use_text=False),) if listening else (),
            alternatives=tuple((name, value) for name, value in ranked[1:] if value > 0)[:ALTERNATIVES],
        )


@dataclass(frozen=True, slots=True)
class RasaConversations:
    """Conversations by the REST channel, their events read from the tracker."""

    client: RasaClient
    info: EngineInfo
    run: str = field(default_factory=lambda: uuid4().hex[:12])
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    def for_threads(self) -> RasaConversations:
        """Return itself: conversations share nothing but connections."""
        return self

    def conversation(
        self,
        *,
        channel: str = "rest",  # noqa: ARG002 - the server's REST channel is the one there is
        fixtures: Mapping[str, Any] | None = None,
        stubs: Mapping[str, Mapping[str, Any]] | None = None,
        turn_timeout: float | None = None,
        attempt: int = 0,  # noqa: ARG002 - each conversation is one of its own anyway
    ) -> RasaConversation:
        """Begin a conversation under a name that no other has.

        Raises:
            ServerError: custom actions are to be stubbed, which no running server can be told.
        """
        if stubs:
            raise ServerError("a running Rasa server calls its own action server: custom actions cannot be stubbed")
        sender = f"turncheck-{self.run}-{next(self._numbers)}"
        return RasaConversation(self.client, sender, dict(fixtures or {}), turn_timeout)


class RasaConversation:
    """One user talking to the server."""

    def __init__(self, client: RasaClient, sender: str, fixtures: Mapping[str, Any], timeout: float | None) -> None:
        self._client = client
        self._sender = sender
        self._fixtures = fixtures
        self._timeout = timeout
        self._seen = 0
        self._opened = False

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:  # noqa: ARG002 - the channel has none here
        """Start the session and fill the fixtures' slots."""
        self._opened = True
        # A first look at a conversation makes the server start its session, as a first message would.
        self._client.tracker(self._sender)
        if self._fixtures:
            events = [{"event": "slot", "name": name, "value": value} for name, value in self._fixtures.items()]
            self._client.append_events(self._sender, events)
        return self._turn(None, ())

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Send a message and return the turn."""
        opening = () if self._opened else self.open(metadata).events
        responses = self._client.say(self._sender, text, self._timeout)
        answered = tuple({key: value for key, value in said.items() if key != "recipient_id"} for said in responses)
        turn = self._turn(text, answered)
        return turn if not opening else _joined(opening, turn)

    def _turn(self, text: str | None, responses: tuple[Mapping[str, Any], ...]) -> Turn:
        tracker = self._client.tracker(self._sender)
        events = [dict(event) for event in tracker.get("events") or ()]
        new, self._seen = events[self._seen :], len(events)
        return Turn(
            user=text,
            responses=responses,
            slots=dict(tracker.get("slots") or {}),
            active_loop=(tracker.get("active_loop") or {}).get("name"),
            events=tuple({key: value for key, value in event.items() if key not in _DROPPED} for event in new),
        )


def _joined(opening: Sequence[Mapping[str, Any]], turn: Turn) -> Turn:
    return Turn(
        user=turn.user,
        responses=turn.responses,
        slots=turn.slots,
        active_loop=turn.active_loop,
        events=(*opening, *turn.events),
    )
