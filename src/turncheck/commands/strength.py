"""``turncheck test strength`` and ``robustness``: how good the tests are; ``turncheck suggest``: which to write next.

The strength is that of the tests tried on mutants of the project; robustness, of test sentences as real users would
write them.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from turncheck.commands.suites import suggested_cases
from turncheck.evaluation.nlu import why_not_testable
from turncheck.evaluations.robustness.measure import measure_robustness, measure_training_sentences
from turncheck.evaluations.strength.measure import measure_strength
from turncheck.evaluations.strength.suggested import (
    CASES,
    STORIES,
    TASKS,
    TRAINING,
    Key,
    SentenceTask,
    cases_text,
    free_file,
    key_of_task,
    key_of_test,
    key_of_training,
    sentence_tasks,
    stories_text,
    suggested_before,
    tasks_text,
    training_text,
)
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.phrasing import at_paths, count
from turncheck.messages.plain_text import log_line, plain
from turncheck.process.regular_file import read_regular
from turncheck.project.batch.model import comparable
from turncheck.project.batch.reader import find_suites, read_suites
from turncheck.project.batch.rules import Rules
from turncheck.project.batch.suite_file import read_csv_suite
from turncheck.project.batch.writer import write_suite
from turncheck.project.e2e.cases import read_cases
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.testfiles import E2E_CASES_FILE
from turncheck.publishing.files import write_file, write_report
from turncheck.render.phrases import not_run_text, noted_version_line
from turncheck.render.sinks.terminal import text
from turncheck.render.strength_text import robustness_text, strength_text
from turncheck.run.alone import Alone, Bench, PartialResult, end_with, measured_alone
from turncheck.run.assistant import running_server
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.inputs import ChangedLines, changed_lines
from turncheck.run.reading import (
    ensure_readable,
    ensure_tests_read,
    ensure_trainable,
    read_assistant,
    read_dialogue_assistant,
    read_tests,
)
from turncheck.validation.facts import ProjectTests
from turncheck.yaml_tree.source import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from turncheck.evaluations.robustness.robustness import TrainingSentences
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.model import Robustness, Strength
    from turncheck.report.strength import SuggestedTest
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


@dataclass(frozen=True, slots=True)
class SuggestOptions:
    """Where to look. ``most``: the maximum number of mutants (0: all); ``write``: write files, else only show them."""

    settings: Settings
    most: int = 0
    write: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    strength: Strength
    tasks: tuple[SentenceTask, ...]
    training: tuple[TrainingSentences, ...]

    def tests(self, kind: str) -> tuple[SuggestedTest, ...]:
        return tuple(suggestion for suggestion in self.strength.suggested if suggestion.kind == kind)

    @property
    def keys(self) -> list[Key]:
        """What distinguishes each suggestion from the others."""
        return [
            *map(key_of_test, self.strength.suggested),
            *map(key_of_task, self.tasks),
            *map(key_of_training, self.training),
        ]

    def without(self, known: Collection[Key]) -> _Found:
        """Return the suggestions that are new."""
        suggested = tuple(suggestion for suggestion in self.strength.suggested if key_of_test(suggestion) not in known)
        return _Found(
            msgspec.structs.replace(self.strength, suggested=suggested),
            tuple(task for task in self.tasks if key_of_task(task) not in known),
            tuple(
                training_sentences
                for training_sentences in self.training
                if key_of_training(training_sentences) not in known
            ),
        )


def run_suggest(options: SuggestOptions, screen: Console) -> int:
    """Find what no test notices, and suggest tests that would, and sentences that are missing.

    Raises:
        UserError: the project cannot be trained. Where the engine gave up, what was found until then is shown and
            written before.
        KeyboardInterrupt: somebody interrupted it; what was found until then is shown and written.
    """
    settings = options.settings
    if (bot := read_assistant(settings)).platform.names_all:
        return _suggest_suite(bot, write=options.write)
    project = read_dialogue_assistant(settings)
    ensure_trainable(project, sentences_do=True)
    tests = read_project_tests(settings, project)

    def unnoticed(bench: Bench) -> Strength:
        with (
            running_server(settings, project, os.environ, screen) as server,
            screen.step("strength", "Trying the tests on mutants"),
        ):
            return measure_strength(
                bench.engine, project, tests, settings, changed=None, server=server, work=bench.work,
                most=options.most, suggest=True,
            )  # fmt: skip

    def missing(bench: Bench) -> tuple[TrainingSentences, ...]:
        with screen.step("robustness", "Varying the test sentences"):
            return measure_training_sentences(bench.engine, project, read_tests(settings).nlu, settings)

    tried = measured_alone("strength", settings, project, screen, unnoticed).result
    varied: PartialResult[tuple[TrainingSentences, ...]] = PartialResult((), tried.stopped)
    if tried.stopped is None:
        varied = measured_alone("robustness", settings, project, screen, missing).result
    elif tried.finished is None:
        end_with(tried.stopped)
    strength = cast("Strength", tried.finished)
    found = _Found(strength, sentence_tasks(project, tests.examples, strength), varied.finished or ())
    _show(found, options)
    if varied.stopped is not None:
        end_with(varied.stopped)
    return EXIT_OK


def _show(found: _Found, options: SuggestOptions) -> None:
    """Print the suggestions, and write those that are new, or print them, too."""
    root = Path(options.settings.project)
    before = suggested_before(root)
    sys.stdout.write(plain("\n".join([*_lines(found), *_known(found, before), ""])))
    for path, content in _files(found.without(before), root).items():
        if options.write:
            write_file(path, content.encode())
            sys.stdout.write(f"Written: {text(str(path))}\n")
        else:
            sys.stdout.write(f"\n# {text(str(path))} (write it with --write)\n{log_line(content)}")


SUITE: Final = "tests/suite_suggested_{}.template"
_MOST_CASES: Final = 50


def _suggest_suite(project: Project, *, write: bool) -> int:
    """Suggest the cases of a batch suite for an export, whose dialogues run elsewhere; none that a suite has already.

    Raises:
        UserError: nothing can be suggested.
    """
    ensure_readable(project, {"nlu"})
    path = free_file(project.root, SUITE)
    known = _known_texts(project, (project.root / "tests").glob(Path(SUITE.format("*")).name))
    cases = suggested_cases(project, None, _MOST_CASES, known).cases
    if not cases:
        sys.stdout.write("There is nothing new to suggest: suites and earlier suggestions have these utterances.\n")
        return EXIT_OK
    content = write_suite(cases, ".csv")
    intents = count(len({case.intents for case in cases}), "intent")
    sys.stdout.write(f"{count(len(cases), 'case')} of a batch suite, for {intents}, to be reviewed.\n")
    if write:
        write_file(path, content.encode())
        sys.stdout.write(f"Written: {text(str(path))}. Review it, and rename it to .csv.\n")
    else:
        sys.stdout.write(f"\n# {text(str(path))} (write it with --write)\n{log_line(content)}")
    return EXIT_OK


def _known_texts(project: Project, suggested: Iterable[Path]) -> set[str]:
    """Return the utterances of the project's suites and of earlier suggestions, for comparison."""
    suites = read_suites(project.root, find_suites(project.root)).suites
    found = {comparable(case.text) for suite in suites for case in suite.cases}
    for path in suggested:
        content = read_regular(path, most=MAX_FILE_BYTES).decode("utf-8-sig", "replace")
        found |= {comparable(case.text) for case in read_csv_suite(Source(path.name, content), Rules(path.name))}
    return found


