"""A conversation so far: its events, and what they add up to."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from turncheck.dialogue import states
from turncheck.dialogue.defaults import ACTION_LISTEN, ACTION_SESSION_START, SHOULD_NOT_BE_SET
from turncheck.dialogue.events import (
    ActionExecuted,
    ActionExecutionRejected,
    ActionReverted,
    ActiveLoop,
    AllSlotsReset,
    BotUttered,
    ConversationPaused,
    ConversationResumed,
    EntitiesAdded,
    Event,
    FollowupAction,
    LoopInterrupted,
    Restarted,
    SessionStarted,
    SlotSet,
    UserFeaturization,
    UserUtteranceReverted,
    UserUttered,
)
from turncheck.dialogue.slots import initial_values
from turncheck.dialogue.states import Part, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain

T = TypeVar("T")

_NOTHING_SAID = UserUttered()


@dataclass(frozen=True, slots=True)
class Loop:
    """The active loop. ``trigger_message``: the parse result of the message that started it."""

    name: str
    is_interrupted: bool = False
    rejected: bool = False
    trigger_message: UserUttered | None = None


class Situation:
    """What a sequence of events adds up to. Changed only by :meth:`apply`; all that it holds is immutable."""

    __slots__ = (
        "_user",
        "active_loop",
        "domain",
        "followup_action",
        "latest_action",
        "latest_bot_message",
        "latest_message",
        "paused",
        "slots",
    )

    def __init__(self, domain: DialogueDomain) -> None:
        self.domain = domain
        self.slots = initial_values(domain.slots)
        self._user = (_NOTHING_SAID, states.NO_PART)
        self.reset()

    def reset(self) -> None:
        """Go back to the beginning, with all slots at their initial values."""
        self.slots = self.slots.reset()
        self.paused = False
        self.latest_action: ActionExecuted | None = None
        self.latest_message = _NOTHING_SAID
        self.latest_bot_message: BotUttered | None = None
        self.followup_action: str | None = ACTION_LISTEN
        self.active_loop: Loop | None = None

    def copy(self) -> Situation:
        """Return a situation that goes its own way from here."""
        return copy.copy(self)

    @property
    def latest_action_name(self) -> str | None:
        """The name (or text) of the latest action."""
        return None if self.latest_action is None else self.latest_action.label

    @property
    def active_loop_name(self) -> str | None:
        """The active loop; a rule's "no loop" counts as none."""
        loop = self.active_loop
        return None if loop is None or loop.name == SHOULD_NOT_BE_SET else loop.name

    def state(self, *, of_set: bool = False) -> State:
        """Return what policies see now; ``of_set`` leaves out the slots that no event has set."""
        state = State()
        user = self._user_part()
        if user:
            state[states.USER] = user
        slots = self.slots.features_of_set if of_set else self.slots.features
        if slots:
            state[states.SLOTS] = slots
        action = self.latest_action
        if action is not None:
            state[states.PREVIOUS_ACTION] = states.action_part(action.name, action.text)
        if self.active_loop is not None:
            state[states.ACTIVE_LOOP] = states.loop_part(self.active_loop.name)
        return state

    def _user_part(self) -> Part:
        message, part = self._user
        if message is not self.latest_message:
            message = self.latest_message
            part = states.user_part(message, self.domain)
            self._user = (message, part)
        return part

    def apply(self, event: Event) -> None:  # noqa: C901, PLR0912 - one branch per kind of event, flat
        """Take one event in. Those that undo others (``rewind``, ``undo``) are the tracker's business."""
        match event:
            case ActionExecuted():
                self._acted(event)
            case UserUttered():
                self.latest_message = event
                self.followup_action = None
            case SlotSet():
                self.slots = self.slots.with_value(event.name, event.value)
            case UserFeaturization():
                if self.latest_action_name == ACTION_LISTEN:
                    self.latest_message = replace(self.latest_message, use_text=event.use_text)
            case BotUttered():
                self.latest_bot_message = event
            case ActiveLoop():
                self.active_loop = None if event.name is None else Loop(event.name, trigger_message=self.latest_message)
            case LoopInterrupted():
                if self.active_loop is not None:
                    self.active_loop = replace(self.active_loop, is_interrupted=event.is_interrupted)
            case ActionExecutionRejected():
                if self.active_loop is not None and event.name == self.active_loop_name:
                    self.active_loop = replace(self.active_loop, rejected=True)
            case EntitiesAdded():
                self._add_entities(event.entities)
            case FollowupAction():
                self.followup_action = event.name
            case AllSlotsReset():
                self.slots = self.slots.reset()
            case SessionStarted():
                self.reset()
            case Restarted():
                self.reset()
                self.followup_action = ACTION_SESSION_START
            case ConversationPaused():
                self.paused = True
            case ConversationResumed():
                self.paused = False
            case _:
                pass

    def _acted(self, event: ActionExecuted) -> None:
        self.latest_action = event
        self.followup_action = None
        loop = self.active_loop
        if loop is not None and (loop.is_interrupted or loop.rejected) and loop.name != SHOULD_NOT_BE_SET:
            self.active_loop = replace(loop, is_interrupted=False, rejected=loop.rejected and event.name != loop.name)

    def _add_entities(self, entities: Iterable[Mapping[str, Any]]) -> None:
        if self.latest_action_name != ACTION_LISTEN:
            return
        known = list(self.latest_message.entities)
        known.extend(entity for entity in entities if entity not in known)
        self.latest_message = replace(self.latest_message, entities=tuple(known))


