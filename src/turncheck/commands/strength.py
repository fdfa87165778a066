"""``turncheck test strength`` and ``robustness``: how good the tests are; ``turncheck suggest``: which to write next.

The strength is that of the tests tried on mutants of the project; robustness, of test sentences as real users would
write them.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, settings_of
from turncheck.commands.suites import suggested_cases
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import log_line, plain
from turncheck.process.regular_file import read_regular
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from turncheck.evaluations.robustness.robustness import TrainingSentences
    from turncheck.evaluations.strength.suggested import Key, SentenceTask
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.model import Strength
    from turncheck.report.strength import SuggestedTest
    from turncheck.run.inputs import ChangedLines
    from turncheck.run.partial import PartialResult
    from turncheck.run.reading import Tests
    from turncheck.run.single import SingleRun, Subject
    from turncheck.settings.options import Settings

BUDGET = 600
"""After how many seconds no further mutant is tried, unless the command says otherwise."""


def add_test_strength(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``strength`` below ``test``."""
    parser = subparsers.add_parser(
        "strength",
        help="try the tests on mutants of the project: which faults would no test notice?",
        description="Plant one small fault at a time in a copy of the project, and see whether its tests notice.",
    )
    add_tested_flags(parser)
    run = parser.add_argument_group("mutants")
    run.add_argument("--changed", action="store_true", help="only mutants of lines that differ from the base")
    run.add_argument(
        "--mutants", type=shared.at_least_one, default=0, metavar="N", help="number of mutants to try (default: all)"
    )
    run.add_argument(
        "--budget",
        type=shared.not_negative,
        default=BUDGET,
        metavar="S",
        help=f"stop after S seconds, with what was found until then (default: {BUDGET}; 0: no limit)",
    )
    run.add_argument(
        "--fail-under", type=_score, metavar="SCORE", help="end with exit code 1 if the score is below this"
    )
    output = parser.add_argument_group("output")
    shared.add_json(output)
    shared.add_verbosity(output)
    parser.set_defaults(handler=_test_strength)


def add_tested_flags(parser: argparse.ArgumentParser) -> None:
    """Add what is read: the project and its tests."""
    read = parser.add_argument_group("input")
    shared.add_project(read)
    shared.add_training_files(read)
    shared.add_paths(read, "-s", "--stories", words="test stories (default: test_*.yml below tests/)")
    shared.add_paths(read, "--e2e", words="end-to-end test cases (default: found in tests/ and e2e_tests/)")
    read.add_argument(
        "-u", "--nlu", metavar="PATH", help="test sentences, a file or folder (default: found below tests/)"
    )
    read.add_argument("--base", metavar="REF", help="branch, tag or commit that --changed compares with")
    read.add_argument("--action-endpoint", metavar="URL", help="the action server, instead of the one in endpoints.yml")
    shared.add_seed(read, "mutants and training")
    shared.add_workers(read)
    shared.add_vectors_flag(read)
    shared.add_custom_code_flag(read)
    add_cache_flags(read)


def tested_settings(namespace: argparse.Namespace) -> Settings:
    """Return the settings of a command with these flags."""
    settings = settings_of(namespace, workers=namespace.workers)
    e2e = tuple(map(str, namespace.e2e or ()))
    return replace(settings, e2e=e2e, base=namespace.base, strength_budget=getattr(namespace, "budget", 0))


def _test_strength(namespace: argparse.Namespace) -> int:
    options = StrengthOptions(
        tested_settings(namespace), namespace.mutants, namespace.changed, namespace.fail_under, namespace.json
    )
    return run_test_strength(options, shared.screen_of(namespace))


