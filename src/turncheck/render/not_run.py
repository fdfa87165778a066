"""What was requested and not run, in plain lines, for the terminal and for logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.faults import names_of
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from turncheck.messages.location import Location
    from turncheck.report.model import Report, Skipped


def not_run_text(report: Report) -> str:
    """List the evaluations that were not run, each with its reason."""
    return "".join(
        f"Not run: {text(entry.evaluation)}: {text(entry.reason, 400)}\n" for entry in report.skipped_to_report
    )


def skipped_by_cause(
    skipped: Iterable[Skipped], reported: AbstractSet[Location | None] = frozenset()
) -> list[tuple[str, Skipped, str]]:
    """Group evaluations that did not run for the same reason: their names, one of them, and the reason.

    Args:
        skipped: those that did not run, or not all of them.
        reported: places whose faults the same document lists; the reason then only refers to them.
    """
    groups: dict[tuple[bool, str], list[Skipped]] = {}
    for entry in skipped:
        groups.setdefault((entry.part, entry.reason), []).append(entry)
    return [
        (
            names_of(one.evaluation for one in group),
            group[0],
            _reported_above(group[0].location) if group[0].location in reported and group[0].fault else group[0].reason,
        )
        for group in groups.values()
    ]


def _reported_above(place: Location | None) -> str:
    """A cause that the same document names; what it hides is not known yet."""
    return f"because of {place}; other faults in it show only once this one is fixed"
