"""The default actions of Rasa 3 that are not loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.dialogue.defaults import (
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_LISTEN,
    INTENT_NLU_FALLBACK,
    INTENT_OUT_OF_SCOPE,
    SLOT_REQUESTED,
)
from turncheck.dialogue.events import (
    ActionExecuted,
    ActiveLoop,
    Event,
    Restarted,
    SessionStarted,
    SlotSet,
    UserUtteranceReverted,
)
from turncheck.engines.embedded.actions.messages import bot_event
from turncheck.engines.embedded.actions.speech import respond

if TYPE_CHECKING:
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.embedded.actions.base import Action, ActionContext


def do_nothing(context: ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """``action_listen``, ``action_unlikely_intent``, and ``action_revert_fallback_events``.

    The last one reverted what a policy of Rasa 1 had done; in Rasa 3 it fails, which has no effect.
    """
    return []


def _respond_then(response: str, *events: Event) -> Action:
    speak = respond(response)

    def run(context: ActionContext, tracker: Tracker) -> list[Event]:
        return [*speak(context, tracker), *events]

    return run


restart = _respond_then("utter_restart", Restarted())
go_back = _respond_then("utter_back", UserUtteranceReverted(), UserUtteranceReverted())
fall_back = _respond_then("utter_default", UserUtteranceReverted())
ask_to_rephrase = _respond_then("utter_ask_rephrase")


def start_session(context: ActionContext, tracker: Tracker) -> list[Event]:
    """``action_session_start``: a new session that keeps the slots, if the domain says so."""
    kept: list[Event] = []
    if context.domain.domain.session.carry_over_slots_to_new_session:
        kept = [
            SlotSet(event.name, event.value, metadata=event.metadata)
            for event in tracker.applied_events()
            if isinstance(event, SlotSet)
        ]
    return [SessionStarted(), *kept, ActionExecuted(ACTION_LISTEN)]


def deactivate_loop(context: ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """``action_deactivate_loop``: no loop is active and no slot is requested any more."""
    return [ActiveLoop(None), SlotSet(SLOT_REQUESTED, None)]


def ask_affirmation(context: ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
    """``action_default_ask_affirmation``: ask whether the likeliest intent (except the fallback) was meant."""
    message = tracker.latest_message
    intent = message.intent_name
    ranking = (message.parse_data or {}).get("intent_ranking") or []
    if intent == INTENT_NLU_FALLBACK and len(ranking) > 1:
        intent = ranking[1].get("name")
    content = {
        "text": f"Did you mean '{intent}'?",
        "buttons": [
            {"title": "Yes", "payload": f"/{intent}"},
            {"title": "No", "payload": f"/{INTENT_OUT_OF_SCOPE}"},
        ],
        "utter_action": ACTION_DEFAULT_ASK_AFFIRMATION,
    }
    return [bot_event(content)]
