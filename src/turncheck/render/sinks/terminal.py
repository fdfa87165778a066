"""Text for a terminal or a log: no escape sequences, no bidirectional tricks, no workflow commands.

Entries have their places first, as compilers write them, relative to the current folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from turncheck.messages.plain_text import log_line, one_line, with_blanks
from turncheck.render.spans import Change, Code, Entry, Line, Link, Place, Prose, Sign, Span, Strong, Term, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Location
    from turncheck.render.links import PathResolver

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


_LONGEST_PIECE: Final = 2000
_LONGEST_LABEL: Final = 200
_SIGNS: Final[dict[Sign, str]] = {"caution": "Warning: "}
"""The section of a finding shows its severity."""


@dataclass(frozen=True, slots=True)
class TerminalWriter:
    """Knows the project's path from the current folder, and the commit of the base."""

    folder: str
    rooted: PathResolver
    base: str = ""

    def line(self, line: Line) -> str:
        """Write a line."""
        return log_line("".join(map(self._span, line)))

    def _span(self, span: Span) -> str:
        match span:
            case Text() | Strong() | Term():
                return aligned(span.text, _LONGEST_PIECE)
            case Code():
                return span.quoted(text(span.text, span.limit)) or "–"
            case Prose():
                return text(self.rooted.text(span.text) if span.names_paths else span.text, span.limit) or "–"
            case Link():
                return self.line(span.label)
            case Place():
                return self._place(span)
            case Change():
                return aligned(" ".join(filter(None, span.words)), _LONGEST_PIECE)
            case _:
                assert_never(span)

    def _place(self, of: Place) -> str:
        shown = place(of.location, self.folder)
        return f"was at {shown} in {text(self.base, 8)}" if of.on_base and self.base else shown

    def entry(self, entry: Entry) -> str:
        """``path:line:column: label: what``: the entry without what is below it, as editors and terminals open it."""
        label = f"{text(entry.label, _LONGEST_LABEL)}: " if entry.label else ""
        outcome = f"{entry.outcome}: " if entry.outcome not in {"", entry.sign} else ""
        words = f"{_SIGNS.get(entry.sign, '')}{label}{outcome}{self.line(entry.line)}"
        where = self._place(entry.place) if entry.place else ""
        if entry.place and entry.place.on_base:
            return log_line(f"{words} · {where}")
        return log_line(": ".join(part for part in (where, words) if part))

    def below(self, entry: Entry) -> Iterator[str]:
        """Yield the visible lines below an entry, and how many more there are."""
        shown = entry.below if entry.in_sight is None else entry.below[: entry.in_sight]
        yield from map(self.entry, shown)
        more = len(entry.below) - len(shown) + entry.left_out
        if more:
            yield f"… and {more:,} more"
