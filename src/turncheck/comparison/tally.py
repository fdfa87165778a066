"""The results of a report's tests by kind: how many ran, which failed, which were not run, and why not.

Tests are stories, end-to-end cases and batch cases. Test sentences are not tests: they are a sample, judged by figures.
An evaluation that could not be run because of a fault is never a success, nor is what followed from that fault.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from turncheck.comparison.failures import FailedTest, FaultOf, NotRunTest
from turncheck.comparison.quarantine import entry_of, is_excused
from turncheck.evaluations.kinds import BY_DEFAULT
from turncheck.report.evaluations import EVALUATIONS, Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.report.batch import BatchCase
    from turncheck.report.conversations import CaseResult
    from turncheck.report.model import Report, Skipped

_NOT_GIVEN: Final = "no reason was given"


class Tally(Struct, frozen=True):
    """The tests of one evaluation. ``not_run`` lists those known individually; ``reason`` says why, "" if all ran.

    An evaluation that did not run at all, although it has tests, has a ``reason`` and no ``not_run``.
    """

    evaluation: Evaluation
    ran: int
    failed: tuple[FailedTest, ...]
    misunderstood: tuple[FailedTest, ...] = ()
    """Tests that only a sentence keeps from passing, if the settings do not count them as failed."""
    not_run: tuple[NotRunTest, ...] = ()
    reason: str = ""
    other_reasons: int = 0
    """How many more reasons there are, if they were not run for several."""
    tolerated: tuple[FailedTest, ...] = ()
    """Tests that fail on an engine standing in for the assistant's own: by themselves they do not fail the run."""
    unclear: tuple[NotRunTest, ...] = ()
    """Tests that were run several times, whose runs do not say how they fare."""
    quarantined: tuple[FailedTest, ...] = ()
    """Tests that fail and do not count, since they are in quarantine."""
    unexpected: tuple[FailedTest, ...] = ()
    """Tests in quarantine that pass although they are expected to fail: they count as failed."""
    in_quarantine: int = 0
    """How many of those that ran are in quarantine."""

    @property
    def none_ran(self) -> bool:
        """Whether there are tests and none of them was run."""
        return not self.ran and bool(self.reason)


def tallies(report: Report) -> tuple[Tally, ...]:
    """Return a tally for each kind of test that exists."""
    found = (_stories(report), _end_to_end(report), _batch(report))
    return tuple(_with_quarantine(tally, report) for tally in found if tally.ran or tally.reason)


def _with_quarantine(tally: Tally, report: Report) -> Tally:
    """Return the tally with the tests apart that are in quarantine."""
    if isinstance(report.quarantine, UnsetType):
        return tally
    tests = [
        (test, passed, entry)
        for test, passed in _ran(report, tally.evaluation)
        if (entry := entry_of(report, test.name, test.location)) is not None
    ]

    def left(failed: Iterable[FailedTest]) -> tuple[FailedTest, ...]:
        return tuple(test for test in failed if not is_excused(report, test))

    known = (*tally.failed, *tally.tolerated, *tally.misunderstood)
    return replace(
        tally,
        failed=left(tally.failed),
        tolerated=left(tally.tolerated),
        misunderstood=left(tally.misunderstood),
        unclear=tuple(test for test in tally.unclear if entry_of(report, test.name, test.location) is None),
        quarantined=tuple(test for test in known if is_excused(report, test)),
        unexpected=tuple(
            dataclasses.replace(test, passes=True)
            for test, passed, entry in tests
            if passed and entry.expect == "failing"
        ),
        in_quarantine=len(tests),
    )


def _ran(report: Report, evaluation: Evaluation) -> Iterator[tuple[FailedTest, bool]]:
    """Yield the tests that ran, and whether they passed."""
    if evaluation == "core":
        tests = report.core.stories if report.core else ()
        yield from (
            (FailedTest("core", story_result.name, location=story_result.location), story_result.passed)
            for story_result in tests
        )
    elif evaluation == "e2e":
        cases = [case for case in (report.e2e.cases if report.e2e else ()) if case.outcome != "skipped"]
        yield from (
            (FailedTest("e2e", case_result.name, location=case_result.location), case_result.passed)
            for case_result in cases
        )
    else:
        suites = report.batch.suites if report.batch else ()
        for batch_case in (case for suite in suites for case in suite.cases):
            yield FailedTest("batch", batch_case.text, location=batch_case.location), batch_case.passed


def _stories(report: Report) -> Tally:
    stories = report.core.stories if report.core else ()
    failed = [FailedTest("core", story.name, location=story.location) for story in stories if story.outcome == "failed"]
    misunderstood = [
        FailedTest("core", story.name, story.misunderstood, location=story.location)
        for story in stories
        if story.outcome == "misunderstood"
    ]
    if report.settings.misunderstood == "fail":
        failed, misunderstood = [*failed, *misunderstood], []
    reason = _left_out(report, "core", ran=bool(stories))
    return Tally("core", len(stories), tuple(failed), tuple(misunderstood), reason=reason)


