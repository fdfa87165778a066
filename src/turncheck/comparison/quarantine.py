"""Tests in quarantine: which entries count, and what they keep from failing.

A change owns ``turncheck.quarantine.yml``: an entry counts only if the base has it and its test is as on the base.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET, UnsetType, structs

from turncheck.comparison.cases import Case, batch_cases, intent_cases, named_stories
from turncheck.comparison.changes import SettingChange
from turncheck.report.model import CaseResult
from turncheck.report.quarantine import Quarantine, QuarantinedTest, days_left

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.comparison.failures import FailedTest
    from turncheck.messages.finding import Location
    from turncheck.report.model import Repeats, Report

NO_BASE = "no entry of turncheck.quarantine.yml counts: none is known to be on the base"
"""Said of a change whose base could not be read."""


# --- which entries count ---------------------------------------------------------------------------------------------


class EffectiveQuarantine(NamedTuple):
    """The entries that count, what this change adds to them, and why others do not count."""

    quarantine: Quarantine
    added: tuple[SettingChange, ...] = ()
    warnings: tuple[str, ...] = ()


def effective_without_base(own: Quarantine, *, agreed: bool) -> EffectiveQuarantine:
    """Return the entries that count without a base: all that hold if nobody else has to agree to them, else none."""
    if agreed:
        return EffectiveQuarantine(own.with_tests(_holding(own, own.today)))
    return EffectiveQuarantine(own.with_tests(()), warnings=(NO_BASE,) if own.tests else ())


def effective_beside_base(
    own: Quarantine, base: Quarantine | UnsetType, tests: Collection[HeadTest], *, agreed: bool
) -> EffectiveQuarantine:
    """Return the entries that count beside a base: those that it has, too, as it has them, about the same tests.

    Args:
        own: the entries of this side.
        base: those of the base; ``UNSET``: it has no such file.
        tests: the tests of this side that an entry may name (:func:`tests_of_head`).
        agreed: whether this side is on the branch of its base, so that its entries count.
    """
    there = {} if isinstance(base, UnsetType) else {test.case: test for test in base.tests}
    moved = {f"{test.base_path}::{test.name}": f"{test.path}::{test.name}" for test in tests if test.is_moved}
    known = {moved.get(case, case): test for case, test in reversed(there.items())} | there
    added = tuple(_added(test, known.get(test.case)) for test in own.tests if _is_added(test, known.get(test.case)))
    if agreed:
        return EffectiveQuarantine(own.with_tests(_holding(own, own.today)), added)
    today = own.today if isinstance(base, UnsetType) else max(own.today, base.today)  # a clock may be behind
    entries = [(_as_on_base(test, known[test.case]), known[test.case]) for test in own.tests if test.case in known]
    both = own.with_tests(test for test, _ in entries)
    altered = [test for test, on_base in entries if not _is_about_the_same(test, on_base, tests)]
    warnings = [
        f"the quarantine of '{test.case[:200]}' does not count: this change edits, moves or adds it"
        for test in _holding(both, today)
        if test in altered
    ]
    ended = [test for test in _holding(both, own.today) if days_left(test, today) < 0]
    warnings += [_ended_there(test, own.today, today) for test in ended]
    kept = [test for test in _holding(both, today) if test not in altered]
    return EffectiveQuarantine(structs.replace(both, today=today, tests=tuple(kept)), added, tuple(warnings))


def _is_about_the_same(test: QuarantinedTest, on_base: QuarantinedTest, tests: Iterable[HeadTest]) -> bool:
    """Whether each test that an entry names is one that the base's entry named there."""
    return all(
        now.base_path is not None and on_base.is_about(now.name, now.base_path)
        for now in tests
        if test.is_about(now.name, now.path)
    )


def _holding(quarantine: Quarantine, today: str) -> Iterator[QuarantinedTest]:
    return (test for test in quarantine.tests if days_left(test, today) >= 0)


def _ended_there(test: QuarantinedTest, own_today: str, today: str) -> str:
    return (
        f"the quarantine of '{test.case[:200]}' ({test.location}) does not count: it ended on {test.until}, and the "
        f"base was tested on {today}; the clock of this run says {own_today}"
    )


def _is_added(test: QuarantinedTest, base: QuarantinedTest | None) -> bool:
    return base is None or test.expect != base.expect or test.until > base.until


