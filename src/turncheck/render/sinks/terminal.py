"""Text for a terminal or a log: no escape sequences, no bidirectional tricks, no workflow commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.plain_text import log_line, one_line, with_blanks

if TYPE_CHECKING:
    from turncheck.messages.finding import Location

_LONGEST_PLACE: Final = 400


def text(value: str, limit: int = 160) -> str:
    """Return ``value`` on one line, without anything that a terminal or GitHub's runner would act on."""
    return log_line(one_line(value, limit))


def place(location: Location, folder: str = "") -> str:
    """Return ``path:line:column`` as editors and terminals open it; ``folder``: the project's path from there."""
    return text(str(location.below(folder)), _LONGEST_PLACE)


def aligned(value: str, limit: int = 160) -> str:
    """Return ``value`` as :func:`text` does, with every blank kept: lines that are compared are aligned."""
    return log_line(with_blanks(value, limit))
