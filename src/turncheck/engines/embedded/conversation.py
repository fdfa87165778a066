"""Holds a conversation: message in, actions predicted and run, turn out. Mirrors Rasa 3.6's message processor."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import NAMESPACE_OID, uuid5

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turncheck.dialogue.domain import (
    ACTION_EXTRACT_SLOTS,
    ACTION_LISTEN,
    ACTION_SESSION_START,
    INTENT_NLU_FALLBACK,
    INTENT_RESTART,
    SLOT_SESSION_METADATA,
    DialogueDomain,
)
from turncheck.dialogue.events import ActionExecuted, ActionExecutionRejected, Event, SlotSet, UserUttered
from turncheck.dialogue.outward_events import BotUttered
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.action_server.server import CallFailedError
from turncheck.engines.conversation import (
    ActionServer,
    Decision,
    InFront,
    NluEngine,
    Parse,
    PredictedEntity,
    PredictedIntent,
    SelectedResponse,
    Turn,
    read_direct_message,
)
from turncheck.engines.embedded.actions.base import ActionContext, ActionError, ActionRejectedError, Responses, render
from turncheck.engines.embedded.actions.custom import CustomActions
from turncheck.engines.embedded.actions.registry import finder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.report.model import EngineInfo, Substitution


# What a user typed → a parse result in Rasa's JSON shape: from ``/intent{…}``, or from the NLU engine.

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
    fields = msgspec.structs.asdict(entity)
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


ACTION_LIMIT: Final = 10
"""Actions in a turn before the circuit breaker ends it, as in Rasa."""
RUN_LIMIT: Final = 50
"""Actions in a turn, whatever they return. An action that returns a listen event never reaches Rasa's own limit."""
FOLLOWUP_POLICY: Final = "followup_action"
REST_CHANNEL: Final = ("collector", "rest")
"""Rasa's REST channel answers through a channel named ``collector``; responses are chosen by that name."""


class Decider(Protocol):
    """What decides on the next action: the policies' ensemble."""

    @property
    def substitutions(self) -> tuple[Substitution, ...]:
        """The substitutions for policies."""

    def decide(self, tracker: Tracker) -> Decision:
        """Return the next action."""


class Assistant(Struct, frozen=True):
    """What all conversations with one assistant share; it never changes."""

    domain: DialogueDomain
    decider: Decider
    nlu: NluEngine | None
    server: ActionServer
    seed: int = 0


class _MessageLostError(Exception):
    """The policies chose something that is not an action (a loop that the domain lacks): Rasa drops the message."""