def _added(test: QuarantinedTest, base: QuarantinedTest | None) -> SettingChange:
    return SettingChange(name="quarantine", base="nothing" if base is None else _in_words(base), value=_in_words(test))


def _in_words(test: QuarantinedTest) -> str:
    return f"{test.case}: {test.expect} until {test.until}"


def _as_on_base(test: QuarantinedTest, base: QuarantinedTest) -> QuarantinedTest:
    """An entry as its base has it; a change may only shorten it."""
    return structs.replace(test, expect=base.expect, until=min(test.until, base.until))


class HeadTest(NamedTuple):
    """A test of this side, and the file that the base has it in; none: it is not a test of the base."""

    name: str
    path: str
    base_path: str | None

    @property
    def is_moved(self) -> bool:
        """Whether the base has it in another file."""
        return self.base_path not in {None, self.path}


class _Test(NamedTuple):
    name: str
    path: str
    kind: str
    content: Case | CaseResult

    def is_the_same_as(self, other: _Test) -> bool:
        """Whether both test the same."""
        if isinstance(self.content, CaseResult) and isinstance(other.content, CaseResult):
            return self.content.tests_the_same_as(other.content)
        if isinstance(self.content, Case) and isinstance(other.content, Case):
            return self.kind == other.kind and self.content.tests_the_same_as(other.content)
        return False


def tests_of_head(head: Report, base: Report) -> list[HeadTest]:
    """Return the tests that an entry of either side may name, each with its file on the base.

    A test is that of the base with the same name and content in the same file. It moved if the base's file has no test
    of its name any more, and this one alone has its content. So two files that are exchanged have two other tests.

    Test sentences only if the base judged such ones, too: they may stem from cross-validation.
    """
    names = {
        name for side in (head, base) if not isinstance(side.quarantine, UnsetType) for name in _names(side.quarantine)
    }
    after, before = (_by_name(_tests(report, head, base), names) for report in (head, base))
    return [test for name, tests in after.items() for test in _with_base_paths(tests, before.get(name, []))]


def _names(quarantine: Quarantine) -> Iterator[str]:
    """What the entries may name: a name may have a colon, as a file's may."""
    for test in quarantine.tests:
        words = test.case.split("::")
        yield from ("::".join(words[first:]) for first in range(len(words)))


def _tests(report: Report, head: Report, base: Report) -> Iterator[_Test]:
    kinds = [named_stories, batch_cases]
    if head.nlu is not None and base.nlu is not None and head.nlu.mode == base.nlu.mode:
        kinds.append(intent_cases)
    for cases_of in kinds:
        for case in cases_of(report):
            yield _Test(case.name, case.location.path, cases_of.__name__, case)
    for result in report.e2e.cases if report.e2e is not None else ():
        yield _Test(result.name, result.location.path, "e2e", result)


def _by_name(tests: Iterable[_Test], names: Collection[str]) -> dict[str, list[_Test]]:
    found: dict[str, list[_Test]] = {}
    for test in tests:
        if test.name in names:
            found.setdefault(test.name, []).append(test)
    return found


def _with_base_paths(tests: list[_Test], before: list[_Test]) -> Iterator[HeadTest]:
    """Pair the tests of one name with those of the base."""
    paths = {test.path for test in tests}
    gone = [test for test in before if test.path not in paths]
    for test in tests:
        there = any(other.path == test.path and test.is_the_same_as(other) for other in before)
        origins = [other for other in gone if test.is_the_same_as(other)]
        alike = [other for other in tests if test.is_the_same_as(other)]
        moved = origins[0].path if len(origins) == len(alike) == 1 else None
        yield HeadTest(test.name, test.path, test.path if there else moved)


# --- what they keep from failing -------------------------------------------------------------------------------------


def entry_of(report: Report, name: str, location: Location | None) -> QuarantinedTest | None:
    """Return the entry about a test, if it is in quarantine."""
    return None if isinstance(report.quarantine, UnsetType) else report.quarantine.entry_of(name, location)


def is_excused(report: Report, test: FailedTest | CaseChange | Case) -> bool:
    """Whether a test may fail, since it is in quarantine.

    Not if it stands for copies, which have other names, nor if it fails more often than it used to.
    """
    entry = None if test.copies else entry_of(report, test.name, test.location)
    is_worse = not isinstance(test.repeats, UnsetType) and _is_worse(test.repeats)
    return entry is not None and not is_worse


