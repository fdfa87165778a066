"""Sections of a document on a terminal: lists below their titles, tables, the outcome of each gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.render.paper import PlainPaper
from turncheck.render.spans import Change, Entry, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.render.paper import Paper, Styled
    from turncheck.render.sinks.terminal_writer import TerminalWriter
    from turncheck.render.spans import Line, NeutralSection

SHOWN: Final = 10
"""Entries of a list, if whole lists are in files."""
MOST_UNDER: Final = 100
"""Lines under the table: a figure that is worse must not be missed."""
STYLES: Final = {
    "failed": "bold red", "passed": "bold green", "not judged": "yellow",
    "real drop": "red", "worse": "red", "real gain": "green", "better": "green",
}  # fmt: skip


def paper_of(width: int | None) -> Paper:
    """Return a terminal with so many columns, or plain paper if there is none."""
    if width is None:
        return PlainPaper()
    from turncheck.render.terminal import Terminal  # imports Rich

    return Terminal(width)


def written_lines(paper: Paper) -> str:
    """Return what was printed, without spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in paper.written().splitlines()) + "\n"


class Printer(Struct, frozen=True):
    """Prints sections by their names."""

    paper: Paper
    writer: TerminalWriter
    sections: dict[str, NeutralSection]
    most: int = SHOWN
    """Entries of a list."""
    elsewhere: str = "report.html"
    """Where the whole lists are."""

    def line(self, text: str = "", style: str = "", indent: int = 0) -> None:
        """Print a line of one style."""
        self.paper.line(((text, style),), indent)

    def entries(self, name: str) -> list[Entry]:
        """The entries of a list; none if it has nothing to show."""
        shown = self.sections[name].entries if name in self.sections else ()
        return [entry for entry in shown if isinstance(entry, Entry)]

    def listed(self, name: str) -> None:
        """Print the first entries of a section below its title."""
        if name not in self.sections:
            return
        section = self.sections[name].cut(self.most)
        self.line(section.title, "bold")
        if section.note:
            self.line(self.writer.line(section.note), indent=2)
        for entry in self.entries(name)[: self.most]:
            self.line(self.writer.entry(entry), indent=2)
            self._below(entry)
        if section.left_out:
            self.line(f"  … and {section.left_out:,} more in {self.elsewhere}")
        self.line()

    def all_of(self, name: str) -> None:
        """Print all entries of a section below its title."""
        if name in self.sections:
            self.line(self.sections[name].title, "bold")
            for entry in self.entries(name):
                self.line(self.writer.entry(entry), indent=2)
            if left_out := self.sections[name].left_out:
                self.line(f"  … and {left_out:,} more in comparison.json")
            self.line()

    def under(self, name: str) -> None:
        """Print a section without a title of its own: its note, if any, and below it all of its entries."""
        if name in self.sections:
            section = self.sections[name].cut(MOST_UNDER)
            if section.note:
                self.line(self.writer.line(section.note))
            for entry in self.entries(name)[:MOST_UNDER]:
                self.line(self.writer.entry(entry), indent=2)
            if section.left_out:
                self.line(f"  … and {section.left_out:,} more in comparison.json")
            self.line()

    def lines(self, entries: Iterable[Entry], before: str = "") -> None:
        """Print entries, each a line of its own."""
        for entry in entries:
            self.line(f"{before}{self.writer.entry(entry)}")

    def table(self, name: str) -> None:
        """Print rows of figures; the verdict on a difference has a column of its own."""
        if name not in self.sections:
            return
        self._rows(self.sections[name])
        self.line()

    def _rows(self, section: NeutralSection) -> None:
        has_head = len(section.columns) > 2
        head = [*(column.title for column in section.columns), ""] if has_head else []
        rows = [
            [cell for line in row.cells for cell in self._cells(line)]
            for row in section.entries
            if isinstance(row, Row)
        ]
        self.paper.table(head, rows, [*(bool(column.align) for column in section.columns), False])

    def titled_table(self, name: str, most: int) -> None:
        """Print the first rows of a table below its title."""
        if name in self.sections:
            section = self.sections[name].cut(most)
            self.line(section.title, "bold")
            self._rows(section)
            if section.left_out:
                self.line(f"… and {section.left_out:,} more in {self.elsewhere}")
            self.line()

    def _cells(self, line: Line) -> list[Styled]:
        if line and isinstance(line[0], Change):
            difference, worth = line[0].words
            mark = line[0].mark
            note = worth.removeprefix(mark)
            return [((difference, ""),), ((worth.removesuffix(note), STYLES.get(mark, "")), (note, ""))]
        return [((self.writer.line(line), ""),)]

    def gates(self) -> None:
        """Print the gates: first the outcome of each."""
        for entry in self.entries("gates"):
            spans = self.writer.entry(entry)
            self.paper.line(((entry.sign, STYLES[entry.sign]), (f"  {spans}", "")))
            self._below(entry)

    def _below(self, entry: Entry) -> None:
        for depth, below in self.writer.below(entry):
            self.line(f"- {below}", indent=4 + 2 * depth)
