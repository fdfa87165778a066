"""The summary on a terminal: what failed first, the figures, the verdict as the last line."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.messages.phrasing import count
from turncheck.render.document import build_document
from turncheck.render.links import Base, Links, PathResolver, base_places
from turncheck.render.paper import PlainPaper
from turncheck.render.phrases import version_line
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal_writer import TerminalWriter
from turncheck.render.spans import Change, Entry, Line, NeutralSection, Prose, Row, line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.comparison.model import Comparison
    from turncheck.render.paper import Paper, Styled
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report

_MOST: Final = 10
_MOST_UNDER: Final = 100
"""Lines under the table: a figure that is worse must not be missed."""
_ABOVE_ALL: Final = ("suppressions", "asked", "settings")
"""What a change does to its own judgement comes first, and whole."""
_FAILURES: Final = (
    "errors", "cut", "stripped", "relabelled", "fallback", "mostly_wrong", "collisions", "dropped", "failing",
    "losing",
    "still_failing",
    "misunderstood", "still_misunderstood", "misunderstood_cases", "still_misunderstood_cases", "wrong",
)  # fmt: skip
"""The sections above the figures: anything that is not a failure is only in the job summary."""
_STYLES: Final = {
    "failed": "bold red", "passed": "bold green", "not judged": "yellow",
    "real drop": "red", "worse": "red", "real gain": "green", "better": "green",
}  # fmt: skip


def render_console(
    report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, *, width: int | None = None
) -> Rendered:
    """Render the terminal summary.

    Args:
        links: its ``folder`` is put before the paths, so that they open from the current folder.
        width: columns of the terminal, for colours and wrapped lines; ``None`` without one: plain lines.
    """
    paper: Paper = PlainPaper()
    if width is not None:
        from turncheck.render.terminal import Terminal  # imports Rich

        paper = Terminal(width)
    compared = comparison if comparison and comparison.judged else None
    base = Base.of(compared, report.project.root)
    on_base = _from_here(base.root, report.project.root, links.folder)
    rooted = PathResolver(report, links.folder, base_places(compared), on_base)
    document = build_document(report, comparison, verdict, links, unfolded=_MOST)
    printer = _Printer(
        paper,
        TerminalWriter(links.folder, rooted, base.commit, on_base),
        {section.name: section for section in document.sections},
    )
    if spans := version_line(report.project, links.folder):
        printer.line(spans)
    for name in _ABOVE_ALL:
        printer.all_of(name)
    for name in _FAILURES:
        printer.listed(name)
    if any(entry.sign == "error" for entry in printer.entries("still_found")):
        printer.listed("still_found")
    printer.table("metrics")
    printer.under("worse")
    printer.listed("findings")
    printer.lines([document.baseline, *document.baseline.below] if comparison else [])
    printer.lines(printer.entries("remarks"))
    if old := printer.sections.get("still_remarked"):
        printer.line(f"{count(old.total, 'remark')} on the run that the base has too: in report.html")
    printer.lines(printer.entries("skipped"), before="Not run: ")
    printer.lines(_tests_not_found(report), before="Not run: ")
    printer.lines(printer.entries("substituted"))
    printer.line()
    printer.gates()
    printer.line()
    printer.under("deleted")
    printer.under("unseen")
    style = _STYLES["not judged" if verdict.reservation else verdict.outcome]
    paper.line(((verdict.in_words, style), (f": {printer.writer.line(document.headline)}", "")))
    content = "\n".join(line.rstrip() for line in paper.written().splitlines())
    return Rendered("summary.txt", "text/plain", content + "\n")


def _from_here(root: str, other: str, folder: str) -> str:
    """The path from here of the base's project; ``other`` and ``folder``: its root, and its path from here, now."""
    top = posixpath.normpath(posixpath.join(folder, posixpath.relpath(".", other or ".")))
    path = folder if root == other else posixpath.normpath(posixpath.join(top, root))
    return "" if path == "." else path


def _tests_not_found(report: Report) -> Iterator[Entry]:
    """Files with tests that nothing looked for."""
    findings = report.validation.findings if report.validation else ()
    told = [finding.message for finding in findings if finding.code == "test-file-not-looked-for"]
    yield from (Entry(line(Prose(message, names_paths=True))) for message in told[:_MOST_UNDER])
    if len(told) > _MOST_UNDER:
        yield Entry(line(f"{len(told) - _MOST_UNDER:,} more files with tests"))


class _Printer(Struct, frozen=True):
    paper: Paper
    writer: TerminalWriter
    sections: dict[str, NeutralSection]

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
        section = self.sections[name].cut(_MOST)
        self.line(section.title, "bold")
        if section.note:
            self.line(self.writer.line(section.note), indent=2)
        for entry in self.entries(name)[:_MOST]:
            self.line(self.writer.entry(entry), indent=2)
            self._below(entry)
        if section.left_out:
            self.line(f"  … and {section.left_out:,} more in report.html")
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
            section = self.sections[name].cut(_MOST_UNDER)
            if section.note:
                self.line(self.writer.line(section.note))
            for entry in self.entries(name)[:_MOST_UNDER]:
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
        section = self.sections[name]
        has_head = len(section.columns) > 2
        head = [*(column.title for column in section.columns), ""] if has_head else []
        rows = [
            [cell for line in row.cells for cell in self._cells(line)]
            for row in section.entries
            if isinstance(row, Row)
        ]
        self.paper.table(head, rows, [*(bool(column.align) for column in section.columns), False])
        self.line()

    def _cells(self, line: Line) -> list[Styled]:
        if line and isinstance(line[0], Change):
            difference, worth = line[0].words
            mark = line[0].mark
            note = worth.removeprefix(mark)
            return [((difference, ""),), ((worth.removesuffix(note), _STYLES.get(mark, "")), (note, ""))]
        return [((self.writer.line(line), ""),)]

    def gates(self) -> None:
        """Print the gates: first the outcome of each."""
        for entry in self.entries("gates"):
            spans = self.writer.entry(entry)
            self.paper.line(((entry.sign, _STYLES[entry.sign]), (f"  {spans}", "")))
            self._below(entry)

    def _below(self, entry: Entry) -> None:
        for below in self.writer.below(entry):
            self.line(f"- {below}", indent=4)
