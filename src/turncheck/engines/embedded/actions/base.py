"""What an action is: given the dialogue so far, it returns events; and the messages of the bot.

The domain's responses are chosen and filled as by Rasa 3's response generator: conditions, channels, variations.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from string import Formatter
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct, field

from turncheck.dialogue.domain import (
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_DEFAULT_ASK_REPHRASE,
    ACTION_LISTEN,
    DialogueDomain,
)
from turncheck.dialogue.events import ActionExecuted, Event, UserUtteranceReverted, UserUttered
from turncheck.dialogue.outward_events import BotUttered
from turncheck.dialogue.variations import fitting

if TYPE_CHECKING:
    import random

    from turncheck.dialogue.tracker import Tracker
    from turncheck.project.model import Response


class ActionError(Exception):
    """The action could not be run. The conversation goes on as if it had done nothing, as in Rasa."""


class ActionRejectedError(Exception):
    """The action refused to run; another one is predicted."""


class Speech(Protocol):
    """Makes responses; see :class:`turncheck.engines.embedded.actions.base.Responses`."""

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


class ActionContext(Struct, frozen=True):
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


# Fills ``{slot}`` in the texts of responses, as Rasa 3 does, with its corner cases.
#
# Rasa passes these texts to ``str.format``, which can do more than fill in names: access attributes and items of
# values, and pad to any width. Whoever opens the pull request writes these texts: only names are filled in here, up to
# a limit.

MOST_FILLED: Final = 1_000_000
"""At most this many characters of values are filled into one response: a large value can be named many times."""

_PLACEHOLDER: Final = re.compile(r"{([^\n{}]+?)}")
_LOOKUP: Final = "0["
"""``{name}`` is read as ``{0[name]}``, a look-up in the values, so that a name may contain dots and blanks."""
_FIELD: Final = re.compile(r"(?P<argument>[^.\[]*)(?:\[(?P<name>[^\]]+)\])?(?P<rest>.*)", re.DOTALL)
"""The argument that ``str.format`` takes a value from, the name looked up in it, and further accessors."""
_NUMBER: Final = re.compile(r"\d+")
_MOST_DIGITS: Final = 18
_ALL: Final = ""
"""Stands for all values together: ``{}``."""


class TemplateError(ActionError):
    """Text that cannot be filled. In Rasa the action fails, and nothing is said."""


def fill_text(text: str, values: Mapping[str, Any]) -> str:
    """Return the text with every ``{name}`` replaced by its value; ``None`` is written as ``None``.

    A name without a value leaves the whole string unchanged. Double braces become single ones, except that a
    string with a doubled placeholder is only unescaped, not filled (and unchanged if it also has plain placeholders).

    Raises:
        TemplateError: the braces do not match, as in ``"a { b"``; a placeholder is more than a name, as in
            ``"{tags][0}"``; or more than :data:`MOST_FILLED` characters would be filled in.

    >>> fill_text("Hi {name}, {{really}}", {"name": "Ida"})
    'Hi {name}, {{really}}'
    >>> fill_text("Hi {name}", {"name": None})
    'Hi None'
    >>> fill_text("Hi {nobody}, {name}", {"name": "Ida"})
    'Hi {nobody}, {name}'
    """
    return _Filler(values).text(text)


def fill(content: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of ``content`` (text, list or mapping, nested) with all its texts filled; keys are unchanged.

    Raises:
        TemplateError: as :func:`fill_text`; the limit applies to all texts together.
    """
    return _Filler(values).content(content)