def _lines(found: _Found) -> Iterator[str]:
    suggested = found.strength.suggested
    noticed = {
        (fault.operator, fault.what, fault.location) for suggested_test in suggested for fault in suggested_test.notices
    }
    if suggested:
        yield f"{count(len(suggested), 'test')} would notice {count(len(noticed), 'fault')} that no test notices now."
    for suggestion in suggested:
        walked = "" if suggestion.walked else ", which no test follows"
        kind = "case" if suggestion.kind == "case" else "story"
        noticed_by = f"{count(len(suggestion.notices), 'fault')}, along {text(suggestion.along)}{walked}"
        yield f"  {kind} {text(suggestion.name)}: {noticed_by}"
    if found.tasks:
        yield f"No test sentence: {', '.join(text(task.intent) for task in found.tasks)}"
    for group in found.training:
        fewer = f"misunderstood variants: {group.before} now, {group.after} with them"
        yield f"Training sentences of {text(group.intent)} against {group.family} ({fewer})"
    survived = [mutant for mutant in found.strength.mutants if mutant.outcome == "survived"]
    left = sum((mutant.operator, mutant.what, mutant.location) not in noticed for mutant in survived)
    if left:
        yield f"There is no suggestion for {count(left, 'fault')}; `turncheck test strength` lists them."
    yield from found.strength.remarks
    if not suggested and not found.tasks and not found.training and not left:
        yield "The tests notice every fault that was tried: there is nothing to suggest."


def _known(found: _Found, before: Mapping[Key, Path]) -> Iterator[str]:
    """Say which of the suggestions are already in files."""
    there = Counter(before[key] for key in found.keys if key in before)
    for path, number in there.items():
        yield f"Already in {text(str(path))}, to be reviewed: {count(number, 'suggestion')}."
    if there and there.total() == len(found.keys):
        yield "There is nothing new to write."


def _files(found: _Found, root: Path) -> dict[Path, str]:
    """Return the files that do not exist yet, with their content."""
    files = {}
    if cases := found.tests("case"):
        first = root / E2E_CASES_FILE
        files[free_file(root, CASES) if os.path.lexists(first) else first] = cases_text(cases)
    if stories := found.tests("story"):
        files[free_file(root, STORIES)] = stories_text(stories)
    if found.tasks:
        files[free_file(root, TASKS)] = tasks_text(found.tasks)
    if found.training:
        files[free_file(root, TRAINING)] = training_text(found.training)
    return files
