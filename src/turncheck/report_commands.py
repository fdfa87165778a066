"""``turncheck report``: outputs made again from reports alone, later, on another machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from turncheck.baselines import read_baseline
from turncheck.comparison.baseline import Missing, Present
from turncheck.errors import EXIT_OK, UserError
from turncheck.files import write_all
from turncheck.github.context import read_context
from turncheck.job import conclude
from turncheck.main_job import links_of, terminal_summary, written_line
from turncheck.report.codec import MAX_BYTES, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from turncheck.comparison.baseline import Baseline
    from turncheck.job import Outcome
    from turncheck.report.model import Report
    from turncheck.screen import Screen

COMPARISON_FILES = ("comparison.json", "verdict.json", "comment.md", "summary.md")


def read_report(path: Path) -> Report:
    """Read a report from a file, or from the folder that a run wrote.

    Raises:
        UserError: it is not there, or is no report.
    """
    if path.is_dir():
        path = path / "report.json"
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror or error}", remedy="Give a report.json that `turncheck run` wrote."
        ) from None
    return decode(content, name=str(path))


def compare_reports(
    base: Path, head: Path, *, gates: Mapping[str, Any], out: Path, write: Callable[[str], object], screen: Screen
) -> int:
    """Compare two reports, judge the second by its own gates or those given, and write what a pull request would see.

    Returns:
        0 where all gates passed, else 1.

    Raises:
        UserError: a report that cannot be read, or a gate that cannot be.
    """
    report = _with_gates(read_report(head), gates)
    outcome = _outcome(report, Present(read_report(base), "file"))
    chosen = [rendering for rendering in outcome.renderings if rendering.name in COMPARISON_FILES]
    written = write_all(out, chosen)
    write(terminal_summary(outcome, links_of(read_context(os.environ))))
    screen.note(written_line(out, written))
    return outcome.exit_code


def render_report(path: Path, baseline: str | None, out: Path, screen: Screen) -> int:
    """Render a report again: every file that a run writes.

    Raises:
        UserError: a report that cannot be read.
    """
    found = read_baseline(baseline) if baseline else Missing("none was given")
    outcome = _outcome(read_report(path), found)
    screen.note(written_line(out, write_all(out, outcome.renderings)))
    return EXIT_OK


def _outcome(report: Report, baseline: Baseline) -> Outcome:
    return conclude(report, baseline, links_of(read_context(os.environ)))


def _with_gates(report: Report, gates: Mapping[str, Any]) -> Report:
    return msgspec.structs.replace(report, settings=msgspec.structs.replace(report.settings, **gates))
