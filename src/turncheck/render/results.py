"""The results of one evaluation on a terminal: what a run prints of them, and what it leaves to its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.render.console import FAILURES
from turncheck.render.content import all_sections
from turncheck.render.links import PathResolver
from turncheck.render.phrases import version_line
from turncheck.render.printer import Printer, paper_of, written_lines
from turncheck.render.result_sections import result_sections
from turncheck.render.sinks.terminal_writer import TerminalWriter
from turncheck.render.spans import Prose, line
from turncheck.render.strength_notes import robustness_in_words, strength_in_words
from turncheck.render.trust import trust_entry
from turncheck.render.wording.summary import results_in_words
from turncheck.render.wording.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report

_MOST: Final = 50
_MOST_OF_TABLES: Final = 10
_DETAILS: Final = ("survivors", "noise", "quarantined")
_TABLES: Final = ("suites", "commands", "covered", "confusions")


def render_results(report: Report, folder: str = "", *, width: int | None = None) -> str:
    """Return the lines: failures, figures, where to look first, how it was measured.

    Args:
        report: of an evaluation without gates or a base.
        folder: the project's path from the current folder, which is put before the paths.
        width: columns of the terminal; ``None`` without one.
    """
    no_gates = Verdict(outcome="passed", summary="")
    own = result_sections(report)
    sections = {section.name: section for section in (*all_sections(report, None, no_gates, _MOST), *own)}
    paper = paper_of(width)
    writer = TerminalWriter(folder, PathResolver(report, folder))
    printer = Printer(paper, writer, sections, _MOST, "the report (--json)")
    if spans := version_line(report.project, folder):
        printer.line(spans)
    for name in (*FAILURES, *_DETAILS):
        printer.listed(name)
    printer.table("metrics")
    for name in _TABLES:
        printer.titled_table(name, _MOST_OF_TABLES)
    for section in own:
        if section.columns:
            printer.titled_table(section.name, len(section.entries))
        else:
            printer.listed(section.name)
    printer.lines(printer.entries("remarks"))
    printer.lines(entry for entry in (trust_entry(report),) if entry is not None)
    printer.lines(printer.entries("method"))
    printer.lines(printer.entries("skipped"), before="Not run: ")
    printer.lines(printer.entries("substituted"))
    for words in _in_words(report):
        printer.line(writer.line(line(Prose(words, 1000))))
    return written_lines(paper)


def _in_words(report: Report) -> Iterator[str]:
    """The results in a line for each kind of evaluation."""
    if words := results_in_words(report):
        yield words
    if report.strength is not None:
        yield strength_in_words(report.strength)
    if report.robustness is not None:
        yield robustness_in_words(report.robustness)
