"""A conversation so far: its events, and the state they lead to."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self, TypeVar

from turncheck.dialogue.events import ActionReverted, Event, Restarted, UserUtteranceReverted, UserUttered
from turncheck.dialogue.history import History
from turncheck.dialogue.situation import Situation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.history import Moment
    from turncheck.dialogue.situation import Loop
    from turncheck.dialogue.states import State

T = TypeVar("T")


class Tracker:
    """The events of one conversation and the situation they lead to.

    Appending is cheap, and so is asking for the :meth:`moments` after each event: they are kept and extended.
    """

    __slots__ = (
        "_history",
        "_remembered",
        "_remembered_at",
        "domain",
        "events",
        "is_rule",
        "name",
        "situation",
        "source",
    )

    def __init__(
        self, domain: DialogueDomain, name: str = "default", *, source: str | None = None, is_rule: bool = False
    ) -> None:
        self.domain = domain
        self.name = name
        self.source = source
        self.is_rule = is_rule
        self.events: list[Event] = []
        self.situation = Situation(domain)
        self._history = History(domain)
        self._remembered: dict[Any, Any] = {}
        self._remembered_at = 0

    @classmethod
    def of(cls, domain: DialogueDomain, events: Iterable[Event], name: str = "default") -> Tracker:
        """Return the tracker of these events."""
        tracker = cls(domain, name)
        tracker.extend(events)
        return tracker

    def copy(self) -> Self:
        """Return an independent copy of this tracker."""
        other = copy.copy(self)
        other.events = self.events.copy()
        other.situation = self.situation.copy()
        other._history = History(self.domain)  # noqa: SLF001 - its own class
        other._remembered = {}  # noqa: SLF001
        return other

    def append(self, event: Event) -> None:
        """Append an event."""
        self.events.append(event)
        if isinstance(event, (UserUtteranceReverted, ActionReverted)):
            self.situation.reset()
            for applied in self.applied_events():
                self.situation.apply(applied)
        else:
            self.situation.apply(event)

    def reload(self) -> None:
        """Recompute the situation from the events that count, as Rasa does when it loads a tracker from its store."""
        self.situation = self._history.situation(self.events).copy()

    def extend(self, events: Iterable[Event]) -> None:
        """Append several events."""
        for event in events:
            self.append(event)

    # --- the situation, by shorter names ------------------------------------------------------------------------------

    @property
    def slots(self) -> Mapping[str, Any]:
        """The values of all slots by name."""
        return self.situation.slots.values

    @property
    def latest_message(self) -> UserUttered:
        """The latest message; an empty one if nothing was said."""
        return self.situation.latest_message

    @property
    def latest_action_name(self) -> str | None:
        """The name (or text) of the latest action."""
        return self.situation.latest_action_name

    @property
    def active_loop(self) -> Loop | None:
        """The active loop."""
        return self.situation.active_loop

    @property
    def active_loop_name(self) -> str | None:
        """The name of the active loop; a rule's "no loop" counts as none."""
        return self.situation.active_loop_name

    @property
    def is_active_loop_rejected(self) -> bool:
        """Whether there is an active loop and it refused to run."""
        return self.active_loop is not None and self.active_loop.rejected

    @property
    def is_active_loop_interrupted(self) -> bool:
        """Whether there is an active loop and it was interrupted for a turn."""
        return self.active_loop is not None and self.active_loop.is_interrupted

    @property
    def followup_action(self) -> str | None:
        """The action that must come next, if any."""
        return self.situation.followup_action

    @property
    def paused(self) -> bool:
        """Whether the assistant is silent."""
        return self.situation.paused

    @property
    def latest_input_channel(self) -> str | None:
        """The channel of the latest user message."""
        for event in reversed(self.events):
            if isinstance(event, UserUttered):
                return event.input_channel
        return None

    # --- history ------------------------------------------------------------------------------------------------------

    def applied_events(self) -> Sequence[Event]:
        """Return the events that count: without undone ones, and repeated runs of a loop on its happy path."""
        return self._history.applied_events(self.events)

    def moments(self) -> Sequence[Moment]:
        """Return the dialogue before each action that counts, and now. The last one is now."""
        return self._history.moments(self.events)

    def events_since_restart(self) -> Sequence[Event]:
        """Return all events, undone ones too, after the latest restart."""
        for index in range(len(self.events) - 1, -1, -1):
            if isinstance(self.events[index], Restarted):
                return self.events[index + 1 :]
        return self.events

    def states(self) -> Sequence[State]:
        """Return the state before each action that counts, and now."""
        return [moment.state for moment in self.moments()]

    def last_states(self, number: int) -> Sequence[State]:
        """Return the last ones of :meth:`states`, at most this many."""
        return [moment.state for moment in self.moments()[-number:]]

    def growing(self, key: Any, make: Callable[[], T]) -> T:
        """Return the result of ``make``, kept for as long as the applied events and the moments only grow."""
        self.applied_events()
        return self._history.growing(key, make)

    def remembered(self, key: Any, make: Callable[[], T]) -> T:
        """Return the result of ``make``, cached until the next event: several policies need the same."""
        if self._remembered_at != len(self.events):
            self._remembered_at = len(self.events)
            self._remembered.clear()
        if key not in self._remembered:
            self._remembered[key] = make()
        found: T = self._remembered[key]
        return found

    def last_applied(self, *kinds: type[Event]) -> Event | None:
        """Return the latest event of one of these kinds that counts."""
        return next((event for event in reversed(self.applied_events()) if isinstance(event, kinds)), None)

    def entity_values(self, entity: str, role: str | None = None, group: str | None = None) -> list[Any]:
        """Return the values of this entity (with exactly this role and group) in the latest message."""
        wanted = (entity, role, group)
        return [
            found.get("value")
            for found in self.latest_message.entities
            if (found.get("entity"), found.get("role"), found.get("group")) == wanted
        ]
