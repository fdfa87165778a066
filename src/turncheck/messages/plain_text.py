"""Text of others on a terminal or in a log: one line or several, without control characters, and never a command.

The floor below all sinks and the console: each begins with what is here.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Final

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


def whole_characters(value: Any) -> Any:
    """Return decoded JSON with lone surrogates replaced by U+FFFD: no file and no request can hold them."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(item) for key, item in value.items()}
    return value


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


ZERO_WIDTH: Final = "\u200b"
_OF_A_RUNNER: Final = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""What begins a command of GitHub's older runners, of Azure's agent and of TeamCity's."""


def log_line(text: str) -> str:
    """Return ``text`` so that no part of it is a command, wherever in it a line of the log begins."""
    return _OF_A_RUNNER.sub(f"##{ZERO_WIDTH}", text.replace("::", f":{ZERO_WIDTH}:"))


_BROKEN: Final = re.compile(f"(?<=:){ZERO_WIDTH}(?=:)|(?<=##){ZERO_WIDTH}(?=\\[|vso\\[|teamcity\\[)", re.IGNORECASE)


def from_log(text: str) -> str:
    """Return ``text`` that was copied from a log as it was before :func:`log_line`: a name is found as it is shown."""
    return _BROKEN.sub("", text)


def log_line_in_place(text: str) -> str:
    """Return one line as :func:`log_line` does, each character in its place: what is pointed at is not moved."""
    return _OF_A_RUNNER.sub("# ", text.replace("::", ": "))


def log_json(document: str) -> str:
    """Return a JSON document that says the same, and holds nothing that a runner takes for a command."""
    return document.replace("##", "#\\u0023")  # there are such only in strings


def without_controls(text: str) -> str:
    """Return all of ``text`` with its line breaks, each line as :func:`one_line` cleans it, with as many blanks."""
    return "\n".join(map(_cleaned, text.split("\n")))


def plain(text: str) -> str:
    """Return all of ``text``, of one line or several, without anything that a terminal or a host would act on."""
    return log_line(without_controls(text))
