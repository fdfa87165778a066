"""Tests that were only held against the project's files, where nothing runs them, beside the base."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from turncheck.comparison.model import ConsistencyChange
from turncheck.messages.finding import Finding, Name
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    gone = tuple(old for old, new in _pairs(before.tests, now.tests if now is not None else ()) if new is None)
    return ConsistencyChange(gone=gone, newly=tuple(newly))


def _pairs(
    before: Sequence[CheckedTest], now: Sequence[CheckedTest]
) -> Iterator[tuple[CheckedTest, CheckedTest | None]]:
    """Yield the tests of the base with those of this side: by name, by content; new ones by what they expect."""
    names, contents = {test.name: test for test in now}, {test.content: test for test in now}
    of_base = {test.name for test in before}
    new: dict[tuple[str, ...], list[CheckedTest]] = {}
    for test in now:
        if test.name not in of_base and test.expects:
            new.setdefault(test.expects, []).append(test)
    for test in before:
        found = names.get(test.name) or contents.get(test.content)
        if found is None and (others := new.get(test.expects)):
            found = others.pop(0)
        yield test, found


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
    for old, new in _pairs(before.tests, now.tests):
        lost = Counter(old.expects) - Counter(new.expects) if new is not None else Counter()
        if new is None or not lost:
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
