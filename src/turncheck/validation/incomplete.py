"""Which findings hold for a project if a part of it could not be read.

A fault between two things that could be read is kept. What assumes that something is absent ("used nowhere", "defined
nowhere") may be wrong: it may be in the missing part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from turncheck.validation.checks import Part
from turncheck.validation.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project


def missing_parts(project: Project) -> frozenset[Part]:
    """Return the parts that are incomplete."""
    parts: set[Part] = {part for part in get_args(Part) if part in project.unreadable}
    options: tuple[Part, ...] = ("domain", "config")
    for option in options:
        if any(finding.code == f"{option}-not-found" for finding in project.findings):
            parts.add(option)
    if any(file.has_nlu and "responses" in file.kinds and not file.is_complete for file in project.files):
        parts.add("responses")
    return frozenset(parts)


def standing(findings: Iterable[Finding], missing: frozenset[Part]) -> Iterator[Finding]:
    """Leave out what might be wrong because of the missing parts."""
    return (finding for finding in findings if missing.isdisjoint(CHECKS[finding.code].needs))
