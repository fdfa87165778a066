"""What an action is: given the dialogue so far, it returns events; and the messages of the bot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from turncheck.dialogue.domain import ACTION_DEFAULT_ASK_AFFIRMATION, ACTION_DEFAULT_ASK_REPHRASE, ACTION_LISTEN
from turncheck.dialogue.events import ActionExecuted, Event, UserUtteranceReverted, UserUttered
from turncheck.dialogue.outward_events import BotUttered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker


class ActionError(Exception):
    """The action could not be run. The conversation goes on as if it had done nothing, as in Rasa."""


class ActionRejectedError(Exception):
    """The action refused to run; another one is predicted."""


class Speech(Protocol):
    """Makes responses; see :class:`turncheck.engines.embedded.actions.responses.Responses`."""

    def generate(
        self, name: str, slots: Mapping[str, Any], variables: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Return the filled response, or ``None`` if there is none to say."""


class CustomActionRunner(Protocol):
    """Runs custom actions; see :class:`turncheck.engines.embedded.actions.custom.CustomActions`."""

    def run(self, name: str, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Run the action somewhere else and return its messages and events.

        Raises:
            ActionRejectedError: it refused.
            ActionError: it failed.
        """


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What actions work with, besides the dialogue."""

    domain: DialogueDomain
    responses: Speech
    custom: CustomActionRunner


class Action(Protocol):
    """Runs on a copy of the tracker: changes to it are lost, returned events are kept."""

    def __call__(self, context: ActionContext, tracker: Tracker) -> list[Event]:
        """Return the action's events.

        Raises:
            ActionRejectedError: the action refused.
            ActionError: it failed.
        """


ActionFinder = Callable[[str], Action]
"""Returns the action with a name; see :func:`turncheck.engines.embedded.actions.registry.finder`."""


# From a response to a bot event, and from a bot event to the messages that the user's channel shows.
#
# The messages have the shape of Rasa's REST channel: text with an image is two messages, text with an empty line in
# it is one for each part, quick replies become buttons, and elements text.

_DATA_KEYS = ("elements", "quick_replies", "buttons", "attachment", "image", "custom")


def bot_event(content: Mapping[str, Any]) -> BotUttered:
    """Return the event for a response's content; keys other than text and data become metadata.

    An image also counts as the attachment if there is no other: a relic that Rasa keeps.
    """
    rest = dict(content)
    text = rest.pop("text", None)
    data = {key: rest.pop(key, None) for key in _DATA_KEYS}
    data["attachment"] = data["attachment"] or data["image"]
    return BotUttered(text, data, metadata=rest)


def _message(event: BotUttered) -> dict[str, Any]:
    """Return everything that is sent. Metadata keys override data keys of the same name, as in Rasa."""
    return {**event.data, "text": event.text, **(event.metadata or {})}


def cannot_be_sent(event: BotUttered) -> str | None:
    """Return why no channel of Rasa's could send the message; ``None`` if one can.

    Text is sent in parts, each element by its title: anything else breaks Rasa in the middle of the turn.
    """
    message = _message(event)
    text, elements = message["text"], message.get("elements")
    if text and not isinstance(text, str) and not (message.get("quick_replies") or message.get("buttons")):
        return "its text must be a string"
    if elements and not (isinstance(elements, list) and all(isinstance(element, dict) for element in elements)):
        return "its elements must be a list of objects"
    return None


def render(event: BotUttered) -> Iterator[dict[str, Any]]:
    """Yield the messages for a bot event that can be sent."""
    message = _message(event)
    if message.get("image") == message.get("attachment"):
        message["attachment"] = None
    buttons = message.get("quick_replies") or message.get("buttons")
    if buttons:
        text = {} if message["text"] is None else {"text": message["text"]}
        yield {**text, "buttons": buttons}
    elif message["text"]:
        yield from ({"text": part} for part in message["text"].strip().split("\n\n"))
    for key in ("custom", "image", "attachment"):
        if message.get(key):
            yield {key: message[key]}
    for element in message.get("elements") or ():
        yield {
            "text": f"{element.get('title', '')} : {element.get('subtitle', '')}",
            "buttons": element.get("buttons", []),
        }


# ``action_revert_fallback_events`` of Rasa 1 and 2: undoes TwoStageFallbackPolicy's questions after they are answered.
#
# Facts: ``ActionRevertFallbackEvents`` of rasa 1.10.26. The last user message stays; once affirmed, its confidence is
# 1.

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
