"""Which events of a conversation count, and the moments between them: computed once, and extended as the conversation
grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

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
from turncheck.dialogue.situation import Situation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.states import State

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Moment:
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
                # A message always follows an action_listen, which is undone, too.
                _undo_until(UserUttered, applied)
                _undo_until(ActionExecuted, applied)
            case ActionExecuted(name=str(name)) if self._repeats_loop(name):
                _undo_until_loop(name, applied)
            case _:
                applied.append(event)
                return
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
