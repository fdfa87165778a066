"""What a Rasa server answers, from bytes to typed values: the only place where its JSON is read.

The shapes are those of Rasa 3.6.21 (https://rasa.com/docs/rasa/http-api; answers recorded in ``tests/oracle/http``).
Only what is needed is required, and more is allowed: a server of Rasa Pro, or with the team's own components,
returns more. What is required must have its type: a login page, an empty object, a string for a number are not answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final, Literal, TypeVar

import msgspec

from turncheck.engines.parse import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.engines.remote import UnreadableError, decoded
from turncheck.web.exchange import typed

Json = Mapping[str, Any]
Shape = TypeVar("Shape")


# --- what is looked at ------------------------------------------------------------------------------------------------


class Served(msgspec.Struct, frozen=True):
    """The model that a server has loaded; ``model_id`` stays the same when the server is restarted with it."""

    model_file: str | None
    model_id: str | None = None

    @property
    def identity(self) -> str | None:
        """The model by its file name and id: several servers may have it in different folders."""
        if not self.model_file or not self.model_id:
            return self.model_file
        return f"{PurePath(self.model_file).name}, {self.model_id}"


class Prediction(msgspec.Struct, frozen=True):
    """The next action: all actions in the domain's order, each with its score."""

    scores: list[_Score]
    policy: str | None = None
    confidence: float | None = None


class _Score(msgspec.Struct, frozen=True):
    action: str
    score: float | None


class TrackerState(msgspec.Struct, frozen=True):
    """A conversation: its slots, the loop that is active, and its events as on the server."""

    sender_id: str
    slots: dict[str, Any]
    active_loop: _Loop | None = None
    events: list[dict[str, Any]] | None = None

    @property
    def active_loop_name(self) -> str | None:
        """The active loop, if any."""
        return self.active_loop.name if self.active_loop else None


class _Loop(msgspec.Struct, frozen=True):
    name: str | None = None


class _Version(msgspec.Struct, frozen=True):
    version: str


class _Intent(msgspec.Struct, frozen=True):
    name: str | None = None
    confidence: float | None = None


class _Entity(msgspec.Struct, frozen=True):
    start: int
    end: int
    entity: str
    value: Any = None
    extractor: str | None = None
    role: str | None = None
    group: str | None = None
    confidence_entity: float | None = None


class _Key(msgspec.Struct, frozen=True):
    intent_response_key: str | None = None
    confidence: float | None = None


class _Selected(msgspec.Struct, frozen=True):
    response: _Key
    ranking: list[_Key] | None = None


class _Understood(msgspec.Struct, frozen=True):
    """``intent`` and ``entities`` are in every answer of Rasa's, even if nothing was understood."""

    intent: _Intent
    entities: list[_Entity]
    intent_ranking: list[_Intent] | None = None
    response_selector: dict[str, Any] | None = None
    text_tokens: list[tuple[int, int]] | None = None


class _Button(msgspec.Struct, frozen=True):
    title: Any = None


class _Message(msgspec.Struct, frozen=True):
    text: str | None = None
    buttons: list[_Button] | None = None


class _Event(msgspec.Struct, frozen=True):
    event: str


class _ActionEvent(msgspec.Struct, frozen=True):
    name: str | None
    policy: str | None = None
    confidence: float | None = None


class _SlotEvent(msgspec.Struct, frozen=True):
    name: str
    value: Any


class _BotEvent(msgspec.Struct, frozen=True):
    text: str | None
    data: _Message | None = None
    metadata: _BotMetadata | None = None


class _BotMetadata(msgspec.Struct, frozen=True):
    utter_action: str | None = None


class _Named(msgspec.Struct, frozen=True):
    entity: str | None = None


class _ParseData(msgspec.Struct, frozen=True):
    intent: _Intent
    entities: list[_Named]


class _UserEvent(msgspec.Struct, frozen=True):
    text: str | None
    parse_data: _ParseData


class _LoopEvent(msgspec.Struct, frozen=True):
    name: str | None


class _FlowEvent(msgspec.Struct, frozen=True):
    flow_id: str | None = None
    step_id: str | None = None


_EVENTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "action": _ActionEvent,
    "slot": _SlotEvent,
    "bot": _BotEvent,
    "user": _UserEvent,
    "active_loop": _LoopEvent,
    **dict.fromkeys(("flow_started", "flow_completed", "flow_cancelled"), _FlowEvent),
}
"""The events that cases are judged by. Of others only the kind is read."""


# --- how it is read ---------------------------------------------------------------------------------------------------


def read_version(body: bytes) -> str:
    """Read ``/version``."""
    return _shaped(decoded(body), _Version).version


def read_served(body: bytes) -> Served:
    """Read ``/status``."""
    return _shaped(decoded(body), Served)


def read_parse(body: bytes, text: str) -> Parse:
    """Read ``/model/parse`` for a text."""
    found = decoded(body)
    answer = _shaped(found, _Understood)
    for number, entity in enumerate(answer.entities):
        if not 0 <= entity.start <= entity.end:
            raise UnreadableError(f"an entity from {entity.start} to {entity.end} - at `$.entities[{number}]`")
    return Parse(
        text=text,
        intent=_intent(answer.intent),
        ranking=tuple(map(_intent, answer.intent_ranking or ())),
        entities=tuple(
            _entity(entity, shape) for entity, shape in zip(answer.entities, found["entities"], strict=True)
        ),
        responses={
            name: _selected(name, _shaped(chosen, _Selected, f".response_selector.{name}"))
            for name, chosen in (answer.response_selector or {}).items()
            if isinstance(chosen, dict) and "response" in chosen  # next to the selectors there is the list of intents
        },
        tokens=None if answer.text_tokens is None else tuple(answer.text_tokens),
    )


def read_prediction(body: bytes) -> Prediction | None:
    """Read ``/model/predict``: ``null`` if the model has no dialogue part."""
    found = decoded(body)
    if found is None:
        return None
    prediction = _shaped(found, Prediction)
    if not prediction.scores:
        raise UnreadableError("no action at all - at `$.scores`")
    return prediction


def read_tracker(body: bytes, sender: str, *, events: Literal["ALL", "NONE"]) -> TrackerState:
    """Read ``/conversations/…/tracker``, whose ``events`` are complete or omitted, as requested."""
    tracker = _shaped(decoded(body), TrackerState)
    if tracker.sender_id != sender:
        raise UnreadableError("the conversation of somebody else - at `$.sender_id`")
    if events == "ALL" and tracker.events is None:
        raise UnreadableError("no events - at `$.events`")
    for number, event in enumerate(tracker.events or ()):
        place = f".events[{number}]"
        _shaped(event, _EVENTS.get(_shaped(event, _Event, place).event, _Event), place)
    return tracker


def read_messages(body: bytes) -> list[Json]:
    """Read what the REST channel answers: a list of messages, which may be empty."""
    found = decoded(body)
    _shaped(found, list[_Message])
    messages: list[Json] = found
    return messages


def read_nothing(body: bytes) -> None:
    """Read an empty answer."""
    if body:
        raise UnreadableError("more than nothing")


def _shaped(found: Any, shape: type[Shape], place: str = "") -> Shape:
    try:
        return typed(found, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        what = str(error) if "`$" in str(error) else f"{error} - at `$`"
        raise UnreadableError(what.replace("`$", f"`${place}")) from None


def _intent(shape: _Intent) -> PredictedIntent:
    return PredictedIntent(shape.name, shape.confidence or 0.0)


def _entity(entity: _Entity, shape: Json) -> PredictedEntity:
    return PredictedEntity(
        start=entity.start,
        end=entity.end,
        entity=entity.entity,
        value=entity.value,
        extractor=str(entity.extractor),
        role=entity.role,
        group=entity.group,
        confidence=entity.confidence_entity,
        extra={key: value for key, value in shape.items() if key not in _Entity.__struct_fields__},
    )


def _selected(name: str, shape: _Selected) -> SelectedResponse:
    return SelectedResponse(
        selector=name,
        intent_response_key=shape.response.intent_response_key,
        confidence=shape.response.confidence or 0.0,
        ranking=tuple(PredictedIntent(key.intent_response_key, key.confidence or 0.0) for key in shape.ranking or ()),
    )
