"""The state that the events of a conversation lead to."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from turncheck.dialogue import states
from turncheck.dialogue.defaults import ACTION_LISTEN, ACTION_SESSION_START, SHOULD_NOT_BE_SET
from turncheck.dialogue.events import (
    ActionExecuted,
    ActionExecutionRejected,
    ActiveLoop,
    AllSlotsReset,
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
    UserUttered,
)
from turncheck.dialogue.slots import initial_values
from turncheck.dialogue.states import Part, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.dialogue.domain import DialogueDomain

_NOTHING_SAID = UserUttered()


@dataclass(frozen=True, slots=True)
class Loop:
    """The active loop. ``trigger_message``: the parse result of the message that started it."""

    name: str
    is_interrupted: bool = False
    rejected: bool = False
    trigger_message: UserUttered | None = None


class Situation:
    """The state that a sequence of events leads to. Changed only by :meth:`apply`; everything that it holds is
    immutable."""

    __slots__ = (
        "_user",
        "active_loop",
        "domain",
        "followup_action",
        "latest_action",
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
        self.followup_action: str | None = ACTION_LISTEN
        self.active_loop: Loop | None = None

    def copy(self) -> Situation:
        """Return an independent copy of this situation."""
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
        """Apply one event. Those that undo others (``rewind``, ``undo``) are handled by the tracker."""
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
                self.followup_action = ACTION_LISTEN if self.domain.is_older else ACTION_SESSION_START
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
