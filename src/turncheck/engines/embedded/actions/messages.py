"""From a response to a bot event, and from a bot event to the messages that the user's channel shows.

The messages have the shape of Rasa's REST channel: text with an image is two messages, text with an empty line in
it is one for each part, quick replies become buttons, and elements text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.dialogue.events import BotUttered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
