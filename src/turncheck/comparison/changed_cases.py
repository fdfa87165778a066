"""Which cases changed sides, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from turncheck.comparison.cases import newly_wrong_first
from turncheck.comparison.changes import CaseChange, ChangedCases

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.cases import Case
    from turncheck.comparison.matching import Matched, Pair


def changed_cases(matched: Matched) -> ChangedCases:
    """Sort matched cases into those that became worse, better, were edited, or are new and fail; worst first."""
    same = [pair for pair in matched.pairs if not {"edited", "renamed"} & set(pair.edits)]
    return ChangedCases(
        worse=_worst_first(_change(pair) for pair in same if pair.head.failed and not pair.base.failed),
        better=_worst_first(_change(pair) for pair in same if _is_better(pair)),
        edited=_worst_first(_change(pair) for pair in matched.pairs if {"edited", "renamed"} & set(pair.edits)),
        added_failing=_worst_first(
            [
                *(case_alone(case) for case in matched.added if case.failed),
                *(_newly_run(pair) for pair in matched.newly_run if pair.head.failed),
            ]
        ),
        misunderstood=_worst_first(
            [
                *(_change(pair) for pair in same if pair.head.misunderstood and pair.base.passed),
                *(case_alone(case) for case in matched.added if case.misunderstood),
                *(_newly_run(pair) for pair in matched.newly_run if pair.head.misunderstood),
            ]
        ),
        moved=sum(pair.number for pair in matched.pairs if "moved" in pair.edits),
        shared=sum(pair.number for pair in matched.pairs),
        added=sum(case.number for case in matched.added),
        removed=sum(case.number for case in matched.removed),
    )


def _is_better(pair: Pair) -> bool:
    """Whether it passes now and did not before, or is only misunderstood now and failed by itself before."""
    return not pair.base.passed and (pair.head.passed or (pair.base.failed and pair.head.misunderstood))


def changed_tests(matched: Matched) -> ChangedCases:
    """As :func:`changed_cases`, and list by name the tests that are gone: a deleted test checks nothing any more."""
    gone = _worst_first(_removed(case) for case in matched.removed)
    not_run = _worst_first(_not_run(pair) for pair in matched.not_run)
    return msgspec.structs.replace(changed_cases(matched), gone=gone, not_run=not_run)


def _removed(case: Case) -> CaseChange:
    return CaseChange(
        name=case.name,
        location=None,
        base_location=case.location,
        passed=None,
        base_passed=case.passed,
        copies=case.copies,
        base_misunderstood=case.misunderstood,
    )


def _not_run(pair: Pair) -> CaseChange:
    return msgspec.structs.replace(_removed(pair.base), location=pair.head.location, actual=pair.head.actual)


def _newly_run(pair: Pair) -> CaseChange:
    """A case that the base has but did not run: its result there is not known."""
    return msgspec.structs.replace(_change(pair), base_passed=None, base_actual="", edits=())


def _change(pair: Pair) -> CaseChange:
    return msgspec.structs.replace(
        case_alone(newly_wrong_first(pair.head, pair.base)),
        base_location=pair.base.location,
        base_passed=pair.base.passed,
        base_actual=pair.base.actual,
        edits=pair.edits,
        base_misunderstood=pair.base.misunderstood,
        base_understood=pair.base.heard(pair.head.said),
        copy_of=pair.head.copy_of,
        rests_on=_rests_on(pair.head, pair.base),
    )


def case_alone(case: Case) -> CaseChange:
    """Return a case that the base does not have, or that is not compared with it."""
    return CaseChange(
        name=case.name,
        location=case.location,
        base_location=None,
        passed=case.passed,
        base_passed=None,
        expected=case.expected,
        actual=case.actual,
        confidence=case.confidence,
        remark=case.remark,
        copies=case.copies,
        misunderstood=case.misunderstood,
        sentences=case.sentences,
        again=case.again,
        said=case.said,
        understood=case.heard(case.said),
        rests_on=_rests_on(case),
    )


def _rests_on(case: Case, base: Case | None = None) -> tuple[str, ...]:
    """The names that its wrong steps rest on; if the step was met on the base, what met it there comes first."""
    wrong = case.wrong_steps
    sides = [side.rests_on for side in (base, case) if side is not None] if wrong else []
    return tuple(dict.fromkeys(name for step in wrong for names in sides for name in names.get(step, ())))


def _worst_first(cases: Iterable[CaseChange]) -> tuple[CaseChange, ...]:
    """Newly failing first, then by confidence (the surer an engine errs, the worse), then by place."""

    def badness(case: CaseChange) -> tuple[bool, bool, float, tuple[str, int, int], str]:
        location = case.location or case.base_location
        place = location.sort_key if location else ("", 0, 0)
        return bool(case.passed), not case.base_passed, -(case.confidence or 0.0), place, case.name

    return tuple(sorted(cases, key=badness))
