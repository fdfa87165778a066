"""Checks of a bot over HTTP: only its tests and its settings can be faulty, and these are read elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project


def findings(project: Project, *, strict: bool) -> Iterator[Finding]:  # noqa: ARG001 - as of all platforms
    """Yield what was found while its files were read."""
    yield from project.findings
