"""``turncheck test core``: typed parameters in, Rasa's files and words out, exit code back."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck import __version__
from turncheck.engines.base import INTERRUPTED, CutShortError
from turncheck.engines.choice import given_rasa
from turncheck.engines.embedded.models import DEFAULT_MODELS, fitting_model, load_model, named_model
from turncheck.evaluation.coverage import coverage, reached_by_stories
from turncheck.evaluation.stories import evaluate_stories, has_annotated_texts
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.plurals import count
from turncheck.project.python_code import code_of_actions
from turncheck.project.story_sentences import with_story_sentences
from turncheck.project.testfiles import TEST_STORY_PREFIX, find_test_stories
from turncheck.publishing.files import write_all, write_file
from turncheck.render.not_run import not_run_text
from turncheck.render.story_files import story_files
from turncheck.render.story_text import story_text
from turncheck.report.model import EngineInfo, ProjectInfo, Report, Skipped, Source, Tool
from turncheck.run.cut_short import as_far_as_it_goes, end_with, not_run
from turncheck.run.reading import read_checked_stories
from turncheck.run.trainable import ensure_policies_accepted, ensure_trainable, read_given_project
from turncheck.web.download import download
from turncheck.web.network import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.base import NluEngine, Policies
    from turncheck.engines.embedded.models import LoadedModel
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.evaluation.stories import Tokenize
    from turncheck.process.screen import Screen
    from turncheck.project.model import Project, Story
    from turncheck.report.model import Core
    from turncheck.settings.options import Settings


@dataclass(frozen=True, slots=True)
class CoreOutput:
    """What ``test core`` writes, as its flags say."""

    folder: Path
    successes: bool = False
    errors: bool = True
    warnings: bool = True
    plots: bool = True
    json: Path | None = None


@dataclass(frozen=True, slots=True)
class CoreTestOptions:
    """What ``test core`` measures. ``endpoints`` is read with the project; nothing of it is called here."""

    project: Path
    stories: Sequence[Path] = ()
    url: str | None = None
    models: Sequence[Path] = ()
    domain: Path | None = None
    config: Path | None = None
    endpoints: Path | None = None
    max_stories: int | None = None
    end_to_end: bool = False
    fail_on_prediction_errors: bool = False
    seed: int = 42
    vectors: bool = False
    allow_custom_code: bool = False
    rasa: Settings | None = None
    """Where a real Rasa is asked instead of the embedded engine."""


def run_test_core(options: CoreTestOptions, output: CoreOutput, screen: Screen, source: Source | None = None) -> int:
    """Judge test stories with one model, and write Rasa's files.

    Ends with 0 though stories fail, unless ``fail_on_prediction_errors``. Custom actions are never called.

    Raises:
        UserError: nothing to read or to judge, no model, a file that cannot be written. Where the engine gave up, all
            that was finished is written before.
        TrainingRefusedError: there was no model, and the project cannot be trained.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    report, stopped = measure_core(options, screen, source)
    write_core_files(report, output, screen)
    tell_core(report, options.project)
    if stopped is not None:
        end_with(stopped)
    return core_exit_code(report, options)


def tell_core(report: Report, project: Path) -> None:
    """Print what was measured, or why nothing was; places are told from here."""
    core = report.core
    told = not_run_text(report) if core is None else story_text(core, report.engine, report.coverage, str(project))
    sys.stdout.write(told)


def core_exit_code(report: Report, options: CoreTestOptions) -> int:
    """Return 1 where a story failed and that is to fail the command, else 0."""
    stories = report.core.stories if report.core is not None else ()
    failed = any(not story.passed for story in stories if not story.duplicate)
    return EXIT_FAILED if failed and options.fail_on_prediction_errors else EXIT_OK


def _nothing_to_test() -> UserError:
    return UserError("there is nothing to test: the files hold no test stories", remedy="Name some with --stories.")


@dataclass(frozen=True, slots=True)
class _CoreMeasurement:
    core: Core
    engine: EngineInfo


