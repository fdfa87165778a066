"""Calls a Rasa server over its REST API; see :mod:`turncheck.engines.remote` for limits, retries and failures.

Endpoints, shapes and answers are those of Rasa 3.6.21 (``rasa run --enable-api``; https://rasa.com/docs/rasa/http-api;
answers recorded in ``tests/oracle/http``).

Its JSON is read nowhere else. Only what is needed is required, and more is allowed: a server of Rasa Pro, or with the
team's own components, returns more. What is required must have its type: a login page, an empty object, a string for a
number are not answers.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from json import dumps
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import quote

import msgspec
import requests

from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.engines.remote import TIMEOUT, Question, RemoteClient, Response, ServerError, UnreadableError, decoded
from turncheck.messages.plain_text import whole_characters
from turncheck.web.addresses import Network
from turncheck.web.exchange import typed

if TYPE_CHECKING:
    from turncheck.engines.measuring import Watch
    from turncheck.messages.errors import UserError
    from turncheck.web.timed import Deadline

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
    """Where flows alone answer, commands may stand here instead of an intent and entities."""

    intent: _Intent | None = None
    entities: list[_Named] | None = None
    commands: list[Any] | None = None


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
    """Read ``/model/parse`` for a message."""
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


Read = TypeVar("Read")

CONCURRENCY: Final = 4
"""Calls under way at once: one server process answers one after the other anyway."""


class NoModelError(ServerError):
    """The server runs and has no model loaded."""


@dataclass(frozen=True, slots=True)
class Access:
    """The server's address and its credentials: a ``token`` (``?token=``) or a ``jwt`` (``Authorization: Bearer``).

    ``network``: how it is reached.
    """

    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    network: Network = field(default=Network(), repr=False)


class RasaClient(RemoteClient):
    """A server's REST API."""

    noun = "Rasa server"

    def __init__(
        self,
        access: Access,
        *,
        at_once: int = CONCURRENCY,
        sleep: Callable[[float], None] = time.sleep,
        ended: Callable[[], UserError | None] | None = None,
    ) -> None:
        secrets = [secret for secret in (access.token, access.jwt) if secret]
        super().__init__(
            access.url, access.network, secrets, at_once=at_once, timeout=access.timeout, sleep=sleep, ended=ended
        )
        self.access = access

    # --- what it is asked ---------------------------------------------------------------------------------------------

    def version(self) -> str:
        """Return the server's version of Rasa."""
        return self.call("GET", "/version", "a version", read_version)

    def served(self) -> Served:
        """Return the model that is loaded."""
        return self.call("GET", "/status", "the name of a model", read_served)

    def parse(self, text: str) -> Parse:
        """Understand a sentence."""
        expected = "an intent and entities"
        return self.call("POST", "/model/parse", expected, lambda body: read_parse(body, text), {"text": text})

    def predict(self, events: Sequence[Mapping[str, Any]]) -> Prediction | None:
        """Predict the next action after these events; ``None`` if the model has no dialogue part."""
        path, expected = "/model/predict", "the scores of actions"
        return self.call("POST", path, expected, read_prediction, list(events), events="NONE")

    def load(self, model: str) -> None:
        """Have the server load another model, a file on its own disk."""
        self.call("PUT", "/model", "an empty answer", read_nothing, {"model_file": model})

    def tracker(self, sender: str, *, until: Deadline | None = None) -> TrackerState:
        """Return a conversation with all its events.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = f"/conversations/{quote(sender, safe='')}/tracker", "a conversation"
        read = partial(read_tracker, sender=sender, events="ALL")
        return self.call("GET", path, expected, read, events="ALL", until=until)

    def append_events(
        self, sender: str, events: Sequence[Mapping[str, Any]], *, until: Deadline | None = None
    ) -> TrackerState:
        """Add events to a conversation, and return it without them. Never repeated: it changes state.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = f"/conversations/{quote(sender, safe='')}/tracker/events", "a conversation"
        read = partial(read_tracker, sender=sender, events="NONE")
        return self.call("POST", path, expected, read, list(events), events="NONE", repeatable=False, until=until)

    def say(
        self,
        sender: str,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        until: Deadline | None = None,
        watch: Watch | None = None,
    ) -> list[Mapping[str, Any]]:
        """Send a message by the REST channel and return the assistant's answers. Never repeated: it changes state.

        ``watch`` measures what it takes.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = "/webhooks/rest/webhook", "a list of messages"
        message = {"sender": sender, "message": text} | ({"metadata": dict(metadata)} if metadata else {})
        return self.call("POST", path, expected, read_messages, message, repeatable=False, until=until, watch=watch)

    # --- how it is asked ----------------------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        expected: str,
        read: Callable[[bytes], Read],
        json: Any = None,
        *,
        events: str | None = None,
        repeatable: bool = True,
        until: Deadline | None = None,
        watch: Watch | None = None,
    ) -> Read:
        """Ask, and again if that is safe and may help; ``expected`` is, in words, what ``read`` expects of the answer.

        Raises:
            ServerError: there is no answer, or an unreadable one.
        """
        access = self.access
        question = Question(
            method,
            path,
            _shown(path),
            None if json is None else dumps(whole_characters(json), allow_nan=False).encode(),
            {
                **({} if json is None else {"Content-Type": "application/json"}),
                **({} if watch is None else watch.header()),
            },
            credentials={"Authorization": f"Bearer {access.jwt}"} if access.jwt else {},
            query={
                **({"include_events": events} if events else {}),
                **({"token": access.token} if access.token else {}),
            },
            repeatable=repeatable,
        )
        begun = time.monotonic()
        response = self.ask(question, until)
        if watch is not None:
            watch.call(begun, response)
        return self._read(response, question, expected, read)

    def _read(self, response: Response, question: Question, expected: str, read: Callable[[bytes], Read]) -> Read:
        try:
            return read(response.body)
        except UnreadableError as error:
            begins = self.shown(response.body.decode("utf-8", "replace"))
            what = f"answers {question.shown} with something other than {expected}: {error}"
            page = begins.startswith("<")
            raise ServerError(
                f"the Rasa server at {self.name} {what}. " + (f"It begins: {begins}" if begins else "It is empty."),
                hint="That is a web page: is there a login or a proxy before the server, or is it another address?"
                if page
                else "Is this the address of a Rasa server (open source 3.x, or Pro)?",
            ) from None

    def refused(self, response: Response, question: Question) -> ServerError:
        """Return the error for an answer that is not a success: what Rasa means by it."""
        shown, status = question.shown, response.status
        reason = self._reason(response)
        match status:
            case 401 | 403:
                return ServerError(
                    f"the Rasa server at {self.name} refuses {shown}: {reason}",
                    hint="Give its token with --rasa-token, or an admin's JWT with --rasa-jwt.",
                )
            case _ if status < requests.codes.bad_request:
                return self.redirected(response, question)
            case 404 if question.path.startswith("/webhooks"):
                return ServerError(
                    f"the Rasa server at {self.name} has no {shown}",
                    hint="Enable the REST channel in its credentials.yml (a line `rest:`), and start it again.",
                )
            case 404:
                return ServerError(
                    f"the Rasa server at {self.name} has no {shown}",
                    hint="Start it with `rasa run --enable-api`. Or is this the wrong address?",
                )
            case 409:
                return NoModelError(
                    f"the Rasa server at {self.name} has no model loaded: {reason}",
                    hint="Train one and start the server with it (`rasa run -m models`).",
                )
            case _:
                return super().refused(response, question)


def _shown(path: str) -> str:
    """Return a path as in messages: a conversation's name differs from run to run."""
    return re.sub("(?<=/conversations/)[^/]+", "…", path)