def _end_to_end(report: Report) -> Tally:
    cases = report.e2e.cases if report.e2e else ()
    skipped = [case for case in cases if case.outcome == "skipped"]
    failed = [
        FailedTest("e2e", case.name, repeats=case.repeats, reason=reason_of_error(case), location=case.location)
        for case in cases
        if case.outcome in {"failed", "error"}
    ]
    unclear = (case for case in cases if case.outcome == "unclear")
    misunderstood = [
        FailedTest("e2e", case.name, case.misunderstood, location=case.location)
        for case in cases
        if case.outcome == "misunderstood"
    ]
    if report.settings.misunderstood == "fail":
        failed, misunderstood = [*failed, *misunderstood], []
    ran = len(cases) - len(skipped)
    reasons = list(dict.fromkeys(case.reason or _NOT_GIVEN for case in skipped))
    reason = reasons[0] if reasons else _left_out(report, "e2e", ran=bool(ran))
    not_run = tuple(NotRunTest("e2e", case.name, case.reason or "", location=case.location) for case in skipped)
    others = max(0, len(reasons) - 1)
    return Tally(
        "e2e",
        ran,
        tuple(failed),
        tuple(misunderstood),
        not_run,
        reason,
        others,
        unclear=tuple(
            NotRunTest("e2e", case.name, case.reason or "", location=case.location, is_unclear=True) for case in unclear
        ),
    )


def _batch(report: Report) -> Tally:
    cases = [case for suite in (report.batch.suites if report.batch else ()) for case in suite.cases]
    failed = tuple(
        FailedTest("batch", case.text, repeats=case.repeats, reason=reason_of_error(case), location=case.location)
        for case in cases
        if not case.passed and not case.unclear
    )
    unclear = tuple(
        NotRunTest("batch", case.text, case.reason or "", location=case.location, is_unclear=True)
        for case in cases
        if case.unclear
    )
    reason = _left_out(report, "batch", ran=bool(cases))
    if report.tolerates_batch_failures:
        return Tally("batch", len(cases), (), reason=reason, tolerated=failed, unclear=unclear)
    return Tally("batch", len(cases), failed, reason=reason, unclear=unclear)


def reason_of_error(case: CaseResult | BatchCase) -> str:
    """Why the runs of a case or utterance ended in an error; empty if they did not."""
    return case.reason or "" if not isinstance(case.repeats, UnsetType) and case.repeats.is_unanswered else ""


def lacks_actions(report: Report) -> bool:
    """Whether end-to-end cases were skipped since their custom actions could not be run.

    A bot over HTTP runs its own, and no action server can take their place.
    """
    if report.engine is not None and report.engine.name == "http":
        return False
    cases = report.e2e.cases if report.e2e else ()
    return any(case.outcome == "skipped" and "missing" in case.actions.values() for case in cases)


def _left_out(report: Report, evaluation: Evaluation, *, ran: bool) -> str:
    """Why existing tests were not run; empty if there are none, or if they were not asked for."""
    entry = skipped_entry(report, evaluation)
    if entry is None or ran or entry.no_tests or not is_asked_for(report, evaluation):
        return ""
    return entry.reason


def skipped_entry(report: Report, evaluation: Evaluation) -> Skipped | None:
    """Return the report's entry for an evaluation that did not run at all."""
    entries: Iterable[Skipped] = (
        skipped for skipped in report.skipped if skipped.evaluation == evaluation and not skipped.part
    )
    return next(iter(entries), None)


def is_asked_for(report: Report, evaluation: Evaluation) -> bool:
    """Whether an evaluation was to run if there are tests for it."""
    return evaluation in (report.settings.evaluations or BY_DEFAULT)


def faults_of(report: Report, evaluations: Iterable[str] = EVALUATIONS) -> tuple[Skipped, ...]:
    """Return those of these evaluations that did not run because of a fault in the project."""
    asked = frozenset(evaluations)
    return tuple(skipped for skipped in report.skipped if skipped.fault and skipped.evaluation in asked)


def causes_of(faults: Iterable[Skipped]) -> tuple[FaultOf, ...]:
    """Return one cause for each fault: what is broken once is reported once."""
    unlike = {(fault.reason, fault.location): fault for fault in reversed([*faults])}
    return tuple(map(cause_of, unlike.values()))[::-1]


def cause_of(fault: Skipped, *, named: bool = False) -> FaultOf:
    """Return a fault as the cause of a gate's failure; ``named``: the reason of the gate is this cause."""
    return FaultOf(fault.without_place or fault.reason, location=fault.location, named=named)