def measure_core(
    options: CoreTestOptions, screen: Screen, source: Source | None = None
) -> tuple[Report, CutShortError | None]:
    """Judge test stories, and return the report with what ended it before its end.

    Raises:
        UserError: nothing to read or to judge, no model, flags that do not fit together.
        TrainingRefusedError: there was no model, and the project cannot be trained.
    """
    project = read_given_project(options.project, options.domain, None, options.config, options.endpoints)
    stories = read_test_stories(options)
    if not stories:
        raise _nothing_to_test()
    measured = as_far_as_it_goes(lambda: _measured(options, project, stories, screen))
    finished, stopped = measured.finished, measured.stopped
    core = finished.core if finished is not None else None
    if core is not None and not core.stories:
        raise _nothing_to_test()
    skipped = Skipped(evaluation="core", reason=not_run(stopped)) if stopped is not None and core is None else None
    reached = reached_by_stories(_run(stories, core)) if core is not None else None
    report = Report(
        tool=Tool(name="turncheck", version=__version__),
        project=ProjectInfo(name=project.name),
        source=source or Source(),
        seed=options.seed,
        engine=finished.engine if finished is not None else None,
        core=core,
        coverage=coverage(project, reached, code_of_actions(project.root)) if reached is not None else {},
        skipped=(skipped,) if skipped else (),
        stopped=measured.reason,
        timings=dict(screen.timings),
    )
    return report, stopped


def _measured(options: CoreTestOptions, project: Project, stories: Sequence[Story], screen: Screen) -> _CoreMeasurement:
    annotated = has_annotated_texts(stories)
    with given_rasa(options.rasa, project) as rasa:
        if rasa is None:
            subject = _subject(options, project, screen, annotated=annotated)
        else:
            nlu = rasa.nlu if options.end_to_end or annotated else None
            subject = Subject(rasa.ensemble, nlu, rasa.info(), None if nlu is None else _tokens_by(nlu))
        try:
            with screen.step("core", f"Testing {count(_number(stories, options.max_stories), 'story', 'stories')}"):
                core = evaluate_stories(
                    subject.ensemble,
                    stories,
                    nlu=subject.nlu,
                    tokenize=subject.tokenize,
                    end_to_end=options.end_to_end,
                    training=with_story_sentences(project).nlu.examples if options.end_to_end else (),
                    max_stories=options.max_stories,
                    at_once=1 if rasa is None else rasa.at_once,
                    timed=screen.timer("core"),
                )
            if rasa is not None:
                rasa.ensure_same_model(core)
        except CutShortError as error:
            done = _CoreMeasurement(error.finished, subject.info) if error.finished is not None else None
            raise CutShortError(error, done) from error
    return _CoreMeasurement(core, subject.info)


def _run(stories: Sequence[Story], core: Core) -> list[Story]:
    """Return the stories that were run, wholly or as a part of others: some step of theirs was judged."""
    judged = {step.location for story in core.stories for step in story.steps}
    return [story for story in stories if any(step.location in judged for step in story.steps)]


def _number(stories: Sequence[Story], limit: int | None) -> int:
    return len(stories) if limit is None else min(len(stories), limit)


def write_core_files(report: Report, output: CoreOutput, screen: Screen) -> None:
    """Write the report where one is wanted, the files of ``rasa test core``, and the pictures where nobody waits."""
    if output.json is not None:
        from turncheck.report.codec import encode  # noqa: PLC0415 - where a report is wanted

        write_file(output.json, encode(report))
    core = report.core
    if core is None:
        return
    files = story_files(core, errors=output.errors, warnings=output.warnings, successes=output.successes)
    write_all(output.folder, files)
    if output.plots and report.stopped != INTERRUPTED:
        with screen.step("plots", "Drawing"):
            from turncheck.render.story_plots import story_plots  # noqa: PLC0415 - where it is wanted

            write_all(output.folder, story_plots(report))
    screen.note(f"Results are in {output.folder}")


# --- what is judged --------------------------------------------------------------------------------------------------


def read_test_stories(options: CoreTestOptions) -> list[Story]:
    """Read the test stories: from the URL, from the paths, or where a project keeps them.

    End to end, only files named ``test_*`` count below a path, as in Rasa.

    Raises:
        UserError: a path is missing, a file cannot be read, or there are none.
    """
    if options.url is not None:
        from turncheck.process.temporary import temporary_folder  # noqa: PLC0415 - only for --url

        with temporary_folder("stories") as folder:
            path = Path(folder) / "test_stories_from_url.yml"
            path.write_bytes(download(options.url, Network.of(os.environ)))
            return _stories([path], options.project, end_to_end=False)
    for path in options.stories:
        if not path.exists():
            raise UserError(f"the path '{path}' of --stories does not exist", remedy="Correct the path.")
    paths = list(options.stories) or find_test_stories(options.project)
    if not paths:
        raise UserError(
            "the project has no test stories",
            remedy="Write some to tests/test_stories.yml, or name their files with --stories.",
        )
    return _stories(paths, options.project, end_to_end=options.end_to_end)


