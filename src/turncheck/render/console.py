"""The summary on a terminal: what failed first, the figures, the verdict as the last line."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from turncheck.messages.phrasing import count
from turncheck.render.document import build_document
from turncheck.render.links import Base, Links, PathResolver, base_places
from turncheck.render.phrases import version_line
from turncheck.render.printer import MOST_UNDER, SHOWN, STYLES, Printer, paper_of, written_lines
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal_writer import TerminalWriter
from turncheck.render.spans import Entry, Prose, line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.comparison.model import Comparison
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report

_ABOVE_ALL: Final = ("suppressions", "asked", "settings")
"""What a change does to its own judgement comes first, and whole."""
FAILURES: Final = (
    "errors", "cut", "stripped", "relabelled", "fallback", "mostly_wrong", "collisions", "dropped", "failing",
    "losing",
    "still_failing",
    "misunderstood", "still_misunderstood", "misunderstood_cases", "still_misunderstood_cases", "wrong",
)  # fmt: skip
"""The sections above the figures: anything that is not a failure is only in the job summary."""


def render_console(
    report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, *, width: int | None = None
) -> Rendered:
    """Render the terminal summary.

    Args:
        links: its ``folder`` is put before the paths, so that they open from the current folder.
        width: columns of the terminal, for colours and wrapped lines; ``None`` without one: plain lines.
    """
    paper = paper_of(width)
    compared = comparison if comparison and comparison.judged else None
    base = Base.of(compared, report.project.root)
    on_base = _from_here(base.root, report.project.root, links.folder)
    rooted = PathResolver(report, links.folder, base_places(compared), on_base)
    document = build_document(report, comparison, verdict, links, unfolded=SHOWN)
    printer = Printer(
        paper,
        TerminalWriter(links.folder, rooted, base.commit, on_base),
        {section.name: section for section in document.sections},
    )
    if spans := version_line(report.project, links.folder):
        printer.line(spans)
    for name in _ABOVE_ALL:
        printer.all_of(name)
    for name in FAILURES:
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
    style = STYLES["not judged" if verdict.reservation else verdict.outcome]
    paper.line(((verdict.in_words, style), (f": {printer.writer.line(document.headline)}", "")))
    return Rendered("summary.txt", "text/plain", written_lines(paper))


def _from_here(root: str, other: str, folder: str) -> str:
    """The path from here of the base's project; ``other`` and ``folder``: its root, and its path from here, now."""
    top = posixpath.normpath(posixpath.join(folder, posixpath.relpath(".", other or ".")))
    path = folder if root == other else posixpath.normpath(posixpath.join(top, root))
    return "" if path == "." else path


def _tests_not_found(report: Report) -> Iterator[Entry]:
    """Files with tests that nothing looked for."""
    findings = report.validation.findings if report.validation else ()
    told = [finding.message for finding in findings if finding.code == "test-file-not-looked-for"]
    yield from (Entry(line(Prose(message, names_paths=True))) for message in told[:MOST_UNDER])
    if len(told) > MOST_UNDER:
        yield Entry(line(f"{len(told) - MOST_UNDER:,} more files with tests"))
