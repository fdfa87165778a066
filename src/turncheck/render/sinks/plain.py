"""Text without control characters: the first step of all other sinks."""

from __future__ import annotations

import unicodedata
from typing import Final

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
    kept = "".join(" " if character.isspace() else character for character in window if _shows(character))
    line = " ".join(kept.split())
    if len(line) <= limit and len(window) == len(text):
        return line
    return line[: max(limit - 1, 0)].rstrip() + ELLIPSIS


def with_blanks(text: str, limit: int) -> str:
    """Return the text as :func:`one_line` does, but with as many blanks as it has."""
    window = text[: limit + 1]
    kept = "".join(" " if character.isspace() else character for character in window if _shows(character))
    return kept if len(window) <= limit else kept[: max(limit - 1, 0)] + ELLIPSIS


def lines(text: str, limit: int) -> list[str]:
    """Return the lines of ``text``, cleaned one by one, up to ``limit`` characters in all."""
    shown: list[str] = []
    for line in text[: 4 * limit + 16].splitlines():
        if limit <= 0:
            return [*shown, ELLIPSIS]
        clean = "".join(" " if character.isspace() else character for character in line if _shows(character))
        shown.append(clean[:limit].rstrip())
        limit -= len(clean) + 1
    return shown


def _shows(character: str) -> bool:
    if character.isascii():
        return character.isprintable() or character.isspace()
    if character in _JOINERS:
        return True
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
