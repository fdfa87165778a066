"""What forms and the two-stage fallback have in common: they stay active over several turns until they are done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from turncheck.dialogue.events import ActiveLoop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.embedded.actions.base import ActionContext


class LoopAction(ABC):
    """Activates itself on its first run, runs its step each time, and deactivates itself when it is done."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Run one step and return its events."""
        events: list[Event] = []
        if tracker.active_loop_name != self.name:
            events.append(ActiveLoop(self.name))
            events += self.activate(context, tracker)
        if not self.is_done(tracker, events):
            events += self.do(context, tracker, events)
        if self.is_done(tracker, events):
            events.append(ActiveLoop(None))
            events += self.deactivate(context, tracker)
        return events

    def activate(self, context: ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG002 - for those who need it
        """Return the events that follow the one that activates it."""
        return []

    @abstractmethod
    def do(self, context: ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
        """Run one step; ``events`` are those of this run so far."""

    @abstractmethod
    def is_done(self, tracker: Tracker, events: Sequence[Event]) -> bool:
        """Whether the loop ends here."""

    def deactivate(self, context: ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG002 - for those who need it
        """Return the events that follow the one that deactivates it."""
        return []
