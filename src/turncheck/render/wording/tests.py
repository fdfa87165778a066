"""Tests and what became of them, in words: how many, which failed, were not run, are gone or in quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET, UnsetType

from turncheck.comparison import failed_tests
from turncheck.comparison.changes import CaseChange, number_of
from turncheck.comparison.misunderstood import expected_and_predicted
from turncheck.comparison.quarantine import entry_of
from turncheck.comparison.tally import Tally, faults_of, tallies
from turncheck.evaluations.kinds import CASES, KINDS, TESTS
from turncheck.messages.phrasing import count
from turncheck.render.wording.figures import expected_got
from turncheck.render.wording.repeats import runs_in_words, runs_of_new_tests, worst_runs_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.comparison.failures import FailedTest
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Location
    from turncheck.report.model import Misunderstanding, Repeats, Report, Skipped
    from turncheck.report.quarantine import QuarantinedTest

HOW_TO_RUN_ACTIONS: Final = (
    "start the action server with --action-server COMMAND, name one with --action-endpoint URL, or stub the actions in "
    "the test file (stub_custom_actions)"
)

_NOT_FOUND: Final = {
    failed_tests.NOT_LOOKED_FOR: ("is not looked for", "are not looked for"),
    failed_tests.HAS_NO_TESTS: ("contains no tests", "contain no tests"),
    failed_tests.EMPTY: ("is empty", "are empty"),
}
"""Why the tests of a file, of several, are no longer found, by the code of the finding."""


def joined(parts: Iterable[str]) -> str:
    """``a and b``."""
    return " and ".join(parts)


def with_copy_count(case: CaseChange | FailedTest) -> str:
    """Say how many copies of a case there are, as a suffix of its name."""
    return f" and {count(case.copies, 'copy', 'copies')}" if case.copies else ""


def names_of(evaluations: Iterable[str]) -> str:
    """``nlu, core and e2e``."""
    *others, last = dict.fromkeys(evaluations) or [""]
    return f"{', '.join(others)} and {last}" if others else last


# Tallies.


def counted(tally: Tally, number: int) -> str:
    """``2 stories``."""
    return count(number, *TESTS[tally.evaluation])


def failed_of(tally: Tally) -> str:
    """``1 of 2 stories``."""
    return f"{len(tally.failed):,} of {counted(tally, tally.ran)}"


def all_failed_of(tally: Tally) -> str:
    """The same, including the failures that are tolerated elsewhere."""
    return f"{len(tally.failed) + len(tally.tolerated):,} of {counted(tally, tally.ran)}"


def passed_in_words(tally: Tally) -> str:
    """``2 stories``, or ``2 of 3 stories`` if the others are only misunderstood."""
    others = len(tally.misunderstood) + len(tally.tolerated) + len(tally.unclear) + len(tally.quarantined)
    return f"{tally.ran - others:,} of {counted(tally, tally.ran)}" if others else counted(tally, tally.ran)


def misunderstood_in_words(tally: Tally) -> str:
    """``1 story misunderstood``."""
    return f"{counted(tally, len(tally.misunderstood))} misunderstood"


def tolerated_in_words(tally: Tally) -> str:
    """``2 batch cases failed``."""
    return f"{counted(tally, len(tally.tolerated))} failed"


def quarantined_in_words(tally: Tally) -> str:
    """``1 story in quarantine fails``."""
    number = len(tally.quarantined)
    return f"{counted(tally, number)} in quarantine {'fails' if number == 1 else 'fail'}"


def unexpected_in_words(found: Iterable[Tally]) -> list[str]:
    """``1 story passes that its quarantine expects to fail``."""
    return [
        f"{counted(tally, number)} {'passes' if number == 1 else 'pass'} that"
        f" {'its' if number == 1 else 'their'} quarantine expects to fail"
        for tally in found
        if (number := len(tally.unexpected))
    ]


def unanswered_in_words(report: Report, comparison: Comparison | None = None) -> list[str]:
    """``1 sentence has no answer``; with a ``comparison`` only of those that had the right one on the base."""
    number = len(list(failed_tests.unanswered_sentences(report, comparison)))
    return [f"{count(number, *CASES['nlu'])} {'has' if number == 1 else 'have'} no answer"] if number else []


def not_run_in_words(tally: Tally) -> str:
    """``14 end-to-end cases not run``; without a number if that is not known. Empty if all ran."""
    if tally.not_run:
        return f"{counted(tally, len(tally.not_run))} not run"
    return f"{TESTS[tally.evaluation][1]} not run" if tally.reason else ""


def why_not_run(tally: Tally) -> str:
    """Why tests were not run: the first reason, and how many others there are."""
    others = f" (and {count(tally.other_reasons, 'other reason')})" if tally.other_reasons else ""
    return f"{tally.reason}{others}"


def failed_tallies(report: Report) -> list[Tally]:
    """Return those of which tests failed."""
    return [tally for tally in tallies(report) if tally.failed]


def failed_test(test: FailedTest) -> str:
    """Name a test that failed; of one that only its sentences keep from passing, say what these were understood as."""
    name = f"{CASES[test.evaluation][0]} {test.name}{with_copy_count(test)}"
    if test.passes:
        return f"{name} passes, but its quarantine expects it to fail: release it"
    if test.misunderstood is None:
        if isinstance(test.repeats, UnsetType):
            return name
        runs = runs_in_words(test.repeats, is_new=test.is_new)
        reason = f" ({test.reason})" if test.reason else ""
        return f"{name}{' (new)' if test.is_new else ''}: {runs}{reason}"
    parts = [_difference(misunderstanding, case=test.evaluation != "core") for misunderstanding in test.misunderstood]
    return f"{name}, misunderstood: {'; '.join(parts) or 'the imported files do not say which sentence'}"


def _difference(sentence: Misunderstanding, *, case: bool) -> str:
    """Say what was understood and what should have been: as a story says, or as the base of a case understood it."""
    expected, predicted = expected_and_predicted(sentence)
    return (
        f"'{sentence.text}': on the base {expected}, now {predicted}"
        if case
        else f"'{sentence.text}': {expected_got(expected, predicted)}"
    )


# Against a base.


def newly_failing(report: Report, comparison: Comparison) -> list[str]:
    """``2 stories newly fail``, ``1 new end-to-end case fails``, ``1 of 2 stories failed (the base ran none)``."""
    not_on_base = {lack.evaluation for lack in comparison.base_lacks if lack.cases is None}
    unknown = {name for name, cases in failed_tests.tests_of(comparison) if cases.unknown_cases}
    parts = [
        f"{all_failed_of(tally)} failed (the base ran none)"
        for tally in tallies(report)
        if tally.evaluation in not_on_base - unknown and (tally.failed or tally.tolerated)
    ]
    for name, cases in failed_tests.tests_of(comparison):
        one, many = TESTS[name]
        if name in not_on_base - unknown:
            continue
        failing = failed_tests.failing_of(report, cases)
        new = number_of([case for case in failing if case.base_location is None])
        known = [case for case in failing if case.base_location is not None]
        misunderstood = number_of([case for case in known if case.misunderstood])
        if broken := number_of(known) - misunderstood:
            parts.append(f"{count(broken, one, many)} newly {'fails' if broken == 1 else 'fail'}{_against_base(known)}")
        if misunderstood:
            parts.append(f"{count(misunderstood, one, many)} newly misunderstood")
        if new:
            repeated = runs_of_new_tests(report, comparison, name)
            runs = f" ({worst_runs_in_words(repeated, are_new=True)})" if repeated else ""
            parts.append(f"{new:,} new {one if new == 1 else many} {'fails' if new == 1 else 'fail'}{runs}")
    parts += unanswered_in_words(report, comparison)
    if regressed := list(failed_tests.regressed_sentences(report, comparison)):
        parts.append(f"{count(len(regressed), *CASES['nlu'])} regressed{_against_base(regressed)}")
    return parts


def _against_base(tests: Iterable[CaseChange | FailedTest]) -> str:
    """`` (worst: 0 of 6 runs pass; base 20 of 20)`` of tests that are all worse than on the base by their runs."""
    runs = [test.repeats if not isinstance(test.repeats, UnsetType) else None for test in tests]
    compared = [repeats for repeats in runs if repeats is not None and repeats.outcome in {"regressed", "worse"}]
    return f" ({worst_runs_in_words(compared)})" if compared and len(compared) == len(runs) else ""


def gone_in_words(report: Report, comparison: Comparison) -> str:
    """``7 stories gone, the stories are no longer run: the domain cannot be read completely (domain.yml:1:1)``."""
    faulty = {fault.evaluation for fault in faults_of(report)}
    parts = [
        one.reason if one.files else KINDS[one.evaluation].lost
        for one in comparison.lost
        if one.evaluation not in faulty
    ]
    whole = {one.evaluation for one in comparison.lost}
    for evaluation, cases in failed_tests.tests_of(comparison):
        if cases.gone:
            no_loss = ", which did not pass on the base" if not any(case.base_passed for case in cases.gone) else ""
            parts.append(f"{count(number_of(cases.gone), *TESTS[evaluation])} gone{no_loss}")
        if cases.not_run and evaluation not in whole:
            parts.append(f"{count(number_of(cases.not_run), *TESTS[evaluation])} of the base not run")
    where = _why_not_found(comparison) if parts else ""
    because = dict.fromkeys(
        _cause(one) for one in report.skipped if one.evaluation in whole - faulty and one.location and not one.part
    )
    return f"{', '.join(parts)}{where}{': ' if because else ''}{', '.join(because)}"


def _why_not_found(comparison: Comparison) -> str:
    """`` ('tests/stories.yml' is not looked for)``: what became of the files of tests that are gone."""
    files: dict[str, list[str]] = {}
    for change in failed_tests.no_longer_checked(comparison):
        files.setdefault(change.code, []).append(f"'{change.location.path}'")
    reasons = [f"{joined(paths[:2])} {_NOT_FOUND[code][len(paths) > 1]}" for code, paths in files.items()]
    return f" ({', '.join(reasons)})" if reasons else ""


def removed_test_text(kind: str, case: CaseChange, commit: str | None) -> str:
    """Name a test that only the base has, and the place where the base, at this commit, has it."""
    location = case.base_location
    at = (
        "the base"
        if location is None
        else location.path
        if location.line is None
        else f"{location.path}:{location.line}"
    )
    where = f"was at {at} in `{commit[:8]}`" if commit else f"was at {at} on the base"
    return f"{kind} {case.name}{with_copy_count(case)} is gone ({where})"


# Evaluations that could not be run because of a fault.


def faults_in_words(faults: Sequence[Skipped]) -> str:
    """``nlu and core could not be run, e2e could not be run completely``."""
    wholly = names_of([skipped.evaluation for skipped in faults if not skipped.part])
    partly = names_of([skipped.evaluation for skipped in faults if skipped.part])
    words = [f"{wholly} could not be run"] if wholly else []
    return ", ".join([*words, *([f"{partly} could not be run completely"] if partly else [])])


def cause_first(faults: Sequence[Skipped]) -> str:
    """``The NLU data cannot be read completely (data/nlu.yml:181:5), so nlu and core could not be run``.

    If there are several causes, it names the first and says how many more there are.
    """
    because, *others = by_cause(faults)
    cause = _cause(because[0])
    wholly = "" if not all(skipped.part for skipped in because) else " completely"
    names = names_of([skipped.evaluation for skipped in because])
    words = f"{cause[:1].upper()}{cause[1:]}, so {names} could not be run{wholly}"
    more = len({skipped.evaluation for group in others for skipped in group})
    return f"{words} ({count(more, 'other evaluation')} neither)" if more else words


def by_cause(faults: Sequence[Skipped]) -> list[list[Skipped]]:
    """Gather the faults that have one cause."""
    groups: dict[object, list[Skipped]] = {}
    for skipped in faults:
        groups.setdefault(skipped.location or _cause(skipped), []).append(skipped)
    return list(groups.values())


def _cause(skipped: Skipped) -> str:
    """What must be fixed, in short, and where."""
    cause = skipped.cause or skipped.reason.rstrip(".")
    if skipped.location is None or not (skipped.cause or skipped.without_place):
        return cause  # a report of an earlier version names the place in the reason
    return f"{cause} ({skipped.location})"


class HeldTest(NamedTuple):
    """A test, or a test sentence, that is in quarantine."""

    kind: str
    name: str
    location: Location | None
    entry: QuarantinedTest
    repeats: Repeats | UnsetType = UNSET
    """Its runs, if it was run several times."""


def failing_in_quarantine(report: Report) -> list[HeldTest]:
    """Return the tests in quarantine that fail and do not count, and the sentences that are misclassified."""
    return list(_failing(report))


def _failing(report: Report) -> Iterator[HeldTest]:
    if isinstance(report.quarantine, UnsetType):
        return
    for tally in tallies(report):
        for test in tally.quarantined:
            if (entry := entry_of(report, test.name, test.location)) is not None:
                yield HeldTest(TESTS[tally.evaluation][0], test.name, test.location, entry, test.repeats)
    for sentence in report.nlu.predictions if report.nlu else ():
        if sentence.misclassified and (entry := entry_of(report, sentence.text, sentence.location)) is not None:
            yield HeldTest("sentence", sentence.text, sentence.location, entry, sentence.repeats)


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