class _Filler(Struct):
    """Fills the texts of one response."""

    values: Mapping[str, Any]
    _written: dict[str, str] = field(default_factory=dict)
    """The values as strings, by name."""
    _room: int = MOST_FILLED

    def content(self, content: Any) -> Any:
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, dict):
            return {key: self.content(value) for key, value in content.items()}
        if isinstance(content, list):
            return [self.content(value) for value in content]
        return content

    def text(self, text: str) -> str:
        if "{" not in text and "}" not in text:
            return text
        try:
            filled = self.formatted(_PLACEHOLDER.sub(r"{0[\1]}", text))
            return _Filler({}).formatted(text) if _LOOKUP in filled else filled
        except KeyError:
            return text
        except ValueError as error:
            raise TemplateError(f"{error} in {_shortened(text)!r}") from error

    def formatted(self, template: str) -> str:
        """Do what ``template.format(values)`` does, if its fields only look up names.

        Raises:
            KeyError: a name has no value.
            ValueError: the template cannot be read, or asks for more than names.
        """
        parts: list[str] = []
        places = _Places()
        for literal, place, specification, conversion in Formatter().parse(template):
            parts.append(literal)
            if place is None:
                continue
            name, rest = places.read(place)
            value = self._value(name)
            if rest or specification or conversion:
                raise ValueError("a placeholder that is more than a name")
            self._room -= len(value)
            if self._room < 0:
                raise ValueError(f"more than {MOST_FILLED:,} characters to fill in")
            parts.append(value)
        return "".join(parts)

    def _value(self, name: str) -> str:
        if name not in self._written:
            self._written[name] = str(dict(self.values) if name == _ALL else self.values[name])
        return self._written[name]


class _Places(Struct):
    """Reads the fields of one template, which number either all of their arguments or none; there is one argument."""

    _unnumbered: int = 0
    _numbered: int = 0

    def read(self, place: str) -> tuple[str, str]:
        """Return the name that is looked up, and what follows it.

        Raises:
            KeyError: another argument is named, or a number is looked up: names are strings.
            ValueError: the field cannot be read, or there is no such argument.
        """
        match = _FIELD.fullmatch(place)
        if match is None:  # it matches everything
            raise AssertionError(place)
        argument, name, rest = match["argument"], match["name"], match["rest"]
        if argument and not _is_number(argument):
            raise KeyError(argument)
        self._numbered += bool(argument)
        self._unnumbered += not argument
        if self._unnumbered > 1 or (self._unnumbered and self._numbered) or int(argument or 0):
            raise ValueError("a placeholder without a name")
        if name is not None and _is_number(name):
            raise KeyError(name)
        return _ALL if name is None else name, rest


def _is_number(text: str) -> bool:
    """Whether ``str.format`` treats a string as a number; more digits than a number can have are an error."""
    match = _NUMBER.match(text)
    if match is not None and len(match[0]) > _MOST_DIGITS:
        raise ValueError("a placeholder that begins with too many digits")
    return match is not None and match[0] == text


def _shortened(text: str, length: int = 80) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


_FILLED_KEYS = ("text", "image", "custom", "buttons", "attachment", "quick_replies")


class Responses:
    """The responses of a domain, for one channel.

    If several variations fit, ``chance`` chooses; it belongs to one conversation, so that conversations do not
    affect one another.
    """

    def __init__(self, responses: Mapping[str, Response], channel: str, chance: random.Random) -> None:
        self._responses = responses
        self._channel = channel
        self._chance = chance

    @cached_property
    def _all_responses(self) -> dict[str, Any]:
        shapes = {name: [dict(v.content) for v in response.variations] for name, response in self._responses.items()}
        return {"domain_responses": shapes}

    def generate(
        self, name: str, slots: Mapping[str, Any], variables: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Return the response's content, filled from the slots and ``variables`` (which win over slots).

        Without ``variables`` the dialogue itself says the response: Rasa then gives it all responses of the
        domain as ``domain_responses``, which ``{domain_responses}`` and ``{}`` show.

        ``None`` if there is no such response, or none of its variations fits the slots and the channel.

        Raises:
            TemplateError: the braces of a response cannot be read.
        """
        response = self._responses.get(name)
        if response is None:
            return None
        possible = fitting(response.variations, self._channel, slots)
        if not possible:
            return None
        chosen = possible[0] if len(possible) == 1 else self._chance.choice(possible)
        content = copy.deepcopy(dict(chosen.content))
        values = {**slots, **(self._all_responses if variables is None else variables)}
        for key in _FILLED_KEYS:
            if key in content:
                content[key] = fill(content[key], values)
        return content
