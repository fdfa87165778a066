"""Tests that were only held against the project's files, where nothing runs them, beside the base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from turncheck.comparison.model import ConsistencyChange
from turncheck.messages.finding import Finding, Name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.consistency import Consistency
    from turncheck.report.model import Report

_TURNED: Final = "If that is meant, change the tests that name what follows, too."


def consistency_of(report: Report) -> Consistency | None:
    """Return what a run checked against each other, if it did."""
    checked = report.consistency
    return None if isinstance(checked, UnsetType) or not checked.flows else checked


def consistency_beside(head: Report, base: Report) -> ConsistencyChange | UnsetType:
    """Return what a change did to these tests; a test that is in another file now, or has another name, is not gone."""
    now, before = consistency_of(head), consistency_of(base)
    if before is None or isinstance(base.consistency, UnsetType):
        return UNSET
    there = {known for test in now.tests for known in (test.name, test.content)} if now is not None else set()
    wrong = {(test.name, test.lacks) for test in before.inconsistent}
    newly = [test for test in now.inconsistent if (test.name, test.lacks) not in wrong] if now is not None else []
    gone = tuple(test for test in before.tests if not {test.name, test.content} & there)
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
