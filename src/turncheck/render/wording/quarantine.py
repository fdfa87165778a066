"""Tests in quarantine, in words: which fail, until when, and which can be released."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UnsetType

from turncheck.comparison.quarantine import entry_of
from turncheck.comparison.tally import tallies
from turncheck.evaluations.kinds import TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Location
    from turncheck.report.model import Report
    from turncheck.report.quarantine import QuarantinedTest


class HeldTest(NamedTuple):
    """A test, or a test sentence, that is in quarantine."""

    kind: str
    name: str
    location: Location | None
    entry: QuarantinedTest


def failing_in_quarantine(report: Report) -> list[HeldTest]:
    """Return the tests in quarantine that fail and do not count, and the sentences that are misclassified."""
    return list(_failing(report))


def _failing(report: Report) -> Iterator[HeldTest]:
    if isinstance(report.quarantine, UnsetType):
        return
    for tally in tallies(report):
        for test in tally.quarantined:
            if (entry := entry_of(report, test.name, test.location)) is not None:
                yield HeldTest(TESTS[tally.evaluation][0], test.name, test.location, entry)
    for sentence in report.nlu.predictions if report.nlu else ():
        if not sentence.correct and (entry := entry_of(report, sentence.text, sentence.location)) is not None:
            yield HeldTest("sentence", sentence.text, sentence.location, entry)


def passing_in_quarantine(report: Report) -> list[HeldTest]:
    """Return the tests that pass although their quarantine expects them to fail."""
    return [
        HeldTest(TESTS[tally.evaluation][0], test.name, test.location, entry)
        for tally in tallies(report)
        for test in tally.unexpected
        if (entry := entry_of(report, test.name, test.location)) is not None
    ]


def quarantine_in_words(entry: QuarantinedTest) -> str:
    """``in quarantine until 2026-12-31 (ana): the bank is slow; https://example.org/1``."""
    issue = f"; {entry.issue}" if entry.issue else ""
    return f"in quarantine until {entry.until} ({entry.owner}): {entry.because.rstrip('.')}{issue}"


def to_release(report: Report) -> list[str]:
    """Say which tests have passed so often that they need not be in quarantine any more."""
    tests = () if isinstance(report.quarantine, UnsetType) else report.quarantine.tests
    return [
        f"'{test.case}' has passed {test.passes} times in a row: release it from quarantine ({test.owner})"
        for test in tests
        if test.can_be_released
    ]
