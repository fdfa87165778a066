"""Recognises the findings of reports of earlier versions, which do not say what they are about: by their messages."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.messages.finding import Finding

_NAME: Final = re.compile(r"((?<!\w)'[^']*(?:(?<=\w)'(?=\w)[^']*)*'(?!\w))")
"""A name in quotes, in which nothing is a place or a count; an apostrophe within a word does not end it."""
_PLACE: Final = re.compile(r":\d+(?::\d+)?")
"""A message may name another place; a line added above that place does not make it a different finding."""
_COUNT: Final = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_KEYS: Final = (
    ("code", "severity", "message", "path"),
    ("code", "severity", "message"),
    ("code", "severity", "subject", "path"),
    ("code", "severity", "subject"),
)
"""What identifies a finding, the strictest first."""


def without_partners_by_words(before: list[Finding], after: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings of each side without one on the other that says the same; equal ones are counted.

    A place or a count in the message does not matter, nor does the file if there is none in the same one.
    """
    for parts in _KEYS:
        before, after = _without_partners(before, after, parts)
    return before, after


def _without_partners(
    before: list[Finding], after: list[Finding], parts: tuple[str, ...]
) -> tuple[list[Finding], list[Finding]]:
    """The findings of each side that have no counterpart on the other; equal ones are counted."""
    if not (before and after):
        return before, after

    def key(finding: Finding) -> tuple[str, ...]:
        in_file = "path" in parts
        message = _without_places(finding.message if in_file else unnamed(finding), files=in_file)
        written = {
            "path": finding.location.path,
            "message": message,
            "subject": finding.subject or _outside_names(message, lambda words: _COUNT.sub("#", words)),
        }
        return tuple(written[part] if part in written else getattr(finding, part) for part in parts)

    old, new = list(map(key, before)), list(map(key, after))
    return _left_over(before, old, new), _left_over(after, new, old)


def _left_over(findings: list[Finding], keys: list[tuple[str, ...]], others: list[tuple[str, ...]]) -> list[Finding]:
    partners = Counter(others)
    left = []
    for finding, key in zip(findings, keys, strict=True):
        if partners[key] > 0:
            partners[key] -= 1
        else:
            left.append(finding)
    return left


def unnamed(finding: Finding) -> str:
    """The message without the name of the file that the finding is in."""
    return finding.message.replace(f"'{finding.location.path}'", "'@'")


def _without_places(message: str, *, files: bool) -> str:
    """The message without the line numbers that it names, and without ``files`` unless these say which one is meant."""

    def without(words: str) -> str:
        if files:
            return _PLACE.sub("@", words)
        return " ".join("@" if _PLACE.search(word) else word for word in words.split(" "))

    return _outside_names(message, without)


def _outside_names(message: str, change: Callable[[str], str]) -> str:
    """The message with its words changed, but not the names in it."""
    parts = _NAME.split(message)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))
