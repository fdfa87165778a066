"""The quarantine of a command that runs one kind of tests, and has no base: which entries count there."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UnsetType

from turncheck.ci.hosts import find_host
from turncheck.comparison.quarantine import counting_alone, with_results
from turncheck.project.batch.reader import read_suites
from turncheck.project.e2e.cases import read_cases
from turncheck.project.quarantine import QUARANTINE_FILE, read_quarantine, unknown_tests
from turncheck.render.sinks.terminal import place, text
from turncheck.render.wording.tests import failing_in_quarantine, passing_in_quarantine, quarantine_in_words, to_release
from turncheck.report.quarantine import Quarantine
from turncheck.run.reading import read_given, read_tests
from turncheck.settings.file import read_settings_file
from turncheck.settings.sources import combine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from turncheck.process.screen import Console
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
    file = read_quarantine(folder, folder, _today())
    if file is None:
        return Quarantined(report)
    named = {*_named_tests(folder), *_judged_tests(report)}
    findings = (*file.findings, *unknown_tests(file.quarantine, named))
    for finding in findings:
        hint = f" {finding.hint}" if finding.hint else ""
        screen.alarm(f"{place(finding.location, str(folder))}: error: {text(f'{finding.message}{hint}', 600)}")
    counting = counting_alone(file.quarantine, agreed=not find_host(environment).run.of_a_change)
    if counting.warnings:
        screen.alarm(f"turncheck: warning: {_OF_A_CHANGE}")
    return Quarantined(with_results(report, counting.quarantine), bool(findings))


def _today() -> date:
    return datetime.now(UTC).date()


def quarantine_lines(report: Report, folder: str) -> Iterator[str]:
    """Yield what is to be said of the tests in quarantine."""
    for fails in failing_in_quarantine(report):
        where = "" if fails.location is None else f"{place(fails.location, folder)}: "
        yield f"{where}{fails.kind} '{text(fails.name)}' fails, {text(quarantine_in_words(fails.entry), 600)}"
    for passes in passing_in_quarantine(report):
        where = "" if passes.location is None else f"{place(passes.location, folder)}: "
        yield f"{where}{passes.kind} '{text(passes.name)}' passes, but its quarantine expects it to fail: release it"
    yield from (text(line, 600) for line in to_release(report))


def _named_tests(folder: Path) -> Iterator[tuple[str, str]]:
    """The names of all tests that a run would find, with their files."""
    own = {name: value for name, value in read_settings_file(folder).values.items() if name != "project"}
    settings = replace(combine(own), project=str(folder))
    tests = read_tests(settings)
    yield from ((story.name, story.location.path) for story in tests.stories)
    yield from ((case.name, case.location.path) for case in read_cases(folder, tests.e2e).cases)
    sentences = tests.nlu if tests.nlu is not None else read_given(settings).nlu
    yield from ((example.text, example.location.path) for example in sentences.examples)
    for suite in read_suites(folder, tests.batch).suites:
        yield from ((case.text, case.location.path) for case in suite.cases)


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
