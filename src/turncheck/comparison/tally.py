"""The results of a report's tests by kind: how many ran, which failed, which were not run, and why not.

Tests are stories, end-to-end cases and batch cases. Test sentences are not tests: they are a sample, judged by figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.comparison.misunderstood import words_of_difference
from turncheck.comparison.verdict import FailedBy
from turncheck.comparison.wording import count
from turncheck.report.evaluations import DEFAULT_EVALUATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.messages.location import Location
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import CaseResult, Misunderstanding, Report, Skipped

NAMES: Final[dict[Evaluation, tuple[str, str]]] = {
    "core": ("story", "stories"),
    "e2e": ("end-to-end case", "end-to-end cases"),
    "batch": ("batch case", "batch cases"),
}
"""The names of an evaluation's tests, singular and plural."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The tests of one evaluation. ``not_run`` lists those known individually; ``reason`` says why, "" if all ran.

    An evaluation that did not run at all, although it has tests, has a ``reason`` and no ``not_run``.
    """

    evaluation: Evaluation
    ran: int
    failed: tuple[FailedBy, ...]
    misunderstood: tuple[FailedBy, ...] = ()
    """Tests that only a sentence keeps from passing, if the settings do not count them as failed."""
    not_run: tuple[FailedBy, ...] = ()
    reason: str = ""
    tolerated: tuple[FailedBy, ...] = ()
    """Tests that fail on an engine standing in for the assistant's own: by themselves they do not fail the run."""

    @property
    def none_ran(self) -> bool:
        """Whether there are tests and none of them was run."""
        return not self.ran and bool(self.reason)

    def counted(self, number: int) -> str:
        """``2 stories``."""
        return count(number, *NAMES[self.evaluation])

    @property
    def passed_in_words(self) -> str:
        """``2 stories``, or ``2 of 3 stories`` if the others are only misunderstood."""
        others = len(self.misunderstood) + len(self.tolerated)
        return f"{self.ran - others:,} of {self.counted(self.ran)}" if others else self.counted(self.ran)

    @property
    def misunderstood_in_words(self) -> str:
        """``1 story misunderstood``; empty if there are none."""
        return f"{self.counted(len(self.misunderstood))} misunderstood" if self.misunderstood else ""

    @property
    def tolerated_in_words(self) -> str:
        """``2 batch cases failed``; empty if none did."""
        return f"{self.counted(len(self.tolerated))} failed" if self.tolerated else ""

    @property
    def not_run_in_words(self) -> str:
        """``14 end-to-end cases not run``; without a number if that is not known. Empty if all ran."""
        if self.not_run:
            return f"{self.counted(len(self.not_run))} not run"
        return f"{NAMES[self.evaluation][1]} not run" if self.reason else ""


def tallies(report: Report) -> tuple[Tally, ...]:
    """Return a tally for each kind of test that exists."""
    found = (_stories(report), _end_to_end(report), _batch(report))
    return tuple(tally for tally in found if tally.ran or tally.reason)


def _stories(report: Report) -> Tally:
    stories = report.core.stories if report.core else ()
    failed = [FailedBy(what=f"story {one.name}", location=one.location) for one in stories if one.outcome == "failed"]
    misunderstood = [
        misunderstood_test("story", one.name, one.misunderstood, one.location)
        for one in stories
        if one.outcome == "misunderstood"
    ]
    if report.settings.misunderstood == "fail":
        failed, misunderstood = [*failed, *misunderstood], []
    reason = _left_out(report, "core", ran=bool(stories))
    return Tally("core", len(stories), tuple(failed), tuple(misunderstood), reason=reason)


def misunderstood_test(kind: str, name: str, sentences: Sequence[Misunderstanding], place: Location | None) -> FailedBy:
    """Describe a test that only its sentences keep from passing, with what they were understood as."""
    parts = [words_of_difference(one, case=kind != "story") for one in sentences]
    what = "; ".join(parts) or "the imported files do not say which sentence"
    return FailedBy(what=f"{kind} {name}, misunderstood: {what}", location=place)


def _end_to_end(report: Report) -> Tally:
    cases = report.e2e.cases if report.e2e else ()
    skipped = [case for case in cases if case.outcome == "skipped"]
    kind, _ = NAMES["e2e"]
    failed = [
        FailedBy(what=f"{kind} {case.name}", location=case.location)
        for case in cases
        if case.outcome in {"failed", "error"}
    ]
    misunderstood = [
        misunderstood_test(kind, case.name, case.misunderstood, case.location)
        for case in cases
        if case.outcome == "misunderstood"
    ]
    if report.settings.misunderstood == "fail":
        failed, misunderstood = [*failed, *misunderstood], []
    ran = len(cases) - len(skipped)
    reason = _reasons(skipped) or _left_out(report, "e2e", ran=bool(ran))
    return Tally(
        "e2e", ran, tuple(failed), tuple(misunderstood), not_run=tuple(map(_skipped_case, skipped)), reason=reason
    )


def _batch(report: Report) -> Tally:
    cases = [case for suite in (report.batch.suites if report.batch else ()) for case in suite.cases]
    failed = tuple(
        FailedBy(what=f"batch case {case.text}", location=case.location) for case in cases if not case.passed
    )
    reason = _left_out(report, "batch", ran=bool(cases))
    if report.tolerates_batch_failures:
        return Tally("batch", len(cases), (), reason=reason, tolerated=failed)
    return Tally("batch", len(cases), failed, reason=reason)


def _skipped_case(case: CaseResult) -> FailedBy:
    reason = f": {case.reason}" if case.reason else ""
    return FailedBy(what=f"end-to-end case {case.name} was not run{reason}", location=case.location)


def _reasons(skipped: Sequence[CaseResult]) -> str:
    """Why cases were skipped: the first reason, and how many others there are."""
    reasons = dict.fromkeys(case.reason or "no reason was given" for case in skipped)
    first = next(iter(reasons), "")
    return f"{first} (and {count(len(reasons) - 1, 'other reason')})" if len(reasons) > 1 else first


HOW_TO_RUN_ACTIONS: Final = (
    "start the action server with --action-server COMMAND, name one with --action-endpoint URL, or stub the actions in "
    "the test file (stub_custom_actions)"
)


def how_to_run(report: Report) -> str:
    """Say how to get the skipped end-to-end cases run, if that is known; else nothing."""
    cases = report.e2e.cases if report.e2e else ()
    lacking = any(case.outcome == "skipped" and "missing" in case.actions.values() for case in cases)
    return HOW_TO_RUN_ACTIONS if lacking else ""


def _left_out(report: Report, evaluation: Evaluation, *, ran: bool) -> str:
    """Why existing tests were not run; empty if there are none, or if they were not asked for."""
    entry = skipped_entry(report, evaluation)
    if entry is None or ran or entry.no_tests or not is_asked_for(report, evaluation):
        return ""
    return entry.reason


def skipped_entry(report: Report, evaluation: Evaluation) -> Skipped | None:
    """Return the report's entry for an evaluation that did not run at all."""
    entries: Iterable[Skipped] = (one for one in report.skipped if one.evaluation == evaluation and not one.part)
    return next(iter(entries), None)


def is_asked_for(report: Report, evaluation: Evaluation) -> bool:
    """Whether an evaluation was to run if there are tests for it."""
    return evaluation in (report.settings.evaluations or DEFAULT_EVALUATIONS)
