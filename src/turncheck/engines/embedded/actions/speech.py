"""Actions that say something: responses, retrieved responses, end-to-end texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.engines.embedded.actions.base import ActionError
from turncheck.engines.embedded.actions.messages import bot_event

if TYPE_CHECKING:
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker
    from turncheck.engines.embedded.actions.base import Action, ActionContext

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
