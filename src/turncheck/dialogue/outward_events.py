"""Events that reach somebody outside of the dialogue: messages, reminders, exports. They never change its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from turncheck.dialogue.events import Event, Json

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class BotUttered(Event):
    """The assistant said something; ``data`` holds buttons, image, custom payload …"""

    kind: ClassVar[str] = "bot"

    text: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def content(self) -> Json:
        """Text and data."""
        return {"text": self.text, "data": dict(self.data)}


@dataclass(frozen=True, slots=True)
class AgentUttered(Event):
    """A human agent said something."""

    kind: ClassVar[str] = "agent"

    text: str | None = None
    data: Any = None

    def content(self) -> Json:
        """Text and data."""
        return {"text": self.text, "data": self.data}


@dataclass(frozen=True, slots=True)
class ReminderScheduled(Event):
    """An intent is to be triggered at a time."""

    kind: ClassVar[str] = "reminder"

    intent: str
    date_time: str | None = field(default=None, compare=False)
    entities: Any = None
    name: str | None = None
    kill_on_user_message: bool = True

    def content(self) -> Json:
        """What, when, and whether a message cancels it."""
        shape: Json = {"intent": self.intent, "entities": self.entities, "name": self.name}
        if self.date_time is not None:
            shape["date_time"] = self.date_time
        shape["kill_on_user_msg"] = self.kill_on_user_message
        return shape


@dataclass(frozen=True, slots=True)
class ReminderCancelled(Event):
    """Reminders are cancelled: those with this name, intent and entities, if these are given."""

    kind: ClassVar[str] = "cancel_reminder"

    name: str | None = None
    intent: str | None = None
    entities: Any = None


@dataclass(frozen=True, slots=True)
class StoryExported(Event):
    """An export of the story was requested; nothing is written here."""

    kind: ClassVar[str] = "export"

    path: str | None = None

    def content(self) -> Json:
        """The file that was asked for."""
        return {} if self.path is None else {"path": self.path}
