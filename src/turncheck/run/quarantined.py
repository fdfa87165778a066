"""The tests in quarantine of a command without a base: which entries count, and what is said of them."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UnsetType

from turncheck.ci.git import find_checkout
from turncheck.ci.hosts import find_host
from turncheck.comparison.quarantine import effective_without_base, with_results
from turncheck.project.batch.reader import read_suites
from turncheck.project.e2e.cases import read_cases
from turncheck.project.quarantine import QUARANTINE_FILE, QuarantineFile, read_quarantine, unknown_tests
from turncheck.render.sinks.terminal import place, text
from turncheck.report.quarantine import Quarantine
from turncheck.run.reading import read_configured, read_tests
from turncheck.settings.file import read_settings_file
from turncheck.settings.sources import combine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from turncheck.process.screen import Console
    from turncheck.project.batch.model import Suite
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Story
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import Report

_OF_A_CHANGE = (
    f"No entry of {QUARANTINE_FILE} counts: this job is about a change, and this command does not know what is on its"
    " base. `turncheck run` does."
)


class Quarantined(NamedTuple):
    """A report with the entries that count, and whether there are others that are wrong."""

    report: Report
    is_faulty: bool = False

    @property
    def held(self) -> Quarantine:
        """The entries that count."""
        found = self.report.quarantine
        return Quarantine(today=_today().isoformat()) if isinstance(found, UnsetType) else found


def with_quarantine(
    report: Report, folder: Path, screen: Console, environment: Mapping[str, str] = os.environ
) -> Quarantined:
    """Return the report with the entries of the project's quarantine that count; what is wrong with others is said.

    On a developer's machine and on the branch of the base nobody else has to agree to the entries: all that hold count.
    In a job about a change none does, since an entry only counts if the base has it.

    Raises:
        UserError: the settings or the tests of the project cannot be read.
    """
    folder = folder if folder.is_dir() else folder.parent
    file = quarantine_of(folder, folder, _today(), screen.alarm)
    if file is None:
        return Quarantined(report)
    named = {*named_tests(folder), *_judged_tests(report)}
    findings = (*file.findings, *unknown_tests(file.quarantine, named))
    for finding in findings:
        hint = f" {finding.hint}" if finding.hint else ""
        screen.alarm(f"{place(finding.location, str(folder))}: error: {text(f'{finding.message}{hint}', 600)}")
    counting = effective_without_base(file.quarantine, agreed=not find_host(environment).run.of_a_change)
    if counting.warnings:
        screen.alarm(f"turncheck: warning: {_OF_A_CHANGE}")
    return Quarantined(with_results(report, counting.quarantine), bool(findings))


def _today() -> date:
    return datetime.now(UTC).date()


def quarantine_of(folder: Path, root: Path, today: date, note: Callable[[str], None]) -> QuarantineFile | None:
    """Read the quarantine file of a folder as it is on the day of a run; ``None`` if there is none.

    A clock that is behind must not bring back what has expired: no run is before the commit that it measures.

    Args:
        folder: where the file is.
        root: the project's folder, which paths count from.
        today: what the clock says.
        note: is told of a clock that is behind.
    """
    if not os.path.lexists(folder / QUARANTINE_FILE):
        return None
    checkout = find_checkout(root)
    committed = None if checkout is None else checkout.day()
    if committed is None or committed <= today:
        return read_quarantine(folder, root, today)
    note(
        f"The clock of this machine says {today}, but the commit is of {committed}: tests in quarantine are held"
        " against that day."
    )
    return read_quarantine(folder, root, committed, clock=today)


def named_tests(folder: Path, project: Path | None = None) -> Iterator[tuple[str, str]]:
    """Return the names of all tests that a run would find, with their files.

    Args:
        folder: that of ``turncheck.yml``.
        project: that of the assistant, if it is another one.

    Raises:
        UserError: the settings or the tests cannot be read.
    """
    own = {name: value for name, value in read_settings_file(folder).values.items() if name != "project"}
    root = folder if project is None else project
    settings = replace(combine(own), project=str(root))
    tests = read_tests(settings)
    sentences = tests.nlu if tests.nlu is not None else read_configured(settings).nlu
    cases, suites = read_cases(root, tests.e2e).cases, read_suites(root, tests.batch).suites
    return names_and_files(tests.stories, cases, sentences.examples, suites)


def names_and_files(
    stories: Iterable[Story], cases: Iterable[E2ECase], sentences: Iterable[Example], suites: Iterable[Suite]
) -> Iterator[tuple[str, str]]:
    """Yield what tests of every kind are called in a quarantine, with their files."""
    yield from ((story.name, story.location.path) for story in stories)
    yield from ((case.name, case.location.path) for case in cases)
    yield from ((example.text, example.location.path) for example in sentences)
    yield from ((case.text, case.location.path) for suite in suites for case in suite.cases)


def _judged_tests(report: Report) -> Iterator[tuple[str, str]]:
    """The names of the tests that were run, which may be elsewhere."""
    yield from (
        (story_result.name, story_result.location.path) for story_result in (report.core.stories if report.core else ())
    )
    yield from (
        (case_result.name, case_result.location.path) for case_result in (report.e2e.cases if report.e2e else ())
    )
    yield from (
        (nlu_prediction.text, nlu_prediction.location.path)
        for nlu_prediction in (report.nlu.predictions if report.nlu else ())
    )
    yield from (
        (batch_case.text, batch_case.location.path) for batch_case in (report.batch.cases if report.batch else ())
    )
