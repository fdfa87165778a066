"""Conversations with a Rasa server: messages by its REST channel, events from its tracker."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from turncheck.dialogue.domain import ACTION_VALIDATE_SLOT_MAPPINGS, DialogueDomain
from turncheck.dialogue.events import Event, UserUttered
from turncheck.engines.base import ask_all
from turncheck.engines.conversation import CustomAction, Decision, Parse, Turn
from turncheck.engines.measuring import Watch
from turncheck.engines.remote import CutError, ServerError, SlowAnswerError
from turncheck.report.model import EngineInfo
from turncheck.web.timed import Deadline

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.rasa_server.client import RasaClient
    from turncheck.engines.rasa_server.process import StubServer


_DROPPED: Final = {"timestamp", "message_id", "model_id", "assistant_id"}
"""What differs from run to run, in an event and in its metadata and parse result."""
_START: Final = ("action", "action_session_start")
_METADATA_SLOT: Final = "session_started_metadata"
STUBS_NEED_OURS: Final = "a running Rasa server calls its own action server: custom actions cannot be stubbed there"
RUN_BY_RASA: Final = "Rasa itself runs the custom actions (`actions_module` in endpoints.yml): they cannot be stubbed"


@dataclass(frozen=True, slots=True)
class RasaConversations:
    """May be used by several threads. Conversations share nothing but connections, and have names of their own.

    ``has_flows``: it is a project for Rasa Pro, with flows. ``stub_server`` is what a Rasa that was started here
    calls for its actions; ``why_no_stubs`` is the reason if there is none. ``actions`` are the domain's: the server's
    own calls of validating ones leave no event.
    ``run`` distinguishes this run's conversations from all others.
    """

    client: RasaClient
    info: EngineInfo
    has_flows: bool = False
    stub_server: StubServer | None = None
    why_no_stubs: str = STUBS_NEED_OURS
    actions: Collection[str] = ()
    run: str = field(default_factory=lambda: uuid4().hex[:12])
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    def conversation(
        self,
        *,
        channel: str = "rest",  # noqa: ARG002 - the server's REST channel is the one there is
        fixtures: Mapping[str, Any] | None = None,
        stubs: Mapping[str, Mapping[str, Any]] | None = None,
        turn_timeout: float | None = None,
        attempt: int = 0,  # noqa: ARG002 - each conversation is one of its own anyway
    ) -> RasaConversation:
        """Begin a conversation. One whose actions must be stubbed, but cannot be, is never run: it would lack them."""
        sender = f"turncheck-{self.run}-{next(self._numbers)}"
        if stubs is not None and self.stub_server is not None:
            self.stub_server.stub(sender, stubs)
        lacks_stubs = self.why_no_stubs if stubs is not None and self.stub_server is None else None
        return RasaConversation(self, sender, dict(fixtures or {}), turn_timeout, lacks_stubs)


class RasaConversation:
    """One user talking to the server."""

    def __init__(
        self,
        engine: RasaConversations,
        sender: str,
        fixtures: Mapping[str, Any],
        timeout: float | None,
        lacks_stubs: str | None = None,
    ) -> None:
        self._client = engine.client
        self._stub_server = engine.stub_server
        self._actions = engine.actions
        self._sender = sender
        self._fixtures = fixtures
        self._lacks_stubs = lacks_stubs
        self._timeout = timeout
        self._seen: Sequence[Mapping[str, Any]] = ()
        self._opened = False

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Start the session, and fill the slots of the fixtures and of the metadata."""
        self._opened = True
        if self._lacks_stubs is not None:
            lacking = CustomAction("stub_custom_actions", "no server", self._lacks_stubs)
            return Turn(None, (), {}, None, (), custom_actions=(lacking,))
        until = self._deadline()
        try:
            # Reading a new conversation has the server start its session without keeping it. When sent back,
            # those events are kept: the session is started once, as by a first message, and when it may
            # speak.
            start = _session_start(self._client.tracker(self._sender, until=until).events or ())
            filled = {**({_METADATA_SLOT: dict(metadata)} if metadata else {}), **self._fixtures}
            events = [*start, *({"event": "slot", "name": name, "value": value} for name, value in filled.items())]
            if events:
                self._client.append_events(self._sender, events, until=until)
            return self._turn(None, None, until)
        except SlowAnswerError as error:
            return self._too_slow(None, error)

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Send a message and return the turn. The first one opens the conversation where :meth:`open` did not.

        Raises:
            TransientError: the turn was cut off; it is not known how far it got.
            EngineError: the server refuses, or has no REST channel.
        """
        if not self._opened:
            opening = self.open(metadata)
            if opening.timed_out or opening.custom_actions:
                return replace(opening, user=text)
        until = self._deadline()
        try:
            watch = Watch()
            responses = self._client.say(self._sender, text, metadata=metadata, until=until, watch=watch)
            watch.message()  # all of them are in the answer
            said = tuple(
                {key: value for key, value in response.items() if key != "recipient_id"} for response in responses
            )
            return replace(self._turn(text, said, until), measured=watch.measured())
        except SlowAnswerError as error:
            return self._too_slow(text, error)

    def _deadline(self) -> Deadline | None:
        return None if self._timeout is None else Deadline.after(self._timeout)

    def _too_slow(self, text: str | None, error: SlowAnswerError) -> Turn:
        what = "the turn" if text is not None else "the opening of the conversation"
        over = error.message if self._timeout is None else f"{what} took longer than {self._timeout:g} seconds"
        return Turn(text, (), {}, None, (), stopped=over, timed_out=True)

    def _turn(self, text: str | None, said: tuple[Mapping[str, Any], ...] | None, until: Deadline | None) -> Turn:
        """Read what is new in the conversation; what is said unasked is only in its events."""
        tracker = self._client.tracker(self._sender, until=until)
        events = tracker.events or []
        count = _count_of_seen(self._seen, events)
        if self._seen and not count and _is_begun_with(text, events):
            raise CutError(
                f"the Rasa server at {self._client.name} has forgotten the conversation",
                hint="Was it started anew? Several servers behind one address need one tracker store for all.",
            )
        new = tuple(_without_ids(event) for event in events[count:])
        self._seen = events
        return Turn(
            user=text,
            responses=_said(new) if said is None else said,
            slots=tracker.slots,
            active_loop=tracker.active_loop_name,
            events=new,
            custom_actions=() if self._stub_server is None else self._stub_server.take_notes(self._sender),
            unseen_actions=_validations(new, self._actions) if self._stub_server is None else (),
        )


def _session_start(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the events of a session start so that the server accepts them as one: ``session_started`` comes second.

    Messages of a custom ``action_session_start`` come before it; it undoes anything else before it. Without a start
    there is nothing to return.
    """
    names = [(event.get("event"), event.get("name")) for event in found]
    kinds = [kind for kind, _ in names]
    if _START not in names or "session_started" not in kinds[names.index(_START) :]:
        return []
    begin = names.index(_START)
    started = kinds.index("session_started", begin)
    said = [event for event in found[begin + 1 : started] if event.get("event") == "bot"]
    return [found[begin], found[started], *said, *found[started + 1 :]]


