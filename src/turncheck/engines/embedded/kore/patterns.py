"""Regular expressions of an export, which a pull request may have changed: matched within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_PATTERN: Final = 1_000
_LONGEST_TEXT: Final = 3_000
"""Longer utterances are refused by the platform."""
_SECONDS: Final = 0.2
"""The time limit of an expression for one sentence; an ordinary one takes a millionth of that."""


def compiled(pattern: str) -> Any | None:
    """Return a compiled expression, ``None`` if it is not valid here.

    JavaScript's syntax is nearly Python's.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return None
    import regex  # most assistants have none

    try:
        return regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError):
        return None


def matches(pattern: Any, text: str) -> Iterator[tuple[int, int]]:
    """Yield where an expression matches, within the time limit; empty matches are skipped."""
    if len(text) > _LONGEST_TEXT:
        return
    try:
        for match in pattern.finditer(text, timeout=_SECONDS):
            if match[0]:
                yield match.span()
    except TimeoutError:
        return
