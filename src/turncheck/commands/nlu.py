"""``turncheck test nlu`` and ``turncheck data split nlu``: typed parameters in, files and words out, exit code back."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turncheck import __version__
from turncheck.ci.git import find_checkout
from turncheck.engines.base import INTERRUPTED
from turncheck.engines.choice import given_rasa
from turncheck.engines.embedded.models import DEFAULT_MODELS, fitting_model, load_model, named_model
from turncheck.evaluation.nlu import NluMeasurement, cross_validate, evaluate_held_out, why_not_testable
from turncheck.evaluation.rasa_split import response_name, split_as_rasa
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.plurals import count
from turncheck.process.screen import Screen, duration
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml
from turncheck.project.reader import DEFAULT_CONFIG, DEFAULT_DATA, read_nlu, read_nlu_responses, read_project
from turncheck.project.story_sentences import with_story_sentences
from turncheck.publishing.files import write_all, write_file
from turncheck.render.nlu_text import nlu_text
from turncheck.render.not_run import not_run_text
from turncheck.render.rasa_files import as_json, intent_errors, nlu_files
from turncheck.render.rendered import Rendered
from turncheck.report.codec import encode
from turncheck.report.model import ProjectInfo, Report, Skipped, Source, Tool
from turncheck.run.cut_short import as_far_as_it_goes, end_with, not_run
from turncheck.run.reading import read_checked_nlu
from turncheck.run.trainable import ensure_assistant, ensure_readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from turncheck.engines.base import CutShortError, NluEngine
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
    from turncheck.engines.rasa_server.engines import RasaEngines
    from turncheck.project.model import Example, NluData, Project, Response
    from turncheck.settings.options import Settings

DEFAULT_FOLDER: Final = "results"

DEFAULT_COMPARISON_FOLDER: Final = "nlu_comparison_results"
"""As Rasa's manual says (its program writes to ``results``)."""

_CONFIG_SUFFIXES: Final = (".yml", ".yaml")
_LARGEST_SEED: Final = 2**31


@dataclass(frozen=True, slots=True)
class NluOutput:
    """What ``test nlu`` writes, as its flags say. The last four are those of older Rasa versions."""

    folder: Path
    successes: bool = False
    errors: bool = True
    plots: bool = True
    json: Path | None = None
    report_folder: Path | None = None
    errors_file: Path | None = None
    histogram_file: Path | None = None
    confusion_file: Path | None = None


@dataclass(frozen=True, slots=True)
class NluTestOptions:
    """What ``test nlu`` measures.

    ``config`` is one file; several are compared by :mod:`turncheck.commands.compare_pipelines`.
    """

    project: Path
    nlu: Path | None = None
    config: Path | None = None
    domain: Path | None = None
    model: Path | None = None
    cross_validation: bool = False
    folds: int = 5
    seed: int = 42
    workers: int = 0
    pretrained: bool = False
    vectors: bool = False
    allow_custom_code: bool = False
    rasa: Settings | None = None
    """Where a real Rasa is asked instead of the embedded engine."""


def config_files(paths: Sequence[Path]) -> list[Path]:
    """Return the configurations that ``--config`` names: files, or one folder with all YAML files in it, sorted."""
    if len(paths) == 1 and paths[0].is_dir():
        return sorted(path for path in paths[0].iterdir() if path.suffix in _CONFIG_SUFFIXES)
    return list(paths)


def tell_nlu(report: Report, project: Path) -> None:
    """Print what was measured, or why nothing was; places are told from here."""
    nlu = report.nlu
    sys.stdout.write(nlu_text(nlu, report.engine, str(project)) if nlu is not None else not_run_text(report))


