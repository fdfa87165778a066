"""Tests that were only held against the project's files, where nothing runs them, beside the base."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from turncheck.comparison.matching import other_files_of
from turncheck.comparison.model import ConsistencyChange, EditedTest
from turncheck.messages.finding import Finding, Name
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.report.consistency import CheckedTest, Consistency, FlowCondition
    from turncheck.report.model import Report

_TURNED: Final = "If that is meant, change the tests that name what follows, too."
_REMOVED: Final = "If that is not meant, bring the rejection back."
_WEAKENED: Final = "If that is not meant, bring the expectation back."


def consistency_of(report: Report) -> Consistency | None:
    """Return what a run checked against each other, if it did."""
    checked = report.consistency
    return None if isinstance(checked, UnsetType) or not checked.flows else checked


def consistency_beside(head: Report, base: Report) -> ConsistencyChange | UnsetType:
    """Return what a change did to these tests; a test that is in another file now, or has another name, is not gone."""
    now, before = consistency_of(head), consistency_of(base)
    if before is None or isinstance(base.consistency, UnsetType):
        return UNSET
    wrong = {(test.name, test.lacks) for test in before.inconsistent}
    newly = [test for test in now.inconsistent if (test.name, test.lacks) not in wrong] if now is not None else []
    pairs, gone = _paired(before.tests, now.tests if now is not None else ())
    ran = {(case.location.path, case.name) for case in head.e2e.cases} if head.e2e is not None else set()
    edited = (edit for old, new in pairs if (new.location.path, new.name) not in ran and (edit := _edit(old, new)))
    return ConsistencyChange(gone=gone, newly=tuple(newly), edited=tuple(edited))


_SAME: Final[tuple[Callable[[CheckedTest], object], ...]] = (
    lambda test: (test.location.path, test.name, test.content),
    lambda test: (test.name, test.content),
    lambda test: (test.location.path, test.name),
    lambda test: test.name,
    lambda test: test.content,
    lambda test: test.expects,
)
"""By what a test is the same one as on the base, at last by what it expects, if it expects anything."""


def _paired(
    before: Sequence[CheckedTest], now: Sequence[CheckedTest]
) -> tuple[list[tuple[CheckedTest, CheckedTest]], tuple[CheckedTest, ...]]:
    """Return each test of the base with what it is now, which stands for no other one; and those that are gone."""
    pairs, left, new = [], list(before), list(now)
    for key in _SAME:
        there: dict[object, list[CheckedTest]] = {}
        for test in new:
            there.setdefault(key(test), []).append(test)
        gone = []
        for test in left:
            same = there.get(key(test)) if key(test) else None
            if same:
                pairs.append((test, same.pop(0)))
            else:
                gone.append(test)
        left, new = gone, [test for tests in there.values() for test in tests]
    return pairs, tuple(left)


def _edit(old: CheckedTest, new: CheckedTest) -> EditedTest | None:
    both_known = UNSET not in {old.resolved, new.resolved}
    if old.content == new.content and (not both_known or old.resolved == new.resolved):
        return None
    files = other_files_of(old.shared or {}, new.shared or {}, same_own=old.own == new.own) if both_known else ()
    return EditedTest(name=new.name, location=new.location, edited_in=files)


def findings_beside(base: Report, head: Report) -> Iterator[Finding]:
    """Yield a warning for each condition that was turned, rejection that was removed, and test that expects less."""
    now, before = consistency_of(head), consistency_of(base)
    if now is not None and before is not None:
        yield from _turned_conditions(before, now)
        yield from _removed_rejections(before, now)
        yield from _weakened_tests(before, now)


def _turned_conditions(before: Consistency, now: Consistency) -> Iterator[Finding]:
    """Conditions of which a part became its opposite, while what follows from them stayed the same."""
    old = {(one.flow, one.leads_to, other): one for one in before.conditions for other in (one.opposite, *one.turned)}
    there = {(one.flow, one.leads_to, one.meaning) for one in before.conditions}
    kept = {(one.flow, one.leads_to, one.meaning) for one in now.conditions}
    for one in now.conditions:
        was = old.get((one.flow, one.leads_to, one.meaning))
        is_new = (one.flow, one.leads_to, one.meaning) not in there
        if was is not None and is_new and (was.flow, was.leads_to, was.meaning) not in kept:
            message = f"The condition '{was.text}' was turned into '{one.text}', and still leads to the same."
            names = (Name("flow", one.flow), Name("condition", one.text))
            yield Finding("flow-condition-turned", "warning", message, one.location, _TURNED, names=names, about=names)


def _removed_rejections(before: Consistency, now: Consistency) -> Iterator[Finding]:
    """Rejections that are gone, although their slot is still collected."""
    collected = {slot: flow for flow in reversed(now.flows) for slot in flow.collects}
    places = {flow.flow: flow.location for flow in now.flows}
    meanings = {(one.flow, one.rejects, one.meaning) for one in now.conditions}
    number, left = (Counter(key for one in side.conditions for key in _of_rejection(one)) for side in (before, now))
    for one in before.conditions:
        is_there = (one.flow, one.rejects, one.meaning) in meanings
        if one.rejects not in collected or is_there or any(left[key] >= number[key] for key in _of_rejection(one)):
            continue
        message = f"Values of the slot '{one.rejects}' are no longer rejected if '{one.text}'."
        names = (Name("slot", one.rejects), Name("flow", one.flow), Name("condition", one.text))
        place = places.get(one.flow, collected[one.rejects].location)
        yield Finding("flow-rejection-removed", "warning", message, place, _REMOVED, names=names, about=names)


def _of_rejection(one: FlowCondition) -> tuple[tuple[str, ...], ...]:
    """What a rejection is counted by: with as many of a kind as before, it was changed and not removed."""
    return (one.flow, one.rejects), (one.flow, one.rejects, one.leads_to)


def _weakened_tests(before: Consistency, now: Consistency) -> Iterator[Finding]:
    """Tests that lost expectations, with no other ones of their kind in their place."""
    for old, new in _paired(before.tests, now.tests)[0]:
        lost = Counter(old.expects) - Counter(new.expects)
        if not lost:
            continue
        kinds, wanted = (Counter(map(_kind, test.expects)) for test in (new, old))
        fewer = [one for one in lost if kinds[_kind(one)] < wanted[_kind(one)]]
        if fewer:
            more = f", and {count(len(fewer) - 1, 'other expectation')}" if len(fewer) > 1 else ""
            message = f"The test case '{new.name}' no longer expects '{fewer[0]}'{more}."
            names = (Name("test case", new.name), Name("expectation", fewer[0]))
            yield Finding("flow-test-weakened", "warning", message, new.location, _WEAKENED, names=names, about=names)


def _kind(expectation: str) -> str:
    return expectation.partition(":")[0]