@dataclass(frozen=True, slots=True)
class Moment:
    """The dialogue just before an action ran, or now; ``state`` is what policies see."""

    state: State
    hide_rule_turn: bool
    followup_action: str | None
    latest_action_name: str | None
    active_loop_name: str | None


class Tracker:
    """The events of one conversation and the situation they lead to.

    Appending is cheap, and so is asking for the :meth:`moments` after each event: they are kept and grown.
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
        """Return a tracker that goes its own way from here."""
        other = copy.copy(self)
        other.events = self.events.copy()
        other.situation = self.situation.copy()
        other._history = History(self.domain)  # noqa: SLF001 - its own class
        other._remembered = {}  # noqa: SLF001
        return other

    def append(self, event: Event) -> None:
        """Take one event in."""
        self.events.append(event)
        if isinstance(event, (UserUtteranceReverted, ActionReverted)):
            self.situation.reset()
            for applied in self.applied_events():
                self.situation.apply(applied)
        else:
            self.situation.apply(event)

    def reload(self) -> None:
        """Take up the situation that the events that count lead to, as when Rasa reads it from its store."""
        self.situation = self._history.situation(self.events).copy()

    def extend(self, events: Iterable[Event]) -> None:
        """Take several events in."""
        for event in events:
            self.append(event)

    # --- the situation, by shorter names ------------------------------------------------------------------------------

    @property
    def slots(self) -> Mapping[str, Any]:
        """The values of all slots by name."""
        return self.situation.slots.values

    @property
    def latest_message(self) -> UserUttered:
        """The latest message; an empty one where nothing was said."""
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
        """Whether there is an active loop and it was left for a turn."""
        return self.active_loop is not None and self.active_loop.is_interrupted

    @property
    def followup_action(self) -> str | None:
        """The action that must come next, if one must."""
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

    def remembered(self, key: Any, make: Callable[[], T]) -> T:
        """Return what ``make`` gives, and the same again until the next event: several policies ask the same."""
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


class History:
    """Applied events and moments of a growing list of events."""

    __slots__ = ("_applied", "_loops", "_moments", "_now", "_read", "_replayed", "_situation", "domain")

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
        self._now: list[Moment] | None = None
        self._replayed = 0

    def applied_events(self, events: Sequence[Event]) -> list[Event]:
        """Return the events of ``events`` that count; what was read of them before is not read again."""
        if self._read == len(events):
            return self._applied
        self._now = None
        loops = {e.name for e in events[self._read :] if isinstance(e, ActiveLoop) and e.name} - self._loops
        if loops:
            self._loops |= loops
            self._forget()
        for event in events[self._read :]:
            self._take(event)
        self._read = len(events)
        return self._applied

    def _take(self, event: Event) -> None:
        applied = self._applied
        match event:
            case Restarted() | SessionStarted():
                applied.clear()
            case ActionReverted():
                _undo_until(ActionExecuted, applied)
            case UserUtteranceReverted():
                # A message always follows an action_listen: that is undone, too.
                _undo_until(UserUttered, applied)
                _undo_until(ActionExecuted, applied)
            case ActionExecuted(name=str(name)) if name in self._loops and not _starts_or_resumes(name, applied):
                _undo_until_loop(name, applied)
            case _:
                applied.append(event)
                return
        self._forget_replay()

    def situation(self, events: Sequence[Event]) -> Situation:
        """Return what the events that count add up to; not to be changed by the caller."""
        self.moments(events)
        return self._situation

    def moments(self, events: Sequence[Event]) -> list[Moment]:
        """Return the dialogue before each action that counts, and now."""
        applied = self.applied_events(events)
        for event in applied[self._replayed :]:
            if isinstance(event, ActionExecuted):
                self._moments.append(self._moment(hide_rule_turn=event.hide_rule_turn))
            self._situation.apply(event)
        self._replayed = len(applied)
        if self._now is None:
            self._now = [*self._moments, self._moment(hide_rule_turn=False)]
        return self._now

    def _moment(self, *, hide_rule_turn: bool) -> Moment:
        now = self._situation
        return Moment(now.state(), hide_rule_turn, now.followup_action, now.latest_action_name, now.active_loop_name)


def _undo_until(kind: type[Event], applied: list[Event]) -> None:
    """Remove events from the end up to and with the latest of this kind."""
    while applied:
        if isinstance(applied.pop(), kind):
            return


def _starts_or_resumes(loop: str, applied: Sequence[Event]) -> bool:
    """Whether this run of the loop is its first, or one that follows a detour: such runs count, others repeat."""
    next_action: str | None = None
    for event in reversed(applied):
        match event:
            case ActiveLoop(name=None):
                return True
            case ActionExecutionRejected() if event.name == loop:
                return True
            case UserUttered() if next_action is not None and next_action != loop:
                # Stories know no rejections: another action after the message shows the detour.
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
