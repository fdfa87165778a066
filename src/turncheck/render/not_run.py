"""What was asked for and not run, in plain lines, for the terminal and for logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from turncheck.report.model import Report


def not_run_text(report: Report) -> str:
    """Tell which evaluations were not run, each with its reason."""
    return "".join(f"Not run: {text(entry.evaluation)}: {text(entry.reason, 400)}\n" for entry in report.skipped)
