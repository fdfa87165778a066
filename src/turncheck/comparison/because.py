"""Which newly failing tests a new error in the data explains: those that rest on the name it reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.gates_on_tests import tests_of
from turncheck.comparison.renames import broken_references
from turncheck.evaluations.kinds import TESTS

if TYPE_CHECKING:
    from turncheck.comparison.changes import CaseChange
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Location


def newly_failing_tests(compared: Comparison) -> list[tuple[str, CaseChange]]:
    """Return the tests that fail by themselves now and did not on the base, each with the word for its kind."""
    return [(TESTS[evaluation][0], case) for evaluation, cases in tests_of(compared) for case in cases.newly_failing]


def tests_because_of(compared: Comparison) -> dict[Location, list[tuple[str, CaseChange]]]:
    """Return the tests that newly fail because this change took a name away, by the place of the error about that name.

    A test that rests on several such names is listed under the one nearest to its wrong step.
    """
    places: dict[str, Location] = {}
    for finding in compared.new_findings:
        if finding.severity == "error":
            places |= {name: finding.location for name in broken_references(finding) if name not in places}
    found: dict[Location, list[tuple[str, CaseChange]]] = {}
    for kind, case in newly_failing_tests(compared):
        location = next((places[name] for name in case.rests_on if name in places), None)
        if location is not None:
            found.setdefault(location, []).append((kind, case))
    return found
