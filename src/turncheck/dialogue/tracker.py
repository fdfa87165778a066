"""A conversation so far: its events, and the state they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from turncheck.dialogue.events import (
    ActionExecuted,
    ActionExecutionRejected,
    ActionReverted,
    ActiveLoop,
    Event,
    Restarted,
    SessionStarted,
    UserFeaturization,
    UserUtteranceReverted,
    UserUttered,
)
from turncheck.dialogue.situation import Loop, Situation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.states import State


# Which events of a conversation count, and the moments between them: computed once, and extended as the conversation
# grows.

T = TypeVar("T")


class Moment(NamedTuple):
    """The dialogue just before an action ran, or now; ``state`` is what policies see."""

    state: State
    hide_rule_turn: bool
    followup_action: str | None
    latest_action_name: str | None
    active_loop_name: str | None


class History:
    """Applied events and moments of a growing list of events."""

    __slots__ = ("_applied", "_growing", "_has_now", "_loops", "_moments", "_read", "_replayed", "_situation", "domain")

    def __init__(self, domain: DialogueDomain) -> None:
        self.domain = domain
        self._loops: set[str] = set()
        self._forget()

    def _forget(self) -> None:
        self._applied: list[Event] = []
        self._read = 0
        self._forget_replay()

    def _forget_replay(self) -> None:
        self._situation = Situation(self.domain)
        self._moments: list[Moment] = []
        self._has_now = False
        self._replayed = 0
        self._growing: dict[Any, Any] = {}

    def applied_events(self, events: Sequence[Event]) -> list[Event]:
        """Return those of ``events`` that count; what was processed before is not processed again."""
        if self._read == len(events):
            return self._applied
        if self._has_now:
            self._moments.pop()
            self._has_now = False
        loops = {e.name for e in events[self._read :] if isinstance(e, ActiveLoop) and e.name} - self._loops
        if loops:
            self._loops |= loops
            self._forget()
        new = events[self._read :]
        if self._loops or not _UNDO.isdisjoint(map(type, new)):
            for event in new:
                self._take(event)
        else:
            self._applied += new
        self._read = len(events)
        return self._applied

    def _take(self, event: Event) -> None:
        applied = self._applied
        if not isinstance(event, _MAY_UNDO):
            applied.append(event)
            return
        match event:
            case ActionExecuted(name=name):
                if name is None or not self._repeats_loop(name):
                    applied.append(event)
                    return
                _undo_until_loop(name, applied)
            case ActionReverted():
                _undo_until(ActionExecuted, applied)
            case UserUtteranceReverted():
                # A message always follows an action_listen, which is undone, too.
                _undo_until(UserUttered, applied)
                _undo_until(ActionExecuted, applied)
            case _:
                applied.clear()
        self._forget_replay()

    def _repeats_loop(self, name: str) -> bool:
        """Whether this run of a loop continues the previous one, so that both count as one."""
        return name in self._loops and not self.domain.is_older and not _starts_or_resumes(name, self._applied)

    def situation(self, events: Sequence[Event]) -> Situation:
        """Return the situation after the events that count; not to be changed by the caller."""
        self.moments(events)
        return self._situation

    def moments(self, events: Sequence[Event]) -> list[Moment]:
        """Return the dialogue before each action that counts, and now; the list changes with the next event."""
        applied = self.applied_events(events)
        for event in applied[self._replayed :]:
            if isinstance(event, ActionExecuted):
                self._moments.append(self._moment(hide_rule_turn=event.hide_rule_turn))
            self._situation.apply(event)
        self._replayed = len(applied)
        if not self._has_now:
            self._moments.append(self._moment(hide_rule_turn=False))
            self._has_now = True
        return self._moments

    def growing(self, key: Any, make: Callable[[], T]) -> T:
        """Return the result of ``make``, kept until an event undoes others: until then, what counts only grows."""
        if key not in self._growing:
            self._growing[key] = make()
        found: T = self._growing[key]
        return found

    def _moment(self, *, hide_rule_turn: bool) -> Moment:
        now = self._situation
        return Moment(now.state(), hide_rule_turn, now.followup_action, now.latest_action_name, now.active_loop_name)


_UNDO: Final = frozenset({ActionReverted, UserUtteranceReverted, Restarted, SessionStarted})
_MAY_UNDO: Final = (ActionExecuted, *_UNDO)


def _undo_until(kind: type[Event], applied: list[Event]) -> None:
    """Remove events from the end up to and with the latest of this kind."""
    while applied:
        if isinstance(applied.pop(), kind):
            return


def _starts_or_resumes(loop: str, applied: Sequence[Event]) -> bool:
    """Whether this run of the loop is its first, or follows a detour: such runs count, others are repetitions."""
    next_action: str | None = None
    for event in reversed(applied):
        match event:
            case ActiveLoop(name=None):
                return True
            case ActionExecutionRejected() if event.name == loop:
                return True
            case UserUttered() if next_action is not None and next_action != loop:
                # Stories have no rejections: another action after the message shows the detour.
                return True
            case ActionExecuted():
                if event.name == loop:
                    return False
                next_action = event.name
            case _:
                pass
    return True


def _undo_until_loop(loop: str, applied: list[Event]) -> None:
    """Remove messages and actions since the latest run of the loop; slots and other events stay."""
    kept: list[Event] = []
    while applied:
        event = applied[-1]
        if isinstance(event, ActionExecuted) and event.name == loop:
            break
        applied.pop()
        if not isinstance(event, (ActionExecuted, UserUttered, UserFeaturization)):
            kept.append(event)
    applied.extend(reversed(kept))


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
        self._history: History | None = None
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
        other = self.__new__(type(self))
        other.domain, other.name, other.source, other.is_rule = self.domain, self.name, self.source, self.is_rule
        other.events = self.events.copy()
        other.situation = self.situation.copy()
        other._history = None  # noqa: SLF001 - its own class
        other._remembered, other._remembered_at = {}, 0  # noqa: SLF001
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
        self.situation = self._replay().situation(self.events).copy()

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

    def _replay(self) -> History:
        """Return the history of the events; most trackers are only a step on the way to others, and never need it."""
        if self._history is None:
            self._history = History(self.domain)
        return self._history

    def applied_events(self) -> Sequence[Event]:
        """Return the events that count: without undone ones, and repeated runs of a loop on its happy path."""
        return self._replay().applied_events(self.events)

    def moments(self) -> Sequence[Moment]:
        """Return the dialogue before each action that counts, and now. The last one is now."""
        return self._replay().moments(self.events)

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
        return self._replay().growing(key, make)

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
