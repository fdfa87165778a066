"""An action server's answer → typed messages and events, checked once, on arrival.

A malformed answer is not used at all. It is malformed if it makes Rasa 3.6 fail the action, or lose the message when it
is to be sent; whatever Rasa accepts is accepted here with the same effect. In one respect this is stricter: a ``text``
that is not a string is malformed even with buttons, although some of Rasa's channels would pass it on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.event_reading import JsonObject, ShapeError, from_json, kind_of
from turncheck.dialogue.events import BotUttered, Event, ReminderScheduled, UserUttered
from turncheck.engines.embedded.actions.messages import cannot_be_sent

if TYPE_CHECKING:
    from collections.abc import Mapping

DEEPEST: Final = 100
"""Levels of lists and objects in an answer. Rasa's limit is Python's stack, some hundreds deeper."""
_NOT_FOR_RESPONSES: Final = ("utter_action", "tracker", "output_channel")
"""Names of what Rasa itself passes to a response, besides what the action gives."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of an action: the domain's ``response`` if one is named, and what is ``given`` by the action itself."""

    response: str | None
    given: Mapping[str, Any]
    place: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What an action did: its messages come before its events, as in Rasa."""

    said: tuple[Said, ...] = ()
    happened: tuple[Event, ...] = ()


def read_answer(document: Any) -> Answer:
    """Read an answer: ``{"responses": […], "events": […]}``, both optional. Times of events are left out.

    Raises:
        ShapeError: it is malformed.
    """
    answer = JsonObject.of(_sound(document), "")
    said, happened = answer.objects("responses"), answer.objects("events")
    return Answer(tuple(map(_said, said)), tuple(_event(event) for event in happened))


def _sound(value: Any, levels: int = DEEPEST) -> Any:
    """Return the value with lone surrogates (``"\\ud800"``) replaced, which cannot be written or shown."""
    if not levels:
        raise ShapeError(f"it is nested deeper than {DEEPEST} levels")
    match value:
        case str() if value.isascii():
            return value
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list() | tuple():
            return [_sound(item, levels - 1) for item in value]
        case dict():
            return {_sound(str(key)): _sound(item, levels - 1) for key, item in value.items()}
        case _:
            return value


def _said(shape: JsonObject) -> Said:
    given = dict(shape.items)
    response = given.pop("response", None) or None
    if isinstance(response, (list, dict)):
        raise ShapeError(f"{shape.below('response')} must be a response's name, not {kind_of(response)}")
    if response and (taken := [key for key in _NOT_FOR_RESPONSES if key in given]):
        raise ShapeError(f"{shape.below(taken[0])} is a name that Rasa itself uses where a response is named")
    buttons = given.get("buttons")
    if buttons and not isinstance(buttons, (list, dict, str)):  # Rasa accepts whatever it can append to a list
        raise ShapeError(f"{shape.below('buttons')} must be a list, not {kind_of(buttons)}")
    if given.get("text"):
        shape.text("text")
    return Said(None if response is None else str(response), given, shape.place)


def _event(shape: JsonObject) -> Event:
    event = replace(from_json(shape.items, shape.place), timestamp=None)
    if isinstance(event, ReminderScheduled) and event.date_time is None:
        raise ShapeError(f"{shape.place} needs the key 'date_time'")
    if isinstance(event, UserUttered) and "name" in event.intent and event.intent_name is None:
        raise ShapeError(f"{shape.place}.parse_data.intent.name must be a string, not null")
    if isinstance(event, BotUttered):
        check_message(event, shape.place)
    return event


def check_message(event: BotUttered, place: str) -> None:
    """Make sure that the message can be sent.

    Raises:
        ShapeError: it cannot; Rasa loses the user's message then.
    """
    problem = cannot_be_sent(event)
    if problem is not None:
        raise ShapeError(f"{place}: {problem}")
