"""From an action's name to what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.dialogue import defaults as names
from turncheck.engines.embedded.actions import defaults
from turncheck.engines.embedded.actions.fallback_events import revert_fallback_events
from turncheck.engines.embedded.actions.forms import FormAction
from turncheck.engines.embedded.actions.slot_extraction import extract_slots
from turncheck.engines.embedded.actions.speech import UTTER_PREFIX, respond, retrieve, say
from turncheck.engines.embedded.actions.two_stage_fallback import TwoStageFallback
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.embedded.actions.base import Action, ActionContext, ActionFinder

_DEFAULT_ACTIONS: dict[str, Action] = {
    names.ACTION_LISTEN: defaults.do_nothing,
    names.ACTION_RESTART: defaults.restart,
    names.ACTION_SESSION_START: defaults.start_session,
    names.ACTION_DEFAULT_FALLBACK: defaults.fall_back,
    names.ACTION_DEACTIVATE_LOOP: defaults.deactivate_loop,
    names.ACTION_DEACTIVATE_FORM: defaults.deactivate_loop,
    names.ACTION_REVERT_FALLBACK_EVENTS: defaults.do_nothing,
    names.ACTION_DEFAULT_ASK_AFFIRMATION: defaults.ask_affirmation,
    names.ACTION_DEFAULT_ASK_REPHRASE: defaults.ask_to_rephrase,
    names.ACTION_UNLIKELY_INTENT: defaults.do_nothing,
    names.ACTION_BACK: defaults.go_back,
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
