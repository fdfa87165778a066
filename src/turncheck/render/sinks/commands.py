"""Lines of logs: plain ones that no host takes for a command, and the commands of GitHub and Azure.

GitHub's runner reads ``::name key=value::message`` at the start of a line of output, and the older ``##[name]``
anywhere in one. Escaping is that of the runner's own toolkit (``core/src/command.ts``): percent sign first, then line
breaks; in properties the colon and the comma as well.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Text without control characters: the first step of all other sinks.

ELLIPSIS: Final = "…"

_JOINERS: Final = "\u200c\u200d"
"""Invisible, but some scripts (Persian, Hindi) and emoji are wrong without them."""


def one_line(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of ``text`` on one line; a cut is marked with an ellipsis.

    Control characters, lone surrogates and invisible format characters (bidirectional overrides, zero-width spaces,
    tags) are dropped; any white space becomes one space.
    """
    # Long strings are cut first: what could not be shown is never processed.
    window = text[: 4 * limit + 16]
    kept = _cleaned(window)
    line = " ".join(kept.split())
    if len(line) <= limit and len(window) == len(text):
        return line
    return line[: max(limit - 1, 0)].rstrip() + ELLIPSIS


def with_blanks(text: str, limit: int) -> str:
    """Return the text as :func:`one_line` does, but with as many blanks as it has."""
    window = text[: limit + 1]
    kept = _cleaned(window)
    return kept if len(window) <= limit else kept[: max(limit - 1, 0)] + ELLIPSIS


def lines(text: str, limit: int) -> list[str]:
    """Return the lines of ``text``, cleaned one by one, up to ``limit`` characters in all."""
    shown: list[str] = []
    for line in text[: 4 * limit + 16].splitlines():
        if limit <= 0:
            return [*shown, ELLIPSIS]
        clean = _cleaned(line)
        shown.append(clean[:limit].rstrip())
        limit -= len(clean) + 1
    return shown


def _cleaned(text: str) -> str:
    if text.isprintable():  # nearly always: then each character shows, and only the space is white space
        return text
    return "".join(" " if character.isspace() else character for character in text if _shows(character))


def _shows(character: str) -> bool:
    if character.isascii():
        return character.isprintable() or character.isspace()
    if character in _JOINERS:
        return True
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn"}


MESSAGE_LIMIT = 4000
"""The runner cuts messages at 4,096 characters."""
TITLE_LIMIT = 200
_ZERO_WIDTH = "\u200b"
_OF_A_RUNNER = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""What begins a command of GitHub's older runners, of Azure's agent and of TeamCity's."""


def command(name: str, message: str, **properties: str | int | None) -> str:
    """Return one command line. Properties without a value are omitted, since the runner would drop them."""
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value not in {None, ""})
    return f"::{name} {given}::{_data(message)}" if given else f"::{name}::{_data(message)}"


def log_line(text: str) -> str:
    """Return ``text`` so that no part of it is a command, wherever in it a line of the log begins."""
    return _OF_A_RUNNER.sub(f"##{_ZERO_WIDTH}", text.replace("::", f":{_ZERO_WIDTH}:"))


def _data(text: str) -> str:
    kept = log_line("\n".join(one_line(line, MESSAGE_LIMIT) for line in text[:MESSAGE_LIMIT].splitlines()))
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # "::" would end the properties; as "%3A%3A" it does not, so nothing else is needed here.
    text = one_line(text, 4 * TITLE_LIMIT)
    return text.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


# Logging commands of Azure Pipelines.
#
# The agent reads ``##vso[area.action key=value;…]message`` wherever it is in a line of output. It reads ``%0D``,
# ``%0A``, ``%3B`` and ``%5D`` as what they stand for; ``%AZP25`` as a percent sign only if ``DECODE_PERCENTS`` is set,
# so a percent sign that would begin one of them is separated from it instead.
#
# Sources: "Logging commands" in the documentation of Azure Pipelines; ``taskcommand.ts`` of its task library.

_VALUE_LIMIT: Final = 1_000
_ZERO_WIDTH_SPACE: Final = "\u200b"
_ESCAPE: Final = re.compile(r"%(?=0D|0A|3B|5D|AZP25)", re.IGNORECASE)


def logging_command(name: str, message: str, /, **properties: str | int | None) -> str:
    """Return one command line, ``name`` as in ``task.logissue``. Properties without a value are omitted."""
    given = "".join(f"{key}={_value(str(value))};" for key, value in properties.items() if value not in {None, ""})
    return f"##vso[{name} {given}]{_message(message)}" if given else f"##vso[{name}]{_message(message)}"


def _message(text: str) -> str:
    kept = "\n".join(one_line(line, len(line)) for line in text.splitlines())
    return _parted(kept).replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _parted(one_line(text, _VALUE_LIMIT)).replace("]", "%5D").replace(";", "%3B")


def _parted(text: str) -> str:
    return _ESCAPE.sub(f"%{_ZERO_WIDTH_SPACE}", log_line(text))
