"""Commands of dialogue understanding tests: ``StartFlow(order)``, ``SetSlot(size, large)``, ``set slot size large``."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

_CALL: Final = re.compile(r"(?P<name>[A-Za-z]\w*)[ \t]*\((?P<arguments>.*)\)", re.DOTALL)
_STARTS: Final = frozenset({"startflow", "start_flow"})
_SETS: Final = frozenset({"setslot", "set_slot", "correctslot"})
_CLARIFIES: Final = frozenset({"clarify"})
_CALLS: Final = frozenset(
    {
        *(*_STARTS, *_SETS, *_CLARIFIES, "cancelflow", "chitchat", "searchandreply", "humanhandoff", "skipquestion"),
        *("repeatlastbotmessages", "cannothandle", "changeflow", "knowledgeanswer", "sessionstart", "usersilence"),
        *("noop", "restart", "error", "startandfill"),
    }
)
_WORDS: Final = re.compile(
    r"start flow (?P<flow>\S+)|set slot (?P<slot>\S+)(?: (?P<value>.*))?|disambiguate flows?(?P<flows>( .*)?)"
    r"|cancel flow|provide info|search and reply|offtopic reply|hand over|chitchat|skip question|repeat message"
    r"|human handoff|cannot handle|continue agent .*|restart agent .*",
    re.DOTALL,
)


class Command(Struct, frozen=True):
    """A command read: the flows that it names, and the slot that it sets with the value as text."""

    flows: tuple[str, ...] = ()
    slot: str = ""
    value: str = ""


def read_command(text: str) -> Command | None:
    """Read a command; ``None`` if it is none of Rasa's: misspelt, or one of the project's own."""
    text = text.strip()
    if (match := _CALL.fullmatch(text)) is not None:
        return _of_call(match["name"].lower(), [_plain(one) for one in match["arguments"].split(",") if one.strip()])
    match = _WORDS.fullmatch(text)
    if match is None:
        return None
    if match["flow"]:
        return Command((match["flow"],))
    if match["slot"]:
        return Command(slot=match["slot"], value=_plain(match["value"] or ""))
    return Command(tuple(re.findall(r"[\w-]+", match["flows"] or "")))


def _of_call(name: str, arguments: list[str]) -> Command | None:
    if name not in _CALLS:
        return None
    if name in _STARTS and len(arguments) == 1:
        return Command((arguments[0],))
    if name in _SETS and len(arguments) > 1:
        return Command(slot=arguments[0], value=", ".join(arguments[1:]))
    if name in _STARTS | _SETS:
        return None
    return Command(tuple(arguments) if name in _CLARIFIES else ())


def _plain(text: str) -> str:
    return text.strip().strip("'\"")
