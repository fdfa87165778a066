"""Failed tests of a report, and beside those of its base: new, gone, unclear, not to be told.

A new error in the data explains the newly failing tests that rest on the name it reports.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.comparison.failures import BadFinding, FailedTest, NotRunTest
from turncheck.comparison.quarantine import entry_of, is_excused
from turncheck.comparison.renames import broken_references
from turncheck.comparison.tally import tallies
from turncheck.evaluations.kinds import KINDS, TESTS, WITHOUT_TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases, FindingChange
    from turncheck.comparison.model import Comparison, OneSided
    from turncheck.messages.finding import Location, Severity
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report

_UTTER: Final = "utter_"
"""What the names of responses begin with."""
_UNFILLED: Final = re.compile(r"\{(\w+)\}")
"""A variable in a text that the bot said: no slot of this name was there to fill it."""
NOT_LOOKED_FOR: Final = "test-file-not-looked-for"
HAS_NO_TESTS: Final = "file-without-data"
EMPTY: Final = "file-empty"
"""The codes of a file whose name no search for tests matches, and of one that has none: why tests are gone."""


def unclear_sentences(report: Report) -> Iterator[NotRunTest]:
    """Yield the test sentences whose runs do not say how they fare, unless they are in quarantine."""
    for nlu_prediction in report.nlu.predictions if report.nlu else ():
        if nlu_prediction.unclear and entry_of(report, nlu_prediction.text, nlu_prediction.location) is None:
            runs = (
                ""
                if isinstance(nlu_prediction.repeats, UnsetType)
                else f"{nlu_prediction.repeats.passed} of {len(nlu_prediction.repeats.runs)} runs"
            )
            yield NotRunTest(
                "nlu", nlu_prediction.text, f"{runs} pass", location=nlu_prediction.location, is_unclear=True
            )


def unclear_tests(report: Report) -> tuple[NotRunTest, ...]:
    """Return the tests whose runs do not say how they fare."""
    return tuple(cause for tally in tallies(report) for cause in tally.unclear)


# --- against the base ------------------------------------------------------------------------------------------------


def unknown_tests(report: Report, comparison: Comparison) -> tuple[FailedTest, ...]:
    """Return the tests that count as failed, and of which the base cannot show whether they did there."""
    also = report.settings.misunderstood == "fail"
    return tuple(
        FailedTest(name, case.name, copies=case.copies, location=case.location)
        for name, cases in tests_of(comparison)
        for case in cases.unknown_cases
        if also or not case.misunderstood
    )


def only_failing_if_repaired(comparison: Comparison | None) -> bool:
    """Whether the base as repaired fails all the tests of which it cannot show whether they did there."""
    cases = [] if comparison is None else [cases for _, cases in tests_of(comparison) if cases.unknown_cases]
    return bool(cases) and all(one.failing_if_repaired == one.unknown_cases for one in cases)


def unknown_findings(comparison: Comparison, severity: Severity) -> tuple[BadFinding, ...]:
    """Return the findings of a severity of which the base cannot show whether it has them."""
    found = (finding for finding in comparison.unknown_findings if finding.severity == severity)
    return tuple(BadFinding(one, one.message, advises=False, location=one.location) for one in found)


def regressed_sentences(report: Report, comparison: Comparison) -> Iterator[FailedTest]:
    """Yield the test sentences that are repeated and fail more often than on the base, unless they are in quarantine.

    Others that fail are no failed tests, as no model is perfect.
    """
    for case in comparison.examples.newly_failing:  # also one that was unclear on the base
        if not isinstance(case.repeats, UnsetType) and case.repeats.outcome in {"regressed", "worse"}:
            test = FailedTest("nlu", case.name, repeats=case.repeats, location=case.location)
            if not is_excused(report, test):
                yield test


def unanswered_sentences(report: Report, comparison: Comparison | None = None) -> Iterator[FailedTest]:
    """Yield the test sentences that the engine cannot answer, unless they are in quarantine.

    With a ``comparison`` only those that it answered rightly on the base.
    """
    known = None if comparison is None else {case.name for case in comparison.examples.newly_failing}
    for one in report.nlu.predictions if report.nlu else ():
        test = FailedTest("nlu", one.text, repeats=one.repeats, location=one.location)
        if one.unanswered and (known is None or one.text in known) and not is_excused(report, test):
            yield test


def failing_of(report: Report, cases: ChangedCases) -> tuple[CaseChange, ...]:
    """Return the cases that newly count as failed: misunderstood ones only if the settings say so."""
    also = cases.newly_misunderstood if report.settings.misunderstood == "fail" else ()
    return (*cases.newly_failing, *(case for case in also if not is_excused(report, case)))


def newly_misunderstood(
    report: Report, comparison: Comparison | None
) -> list[tuple[Evaluation, tuple[CaseChange, ...]]]:
    """Return the newly misunderstood tests that do not count as failed, by evaluation, if there are any."""
    if comparison is None or report.settings.misunderstood == "fail":
        return []
    found = (
        (name, tuple(case for case in cases.newly_misunderstood if not is_excused(report, case)))
        for name, cases in tests_of(comparison)
    )
    return [(name, cases) for name, cases in found if cases]


def tests_of(comparison: Comparison) -> tuple[tuple[Evaluation, ChangedCases], ...]:
    """Return the cases that are tests, by their evaluation."""
    return ("core", comparison.stories), ("e2e", comparison.e2e), ("batch", comparison.batch)


# --- that something was tested ---------------------------------------------------------------------------------------


def judged_without_tests(report: Report) -> tuple[Evaluation, ...]:
    """Return what was judged if nothing but evaluations without tests was requested, such as ``validate``."""
    requested = report.settings.evaluations
    if not all(name in WITHOUT_TESTS and KINDS[name].has_results(report) for name in requested):
        return ()
    return tuple(name for name in WITHOUT_TESTS if name in requested)


def is_nothing_run(report: Report) -> bool:
    """Whether neither sentences nor tests were run."""
    return not (report.nlu and report.nlu.examples) and not any(tally.ran for tally in tallies(report))


def has_only_accepted_losses(compared: Comparison | None, accepted: Sequence[str]) -> bool:
    """Whether this side runs every evaluation that the base has results of, or somebody accepted that it does not."""
    return compared is None or all(is_accepted(one, accepted) for one in compared.lost)


def is_accepted(lost: OneSided, accepted: Sequence[str]) -> bool:
    """Whether what the base has and this side lacks is in the list of what may be gone."""
    return lost.evaluation in accepted or (bool(lost.files) and all(may_go(file, accepted) for file in lost.files))


def may_go(file: str, accepted: Sequence[str]) -> bool:
    """Whether a file, or a folder that it is in, is in the list of what may be gone."""
    return any(file == entry or file.startswith(f"{entry.rstrip('/')}/") for entry in accepted)


def no_longer_checked(comparison: Comparison) -> list[FindingChange]:
    """Return the files whose tests are no longer found: this change renamed them, or left no test in them."""
    gone = (case.base_location for _, cases in tests_of(comparison) for case in cases.gone)
    held = {location.path for location in gone if location is not None}
    return [
        finding
        for finding in comparison.new_findings
        if finding.code == NOT_LOOKED_FOR or (finding.code in {HAS_NO_TESTS, EMPTY} and finding.location.path in held)
    ]


def newly_failing_tests(compared: Comparison) -> list[tuple[str, CaseChange]]:
    """Return the tests that fail by themselves now and did not on the base, each with the word for its kind."""
    return [(TESTS[evaluation][0], case) for evaluation, cases in tests_of(compared) for case in cases.newly_failing]


def _expects_other_text(case: CaseChange, names: Sequence[str]) -> bool:
    """Whether a test expects a text that the response says no longer, whatever its name."""
    return len(names) > 1 and names[0].startswith(_UTTER) and case.expected not in names


def tests_because_of(compared: Comparison) -> dict[Location, list[tuple[str, CaseChange]]]:
    """Return the tests that newly fail because this change took a name away, by the place of the error about that name.

    A test that rests on several such names is listed under the one nearest to its wrong step. A bot that says the name
    of a slot in braces instead of its value rests on that first.
    """
    names_of: dict[str, tuple[tuple[str, ...], Location]] = {}
    for finding in compared.new_findings:
        if finding.severity == "error":
            names = broken_references(finding)
            names_of |= {name: (names, finding.location) for name in names if name not in names_of}
    found: dict[Location, list[tuple[str, CaseChange]]] = {}
    for kind, case in newly_failing_tests(compared):
        unfilled = (names_of[name][1] for name in _UNFILLED.findall(case.actual or "") if name in names_of)
        named = (names_of[name] for name in case.rests_on if name in names_of)
        places = (place for names, place in named if not _expects_other_text(case, names))
        location = next(chain(unfilled, places), None)
        if location is not None:
            found.setdefault(location, []).append((kind, case))
    return found