def _validations(events: Sequence[Mapping[str, Any]], actions: Collection[str]) -> tuple[str, ...]:
    """Return the actions that Rasa runs without an event: a form validates, and so does each message.

    Rasa's ``FormAction`` calls ``validate_<form>`` whenever it runs, its ``ActionExtractSlots`` calls
    ``action_validate_slot_mappings`` after each message.
    """
    names = [
        ACTION_VALIDATE_SLOT_MAPPINGS if event["event"] == "user" else f"validate_{event['name']}"
        for event in events
        if event["event"] in {"user", "action"}
    ]
    return tuple(name for name in dict.fromkeys(names) if name in actions)


def _count_of_seen(seen: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]]) -> int:
    """Return how many of the events were seen before: most stores drop the sessions before the one that goes on."""
    for dropped in range(len(seen)):
        kept = list(seen[dropped:])
        if list(events[: len(kept)]) == kept:
            return len(kept)
    return 0


def _is_begun_with(text: str | None, events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a message is the first in these events, after the start of a session."""
    said = next((event for event in events if event["event"] == "user"), None)
    return said is not None and said["text"] == text and (events[0]["event"], events[0].get("name")) == _START


def _without_ids(event: Mapping[str, Any]) -> dict[str, Any]:
    cleaned = {key: value for key, value in event.items() if key not in _DROPPED}
    for part in ("metadata", "parse_data"):
        if isinstance(cleaned.get(part), dict):
            cleaned[part] = {key: value for key, value in cleaned[part].items() if key not in _DROPPED}
    if cleaned["event"] == "user":  # with flows alone, commands may be all that is there
        parse = cleaned["parse_data"]
        nothing = {"name": None, "confidence": 0.0}
        cleaned["parse_data"] = parse | {
            "intent": parse.get("intent") or nothing,
            "entities": parse.get("entities") or [],
        }
    return cleaned


def _said(events: tuple[dict[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """Return the messages as the REST channel would."""
    return tuple(
        {key: value for key, value in {"text": event.get("text"), **(event.get("data") or {})}.items() if value}
        for event in events
        if event["event"] == "bot"
    )


# A Rasa server as an engine: it understands, decides and answers; this only asks and reads.

NAME: Final = "rasa"
ALTERNATIVES: Final = 3


def describe(client: RasaClient) -> EngineInfo:
    """Ask the server for its version and model.

    Raises:
        ServerError: it cannot be reached, refuses, or has no model.
    """
    version, served = client.version(), client.served()
    if not served.model_file:
        raise ServerError(
            f"the Rasa server at {client.name} has no model loaded",
            hint="Train one and start the server with it (`rasa run -m models`).",
        )
    return EngineInfo(name=NAME, version=version, model=served.model_file)


class RasaNlu(Struct, frozen=True):
    """Language understanding by ``/model/parse``. ``extractors`` are those of the project's pipeline."""

    client: RasaClient
    info: EngineInfo
    extractors: tuple[str, ...] = ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; several at a time, with the answers in the texts' order.

        Raises:
            IncompleteError: the server failed; ``finished`` holds the answers so far.
        """
        return ask_all(self.client.parse, texts, self.client.at_once)


def sendable(event: Event) -> dict[str, Any]:
    """Return an event as the server's check of its input accepts it.

    It refuses an intent whose name is ``null`` and an entity without a value, although Rasa's own stories have both
    (``user:`` without ``intent:``, ``city: null``). An intent without a name and a value of ``null`` mean the same.
    """
    shape = event.to_json()
    if isinstance(event, UserUttered):
        parsed = shape["parse_data"]
        parsed["intent"] = {key: value for key, value in parsed["intent"].items() if key != "name" or value is not None}
        parsed["entities"] = [{"value": None, **entity} for entity in parsed["entities"]]
    return shape


class RasaPolicies(Struct, frozen=True):
    """The next action by ``/model/predict``, from the events so far; in place of an ensemble of policies."""

    client: RasaClient
    domain: DialogueDomain

    def next(self, tracker: Tracker) -> Decision:
        """Ask the server; it does not keep anything between two calls.

        Raises:
            ServerError: it cannot predict.
        """
        answer = self.client.predict([sendable(event) for event in tracker.events])
        if answer is None:
            raise ServerError(
                "the Rasa server predicts nothing: its model has no policies",
                hint="Train it with stories or rules, or leave the evaluation 'core' out.",
            )
        ranked = sorted(((entry.action, entry.score or 0.0) for entry in answer.scores), key=lambda pair: -pair[1])
        action, score = ranked[0]  # of equal ones the first in the domain, as in Rasa
        return Decision(
            action=action,
            policy=answer.policy or None,
            confidence=score if answer.confidence is None else answer.confidence,
            alternatives=tuple((name, value) for name, value in ranked[1:] if value > 0)[:ALTERNATIVES],
        )