def _stories(paths: Sequence[Path], root: Path, *, end_to_end: bool) -> list[Story]:
    stories, findings = read_checked_stories(paths, root)
    faults = [finding for finding in findings if finding.severity == "error"]
    if faults:
        raise UserError(
            f"the test stories cannot be read: {faults[0].message}", location=faults[0].location, remedy=faults[0].hint
        )
    if end_to_end:
        return [story for story in stories if Path(story.location.path).name.startswith(TEST_STORY_PREFIX)]
    return list(stories)


# --- what judges -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """The policies under test, what understands the messages (end to end), and what finds the words of annotated ones.

    Without ``tokenize`` nobody knows the words: the model holds policies alone.
    """

    ensemble: Policies
    nlu: NluEngine | None
    info: EngineInfo
    tokenize: Tokenize | None = None


def _subject(options: CoreTestOptions, project: Project, screen: Screen, *, annotated: bool) -> Subject:
    """Return what is judged. Only end to end are messages understood, and only then is a model's NLU needed."""
    if options.models:
        return subject_of(load_model(named_model(options.models[0])), options, screen)
    parts = ("core", "nlu") if options.end_to_end and project.nlu.examples else ("core",)
    custom = options.allow_custom_code
    fitting = fitting_model(
        options.project / DEFAULT_MODELS, project, parts, allow_custom_code=custom, vectors=options.vectors
    )
    if fitting is not None:
        screen.detail(f"Using the model {fitting.path}")
        return subject_of(fitting, options, screen)
    screen.note("No model fits the project's files: training in memory.")
    ensure_trainable(project)
    ensure_policies_accepted(project, screen)
    from turncheck.engines.embedded.policies.trainer import train_ensemble  # noqa: PLC0415 - where it is needed

    with screen.step("train", "Training"):
        ensemble = train_ensemble(project)
        nlu = None
        if options.end_to_end and project.nlu.examples:
            from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # noqa: PLC0415 - heavy
            from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # noqa: PLC0415 - heavy

            vectors = chosen_vectors(options.vectors)
            nlu = EmbeddedNluTrainer(options.seed, custom, vectors=vectors).fit(with_story_sentences(project))
    tokenize = _tokens_of_pipeline(project, screen) if annotated and project.nlu.examples and nlu is None else None
    return Subject(ensemble, nlu, _info(ensemble, nlu), tokenize)


def _tokens_of_pipeline(project: Project, screen: Screen) -> Tokenize | None:
    """Return the project's own tokenizer, which learns nothing; ``None``, with the reason said, where it has none."""
    from turncheck.engines.embedded.nlu.plan import make_plan  # noqa: PLC0415 - where stories annotate entities
    from turncheck.engines.embedded.nlu.tokenizer_choice import make_tokenizer  # noqa: PLC0415

    try:
        tokenizer = make_tokenizer(make_plan(project.config).tokenizer, project.root)
    except UserError as error:
        screen.note(f"The entities that the stories annotate are not judged: {error.what}.")
        return None
    return lambda texts: [tokenizer.tokenize(text).spans for text in texts]


def subject_of(loaded: LoadedModel, options: CoreTestOptions, screen: Screen) -> Subject:
    """Return what a model has to offer. A model of policies alone understands only ``/intent`` messages, as in Rasa.

    Its NLU is loaded end to end alone; else only its tokenizer is.
    """
    ensemble = loaded.ensemble()
    nlu = loaded.nlu() if options.end_to_end and loaded.has_nlu else None
    if options.end_to_end and nlu is None:
        screen.note(f"The model {loaded.path} has no NLU: of messages only /intent ones are understood.")
    tokenize = loaded.tokenize if loaded.has_nlu and nlu is None else None
    return Subject(ensemble, nlu, _info(ensemble, nlu, loaded.path.name), tokenize)


def _tokens_by(nlu: NluEngine) -> Tokenize:
    """A server says the words of a text with all that it understands of it."""
    return lambda texts: [parse.tokens or () for parse in nlu.parse(texts)]


def _info(ensemble: Ensemble, nlu: NluEngine | None, model: str | None = None) -> EngineInfo:
    return EngineInfo(
        name="embedded",
        version=__version__,
        substitutions=(*(nlu.info.substitutions if nlu is not None else ()), *ensemble.substitutions),
        notes=nlu.info.notes if nlu is not None else (),
        model=model,
    )