def _is_worse(repeats: Repeats) -> bool:
    """Whether a test fails more often than it used to: as its runs show, or as none passes and most did on the base.

    So fewer runs than would show it excuse nothing, and neither do errors.
    """
    never_passes = not repeats.passed and (repeats.outcome == "failed" or repeats.is_unanswered)
    return repeats.outcome == "regressed" or (never_passes and 2 * repeats.base_passed > len(repeats.base))


def without_quarantined(kind: ChangedCases, report: Report) -> ChangedCases:
    """Return the changed tests of a kind; of those that newly fail, the ones in quarantine are a group of their own."""
    held = tuple(case for case in (*kind.worse, *kind.added_failing) if is_excused(report, case))
    if not held:
        return kind
    worse, added = (tuple(case for case in cases if case not in held) for cases in (kind.worse, kind.added_failing))
    return structs.replace(kind, worse=worse, added_failing=added, quarantined=held)


def without_tests_in_quarantine(report: Report) -> Report:
    """Return the report without the runs of tests that are in quarantine: how they fare is known, and is no loss."""

    def kept(name: str, location: Location | None) -> bool:
        return entry_of(report, name, location) is None

    if isinstance(report.quarantine, UnsetType):
        return report
    e2e, nlu, batch = report.e2e, report.nlu, report.batch
    if e2e is not None:
        e2e = structs.replace(e2e, cases=tuple(case for case in e2e.cases if kept(case.name, case.location)))
    if nlu is not None:
        nlu_predictions = tuple(
            nlu_prediction for nlu_prediction in nlu.predictions if kept(nlu_prediction.text, nlu_prediction.location)
        )
        nlu = structs.replace(nlu, predictions=nlu_predictions)
    if batch is not None:
        suites = (
            structs.replace(suite, cases=tuple(case for case in suite.cases if kept(case.text, case.location)))
            for suite in batch.suites
        )
        batch = structs.replace(batch, suites=tuple(suites))
    return structs.replace(report, e2e=e2e, nlu=nlu, batch=batch)


# --- how often a test has passed in a row ----------------------------------------------------------------------------


def with_results(report: Report, quarantine: Quarantine) -> Report:
    """Return the report with the entries, and whether their tests passed."""
    return structs.replace(report, quarantine=_counted(quarantine, report, UNSET))


def with_passes_of_base(report: Report, base: Report) -> Report:
    """Return the report; passes in a row are counted on from those of the base."""
    if isinstance(report.quarantine, UnsetType):
        return report
    return structs.replace(report, quarantine=_counted(report.quarantine, report, base.quarantine))


def _counted(quarantine: Quarantine, report: Report, base: Quarantine | UnsetType) -> Quarantine:
    before = {} if isinstance(base, UnsetType) else {test.case: test.passes for test in base.tests}
    results = list(_results(report))

    def counted(test: QuarantinedTest) -> QuarantinedTest:
        found = [runs for name, path, runs in results if test.is_about(name, path)]
        last = min((len(runs) - len(runs.rstrip("P")) for runs in found), default=0)
        return structs.replace(test, passes=last if "F" in "".join(found) else before.get(test.case, 0) + last)

    return quarantine.with_tests(map(counted, quarantine.tests))


def _results(report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield name, file and runs of each test, and of each test sentence: ``P`` passed, ``F`` failed."""
    for story in report.core.stories if report.core else ():
        yield story.name, story.location.path, _run(story.passed)
    for case in report.e2e.cases if report.e2e else ():
        if case.outcome != "skipped":
            yield case.name, case.location.path, _runs(case.repeats, passed=case.passed)
    for suite in report.batch.suites if report.batch else ():
        yield from (
            (batch_case.text, batch_case.location.path, _runs(batch_case.repeats, passed=batch_case.passed))
            for batch_case in suite.cases
        )
    for example in report.nlu.predictions if report.nlu else ():
        yield example.text, example.location.path, _runs(example.repeats, passed=example.correct)


def _run(passed: bool) -> str:
    return "P" if passed else "F"


def _runs(repeats: Repeats | UnsetType, *, passed: bool) -> str:
    return _run(passed) if isinstance(repeats, UnsetType) else repeats.runs.upper()
