"""``action_revert_fallback_events`` of Rasa 1 and 2: undoes TwoStageFallbackPolicy's questions after they are answered.

Facts: ``ActionRevertFallbackEvents`` of rasa 1.10.26. The last user message stays; once affirmed, its confidence is 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.dialogue.defaults import ACTION_DEFAULT_ASK_AFFIRMATION, ACTION_DEFAULT_ASK_REPHRASE, ACTION_LISTEN
from turncheck.dialogue.events import ActionExecuted, Event, UserUtteranceReverted, UserUttered

if TYPE_CHECKING:
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.embedded.actions.base import ActionContext

_AFFIRMED: Final[tuple[Event, ...]] = (*[UserUtteranceReverted()] * 2, ActionExecuted(ACTION_LISTEN))
"""Undoes the affirmation with its question, and the message that it was about."""
_REPHRASED: Final[tuple[Event, ...]] = (*[UserUtteranceReverted()] * 3, ActionExecuted(ACTION_LISTEN))
"""Undoes the rephrasing, the denial with the request to rephrase, and the message with the question about it."""


def actions_but_listening(tracker: Tracker) -> list[str | None]:
    """Return the names of the actions that count, except listening."""
    names = (event.name for event in tracker.applied_events() if isinstance(event, ActionExecuted))
    return [name for name in names if name != ACTION_LISTEN]


def revert_fallback_events(context: ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """Undo the questions and repeat the user's message; do nothing if nothing was asked."""
    done = actions_but_listening(tracker)
    message = tracker.last_applied(UserUttered)
    if not done or not isinstance(message, UserUttered):
        return []
    if done[-1] == ACTION_DEFAULT_ASK_REPHRASE:
        return [*_REPHRASED, replace(message, timestamp=None)]
    if done[-1] != ACTION_DEFAULT_ASK_AFFIRMATION:
        return []
    again = _REPHRASED if done[-2:-1] == [ACTION_DEFAULT_ASK_REPHRASE] else ()
    intent = {**message.intent, "confidence": 1.0}
    parse_data = {**(message.parse_data or {}), "intent": intent}
    return [*_AFFIRMED, *again, replace(message, intent=intent, parse_data=parse_data, timestamp=None)]
