"""Spans and entries for a terminal or a log: places first, as compilers write them, relative to the current folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from msgspec import Struct

from turncheck.messages.plain_text import log_line
from turncheck.render.sinks import terminal
from turncheck.render.spans import Change, Code, Link, PlaceSpan, Prose, Strong, Term, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.render.links import PathResolver
    from turncheck.render.spans import Entry, Line, Sign, Span

_LONGEST_PIECE: Final = 2000
_LONGEST_LABEL: Final = 200
_SIGNS: Final[dict[Sign, str]] = {"caution": "Warning: "}
"""The section of a finding shows its severity."""


class TerminalWriter(Struct, frozen=True):
    """Knows the project's path from the current folder, the commit of the base, and the path that it had there."""

    folder: str
    rooted: PathResolver
    base: str = ""
    folder_on_base: str | None = None

    def line(self, line: Line) -> str:
        """Write a line."""
        return log_line("".join(map(self._span, line)))

    def _span(self, span: Span) -> str:
        match span:
            case Text() | Strong() | Term():
                return terminal.aligned(span.text, _LONGEST_PIECE)
            case Code():
                return span.quoted(terminal.text(span.text, span.limit)) or "–"
            case Prose():
                return terminal.text(self.rooted.text(span.text) if span.names_paths else span.text, span.limit) or "–"
            case Link():
                return self.line(span.label)
            case PlaceSpan():
                return self._place(span)
            case Change():
                return terminal.aligned(" ".join(filter(None, span.words)), _LONGEST_PIECE)
            case _:
                assert_never(span)

    def _place(self, place: PlaceSpan) -> str:
        folder = self.folder if self.folder_on_base is None or not place.on_base else self.folder_on_base
        shown = terminal.place(place.location, folder)
        return f"was at {shown} in {terminal.text(self.base, 8)}" if place.on_base and self.base else shown

    def entry(self, entry: Entry) -> str:
        """``path:line:column: label: what``: the entry without what is below it, as editors and terminals open it."""
        label = f"{terminal.text(entry.label, _LONGEST_LABEL)}: " if entry.label else ""
        outcome = f"{entry.outcome}: " if entry.outcome not in {"", entry.sign} else ""
        words = f"{_SIGNS.get(entry.sign, '')}{label}{outcome}{self.line(entry.line)}"
        place = self._place(entry.place) if entry.place else ""
        if entry.place and entry.place.on_base:
            return log_line(f"{words} · {place}")
        return log_line(": ".join(part for part in (place, words) if part))

    def below(self, entry: Entry, depth: int = 0) -> Iterator[tuple[int, str]]:
        """Yield the visible lines below an entry, each with its depth, and how many more there are."""
        shown = entry.below if entry.in_sight is None else entry.below[: entry.in_sight]
        for one in shown:
            yield depth, self.entry(one)
            yield from self.below(one, depth + 1)
        more = len(entry.below) - len(shown) + entry.left_out
        if more:
            yield depth, f"… and {more:,} more"
