"""``turncheck test strength``: the tests tried on mutants of the project; and ``turncheck test robustness``: test
sentences as real users would write them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluation.nlu import why_not_testable
from turncheck.evaluations.robustness.measure import measure_robustness
from turncheck.evaluations.strength.measure import measure_strength
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.phrasing import at_paths
from turncheck.messages.plain_text import plain
from turncheck.project.e2e.cases import read_cases
from turncheck.publishing.files import write_report
from turncheck.render.phrases import not_run_text, noted_version_line
from turncheck.render.robustness_text import robustness_text
from turncheck.render.strength_text import strength_text
from turncheck.run.alone import Alone, Bench, end_with, measured_alone
from turncheck.run.assistant import running_server
from turncheck.run.changed_lines import ChangedLines, changed_lines
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.reading import (
    ensure_readable,
    ensure_tests_read,
    ensure_trainable,
    read_assistant,
    read_dialogue_assistant,
    read_tests,
)
from turncheck.validation.facts import ProjectTests

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.model import Robustness, Strength
    from turncheck.settings.options import Settings


_PROGRESS_UPDATES: Final = 10
"""How often progress is printed."""


@dataclass(frozen=True, slots=True)
class StrengthOptions:
    """What is tried and written. ``most``: this many mutants (0: all); ``changed``: only of changed lines."""

    settings: Settings
    most: int = 0
    changed: bool = False
    fail_under: float | None = None
    json: Path | None = None


def run_test_strength(options: StrengthOptions, screen: Console) -> int:
    """Try the tests, and report the score and what no test notices: 1 if the score is below the floor, else 0.

    Raises:
        UserError: there are no tests, the project cannot be trained, the changed lines are unknown, there is a floor
            but no score. Where the engine gave up, all that was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    settings = options.settings
    ensure_apart_from_project(None, settings, options.json)
    project = read_dialogue_assistant(settings)
    ensure_trainable(project, sentences_do=True)
    tests = project_tests(settings, project)
    lines = lines_of(options.changed, settings)

    def measure(bench: Bench) -> Strength:
        with (
            running_server(settings, project, os.environ, screen) as server,
            screen.step("strength", "Trying the tests on mutants"),
        ):
            by_file = None if lines is None else lines.by_file
            return measure_strength(
                bench.engine, project, tests, settings, changed=by_file, server=server, work=bench.work,
                most=options.most, progress=lambda done, of: _report_progress(screen, done, of),
            )  # fmt: skip

    alone = measured_alone("strength", settings, project, screen, measure)
    strength = alone.finished
    finish(alone, None if strength is None else strength_text(strength, settings.project), options.json)
    return _exit_code(None if strength is None else strength.score, options)


def _exit_code(score: float | None, options: StrengthOptions) -> int:
    floor = options.fail_under
    if floor is not None and score is None and not options.changed:
        raise UserError("--fail-under cannot be judged: there was no fault to notice")
    is_below = floor is not None and score is not None and score < floor
    return EXIT_FAILED if is_below else EXIT_OK


def _report_progress(screen: Console, done: int, of: int) -> None:
    """Print the progress from time to time."""
    if done * _PROGRESS_UPDATES // of > (done - 1) * _PROGRESS_UPDATES // of:
        screen.progress(f"{done} of {of} mutants")


def read_project_tests(settings: Settings, project: Project) -> ProjectTests:
    """Return the tests of a project; there may be none.

    Raises:
        UserError: some cannot be read: without them, the others would seem to notice too little.
    """
    tests = read_tests(settings)
    ensure_tests_read("the test sentences", tests.nlu_findings)
    ensure_tests_read("the test stories", tests.story_findings)
    read = read_cases(project.root, tests.e2e)
    ensure_tests_read("the end-to-end cases", read.findings)
    return ProjectTests(tests.stories, tests.nlu.examples if tests.nlu else (), read.cases)


def project_tests(settings: Settings, project: Project) -> ProjectTests:
    """Return the tests of a project.

    Raises:
        UserError: it has none.
    """
    found = read_project_tests(settings, project)
    if not (found.stories or found.examples or found.cases):
        raise UserError(
            "the project has no tests that could notice a fault",
            hint="`turncheck init` writes first tests, `turncheck suggest` finds those that notice most.",
        )
    return found


def lines_of(changed: bool, settings: Settings) -> ChangedLines | None:
    """Return the lines that a change touches, if only these are requested.

    Raises:
        UserError: they cannot be determined.
    """
    if not changed:
        return None
    from turncheck.ci.hosts import find_host  # only for --changed

    lines = changed_lines(settings, find_host(os.environ))
    if lines.unknown:
        raise UserError(f"no changed lines to try: {lines.unknown}", hint="Omit --changed to try all lines.")
    return lines


def finish(alone: Alone[Any], words: str | None, json: Path | None) -> None:
    """Write the report if requested, and print what was measured, or why nothing was.

    Raises:
        UserError: the engine gave up.
        KeyboardInterrupt: somebody interrupted it.
    """
    report = alone.report(alone.finished)
    if json is not None:
        write_report(json, report)
    sys.stdout.write(noted_version_line(report.project, alone.settings.project))
    sys.stdout.write(not_run_text(report) if words is None else plain(words))
    if alone.result.stopped is not None:
        end_with(alone.result.stopped)


# --- test robustness --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RobustnessOptions:
    """What is varied and written. ``fail_over``: the largest failure rate that ends with 0."""

    settings: Settings
    fail_over: float | None = None
    json: Path | None = None


def run_test_robustness(options: RobustnessOptions, screen: Console) -> int:
    """Vary the test sentences, and report which are no longer understood: 1 above the largest rate, else 0.

    Raises:
        UserError: nothing to vary, a project that cannot be trained, tests or word lists that cannot be read,
            a limit and no rate. Where the engine gave up, what was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    settings = options.settings
    ensure_apart_from_project(None, settings, options.json)
    project = read_assistant(settings)
    read = read_tests(settings)
    ensure_tests_read("the test sentences", read.nlu_findings)
    tests = read.nlu

    def measure(bench: Bench) -> Robustness:
        ensure_readable(project, bench.engine.needs("robustness", in_folds=tests is None))
        if reason := why_not_testable(project, tests, folds=settings.folds):
            raise UserError(f"{reason}{at_paths((settings.nlu,)) if tests is not None and settings.nlu else ''}")
        with screen.step("robustness", "Varying the test sentences"):
            return measure_robustness(bench.engine, project, tests, settings, work=bench.work, cache=bench.cache)

    alone = measured_alone("robustness", settings, project, screen, measure, in_folds=tests is None)
    robustness = alone.finished
    finish(alone, None if robustness is None else robustness_text(robustness, settings.project), options.json)
    most, rate = options.fail_over, None if robustness is None else robustness.failure_rate
    if most is not None and rate is None:
        raise UserError("--fail-over cannot be judged: no sentence that is understood could be varied")
    return EXIT_FAILED if most is not None and rate is not None and rate > most else EXIT_OK
