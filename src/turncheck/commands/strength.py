"""``turncheck test strength``: the tests tried on mutants of the project."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.engines.choice import chosen_engines
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.plain_text import plain
from turncheck.project.e2e.cases import read_cases
from turncheck.publishing.files import write_report
from turncheck.render.phrases import not_run_text, noted_version_line
from turncheck.render.strength_text import strength_text
from turncheck.run.assistant import running_server
from turncheck.run.changed_lines import ChangedLines, changed_lines
from turncheck.run.cut_short import end_with, run_until_failure
from turncheck.run.output_folder import ensure_apart_from_project
from turncheck.run.reading import ensure_tests_read, read_tests
from turncheck.run.report_of import project_info, report_of
from turncheck.run.strength import measure_strength
from turncheck.run.trainable import ensure_possible, ensure_trainable, read_dialogue_assistant
from turncheck.validation.facts import ProjectTests
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.model import EngineInfo, Strength
    from turncheck.settings.options import Settings


_TOLD: Final = 10
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
    info: EngineInfo | None = None

    def evaluate() -> Strength:
        nonlocal info
        with chosen_engines(settings, project, os.environ) as engines:
            ensure_possible(engines, "strength")
            try:
                with (
                    running_server(settings, project, os.environ, screen) as server,
                    workplace_of(settings, screen) as work,
                    screen.step("strength", "Trying the tests on mutants"),
                ):
                    by_file = None if lines is None else lines.by_file
                    return measure_strength(
                        engines, project, tests, settings, changed=by_file, server=server, work=work, most=options.most,
                        progress=lambda done, of: _tell(screen, done, of),
                    )  # fmt: skip
            finally:
                info = engines.info(conversations=False)

    result = run_until_failure(evaluate)
    strength = result.finished
    report = report_of(
        project_info(project),
        settings.seed,
        engine=info if strength is not None else None,
        strength=strength,
        skipped=result.skipped("strength"),
        stopped=result.reason,
        timings=screen.timings,
    )
    if options.json is not None:
        write_report(options.json, report)
    sys.stdout.write(noted_version_line(report.project, settings.project))
    sys.stdout.write(not_run_text(report) if strength is None else plain(strength_text(strength, settings.project)))
    if result.stopped is not None:
        end_with(result.stopped)
    return _exit_code(None if strength is None else strength.score, options)


def _exit_code(score: float | None, options: StrengthOptions) -> int:
    floor = options.fail_under
    if floor is not None and score is None and not options.changed:
        raise UserError("--fail-under cannot be judged: there was no fault to notice")
    is_below = floor is not None and score is not None and score < floor
    return EXIT_FAILED if is_below else EXIT_OK


def _tell(screen: Console, done: int, of: int) -> None:
    """Print the progress from time to time."""
    if done * _TOLD // of > (done - 1) * _TOLD // of:
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
            remedy="`turncheck init` writes first tests, `turncheck suggest` finds those that notice most.",
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
        raise UserError(f"no changed lines to try: {lines.unknown}", remedy="Omit --changed to try all lines.")
    return lines
