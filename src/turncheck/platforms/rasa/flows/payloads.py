"""Commands in payloads of buttons and in messages of tests: ``/SetSlots(size=large)``, ``/StartFlow(order)``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from turncheck.validation.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Location
    from turncheck.validation.facts import Facts

_COMMAND: Final = re.compile(r"/(?P<name>[A-Z][A-Za-z]*)[ \t]*\((?P<arguments>.*)\)[ \t]*", re.DOTALL)
_BEGINS_LIKE_ONE: Final = re.compile(r"/\s*(?:set_?slots?|start_?flow)\b", re.IGNORECASE)
_ARGUMENT: Final = re.compile(r"[ \t]*([^(),=]+?)[ \t]*=[ \t]*(\"[^\"]*\"|'[^']*'|[^,=()]*?)[ \t]*(?:,|$)")


class Payload(Struct, frozen=True):
    """A payload read: the slots that it sets (with their values as text) and the flows that it starts."""

    slots: tuple[tuple[str, str], ...] = ()
    flows: tuple[str, ...] = ()
    fault: str = ""


class Button(NamedTuple):
    """A button with a command, the response that it is in, and where the payload is."""

    response: str
    text: str
    payload: Payload
    location: Location


def read_payload(text: str) -> Payload | None:
    """Read a payload; ``None`` if it is no command: an intent, or plain text."""
    text = text.strip()
    if not _BEGINS_LIKE_ONE.match(text):
        return None
    match = _COMMAND.fullmatch(text)
    if match is None:
        return Payload(fault="it has the form '/SetSlots(slot=value)' or '/StartFlow(flow)'")
    name, arguments = match["name"], match["arguments"]
    if name == "StartFlow":
        flow = arguments.strip().strip("'\"")
        return Payload(flows=(flow,)) if flow else Payload(fault="it names no flow")
    if name != "SetSlots":
        return Payload(fault=f"'{name}' is none of Rasa's commands: write 'SetSlots' or 'StartFlow'")
    pairs, place = [], 0
    while place < len(arguments):
        argument = _ARGUMENT.match(arguments, place)
        if argument is None or argument.end() == place:
            return Payload(fault="each slot has the form 'slot=value', with commas between them")
        pairs.append((argument[1].strip(), argument[2].strip().strip("'\"")))
        place = argument.end()
    return Payload(slots=tuple(pairs)) if pairs else Payload(fault="it names no slot")


def buttons_of(facts: Facts) -> Iterator[Button]:
    """Yield the buttons and quick replies of responses whose payload is a command."""
    places = Places(facts.project)
    for response in facts.domain.responses.values():
        for number, variation in enumerate(response.variations):
            for key in ("buttons", "quick_replies"):
                buttons = variation.content.get(key)
                for position, button in enumerate(buttons if isinstance(buttons, (list, tuple)) else ()):
                    text = button.get("payload") if isinstance(button, dict) else None
                    payload = read_payload(text) if isinstance(text, str) else None
                    if isinstance(text, str) and payload is not None:
                        path = ("responses", response.name, number, key, position, "payload")
                        location = places.of_entry(text, variation.location, *path)
                        yield Button(response.name, text, payload, location)
