"""Tests that were only held against the project's files, where nothing runs them: beside the base, and the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from turncheck.comparison.judged import FaultOf, Judged
from turncheck.comparison.model import ConsistencyChange
from turncheck.messages.finding import Finding, Name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from turncheck.comparison.model import Comparison
    from turncheck.report.consistency import CheckedTest, Consistency, InconsistentTest
    from turncheck.report.model import Report

CONSISTENT: Final = "consistent-tests"
_TURNED: Final = "If that is meant, change the tests that name what follows, too."


def consistency_of(report: Report) -> Consistency | None:
    """Return what a run checked against each other, if it did."""
    checked = report.consistency
    return None if isinstance(checked, UnsetType) or not checked.flows else checked


def consistency_beside(head: Report, base: Report) -> ConsistencyChange | UnsetType:
    """Return what a change did to these tests; a test that is in another file now is not gone."""
    now, before = consistency_of(head), consistency_of(base)
    if before is None or isinstance(base.consistency, UnsetType):
        return UNSET
    names = {test.name for test in now.tests} if now is not None else set()
    wrong = {(test.name, test.lacks) for test in before.inconsistent}
    newly = [test for test in now.inconsistent if (test.name, test.lacks) not in wrong] if now is not None else []
    gone = tuple(test for test in before.tests if test.name not in names)
    return ConsistencyChange(gone=gone, newly=tuple(newly))


def turned_conditions(base: Report, head: Report) -> Iterator[Finding]:
    """Yield a warning for each condition that became its opposite, while what follows from it stayed the same."""
    now, before = consistency_of(head), consistency_of(base)
    if now is None or before is None:
        return
    old = {(one.flow, one.leads_to, one.meaning): one for one in before.conditions}
    kept = {(one.flow, one.leads_to, one.meaning) for one in now.conditions}
    for one in now.conditions:
        key = (one.flow, one.leads_to, one.opposite)
        if key in old and key not in kept and (one.flow, one.leads_to, one.meaning) not in old:
            message = f"The condition '{old[key].text}' became its opposite, '{one.text}', and still leads to the same."
            names = (Name("flow", one.flow), Name("condition", one.text))
            yield Finding("flow-condition-turned", "warning", message, one.location, _TURNED, names=names, about=names)


def judge_consistent_tests(report: Report, comparison: Comparison | None, accepted: Collection[str]) -> Judged | None:
    """Judge whether all tests expect only what the project has; against a base, whether none newly does otherwise.

    A test of the base that is gone fails it, too, unless that is ``accepted``. ``None``: there are no such files.
    """
    checked = consistency_of(report)
    change = comparison.consistency if comparison is not None and comparison.judged else UNSET
    if checked is None:
        return None
    compared = not isinstance(change, UnsetType)
    gone = [] if isinstance(change, UnsetType) else [test for test in change.gone if not _is_accepted(test, accepted)]
    wrong = checked.inconsistent if isinstance(change, UnsetType) else change.newly
    causes = (*(_gone(test) for test in gone), *(_wrong(test) for test in wrong))
    if causes:
        return Judged(
            CONSISTENT, "failed", "tests gone" if gone else "inconsistent", causes=causes, needs_base=bool(gone)
        )
    return Judged(CONSISTENT, "passed", "inconsistent" if compared and checked.inconsistent else "consistent")


def _is_accepted(test: CheckedTest, accepted: Collection[str]) -> bool:
    return bool({test.name, test.location.path, "e2e"} & set(accepted))


def _gone(test: CheckedTest) -> FaultOf:
    return FaultOf(f"the test case '{test.name}' is gone", location=test.location)


def _wrong(test: InconsistentTest) -> FaultOf:
    return FaultOf(f"test case {test.name} expects the {test.lacks}", location=test.at)