def _score(written: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, not '{written[:80]}'")
    return value


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``suggest``."""
    parser = subparsers.add_parser(
        "suggest",
        help=words,
        description="Find faults that no test would notice, and suggest tests that would. Each suggested test"
        " has been run.",
    )
    add_tested_flags(parser)
    look = parser.add_argument_group("suggestions")
    look.add_argument(
        "--mutants", type=shared.at_least_one, default=0, metavar="N", help="number of mutants to try (default: all)"
    )
    words = f"try mutants for S seconds (default: {BUDGET}; 0: all of them)"
    look.add_argument("--budget", type=shared.not_negative, default=BUDGET, metavar="S", help=words)
    look.add_argument("--write", action="store_true", help="write the suggestions to new files below tests/")
    shared.add_verbosity(parser)
    parser.set_defaults(handler=_suggest)


def _suggest(namespace: argparse.Namespace) -> int:
    options = SuggestOptions(tested_settings(namespace), namespace.mutants, namespace.write)
    return run_suggest(options, shared.screen_of(namespace))


def add_test_robustness(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``robustness`` below ``test``."""
    parser = subparsers.add_parser(
        "robustness",
        help="vary test sentences the way real users write",
        description="Vary test sentences with typos, casing, abbreviations and so on, and count which variants"
        " are misunderstood.",
    )
    read = parser.add_argument_group("input")
    shared.add_project(read)
    shared.add_training_files(read)
    words = "test sentences (default: below tests, else cross-validation)"
    read.add_argument("-u", "--nlu", metavar="PATH", help=words)
    shared.add_seed(read, "the variants")
    read.add_argument(
        "--folds",
        type=shared.folds,
        default=5,
        metavar="N",
        help="number of folds of the cross-validation (default: 5)",
    )
    shared.add_workers(read)
    shared.add_vectors_flag(read)
    shared.add_custom_code_flag(read)
    add_cache_flags(read)
    add_engine_flags(parser)
    output = parser.add_argument_group("output")
    words = "end with exit code 1 above this failure rate"
    output.add_argument("--fail-over", type=shared.share, metavar="RATE", help=words)
    shared.add_json(output)
    shared.add_verbosity(output)
    parser.set_defaults(handler=_test_robustness)


def _test_robustness(namespace: argparse.Namespace) -> int:
    settings = settings_of(namespace, workers=namespace.workers)
    return run_test_robustness(
        RobustnessOptions(settings, namespace.fail_over, namespace.json), shared.screen_of(namespace)
    )


_PROGRESS_UPDATES: Final = 10
"""How often progress is printed."""


class StrengthOptions(NamedTuple):
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
    from turncheck.evaluations.strength.measure import MutantOptions
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.reading import ensure_trainable, read_dialogue_assistant
    from turncheck.run.single import Subject, run_single

    settings = options.settings
    ensure_apart_from_project(None, settings, options.json)
    project = read_dialogue_assistant(settings)
    ensure_trainable(project, sentences_do=True)
    tests = _tests_that_could_notice(settings)
    lines = lines_of(options.changed, settings)

    subject = Subject(
        replace(settings, strength="changed" if options.changed else settings.strength),
        project,
        tests,
        changed=None if lines is None else lambda: lines,
    )
    asked = MutantOptions(options.most, progress=lambda done, of: _report_progress(screen, done, of))
    single = run_single("strength", subject, screen, asked)
    strength = single.report.strength
    finish(single, settings, options.json)
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


def _readable_tests(settings: Settings) -> Tests:
    """Return the tests of a project; there may be none.

    Raises:
        UserError: some cannot be read: without them, the others would seem to notice too little.
    """
    from turncheck.project.e2e.cases import read_cases
    from turncheck.run.reading import ensure_tests_read, read_tests

    tests = read_tests(settings)
    ensure_tests_read("the test sentences", tests.nlu_findings)
    ensure_tests_read("the test stories", tests.story_findings)
    ensure_tests_read("the end-to-end cases", read_cases(Path(settings.project), tests.e2e).findings)
    return tests


def _tests_that_could_notice(settings: Settings) -> Tests:
    """Return the tests of a project.

    Raises:
        UserError: it has none, or some cannot be read.
    """
    tests = _readable_tests(settings)
    if not (tests.stories or tests.e2e or (tests.nlu is not None and tests.nlu.examples)):
        raise UserError(
            "the project has no tests that could notice a fault",
            hint="`turncheck init` writes first tests, `turncheck suggest` finds those that notice most.",
        )
    return tests


def lines_of(changed: bool, settings: Settings) -> ChangedLines | None:
    """Return the lines that a change touches, if only these are requested.

    Raises:
        UserError: they cannot be determined.
    """
    from turncheck.run.inputs import changed_lines

    if not changed:
        return None
    from turncheck.ci.hosts import find_host  # only for --changed

    lines = changed_lines(settings, find_host(os.environ))
    if lines.unknown:
        raise UserError(f"no changed lines to try: {lines.unknown}", hint="Omit --changed to try all lines.")
    return lines


def finish(single: SingleRun, settings: Settings, json: Path | None) -> None:
    """Write the report if requested, and print what was measured, or why nothing was.

    Raises:
        UserError: the engine gave up.
        KeyboardInterrupt: somebody interrupted it.
    """
    from turncheck.publishing.files import terminal_results, write_report
    from turncheck.run.partial import end_with

    report = single.report
    if json is not None:
        write_report(json, report)
    sys.stdout.write(plain(terminal_results(report, settings.project)))
    if single.stopped is not None:
        end_with(single.stopped)


# --- test robustness --------------------------------------------------------------------------------------------------


class RobustnessOptions(NamedTuple):
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
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.reading import ensure_tests_read, read_assistant, read_tests
    from turncheck.run.single import Subject, run_single

    settings = options.settings
    ensure_apart_from_project(None, settings, options.json)
    project = read_assistant(settings)
    tests = read_tests(settings)
    ensure_tests_read("the test sentences", tests.nlu_findings)
    subject = Subject(settings, project, tests)
    single = run_single("robustness", subject, screen, in_folds=tests.nlu is None)
    robustness = single.report.robustness
    finish(single, settings, options.json)
    most, rate = options.fail_over, None if robustness is None else robustness.failure_rate
    if most is not None and rate is None:
        raise UserError("--fail-over cannot be judged: no sentence that is understood could be varied")
    return EXIT_FAILED if most is not None and rate is not None and rate > most else EXIT_OK


class SuggestOptions(NamedTuple):
    """Where to look. ``most``: the maximum number of mutants (0: all); ``write``: write files, else only show them."""

    settings: Settings
    most: int = 0
    write: bool = False


class _Found(NamedTuple):
    strength: Strength
    tasks: tuple[SentenceTask, ...]
    training: tuple[TrainingSentences, ...]

    def tests(self, kind: str) -> tuple[SuggestedTest, ...]:
        return tuple(suggestion for suggestion in self.strength.suggested if suggestion.kind == kind)

    @property
    def keys(self) -> list[Key]:
        """What distinguishes each suggestion from the others."""
        from turncheck.evaluations.strength.suggested import key_of_task, key_of_test, key_of_training

        return [
            *map(key_of_test, self.strength.suggested),
            *map(key_of_task, self.tasks),
            *map(key_of_training, self.training),
        ]

    def without(self, known: Collection[Key]) -> _Found:
        """Return the suggestions that are new."""
        import msgspec

        from turncheck.evaluations.strength.suggested import key_of_task, key_of_test, key_of_training

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
    from turncheck.evaluations.strength.measure import MutantOptions
    from turncheck.evaluations.strength.suggested import sentence_tasks
    from turncheck.run.partial import PartialResult, end_with
    from turncheck.run.reading import ensure_trainable, read_assistant, read_dialogue_assistant
    from turncheck.run.single import Subject, run_single

    settings = options.settings
    if (bot := read_assistant(settings)).platform.names_all:
        return _suggest_suite(bot, write=options.write)
    project = read_dialogue_assistant(settings)
    ensure_trainable(project, sentences_do=True)
    subject = Subject(settings, project, _readable_tests(settings))
    tried = run_single("strength", subject, screen, MutantOptions(options.most, suggest=True))
    if tried.stopped is not None and tried.report.strength is None:
        end_with(tried.stopped)
    strength = cast("Strength", tried.report.strength)
    varied: PartialResult[tuple[TrainingSentences, ...]] = PartialResult((), tried.stopped)
    if tried.stopped is None:
        varied = _missing_sentences(subject, screen)
    examples = subject.tests.nlu.examples if subject.tests.nlu is not None else ()
    found = _Found(strength, sentence_tasks(project, examples, strength), varied.finished or ())
    _show(found, options)
    if varied.stopped is not None:
        end_with(varied.stopped)
    return EXIT_OK


def _missing_sentences(subject: Subject, screen: Console) -> PartialResult[tuple[TrainingSentences, ...]]:
    """Return training sentences with which more variants of test sentences would be understood."""
    from turncheck.evaluations.robustness.measure import measure_training_sentences
    from turncheck.run.assistant import opened_engine
    from turncheck.run.folders import cache_of_command
    from turncheck.run.partial import run_until_failure

    settings, project, environment = subject.settings, subject.project, subject.environment

    def missing() -> tuple[TrainingSentences, ...]:
        cache = cache_of_command(settings, environment, screen)
        with (
            opened_engine(settings, project, environment, screen, cache=cache) as engine,
            screen.step("robustness", "Varying the test sentences"),
        ):
            return measure_training_sentences(engine, project, subject.tests.nlu, settings)

    return run_until_failure(missing)


def _show(found: _Found, options: SuggestOptions) -> None:
    """Print the suggestions, and write those that are new, or print them, too."""
    from turncheck.evaluations.strength.suggested import suggested_before
    from turncheck.publishing.files import write_file

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
    from turncheck.evaluations.strength.suggested import free_file
    from turncheck.project.batch.writer import write_suite
    from turncheck.publishing.files import write_file
    from turncheck.run.reading import ensure_readable

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
    from turncheck.project.batch.model import comparable
    from turncheck.project.batch.reader import find_suites, read_suites
    from turncheck.project.batch.rules import Rules
    from turncheck.project.batch.suite_file import read_csv_suite
    from turncheck.project.folder import MAX_FILE_BYTES
    from turncheck.yaml_tree.source import Source

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
    from turncheck.evaluations.strength.suggested import (
        CASES,
        STORIES,
        TASKS,
        TRAINING,
        cases_text,
        free_file,
        stories_text,
        tasks_text,
        training_text,
    )
    from turncheck.project.testfiles import E2E_CASES_FILE

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
