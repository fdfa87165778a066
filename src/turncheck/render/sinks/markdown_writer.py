"""Spans, entries and tables as Markdown: places as links to the line, long parts folded in ``<details>``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from turncheck.render.links import repository_path
from turncheck.render.sinks.markdown import Markdown, code, code_cell, join, link, ticked, together, trusted, words
from turncheck.render.spans import Change, Code, Entry, Link, Place, Prose, Row, Strong, Term, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.render.links import Links
    from turncheck.render.rooted import Rooted
    from turncheck.render.spans import Column, Line, Mark, Sign, Span

SIGNS: Final[dict[Sign, str]] = {
    "passed": "✅", "failed": "❌", "not judged": "➖", "error": "❌", "warning": "⚠️", "info": "💡",
    "caution": "⚠️", "stopped": "⛔", "": "",
}  # fmt: skip
MARKS: Final[dict[Mark, str]] = {"real gain": "🟢", "real drop": "🔴", "better": "🟢", "worse": "🔴"}
"""The signs beside the words, never instead of them."""
_RULES: Final = {"": "---", "left": ":---", "right": "---:"}


@dataclass(frozen=True, slots=True)
class MarkdownWriter:
    """Knows the project's path in its repository, and how to link."""

    root: str
    links: Links
    rooted: Rooted
    base: str = ""
    """The commit of the base, for what was removed since."""

    def line(self, line: Line) -> Markdown:
        """Write a line."""
        return together(map(self._span, line))

    def _span(self, span: Span) -> Markdown:
        match span:
            case Text():
                return words(span.text)
            case Strong():
                return join([trusted("**"), words(span.text), trusted("**")])
            case Term():
                return join([trusted("*"), words(span.text), trusted("*")])
            case Code():
                return code(span.text, span.limit)
            case Prose():
                return ticked(self.rooted.text(span.text) if span.names_paths else span.text, span.limit)
            case Link():
                return link(self.line(span.label), span.url)
            case Place():
                return self.place(span)
            case Change():
                return _change(span)
            case _:
                assert_never(span)

    def place(self, place: Place) -> Markdown:
        """``path:line`` from the repository's top, linked if possible; a place in the base is marked as such."""
        location = place.location
        path = repository_path(self.root, location) or location.path
        shown = path if location.line is None else f"{path}:{location.line}"
        linked = link(code(shown), self.links.file(self.root, location, base=place.on_base))
        if place.on_base and self.base:
            return join([trusted("was at "), linked, trusted(" in "), code(self.base[:8])])
        return linked

    def entry(self, entry: Entry) -> Markdown:
        """Write an entry with what is below it, as the text of a list's item."""
        parts = [self.head(entry), self.line(entry.line)]
        if entry.case and (address := self.links.case(entry.case)):
            parts.append(join([trusted(" "), link(trusted("details"), address)]))
        if entry.place:
            parts += [trusted(" · " if entry.line else ""), self.place(entry.place)]
        if entry.hint:
            parts += [trusted("<br>"), ticked(entry.hint)]
        return join([*parts, *self._below(entry)])

    def head(self, entry: Entry) -> Markdown:
        """What comes before the line: the sign, the label and the outcome."""
        sign = trusted(f"{SIGNS[entry.sign]} " if entry.sign else "")
        label = join([code(entry.label), trusted(" ")]) if entry.label else trusted("")
        outcome = join([trusted("**"), words(entry.outcome), trusted("**: ")]) if entry.outcome else trusted("")
        return join([sign, label, outcome])

    def _below(self, entry: Entry) -> list[Markdown]:
        """What is below an entry: some in plain sight, the rest folded."""
        items = [join([trusted("\n  - "), self.entry(one)]) for one in entry.below]
        more = trusted(f"\n  - … and {entry.left_out:,} more in report.json" if entry.left_out else "")
        if entry.in_sight is None:
            return [*items, more]
        shown, folded = items[: entry.in_sight], items[entry.in_sight :]
        number = len(folded) + entry.left_out
        return [
            *shown,
            trusted(f"\n  <details><summary>{number:,} more</summary>\n"),
            *folded,
            more,
            trusted("\n\n  </details>"),
        ]

    def item(self, shown: Entry | Row) -> Markdown:
        """Write one entry of a section: an item of its list, or a row of its table."""
        if isinstance(shown, Row):
            return join([trusted("| "), join(map(self._cell, shown.cells), " | "), trusted(" |")])
        return join([trusted("- "), self.entry(shown)])

    def _cell(self, cell: Line) -> Markdown:
        return together(
            code_cell(span.text, span.limit) if isinstance(span, Code) else self._span(span) for span in cell
        )


def table_head(columns: Sequence[Column]) -> Markdown:
    """The two lines above the rows of a table."""
    titles = join(
        join([trusted(" "), words(column.title), trusted(" |")]) if column.title else trusted(" |")
        for column in columns
    )
    rules = "|".join(_RULES[column.align] for column in columns)
    return join([trusted("|"), titles, trusted(f"\n|{rules}|")])


def _change(change: Change) -> Markdown:
    """A difference, how significant it is and what to know about it, in few words: all of it must fit on a phone."""
    difference, shown = change.words
    return words(" ".join(part for part in (difference, MARKS.get(change.mark, ""), shown) if part))
