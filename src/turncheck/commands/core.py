"""``turncheck test core``: typed parameters in, Rasa's files and messages out, an exit code back."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, models_of, settings_of
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, INTERRUPTED, UserError
from turncheck.messages.phrasing import at_paths
from turncheck.messages.plain_text import plain
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from turncheck.engines.base import Models
    from turncheck.messages.errors import IncompleteError
    from turncheck.process.screen import Console
    from turncheck.project.model import Project, Story
    from turncheck.render.rendered import Rendered
    from turncheck.report.model import Core, Report, Source
    from turncheck.run.single import SingleRun
    from turncheck.settings.options import Settings


def add_test_core(subparsers: argparse._SubParsersAction[Any]) -> argparse.ArgumentParser:
    """Add ``core`` below ``test``; what it does is set by the caller."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "core",
        help="test the policies on test stories",
        description="Run test stories against a trained model. Custom actions are never called.",
    )
    add_test_core_flags(parser)
    add_story_flags(parser)
    add_engine_flags(parser)
    add_core_output_flags(parser)
    shared.add_verbosity(parser)
    return parser


def add_test_core_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``test core`` reads beside the stories."""
    read = parser.add_argument_group("input")
    shared.add_project(read)
    read.add_argument(
        *("-m", "--model"),
        type=Path,
        nargs="+",
        action="extend",
        metavar="PATH",
        help="a trained model, or a folder of models; several models are compared",
    )
    shared.add_domain(read)
    shared.add_config(read)
    shared.add_seed(read, "training, if done in memory")
    shared.add_vectors_flag(read)
    shared.add_custom_code_flag(read)
    add_cache_flags(read)


def add_story_flags(parser: argparse.ArgumentParser) -> None:
    """Add which test stories are judged, and how."""
    judge = parser.add_argument_group("test stories")
    shared.add_paths(
        judge, "-s", "--stories", words="test stories (default: test_*.yml below tests/; for Rasa 0 and 1: data)"
    )
    judge.add_argument("--url", metavar="URL", help="fetch the test stories from this https address")
    judge.add_argument(
        "--endpoints", type=Path, metavar="PATH", help="the endpoints file; read, but nothing in it is called"
    )
    judge.add_argument("--max-stories", type=shared.at_least_one, metavar="N", help="judge only the first N stories")
    judge.add_argument("--e2e", "--end-to-end", action="store_true", help="judge intents and entities, too")
    judge.add_argument("--fail-on-prediction-errors", action="store_true", help="end with exit code 1 if a story fails")
    judge.add_argument(
        "--evaluate-model-directory",
        action="store_true",
        help="compare the models that `train core --config A B` made",
    )


def add_core_output_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``test core`` writes."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out",
        type=shared.output_path,
        default=Path("results"),
        metavar="DIR",
        help="output folder (default: results)",
    )
    output.add_argument("--successes", action="store_true", help="write the stories that passed to a file, too")
    output.add_argument("--no-errors", action="store_true", help="do not write failed stories to a file")
    output.add_argument("--no-warnings", action="store_true", help="do not write stories with warnings to a file")
    output.add_argument("--no-plot", action="store_true", help="draw no plots")
    shared.add_rasa_files(output)
    shared.add_json(output)


def test_core_options(namespace: argparse.Namespace, *, end_to_end: bool) -> CoreTestOptions:
    """Return what ``test core`` measures."""
    return CoreTestOptions(
        settings=settings_of(namespace, workers=getattr(namespace, "workers", 0)),
        models=models_of(namespace),
        stories=namespace.stories or (),
        url=namespace.url,
        endpoints=namespace.endpoints,
        max_stories=namespace.max_stories,
        end_to_end=end_to_end,
        fail_on_prediction_errors=namespace.fail_on_prediction_errors,
    )


def core_output(namespace: argparse.Namespace) -> CoreOutput:
    """Return what ``test core`` writes."""
    return CoreOutput(
        folder=namespace.out,
        successes=namespace.successes,
        errors=not namespace.no_errors,
        warnings=not namespace.no_warnings,
        plots=not namespace.no_plot,
        json=namespace.json,
        rasa_files=namespace.rasa_files,
    )


_TESTS_APART: Final = 2
"""The first version of Rasa that looks for test stories by their names."""


class CoreOutput(NamedTuple):
    """What ``test core`` writes, as its flags say."""

    folder: Path
    successes: bool = False
    errors: bool = True
    warnings: bool = True
    plots: bool = True
    json: Path | None = None
    rasa_files: int | None = None
    """The major version of Rasa whose files are written; ``None``: the project's."""


