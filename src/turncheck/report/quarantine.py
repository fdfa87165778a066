"""The part of the report about tests that are in quarantine: ``turncheck.quarantine.yml`` as it was read."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from turncheck.messages.finding import Location
from turncheck.report.part import Count, Date, Part

if TYPE_CHECKING:
    from collections.abc import Iterable

RELEASE_AFTER: Final = 20
"""After so many passes in a row a test need not be in quarantine any more."""
LONGEST_DAYS: Final = 90
"""An entry may hold for so many days at most."""

Text = Annotated[str, msgspec.Meta(max_length=2_000)]
Expect = Literal["flaky", "failing"]


class QuarantinedTest(Part, frozen=True, kw_only=True):
    """An entry: a test that is known to fail."""

    case: Text
    """The test, by its name; ``FILE::NAME`` where several have that name."""
    because: Text
    """Why it is in quarantine."""
    owner: Text
    """Who looks after it."""
    until: Date
    """The last day on which the entry holds."""
    expect: Expect
    """``flaky``: it fails now and then; ``failing``: it fails in every run."""
    issue: Text = ""
    """Where its repair is kept track of; empty: nowhere."""
    location: Location
    """Where the entry is."""
    passes: Count = 0
    """How often the test has passed in a row, up to this run."""

    def __post_init__(self) -> None:
        """Refuse an entry without a day.

        Raises:
            ValueError: ``until`` is not a day.
        """
        date.fromisoformat(self.until)

    def is_about(self, name: str, path: str | None) -> bool:
        """Whether the entry names the test of this name in this file."""
        return names_test(self.case, name, path)

    @property
    def can_be_released(self) -> bool:
        """Whether it has passed often enough."""
        return self.passes >= RELEASE_AFTER


class Quarantine(Part, frozen=True, kw_only=True):
    """The tests that are in quarantine."""

    today: Date
    """The day of the run."""
    tests: tuple[QuarantinedTest, ...] = ()
    """The entries that can be read, in the order of their file."""

    def __post_init__(self) -> None:
        """Refuse what no run writes.

        Raises:
            ValueError: ``today`` is not a day, or an entry appears twice.
        """
        date.fromisoformat(self.today)
        if len({test.case for test in self.tests}) != len(self.tests):
            raise ValueError("a test is in quarantine twice")

    def entry_of(self, name: str, location: Location | None) -> QuarantinedTest | None:
        """Return the entry about a test."""
        path = location.path if location is not None else None
        return next((test for test in self.tests if test.is_about(name, path)), None)

    def with_tests(self, tests: Iterable[QuarantinedTest]) -> Quarantine:
        """Return it with other entries."""
        return msgspec.structs.replace(self, tests=tuple(tests))


def names_test(case: str, name: str, path: str | None) -> bool:
    """Whether ``case`` names the test of this name in this file: as ``NAME`` or ``FILE::NAME``."""
    return case == name or (path is not None and case == f"{path}::{name}")


def days_left(test: QuarantinedTest, today: str) -> int:
    """Return for how many days an entry still holds after a day; negative: it has expired."""
    return (date.fromisoformat(test.until) - date.fromisoformat(today)).days