def run_test_nlu(options: NluTestOptions, output: NluOutput, screen: Screen, source: Source | None = None) -> int:
    """Judge NLU data, held-out or by cross-validation, and write Rasa's files. Wrong predictions do not fail.

    Without ``nlu`` the project's own data are judged, as Rasa does: by an engine that was trained on them, unless by
    cross-validation.

    Raises:
        UserError: nothing to read, nothing to judge, a file that cannot be written. Where the engine gave up, all that
            was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    report, stopped = measure_nlu(options, screen, source)
    write_test_files(report, output, screen)
    tell_nlu(report, options.project)
    if stopped is not None:
        end_with(stopped)
    return EXIT_OK


def measure_nlu(
    options: NluTestOptions, screen: Screen, source: Source | None = None
) -> tuple[Report, CutShortError | None]:
    """Judge NLU data, and return the report with what ended it before its end.

    Raises:
        UserError: nothing to read, nothing to judge, flags that do not fit together.
    """
    project, data = read_training_and_test(options)
    reason = why_not_testable(
        replace(project, nlu=data), None if options.cross_validation else data, folds=options.folds
    )
    if reason:
        raise UserError(f"there is nothing to test: {reason}", remedy="Name NLU data with --nlu.")

    def measure() -> NluMeasurement:
        with given_rasa(options.rasa, project) as rasa:
            measurement = _measured(project, data, options, rasa, screen)
            if rasa is not None:
                rasa.ensure_same_model(measurement)
        return measurement

    measured = as_far_as_it_goes(measure)
    finished, stopped = measured.finished, measured.stopped
    skipped = Skipped(evaluation="nlu", reason=not_run(stopped)) if stopped is not None and finished is None else None
    report = Report(
        tool=Tool(name="turncheck", version=__version__),
        project=ProjectInfo(name=project.name),
        source=source or _source(options.project),
        seed=options.seed,
        engine=finished.engine if finished else None,
        nlu=finished.section if finished else None,
        skipped=(skipped,) if skipped else (),
        stopped=measured.reason,
        timings=dict(screen.timings),
    )
    return report, stopped


def _measured(
    project: Project, data: NluData, options: NluTestOptions, rasa: RasaEngines | None, screen: Screen
) -> NluMeasurement:
    if not options.cross_validation:
        engine: NluEngine
        trained: frozenset[str] | None = None
        if rasa is not None:
            engine = rasa.nlu
        else:
            engine = own = engine_for(project, options, screen)
            trained = frozenset(own.sentences.texts)
        with screen.step("nlu", f"Judging {count(len(data.examples), 'sentence')}"):
            return evaluate_held_out(project, engine, data, pretrained=options.pretrained, trained=trained)
    if rasa is not None:
        if rasa.capabilities.no_training is not None:
            remedy = "Leave --cross-validation out, or use --rasa-command."
            raise UserError(rasa.capabilities.no_training, remedy=remedy)
        screen.note(rasa.before_folds(options.folds))
    elif options.model is not None:
        screen.note("--cross-validation trains engines of its own: --model is not used.")
    with screen.step("nlu", f"Judging {count(len(data.examples), 'sentence')} in {count(options.folds, 'fold')}"):
        return cross_validate(
            replace(project, nlu=data),
            _trainer(options, data) if rasa is None else rasa.nlu_trainer,
            folds=options.folds,
            seed=options.seed,
            workers=options.workers if rasa is None else 1,
            pretrained=options.pretrained,
            progress=_told(screen) if rasa is None else _estimated(screen),
        )


def _told(screen: Screen) -> Callable[[int, int], None]:
    return lambda done, total: screen.detail(f"{done} of {count(total, 'fold')} done")


def _estimated(screen: Screen) -> Callable[[int, int], None]:
    """Folds of real Rasa take minutes each: say how long the rest takes."""
    begin = screen.clock()

    def tell(done: int, total: int) -> None:
        rest = (screen.clock() - begin) / done * (total - done)
        left = f": about {duration(rest)} to go" if done < total else ""
        screen.note(f"{done} of {count(total, 'fold')} done{left}")

    return tell


def _source(folder: Path) -> Source:
    """The commit that is checked out: the pictures say it."""
    checkout = find_checkout(folder)
    return Source(commit=checkout.commit() if checkout else None)


def read_training_and_test(options: NluTestOptions) -> tuple[Project, NluData]:
    """Read the project that is trained on, and the data that are judged.

    Raises:
        UserError: a path that was given is missing, there is no configuration to train by, or a part of what is needed
            cannot be read.
    """
    for name, path in (("--nlu", options.nlu), ("--config", options.config), ("--domain", options.domain)):
        if path is not None and not path.exists():
            raise UserError(f"the path '{path}' of {name} does not exist", remedy="Correct the path.")
    project = read_project(options.project, domain=options.domain, config=options.config)
    ensure_assistant(project)
    is_trained = options.rasa is None and (options.cross_validation or options.model is None)
    ensure_readable(project, _needed_parts(options, is_trained=is_trained))
    if is_trained and not project.config.keys:
        raise UserError(
            f"there is no configuration to train by at '{options.config or options.project / DEFAULT_CONFIG}'",
            remedy="Name a configuration with --config.",
        )
    data = project.nlu
    if options.nlu is not None:
        data, findings = read_checked_nlu([options.nlu], options.project)
        fault = next((finding for finding in findings if finding.severity == "error"), None)
        if fault is not None:
            what = f"the NLU data at '{options.nlu}' cannot be read completely: {fault.message.rstrip('.')}"
            raise UserError(what, location=fault.location, remedy=fault.hint or None)
    if not data.examples:
        raise UserError(
            f"there are no NLU examples at '{options.nlu or options.project / DEFAULT_DATA}'",
            remedy="Name NLU data with --nlu.",
        )
    return project, data


def _needed_parts(options: NluTestOptions, *, is_trained: bool) -> set[str]:
    """Return what must be whole: the data that are judged, and what the judged engine is trained on."""
    needed = {"config"} if is_trained else set()
    if options.nlu is None:
        needed.add("nlu")  # judged and, unless by a model that is there, trained on
    if is_trained and not options.cross_validation:
        needed |= {"nlu", "sentences"}  # the folds of cross-validation are trained on what is judged alone
    return needed


def _trainer(options: NluTestOptions, data: NluData) -> EmbeddedNluTrainer:
    """Return the trainer of all folds of ``data``."""
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # noqa: PLC0415 - imports NumPy

    vectors = chosen_vectors(options.vectors, data)
    return trainer_for(options.seed, allow_custom_code=options.allow_custom_code, vectors=vectors)


def trainer_for(seed: int, *, allow_custom_code: bool, vectors: SentenceVectors | None = None) -> EmbeddedNluTrainer:
    """Return the trainer of the embedded engine."""
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # noqa: PLC0415 - imports scikit-learn

    return EmbeddedNluTrainer(seed, allow_custom_code, vectors=vectors)


def engine_for(project: Project, options: NluTestOptions, screen: Screen) -> EmbeddedNluEngine:
    """Take the model that was named, else the newest that fits the project's files; else train, and say so.

    Raises:
        UserError: the named model is not there, cannot be read, or understands no sentences.
    """
    if options.model is not None:
        return load_model(named_model(options.model)).nlu()
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # noqa: PLC0415 - imports NumPy

    custom = options.allow_custom_code
    fitting = fitting_model(
        options.project / DEFAULT_MODELS, project, ("nlu",), allow_custom_code=custom, vectors=options.vectors
    )
    if fitting is not None:
        screen.note(f"The model {fitting.path} fits the project's files and is used.")
        return fitting.nlu()
    with screen.step("train", "No model fits the project's files: training"):
        return trainer_for(options.seed, allow_custom_code=custom, vectors=chosen_vectors(options.vectors)).fit(
            with_story_sentences(project)
        )


def write_test_files(report: Report, output: NluOutput, screen: Screen) -> None:
    """Write the report where one is wanted, the files of ``rasa test nlu``, and the pictures where nobody waits."""
    if output.json is not None:
        write_file(output.json, encode(report))
    nlu = report.nlu
    if nlu is None:
        return
    files = nlu_files(nlu, successes=output.successes, errors=output.errors)
    write_all(output.folder, files)
    if output.report_folder is not None:
        write_all(output.report_folder, [file for file in files if file.name.endswith("_report.json")])
    if output.errors_file is not None:
        write_file(output.errors_file, as_json("errors.json", intent_errors(nlu)).encoded)
    if report.stopped != INTERRUPTED and (output.plots or output.histogram_file or output.confusion_file):
        with screen.step("plots", "Drawing"):
            _draw(report, output)
    screen.note(
        f"Results are in {output.folder}" if output.folder.is_dir() else "There was nothing to write to a file."
    )


def _draw(report: Report, output: NluOutput) -> None:
    from turncheck.render.plots import nlu_plots  # noqa: PLC0415 - imports matplotlib

    for plot in nlu_plots(report):
        if output.plots:
            write_all(output.folder, [plot])
        if plot.name == "intent_histogram.png" and output.histogram_file:
            write_file(output.histogram_file, plot.encoded)
        if plot.name == "intent_confusion_matrix.png" and output.confusion_file:
            write_file(output.confusion_file, plot.encoded)


# --- data split nlu --------------------------------------------------------------------------------------------------


def run_data_split_nlu(
    project: Path, nlu: Path | None, out: Path, *, fraction: float, seed: int | None, screen: Screen
) -> int:
    """Split NLU data into ``training_data.yml`` and ``test_data.yml`` as ``rasa data split nlu`` does.

    The responses of retrieval intents go to ``nlg_training_data.yml`` and ``nlg_test_data.yml``, which are written even
    when empty. Without a seed one is drawn, and named so that the split can be made again.

    Raises:
        UserError: the fraction lies outside (0, 1), nothing can be read, a file cannot be written.
    """
    if not 0 < fraction < 1:
        raise UserError(f"--training-fraction is {fraction:g}, and must lie between 0 and 1")
    path = nlu or project / DEFAULT_DATA
    if nlu is None:
        ensure_assistant(read_project(project))
    if not path.exists():
        raise UserError(f"the path '{path}' of --nlu does not exist", remedy="Name NLU data with --nlu.")
    data, findings = read_nlu([path], project)
    faults = [finding for finding in findings if finding.severity == "error"]
    if faults:
        # A half-read file would be split without a word about the half that is lost.
        raise UserError(
            f"the NLU data cannot be read: {faults[0].message}",
            location=faults[0].location,
            remedy=f"`turncheck data validate` lists {count(len(faults), 'fault')}.",
        )
    if not data.examples:
        raise UserError(f"there are no NLU examples at '{path}'", remedy="Name NLU data with --nlu.")
    if seed is None:
        seed = random.SystemRandom().randrange(_LARGEST_SEED)
        screen.note(f"The seed of this split is {seed}: --random-seed {seed} makes it again.")
    responses = read_nlu_responses([path], project)
    split = split_as_rasa(data.examples, responses, fraction=fraction, seed=seed)
    for warning in split.warnings:
        screen.note(f"Warning: {warning}")
    write_all(
        out,
        (
            _yaml("training_data.yml", write_nlu_yaml(replace(data, examples=split.training))),
            _yaml("test_data.yml", write_nlu_yaml(replace(data, examples=split.test))),
            _yaml("nlg_training_data.yml", write_responses_yaml(needed_responses(split.training, responses))),
            _yaml("nlg_test_data.yml", write_responses_yaml(needed_responses(split.test, responses))),
        ),
    )
    sys.stdout.write(
        f"{count(len(split.training), 'example')} to train on and {len(split.test):,} to test with: {out}\n"
    )
    return EXIT_OK


def needed_responses(examples: Iterable[Example], responses: Mapping[str, Response]) -> list[Response]:
    """Return the responses that retrieval examples select, in the order of the examples."""
    labels = (example.intent for example in examples if example.intent and "/" in example.intent)
    names = dict.fromkeys(response_name(label) for label in labels)
    return [responses[name] for name in names if name in responses]


def _yaml(name: str, content: str) -> Rendered:
    return Rendered(name, "application/yaml", content)
