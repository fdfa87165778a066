"""Text for a terminal or a log: no escape sequences, no bidirectional tricks, no workflow commands."""

from __future__ import annotations

from turncheck.render.sinks.plain import one_line, with_blanks
from turncheck.render.sinks.workflow_command import log_line


def text(value: str, limit: int = 160) -> str:
    """Return ``value`` on one line, with nothing in it that a terminal or GitHub's runner would act on."""
    return log_line(one_line(value, limit))


def aligned(value: str, limit: int = 160) -> str:
    """Return ``value`` as :func:`text` does, with every blank kept: lines that are compared stand below each other."""
    return log_line(with_blanks(value, limit))
