"""What a report is compared with: another report and its origin, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from turncheck.comparison.changes import SettingChange
    from turncheck.report.model import Report

Way = Literal["artifact", "git", "tarball", "ancestor", "run", "file", "url"]

WAYS: Final[dict[Way, str]] = {
    "artifact": "the report of an earlier run",
    "git": "evaluated here, from git",
    "tarball": "evaluated here, from the repository's archive",
    "ancestor": "the report of its nearest ancestor that has one",
    "run": "as the run itself measured it",
    "file": "a report given as a file",
    "url": "a report given by its address",
}
"""How a baseline was found, in words."""


@dataclass(frozen=True, slots=True)
class Present:
    """A report to compare with.

    ``commit`` is the state that it was found for; ``run_id`` is the workflow run that stored it; ``passed_over`` says
    in one line which other artifacts were looked at ("2 expired, 1 of a fork"); ``warnings`` are sentences about what
    kept a better one from being found.
    """

    report: Report
    way: Way
    commit: str | None = None
    run_id: str | None = None
    passed_over: str = ""
    warnings: tuple[str, ...] = ()
    settings_changed: tuple[SettingChange, ...] = ()
    """Settings for what to compare with that the change under test alters in its own settings file."""
    gone: tuple[str, ...] = ()
    """Assistants that the base measures, too, and this run does not: their paths in the repository."""


@dataclass(frozen=True, slots=True)
class Missing:
    """There is nothing to compare with; says why. ``warnings`` as for :class:`Present`."""

    reason: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreachable(Missing):
    """There is a base, but its report is not available now: GitHub does not answer, or its commit is not in this clone.

    Unlike a base that does not exist yet, it can be obtained by another try, a permission or a deeper checkout.
    """


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something was found, but it is not a report that can be trusted; says why."""

    reason: str


Baseline = Present | Missing | Unreadable