class EmbeddedConversation:
    """One user talking to the assistant. See :class:`turncheck.engines.conversation.Conversation`.

    ``channel`` is the one that responses are chosen for; messages come from the same channel, unless another is
    given. ``history`` are earlier events with their time stamps, for a conversation that is resumed. ``stubs``
    replace custom actions, by name; then no action server is called. ``turn_timeout`` in seconds bounds the time that
    a turn may take. ``attempt`` changes what chance chooses. ``clock`` gives the time of events, which decides when a
    session has expired.
    """

    def __init__(
        self,
        assistant: Assistant,
        *,
        channel: str = "cmdline",
        input_channel: str | None = None,
        fixtures: Mapping[str, Any] | None = None,
        sender_id: str = "default",
        history: Iterable[Event] = (),
        stubs: Mapping[str, Mapping[str, Any]] | None = None,
        turn_timeout: float | None = None,
        attempt: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._nlu = assistant.nlu
        self._decider = assistant.decider
        self._input_channel = input_channel or dict([REST_CHANNEL]).get(channel, channel)
        self._fixtures = dict(fixtures or {})
        self._is_open = False
        self._turn_timeout = turn_timeout
        self._clock = clock
        self._custom = CustomActions(assistant.server, stubs)
        chance = random.Random(assistant.seed + attempt)
        responses = Responses(assistant.domain.domain.responses, channel, chance)
        self._context = ActionContext(assistant.domain, responses, self._custom)
        self._find = finder(assistant.domain)
        self._tracker = Tracker.of(assistant.domain, history, sender_id)
        self._said: list[dict[str, Any]] = []
        self._messages = 0
        self._stopped: str | None = None
        self._timed_out = False
        self._remarks: list[str] = []

    @property
    def tracker(self) -> Tracker:
        """The current session so far."""
        return self._tracker

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Start the session and fill the fixtures' slots."""
        start = self._begin_turn()
        self._start(metadata)
        return self._turn(None, start)

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Send a message and return the turn."""
        start, was_open = self._begin_turn(), self._is_open
        self._start(metadata)
        said = text.strip()
        parsed = parse_message(said, self._context.domain, self._nlu)
        message = UserUttered(
            text=said,
            intent=parsed["intent"],
            entities=tuple(parsed["entities"]),
            parse_data=parsed,
            input_channel=self._input_channel,
            message_id=self._message_id(),
            metadata=metadata,
        )
        self._happened([message])
        self._extract_slots()
        try:
            self._act_until_listening()
        except _MessageLostError as error:
            self._tracker = Tracker.of(self._context.domain, self._tracker.events[:start], self._tracker.name)
            self._is_open, self._stopped = was_open, str(error)
        return self._turn(text, start)

    # --- a turn -------------------------------------------------------------------------------------------------------

    def _begin_turn(self) -> int:
        self._tracker = _reloaded(self._tracker)
        self._said, self._stopped, self._timed_out, self._remarks = [], None, False, []
        if self._turn_timeout is not None:
            self._custom.deadline = time.monotonic() + self._turn_timeout
        return len(self._tracker.events)

    def _message_id(self) -> str:
        """Return an id that no other message of this conversation has; custom actions may use it."""
        self._messages += 1
        return uuid5(NAMESPACE_OID, f"{self._tracker.name}/{self._messages}").hex

    def _turn(self, user: str | None, start: int) -> Turn:
        shapes = []
        for event in self._tracker.events[start:]:
            shape = event.to_json()
            shapes.append(_without_time_and_id(shape))
        return Turn(
            user=user,
            responses=tuple(self._said),
            slots=dict(self._tracker.slots),
            active_loop=self._tracker.active_loop_name,
            events=tuple(shapes),
            custom_actions=self._custom.take_notes(),
            stopped=self._stopped,
            timed_out=self._timed_out,
            remarks=tuple(self._remarks),
        )

    def _start(self, metadata: Mapping[str, Any] | None) -> None:
        """Begin a session if there is none, or the last one has expired; then fill the fixtures' slots, once."""
        if not self._tracker.applied_events() or self._has_expired():
            if metadata:
                self._happened([SlotSet(SLOT_SESSION_METADATA, dict(metadata))])
            self._run(Decision(ACTION_SESSION_START))
        if not self._is_open:
            self._is_open = True
            self._happened([SlotSet(name, value) for name, value in self._fixtures.items()])

    def _has_expired(self) -> bool:
        minutes = self._context.domain.domain.session.session_expiration_time
        latest = self._tracker.last_applied(UserUttered)
        if minutes <= 0 or latest is None or latest.timestamp is None:
            return False
        return (self._clock() - latest.timestamp) / 60 > minutes

    def _happened(self, events: Iterable[Event]) -> None:
        for event in events:
            self._tracker.append(dataclasses.replace(event, timestamp=self._clock()))

    def _send(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, BotUttered):
                self._said.extend(render(event))

    def _extract_slots(self) -> None:
        events = self._find(ACTION_EXTRACT_SLOTS)(self._context, self._tracker)
        self._send(events)
        self._happened(events)

    # --- actions ------------------------------------------------------------------------------------------------------

    def _act_until_listening(self) -> None:
        """Predict and run actions until one of them waits for the user, or too many have run."""
        listening = was_taken_back = False
        runs = 0
        while not listening and self._may_act():
            if self._custom.deadline is not None and time.monotonic() >= self._custom.deadline:
                self._stopped = f"the turn took longer than {self._turn_timeout:g} seconds"
                self._timed_out = True
                return
            runs += 1
            # Rasa does not count while the latest action that still counts is listening, as after a rewind.
            # If one action after the other is reverted, that would never end.
            is_taken_back = self._tracker.latest_action_name in {ACTION_LISTEN, ACTION_SESSION_START}
            is_over = self._actions_since_listening() >= ACTION_LIMIT and (was_taken_back or not is_taken_back)
            was_taken_back = is_taken_back
            limit = ACTION_LIMIT if is_over else RUN_LIMIT
            if is_over or runs > RUN_LIMIT:
                self._stopped = f"more than {limit} actions in one turn"
                return
            decision = self._next()
            if decision.action not in self._context.domain.actions:
                raise _MessageLostError(f"'{decision.action}' is not an action of the domain, so the message was lost")
            if decision.is_end_to_end:
                self._extract_slots()
            self._run(decision)
            listening = decision.action in {ACTION_LISTEN, ACTION_SESSION_START}

    def _may_act(self) -> bool:
        return not self._tracker.paused or self._tracker.latest_message.intent_name == INTENT_RESTART

    def _actions_since_listening(self) -> int:
        count = 0
        for event in reversed(self._tracker.events):
            if isinstance(event, ActionExecuted):
                if event.name in {ACTION_LISTEN, ACTION_SESSION_START}:
                    break
                count += 1
        return count

    def _next(self) -> Decision:
        """Take the follow-up action if there is one that the domain knows, else ask the policies."""
        followup = self._tracker.followup_action
        if followup:
            self._tracker.situation.followup_action = None
            if followup in self._context.domain.actions:
                return Decision(followup, FOLLOWUP_POLICY)
            self._remarks.append(f"the follow-up action '{followup}' is not in the domain: it was skipped")
        return self._decider.decide(self._tracker)

    def _run(self, decision: Decision) -> None:
        """Run the action on a copy of the dialogue, then record it with its events and send its messages."""
        trial = self._tracker.copy()
        trial.extend(decision.events)
        try:
            events = self._find(decision.action)(self._context, trial)
        except ActionRejectedError:
            rejected = ActionExecutionRejected(decision.action, decision.policy, decision.confidence)
            self._happened([rejected])
            return
        except CallFailedError:  # recorded with the custom actions
            events = []
        except ActionError as error:
            self._remarks.append(f"'{decision.action}' failed: {error}")
            events = []
        if not any(isinstance(event, ActionExecutionRejected) for event in events):
            self._happened([*decision.events, _executed(decision, self._context.domain)])
        self._happened(events)
        if any(isinstance(event, UserUttered) for event in events):
            self._extract_slots()
        self._send(events)


def _executed(decision: Decision, domain: DialogueDomain) -> ActionExecuted:
    is_text = decision.action in domain.bot_texts
    return ActionExecuted(
        name=None if is_text else decision.action,
        policy=decision.policy,
        confidence=decision.confidence,
        text=decision.action if is_text else None,
        hide_rule_turn=decision.hide_rule_turn,
        metadata=decision.metadata,
    )


def _without_time_and_id(shape: dict[str, Any]) -> dict[str, Any]:
    """Return an event as JSON, without what differs from run to run."""
    shape.pop("timestamp", None)
    shape.pop("message_id", None)
    if "parse_data" in shape:
        shape["parse_data"].pop("message_id", None)
    return shape


def _reloaded(tracker: Tracker) -> Tracker:
    """Return the tracker as Rasa's in-memory store returns it for the next message.

    Of several sessions only the latest is left, event by event; a single one is replayed as far as it counts.
    """
    starts = [
        index
        for index, event in enumerate(tracker.events)
        if index and isinstance(event, ActionExecuted) and event.name == ACTION_SESSION_START
    ]
    if starts:
        return Tracker.of(tracker.domain, tracker.events[starts[-1] :], tracker.name)
    tracker.reload()
    return tracker


# The embedded engine: language understanding, policies and actions, trained here from the project's own files.

NO_NLU = "the model was trained without NLU data"
NO_CORE = "the model was trained without stories and rules"


class EmbeddedConversations(Struct, frozen=True):
    """What understands and answers. It is thread-safe, and can be sent to worker processes."""

    info: EngineInfo
    assistant: Assistant | None
    nlu: NluEngine | None

    @property
    def has_flows(self) -> bool:
        """It does not run any."""
        return False

    @property
    def domain(self) -> DialogueDomain:
        """The domain that conversations are held in."""
        if self.assistant is None:
            raise ValueError(NO_CORE)
        return self.assistant.domain

    def for_threads(self) -> EmbeddedConversations:
        """Return the same engine for conversations in several threads: sentences are understood one at a time."""
        if self.assistant is None or self.nlu is None:
            return self
        nlu = _OneAtATime(self.nlu)
        return replace(self, nlu=nlu, assistant=replace(self.assistant, nlu=nlu))

    def hearing(self, understood: Mapping[str, Parse]) -> EmbeddedConversations:
        """Return the same engine, but with these texts understood as specified, whatever its NLU would say."""
        if self.assistant is None:
            return self
        nlu = _AsGiven(self.nlu, understood)
        return replace(self, nlu=nlu, assistant=replace(self.assistant, nlu=nlu))

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text."""
        if self.nlu is None:
            raise ValueError(NO_NLU)
        return self.nlu.parse(texts)

    def conversation(
        self,
        *,
        channel: str = "cmdline",
        input_channel: str | None = None,
        fixtures: Mapping[str, Any] | None = None,
        sender_id: str = "default",
        history: Iterable[Event] = (),
        stubs: Mapping[str, Mapping[str, Any]] | None = None,
        turn_timeout: float | None = None,
        attempt: int = 0,
    ) -> EmbeddedConversation:
        """Begin a conversation; see :class:`EmbeddedConversation`."""
        if self.assistant is None:
            raise ValueError(NO_CORE)
        return EmbeddedConversation(
            self.assistant,
            channel=channel,
            input_channel=input_channel,
            fixtures=fixtures,
            sender_id=sender_id,
            history=history,
            stubs=stubs,
            turn_timeout=turn_timeout,
            attempt=attempt,
        )


@dataclass(frozen=True)
class _OneAtATime(InFront):
    """An NLU engine behind a lock: not all taggers are thread-safe."""

    lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[type[_OneAtATime], tuple[NluEngine]]:
        """A lock belongs to its process."""
        return _OneAtATime, (self.engine,)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text."""
        with self.lock:
            return self.engine.parse(texts)


class _AsGiven:
    """An NLU engine that is told how to understand some texts."""

    def __init__(self, nlu: NluEngine | None, understood: Mapping[str, Parse]) -> None:
        self._nlu = nlu
        self._understood = understood

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions of the wrapped engine."""
        return self._behind.info

    @property
    def extractors(self) -> tuple[str, ...]:
        """The entity extractors of the wrapped engine."""
        return self._behind.extractors

    @property
    def _behind(self) -> NluEngine:
        if self._nlu is None:
            raise ValueError(NO_NLU)
        return self._nlu

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text, as specified if it is."""
        return [self._understood.get(text) or self._other(text) for text in texts]

    def _other(self, text: str) -> Parse:
        if self._nlu is None:
            return Parse(text, PredictedIntent(None, 0.0))
        return self._nlu.parse([text])[0]