class CoreTestOptions(NamedTuple):
    """What ``test core`` judges. ``endpoints`` is read with the project; nothing in it is called here."""

    settings: Settings
    models: Models
    stories: Sequence[Path] = ()
    url: str | None = None
    endpoints: Path | None = None
    max_stories: int | None = None
    end_to_end: bool = False
    fail_on_prediction_errors: bool = False

    @property
    def project(self) -> Path:
        """The assistant's folder."""
        return Path(self.settings.project)


def run_test_core(options: CoreTestOptions, output: CoreOutput, screen: Console, source: Source | None = None) -> int:
    """Judge test stories with one model, and write Rasa's files.

    Returns 0 even if stories fail, unless ``fail_on_prediction_errors``. Custom actions are never called.

    Raises:
        UserError: nothing to read or to judge, no model, a file that cannot be written. Where the engine gave up, all
            that was finished is written before.
        TrainingRefusedError: there was no model, and the project cannot be trained.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    from turncheck.publishing.files import terminal_results
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.partial import end_with
    from turncheck.run.quarantined import with_quarantine

    ensure_apart_from_project(output.folder, options.settings, output.json)
    report, stopped = evaluate_core(options, screen, source)
    held = with_quarantine(report, options.project, screen)
    write_core_files(held.report, output, screen)
    sys.stdout.write(plain(terminal_results(held.report, str(options.project))))
    if stopped is not None:
        end_with(stopped)
    return EXIT_FAILED if held.is_faulty else core_exit_code(held.report, options)


def core_exit_code(report: Report, options: CoreTestOptions) -> int:
    """Return 1 if a story failed that is not in quarantine, and that is to fail the command, else 0."""
    from turncheck.comparison.tally import tallies

    tally = next((tally for tally in tallies(report) if tally.evaluation == "core"), None)
    failed = tally is not None and bool(tally.failed or tally.misunderstood or tally.tolerated or tally.unexpected)
    return EXIT_FAILED if failed and options.fail_on_prediction_errors else EXIT_OK


def _nothing_to_test(options: CoreTestOptions) -> UserError:
    from turncheck.project.testfiles import TEST_STORY_PREFIX

    named = options.settings.stories
    what = f"there is nothing to test: there are no test stories{at_paths(named)}"
    others = [path for path in named if Path(path).is_file() and not Path(path).name.startswith(TEST_STORY_PREFIX)]
    if options.end_to_end and others:
        hint = "Where messages are judged too, as in Rasa, only files whose names begin with `test_` hold test stories."
        return UserError(what, hint=f"{hint} Rename it.")
    return UserError(what, hint="Name some with --stories.")


def evaluate_core(
    options: CoreTestOptions, screen: Console, source: Source | None = None
) -> tuple[Report, IncompleteError | None]:
    """Judge test stories, and return the report with what ended it before its end.

    Raises:
        UserError: nothing to read or to judge, no model, flags that do not fit together.
        TrainingRefusedError: there was no model, and the project cannot be trained.
    """
    from turncheck.run.reading import read_dialogue_assistant

    project = read_dialogue_assistant(options.settings, endpoints=options.endpoints)
    stories = read_test_stories(options, screen, of_project=project)
    if all(story.kind == "rule" for story in stories):
        raise _nothing_to_test(options)
    single = judge_stories(stories, options, project, screen, source)
    core = single.report.core
    if core is not None and not core.stories:
        raise _nothing_to_test(options)
    return single.report, single.stopped


def judge_stories(
    stories: Sequence[Story],
    options: CoreTestOptions,
    project: Project,
    screen: Console,
    source: Source | None = None,
) -> SingleRun:
    """Judge the stories as the flags say; language understanding is only a part of it end to end.

    Raises:
        UserError: the engine cannot judge stories, a model cannot be read, or there is nothing to train on.
    """
    from msgspec import structs

    from turncheck.evaluations.core.measure import StoryOptions
    from turncheck.run.reading import NO_TESTS
    from turncheck.run.single import Subject, run_single

    subject = Subject(options.settings, project, structs.replace(NO_TESTS, stories=tuple(stories)), options.models)
    asked = StoryOptions(options.end_to_end, options.max_stories)
    return run_single("core", subject, screen, asked, source=source)


def write_core_files(report: Report, output: CoreOutput, screen: Console) -> None:
    """Write the report if requested, the files of ``rasa test core``, and the plots unless it was interrupted."""
    from turncheck.publishing.files import write_all, write_report
    from turncheck.render.rasa_files import major_of_files

    if output.json is not None:
        write_report(output.json, report)
    core = report.core
    if core is None:
        return
    major = major_of_files(report.project, output.rasa_files)
    write_all(output.folder, story_files_of(major, core, output))
    if output.plots and report.stopped != INTERRUPTED:
        with screen.step("plots", "Drawing"):
            from turncheck.render.plots import story_plots

            write_all(output.folder, story_plots(report, major))
    screen.note(f"Results are in {output.folder}")


def story_files_of(major: int, core: Core, output: CoreOutput) -> list[Rendered]:
    """Return the files of stories as a major version of Rasa wrote them."""
    from turncheck.render.rasa_files import NAMED_AS_TODAY, story_files

    if major >= NAMED_AS_TODAY:
        return story_files(
            core, errors=output.errors, warnings=output.warnings, successes=output.successes, major=major
        )
    from turncheck.render.older_files import story_files_of_rasa_1  # most projects are newer

    return story_files_of_rasa_1(core, errors=output.errors, successes=output.successes)


# --- what is judged --------------------------------------------------------------------------------------------------


def read_test_stories(options: CoreTestOptions, screen: Console, *, of_project: Project | None = None) -> list[Story]:
    """Read the test stories: from the URL, the paths, or the usual place in a project.

    End to end, only files named ``test_*`` count below a path, as in Rasa. ``of_project``: in a project of Rasa 0 or 1,
    its training stories are judged, as these do.

    Raises:
        UserError: a path is missing, a file cannot be read, or there are none.
    """
    from turncheck.project.testfiles import find_test_stories
    from turncheck.run.reading import ensure_there
    from turncheck.web.exchange import download

    if options.url is not None:
        from turncheck.process.output_files import temporary_folder  # only for --url

        with temporary_folder("stories") as folder:
            content = download(options.url, Network.of(os.environ))
            path = Path(folder) / f"test_stories_from_url{_suffix_of(content)}"
            path.write_bytes(content)
            return _stories([path], options, screen)
    ensure_there("stories", options.stories)
    is_apart = of_project is None or of_project.domain.rasa >= _TESTS_APART
    if not options.stories and not options.end_to_end and not is_apart and of_project is not None:
        return list(of_project.stories)
    paths = list(options.stories) or find_test_stories(options.project)
    if not paths:
        raise UserError(
            "the project has no test stories",
            hint="Write some to tests/test_stories.yml, or name their files with --stories.",
        )
    return _stories(paths, options, screen)


def _suffix_of(content: bytes) -> str:
    """Return the suffix for a file of stories: Markdown has a header line, which is a comment in YAML, and steps."""
    from turncheck.project.testfiles import MARKDOWN

    lines = [line.strip() for line in content.splitlines() if line.strip()]
    return MARKDOWN if any(line.startswith(b"* ") for line in lines) and lines[0][:1] in b"#<" else ".yml"


def _stories(paths: Sequence[Path], options: CoreTestOptions, screen: Console) -> list[Story]:
    from turncheck.project.files import PATH_WITHOUT_DATA
    from turncheck.run.reading import read_checked_stories

    stories, findings = read_checked_stories(paths, options.project)
    faults = [finding for finding in findings if finding.severity == "error"]
    if faults:
        raise UserError(
            f"the test stories cannot be read: {faults[0].message}", location=faults[0].location, hint=faults[0].hint
        )
    for finding in findings if stories else ():
        if finding.code == PATH_WITHOUT_DATA:
            screen.note(f"Warning: {finding.message} {finding.hint}")
    if options.end_to_end:
        for story in stories:
            _ensure_texts(story)
        return [story for story in stories if _is_named_as_test(Path(story.location.path))]
    return list(stories)


def _is_named_as_test(path: Path) -> bool:
    from turncheck.project.testfiles import MARKDOWN, TEST_STORY_PREFIX

    return path.name.startswith(TEST_STORY_PREFIX) or path.suffix == MARKDOWN


def _ensure_texts(story: Story) -> None:
    """Refuse a training story in Markdown: end to end, Rasa wants the text of each message there.

    Raises:
        UserError: names the line.
    """
    from turncheck.project.model import UserStep
    from turncheck.project.testfiles import MARKDOWN

    for step in story.steps if story.location.path.endswith(MARKDOWN) else ():
        if isinstance(step, UserStep) and step.text is None:
            raise UserError(
                f"`* {step.intent}` is a line of a training story, not of a test story: expected `* intent: text`",
                location=step.location,
                hint="Write what the user says after it, or test by intents: `turncheck test core --stories FILE`.",
            )
