"""From an action's name to what it does, and the default actions."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from turncheck.dialogue import domain as names
from turncheck.dialogue.domain import (
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_DEFAULT_ASK_REPHRASE,
    ACTION_DEFAULT_FALLBACK,
    ACTION_LISTEN,
    ACTION_TWO_STAGE_FALLBACK,
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
    UserUttered,
)
from turncheck.engines.embedded.actions.base import ActionError, bot_event, revert_fallback_events
from turncheck.engines.embedded.actions.forms import FormAction, LoopAction, extract_slots
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.embedded.actions.base import Action, ActionContext, ActionFinder


# Actions that say something: responses, retrieved responses, end-to-end texts.

UTTER_PREFIX = "utter_"


def respond(response: str) -> Action:
    """Return the action that says this response; it says nothing if no variation fits."""

    def run(context: ActionContext, tracker: Tracker) -> list[Event]:
        content = context.responses.generate(response, tracker.slots)
        return [] if content is None else [bot_event({**content, "utter_action": response})]

    return run


def say(text: str) -> Action:
    """Return the action that says just this text (an end-to-end bot message)."""

    def run(context: ActionContext, tracker: Tracker) -> list[Event]:  # noqa: ARG001 - an action
        return [bot_event({"text": text})]

    return run


def retrieve(action: str) -> Action:
    """Return the action ``utter_faq`` of the retrieval intent ``faq``: it says what the response selector chose."""

    def run(context: ActionContext, tracker: Tracker) -> list[Event]:
        selectors: dict[str, Any] = (tracker.latest_message.parse_data or {}).get("response_selector", {})
        if not selectors:
            raise ActionError(f"no response selector has chosen a response for '{action}'")
        selected = selectors.get(action.removeprefix(UTTER_PREFIX)) or selectors.get("default")
        if selected is None:
            return []
        try:
            response = str(selected["response"]["utter_action"])
        except (KeyError, TypeError) as error:  # a message from an action contains whatever the action put there
            raise ActionError(f"no response selector has chosen a response for '{action}'") from error
        return respond(response)(context, tracker)

    return run


# The default actions of Rasa 3 that are not loops.


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


# ``action_two_stage_fallback``: ask whether the likeliest intent was meant, then to rephrase, then give up.
#
# Mirrors Rasa 3's loop of that name.

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


_DEFAULT_ACTIONS: dict[str, Action] = {
    names.ACTION_LISTEN: do_nothing,
    names.ACTION_RESTART: restart,
    names.ACTION_SESSION_START: start_session,
    names.ACTION_DEFAULT_FALLBACK: fall_back,
    names.ACTION_DEACTIVATE_LOOP: deactivate_loop,
    names.ACTION_DEACTIVATE_FORM: deactivate_loop,
    names.ACTION_REVERT_FALLBACK_EVENTS: do_nothing,
    names.ACTION_DEFAULT_ASK_AFFIRMATION: ask_affirmation,
    names.ACTION_DEFAULT_ASK_REPHRASE: ask_to_rephrase,
    names.ACTION_UNLIKELY_INTENT: do_nothing,
    names.ACTION_BACK: go_back,
    names.ACTION_EXTRACT_SLOTS: extract_slots,
}


def finder(domain: DialogueDomain) -> ActionFinder:
    """Return the function that finds this domain's actions by name (or by text, for end-to-end ones).

    A default action, or a form, that the domain lists under ``actions`` is the project's own: a custom action.
    """
    own = {*domain.domain.actions, *domain.domain.responses, *domain.domain.forms}

    def find(name: str) -> Action:
        if name not in own:
            if name == names.ACTION_REVERT_FALLBACK_EVENTS and domain.domain.rasa < NEWEST:
                return revert_fallback_events
            if name == names.ACTION_TWO_STAGE_FALLBACK:
                return TwoStageFallback(find)
            if name in _DEFAULT_ACTIONS:
                return _DEFAULT_ACTIONS[name]
        if name.startswith(UTTER_PREFIX) and name.removeprefix(UTTER_PREFIX) in domain.retrieval_intents:
            return retrieve(name)
        if name in domain.bot_texts:
            return say(name)
        if name.startswith(UTTER_PREFIX):
            return respond(name)
        if name in domain.domain.forms and name not in domain.domain.actions:
            return FormAction(domain.domain.forms[name], find)
        return _custom(name)

    return find


def _custom(name: str) -> Action:
    def run(context: ActionContext, tracker: Tracker) -> list[Event]:
        return context.custom.run(name, context, tracker)

    return run
