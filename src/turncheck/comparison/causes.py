"""Puts the causes that a report has into its comparison, if it is compared with the base that they are about."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UnsetType

from turncheck.comparison.contradictions import stands_at_its_causes
from turncheck.comparison.failed_tests import tests_because_of
from turncheck.comparison.training_changes import f1_of_intent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.comparison.changes import CaseChange, ChangedCases, FindingChange, MisunderstoodSentence
    from turncheck.comparison.model import ChangedItem, Comparison
    from turncheck.report.causes import Asked, Cause, Causes
    from turncheck.report.model import Report

_CASES: Final[Mapping[Asked, str]] = {
    "core": "stories",
    "e2e": "e2e",
    "batch": "batch",
    "intents": "examples",
    "entities": "entities",
    "responses": "responses",
}
"""What has the cases of each kind in a comparison."""


def reached_by_proof(items: tuple[ChangedItem, ...], head: Report, base: Report) -> tuple[ChangedItem, ...]:
    """Return the items; one that is proved to be the cause of a test is reached by it, if not followed to its end."""
    found = head.causes
    if isinstance(found, UnsetType) or found.base != base.source.commit:
        return items
    proved = {(cause.kind, cause.name) for test in found.tests for cause in test.causes if cause.proved}
    return tuple(
        msgspec.structs.replace(item, covered=True) if (item.kind, item.name) in proved else item for item in items
    )


def with_causes(comparison: Comparison, head: Report, base: Report) -> Comparison:
    """Return the comparison in which tests have what was found to be their cause, instead of what is only near it."""
    comparison = _without_guesses(comparison)
    found = head.causes
    if isinstance(found, UnsetType) or found.base != base.source.commit:
        return comparison
    by_kind: dict[str, dict[tuple[str, str], tuple[Cause, ...]]] = defaultdict(dict)
    for test in found.tests:
        by_kind[_CASES[test.evaluation]][test.name, test.path] = test.causes
    cases = {name: _explained(getattr(comparison, name), causes) for name, causes in by_kind.items()}
    of_figures = {f1_of_intent(one.intent): one.causes for one in found.intents if one.causes}
    metrics = tuple(
        msgspec.structs.replace(metric, causes=of_figures[metric.name]) if metric.name in of_figures else metric
        for metric in comparison.metrics
    )
    explained = msgspec.structs.replace(
        comparison,
        **cases,
        metrics=metrics,
        new_findings=_with_causes_of_findings(comparison.new_findings, found),
    )
    return msgspec.structs.replace(
        explained,
        misunderstood=_of_sentences(explained.misunderstood, explained.stories),
        misunderstood_in_cases=_of_sentences(explained.misunderstood_in_cases, explained.e2e),
    )


def _without_guesses(comparison: Comparison) -> Comparison:
    """Return the comparison without what only may have to do with tests that an error explains."""
    explained = {id(case) for tests in tests_because_of(comparison).values() for _, case in tests}
    if not explained:
        return comparison

    def each(changes: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        return tuple(msgspec.structs.replace(case, causes=()) if id(case) in explained else case for case in changes)

    return msgspec.structs.replace(
        comparison, stories=_with_each(comparison.stories, each), e2e=_with_each(comparison.e2e, each)
    )


def _of_sentences(
    sentences: tuple[MisunderstoodSentence, ...], tests: ChangedCases
) -> tuple[MisunderstoodSentence, ...]:
    """Return the sentences with what is proved to be the cause of all tests that each keeps from passing."""
    proved = {
        (case.name, case.location): case.causes
        for case in tests.newly_misunderstood
        if case.causes and all(cause.proved for cause in case.causes)
    }
    found = []
    for sentence in sentences:
        causes, *others = {proved.get((test.name, test.location), ()) for test in sentence.stories} or {()}
        found.append(sentence if others else msgspec.structs.replace(sentence, causes=causes))
    return tuple(found)


def _with_causes_of_findings(findings: tuple[FindingChange, ...], found: Causes) -> tuple[FindingChange, ...]:
    """Return the findings with their causes; one that is at its cause already stands for all that it causes."""
    known = {(one.code, one.location): one.causes for one in found.findings}
    known |= {
        (one.code, cause.location): (cause,)
        for one in found.findings
        if stands_at_its_causes(one)
        for cause in one.causes
        if cause.location is not None
    }
    return tuple(
        msgspec.structs.replace(finding, causes=known.get((finding.code, finding.location), ())) for finding in findings
    )


def _explained(cases: ChangedCases, causes: Mapping[tuple[str, str], tuple[Cause, ...]]) -> ChangedCases:
    if not causes:
        return cases

    def each(changes: tuple[CaseChange, ...]) -> tuple[CaseChange, ...]:
        return tuple(
            msgspec.structs.replace(case, causes=causes[key]) if (key := key_of(case)) in causes else case
            for case in changes
        )

    return _with_each(cases, each)


def _with_each(cases: ChangedCases, each: Callable[[tuple[CaseChange, ...]], tuple[CaseChange, ...]]) -> ChangedCases:
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
