"""Puts the causes that a report has into its comparison, if it is compared with the base that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UnsetType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.comparison.model import Comparison
    from turncheck.report.causes import Cause
    from turncheck.report.model import Report


def with_causes(comparison: Comparison, head: Report, base: Report) -> Comparison:
    """Return the comparison in which tests have what was found to be their cause, instead of what is only near it."""
    found = head.causes
    if isinstance(found, UnsetType) or found.base != base.source.commit:
        return comparison
    by_kind: dict[str, dict[tuple[str, str], tuple[Cause, ...]]] = {"core": {}, "e2e": {}}
    for test in found.tests:
        by_kind[test.evaluation][test.name, test.path] = test.causes
    return msgspec.structs.replace(
        comparison,
        stories=_explained(comparison.stories, by_kind["core"]),
        e2e=_explained(comparison.e2e, by_kind["e2e"]),
    )


def _explained(cases: ChangedCases, causes: Mapping[tuple[str, str], tuple[Cause, ...]]) -> ChangedCases:
    if not causes:
        return cases

    def each(changes: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        return tuple(
            msgspec.structs.replace(case, causes=causes[key]) if (key := key_of(case)) in causes else case
            for case in changes
        )

    return msgspec.structs.replace(
        cases,
        worse=each(cases.worse),
        better=each(cases.better),
        edited=each(cases.edited),
        added_failing=each(cases.added_failing),
        misunderstood=each(cases.misunderstood),
    )


def key_of(case: CaseChange) -> tuple[str, str]:
    """Return what a test is recognised by here: its name and its file."""
    return case.name, "" if case.location is None else case.location.path
