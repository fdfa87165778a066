"""The base's results of the tests that changed, which are shown beside this side's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from turncheck.comparison.model import BaseTests
from turncheck.report.model import BatchCase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.messages.location import Location
    from turncheck.report.model import CaseResult, Report, StoryResult

Result = TypeVar("Result", bound="StoryResult | CaseResult | BatchCase")


class ResultsByPlace(Generic[Result]):
    """Test results, looked up by what a comparison knows about them: a name, and the place of the test or of a step.

    Only results at the place of a change in ``changes`` are found.
    """

    def __init__(self, results: Iterable[Result], changes: Iterable[CaseChange]) -> None:
        wanted = {change.base_location for change in changes}
        self._found: dict[Location, list[Result]] = {}
        for one in results:
            for place in dict.fromkeys(places_of(one)):
                if place in wanted:
                    self._found.setdefault(place, []).append(one)

    def base_of(self, change: CaseChange) -> Result | None:
        """Return the base's result of a changed test; if several share its place, the one with its name."""
        if change.base_location is None:
            return None
        found = self._found.get(change.base_location, [])
        return next((one for one in found if _name(one) == change.name), next(iter(found), None))


def places_of(result: Result) -> Sequence[Location]:
    """Return the places of a test and of its steps."""
    if isinstance(result, BatchCase):
        return (result.location,)
    return (result.location, *(step.location for step in result.steps if step.location is not None))


def base_tests(base: Report, stories: ChangedCases, e2e: ChangedCases, batch: ChangedCases) -> BaseTests:
    """Return the base's results of the tests that changed sides or were edited, in the order of the base's report."""
    suites = base.batch.suites if base.batch else ()
    return BaseTests(
        stories=_of_changed(base.core.stories if base.core else (), stories),
        e2e=_of_changed(base.e2e.cases if base.e2e else (), e2e),
        batch=_of_changed([case for suite in suites for case in suite.cases], batch),
    )


def _of_changed(results: Sequence[Result], changed: ChangedCases) -> tuple[Result, ...]:
    listed = (*changed.worse, *changed.better, *changed.edited, *changed.misunderstood)
    by_place = ResultsByPlace(results, listed)
    wanted = {id(by_place.base_of(change)) for change in listed}
    return tuple(one for one in results if id(one) in wanted)


def _name(result: Result) -> str:
    return result.text if isinstance(result, BatchCase) else result.name
