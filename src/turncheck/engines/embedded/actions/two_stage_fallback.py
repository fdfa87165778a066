"""``action_two_stage_fallback``: ask whether the likeliest intent was meant, then to rephrase, then give up.

Mirrors Rasa 3's loop of that name.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from turncheck.dialogue.defaults import (
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_DEFAULT_ASK_REPHRASE,
    ACTION_DEFAULT_FALLBACK,
    ACTION_LISTEN,
    ACTION_TWO_STAGE_FALLBACK,
    INTENT_NLU_FALLBACK,
    INTENT_OUT_OF_SCOPE,
)
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, UserUtteranceReverted, UserUttered
from turncheck.engines.embedded.actions.loops import LoopAction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.embedded.actions.base import Action, ActionContext, ActionFinder

_TWO_FALLBACKS = [INTENT_NLU_FALLBACK, INTENT_NLU_FALLBACK]
_DENIED_AGAIN = [INTENT_OUT_OF_SCOPE, INTENT_NLU_FALLBACK, INTENT_OUT_OF_SCOPE]


class TwoStageFallback(LoopAction):
    """See the module. ``find`` finds the actions that ask and give up: a project may define its own."""

    def __init__(self, find: ActionFinder) -> None:
        super().__init__(ACTION_TWO_STAGE_FALLBACK)
        self._find = find

    def do(self, context: ActionContext, tracker: Tracker, events: Sequence[Event]) -> list[Event]:
        """Ask for affirmation at the beginning and after an unclear message, else to rephrase."""
        just_activated = any(isinstance(event, ActiveLoop) for event in events)
        affirm = just_activated or tracker.latest_message.intent_name == INTENT_NLU_FALLBACK
        ask: Action = self._find(ACTION_DEFAULT_ASK_AFFIRMATION if affirm else ACTION_DEFAULT_ASK_REPHRASE)
        return ask(context, tracker)

    def is_done(self, tracker: Tracker, events: Sequence[Event]) -> bool:  # noqa: ARG002 - a loop
        """Done when the user is understood, or was not understood twice."""
        unclear = tracker.latest_message.intent_name in {INTENT_NLU_FALLBACK, INTENT_OUT_OF_SCOPE}
        return not unclear or _has_failed(tracker)

    def deactivate(self, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Give up, or forget the detour and take the message as it is now understood, with confidence 1."""
        if _has_failed(tracker):
            return self._find(ACTION_DEFAULT_FALLBACK)(context, tracker)
        message = tracker.latest_message
        intent = {**message.intent, "confidence": 1.0}
        parse_data = {**(message.parse_data or {}), "intent": intent}
        return [
            UserUtteranceReverted(),
            ActionExecuted(ACTION_LISTEN),
            replace(message, intent=intent, parse_data=parse_data, timestamp=None),
        ]


def _has_failed(tracker: Tracker) -> bool:
    return _last_intents(tracker, 2) == _TWO_FALLBACKS or _last_intents(tracker, 3) == _DENIED_AGAIN


def _last_intents(tracker: Tracker, count: int) -> list[str | None]:
    """Return the intents of the latest messages since the latest restart, newest first; reverts take one place each."""
    latest = (
        e for e in reversed(tracker.events_since_restart()) if isinstance(e, (UserUttered, UserUtteranceReverted))
    )
    return [event.intent_name for event in islice(latest, count) if isinstance(event, UserUttered)]
