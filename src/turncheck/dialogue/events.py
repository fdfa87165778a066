"""What can happen in a conversation: Rasa's events, as frozen values, with their JSON shape.

``to_json`` writes what Rasa's trackers hold (``{"event": "slot", "name": …, "value": …, "metadata": {}}``, with a
``timestamp`` where there is one); :mod:`turncheck.dialogue.event_reading` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.messages.finding import Location

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The base of all events. Time, metadata and location never decide whether two events are equal.

    ``location``: where a story has it, for events that come from a file.
    """

    kind: ClassVar[str] = "event"

    timestamp: float | None = field(default=None, compare=False)
    metadata: Mapping[str, Any] | None = field(default=None, compare=False)
    location: Location | None = field(default=None, compare=False, repr=False)

    def content(self) -> Json:
        """Return the keys of the JSON shape beside kind, time and metadata."""
        return {}

    def to_json(self) -> Json:
        """Return the event in Rasa's JSON shape."""
        shape: Json = {"event": self.kind}
        if self.timestamp is not None:
            shape["timestamp"] = self.timestamp
        shape["metadata"] = dict(self.metadata or {})
        shape.update(self.content())
        return shape


@dataclass(frozen=True, slots=True)
class UserUttered(Event):
    """The user said something. ``intent`` and the ``entities`` are dictionaries as in Rasa's parse result.

    ``use_text``: whether policies look at the text (end-to-end) or at the intent; ``None`` until that is decided. A
    message that has only one of both decides it by itself.
    """

    kind: ClassVar[str] = "user"

    text: str | None = None
    intent: Mapping[str, Any] = field(default_factory=dict)
    entities: tuple[Mapping[str, Any], ...] = ()
    parse_data: Mapping[str, Any] | None = field(default=None, compare=False)
    input_channel: str | None = field(default=None, compare=False)
    message_id: str | None = field(default=None, compare=False)
    use_text: bool | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Decide what to look at if there is no choice."""
        if self.text and not self.intent_name:
            object.__setattr__(self, "use_text", True)
        elif self.intent_name and not self.text:
            object.__setattr__(self, "use_text", False)

    @property
    def intent_name(self) -> str | None:
        """The name of the intent."""
        return self.intent.get("name")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said yet: no text, no intent, no entities."""
        return not self.text and not self.intent_name and not self.entities

    def content(self) -> Json:
        """Text, parse result and channel."""
        parsed: Json = {"intent": dict(self.intent), "entities": [dict(entity) for entity in self.entities]}
        parsed |= {"text": self.text, "metadata": dict(self.metadata or {})}
        if self.message_id is not None:
            parsed["message_id"] = self.message_id
        if self.parse_data is not None:
            parsed.update(self.parse_data)
        shape: Json = {"text": self.text, "parse_data": parsed, "input_channel": self.input_channel}
        if self.message_id is not None:
            shape["message_id"] = self.message_id
        return shape


@dataclass(frozen=True, slots=True)
class UserFeaturization(Event):
    """A policy decided whether the latest message is seen by its text or by its intent."""

    kind: ClassVar[str] = "user_featurization"

    use_text: bool | None = None

    def content(self) -> Json:
        """The decision."""
        return {"use_text_for_featurization": self.use_text}


@dataclass(frozen=True, slots=True)
class EntitiesAdded(Event):
    """A policy found entities in the latest message."""

    kind: ClassVar[str] = "entities"

    entities: tuple[Mapping[str, Any], ...] = ()

    def content(self) -> Json:
        """The entities."""
        return {"entities": [dict(entity) for entity in self.entities]}


@dataclass(frozen=True, slots=True)
class SlotSet(Event):
    """A slot got a value."""

    kind: ClassVar[str] = "slot"

    name: str
    value: Any = None

    def content(self) -> Json:
        """Slot and value."""
        return {"name": self.name, "value": self.value}


class AllSlotsReset(Event):
    """All slots have their initial values again."""

    __slots__ = ()

    kind: ClassVar[str] = "reset_slots"


@dataclass(frozen=True, slots=True)
class ActionExecuted(Event):
    """An action ran: by ``name``, or an end-to-end one by its ``text``.

    ``hide_rule_turn``: policies that learn from stories do not see this turn, since only a rule knows it.
    ``is_unpredictable``: the first action of a story that begins with one; nothing can be learnt from it.
    """

    kind: ClassVar[str] = "action"

    name: str | None = None
    policy: str | None = field(default=None, compare=False)
    confidence: float | None = field(default=None, compare=False)
    text: str | None = None
    hide_rule_turn: bool = field(default=False, compare=False)
    is_unpredictable: bool = field(default=False, compare=False)

    @property
    def label(self) -> str:
        """The name, or the text of an end-to-end action."""
        return self.name or self.text or ""

    def content(self) -> Json:
        """What ran, and who said so."""
        return {
            "name": self.name,
            "policy": self.policy,
            "confidence": self.confidence,
            "action_text": self.text,
            "hide_rule_turn": self.hide_rule_turn,
        }


@dataclass(frozen=True, slots=True)
class ActionExecutionRejected(Event):
    """An action (a form, say) was chosen and refused to run."""

    kind: ClassVar[str] = "action_execution_rejected"

    name: str
    policy: str | None = field(default=None, compare=False)
    confidence: float | None = field(default=None, compare=False)

    def content(self) -> Json:
        """What refused, and who had chosen it."""
        return {"name": self.name, "policy": self.policy, "confidence": self.confidence}


@dataclass(frozen=True, slots=True)
class ActiveLoop(Event):
    """A loop (a form) became active; ``None``: none is active any more."""

    kind: ClassVar[str] = "active_loop"

    name: str | None = None

    def content(self) -> Json:
        """The loop."""
        return {"name": self.name}


@dataclass(frozen=True, slots=True)
class LoopInterrupted(Event):
    """The active loop was interrupted for a turn, so it does not validate the message."""

    kind: ClassVar[str] = "loop_interrupted"

    is_interrupted: bool = False

    def content(self) -> Json:
        """Whether it was."""
        return {"is_interrupted": self.is_interrupted}


@dataclass(frozen=True, slots=True)
class FollowupAction(Event):
    """This action comes next, whatever the policies say; ``None``: none does."""

    kind: ClassVar[str] = "followup"

    name: str | None

    def content(self) -> Json:
        """The action."""
        return {"name": self.name}


class SessionStarted(Event):
    """A new session began: nothing from before counts."""

    __slots__ = ()

    kind: ClassVar[str] = "session_started"


class Restarted(Event):
    """The conversation starts over; a new session follows."""

    __slots__ = ()

    kind: ClassVar[str] = "restart"


class UserUtteranceReverted(Event):
    """Everything from the latest user message on is undone, including the listening before it."""

    __slots__ = ()

    kind: ClassVar[str] = "rewind"


class ActionReverted(Event):
    """The latest action and its effects are undone."""

    __slots__ = ()

    kind: ClassVar[str] = "undo"


class ConversationPaused(Event):
    """The assistant is silent until it is resumed."""

    __slots__ = ()

    kind: ClassVar[str] = "pause"


class ConversationResumed(Event):
    """The assistant answers again."""

    __slots__ = ()

    kind: ClassVar[str] = "resume"
