"""``turncheck test nlu`` and ``turncheck data split nlu``: typed parameters in, files and messages out, an exit code
back."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, models_of, settings_of
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, INTERRUPTED, UserError
from turncheck.messages.plain_text import plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from turncheck.engines.base import Models
    from turncheck.messages.errors import IncompleteError
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.render.rendered import Rendered
    from turncheck.report.model import Nlu, Report, Source
    from turncheck.settings.options import Settings

_CROSS_VALIDATION: Final = "crossvalidation"
_FOLDS: Final = 5
_FOLDS_OF_RASA_0: Final = 10
_DATA_SUFFIXES: Final = frozenset({".md", ".json"})
"""Suffixes of ``-d`` in Rasa NLU 0.x, where it is the data; a domain never has one of them."""


def add_test_nlu(subparsers: argparse._SubParsersAction[Any]) -> argparse.ArgumentParser:
    """Add ``nlu`` below ``test``; what it does is set by the caller."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "nlu",
        help="test intents, entities and responses",
        description="Test NLU data with a trained model or by cross-validation, or compare pipelines.",
    )
    add_nlu_flags(parser)
    parser.add_argument(
        "--repeat",
        type=shared.repetitions,
        metavar="N",
        help="ask for each sentence N times, to find flaky ones",
    )
    add_engine_flags(parser)
    add_output_flags(parser)
    shared.add_verbosity(parser)
    return parser


def add_nlu_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``test nlu`` reads and how it measures."""
    read = parser.add_argument_group("input")
    shared.add_project(read)
    read.add_argument("-u", "--nlu", "--data", type=Path, metavar="PATH", help="test data (default: data)")
    shared.add_model(read)
    shared.add_config(read, several="several, or a folder of them, are compared")
    shared.add_domain(read)
    measure = parser.add_argument_group("evaluation")
    measure.add_argument(
        "--cross-validation", action="store_true", help="train and judge in folds, by cross-validation"
    )
    measure.add_argument(
        "--mode",
        choices=("evaluation", _CROSS_VALIDATION),
        metavar="MODE",
        help="as in rasa_nlu.evaluate: evaluation or crossvalidation (10 folds)",
    )
    measure.add_argument(
        "-f", "--folds", type=shared.folds, metavar="N", help="number of folds (default: 5; for Rasa 0 and 1: 10)"
    )
    parser.set_defaults(are_folds_named=True, repeat=None)
    shared.add_seed(measure, "folds and training")
    shared.add_workers(measure)
    measure.add_argument("--cluster", metavar="ADDRESS", help="train on a Dask cluster: tcp://host:port")
    shared.add_vectors_flag(measure)
    shared.add_custom_code_flag(measure)
    add_cache_flags(measure)
    measure.add_argument("--pretrained", action="store_true", help="score the entities of spaCy and Duckling, too")
    compare = parser.add_argument_group("comparing pipelines")
    compare.add_argument(
        "-r", "--runs", type=shared.whole_number, default=3, metavar="N", help="repetitions (default: 3)"
    )
    compare.add_argument(
        *("-p", "--percentages"),
        type=shared.whole_number,
        nargs="+",
        action="extend",
        metavar="N",
        help="percentages of the training data to leave out (default: 0 25 50 75; for Rasa 0 and 1 also 90)",
    )


def add_output_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``test nlu`` writes; the last flags, and the value of ``--successes``, are those of older versions."""
    output = parser.add_argument_group("output")
    output.add_argument(
        "--out",
        type=shared.output_path,
        metavar="DIR",
        help="output folder (default: results; for a comparison, nlu_comparison_results)",
    )
    output.add_argument(
        *("--successes",),
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FILE",
        help="write right predictions to files, too; with FILE, also write the right intents to it",
    )
    output.add_argument("--no-errors", action="store_true", help="do not write wrong predictions to files")
    output.add_argument("--no-plot", action="store_true", help="draw no plots")
    output.add_argument(
        "--no-warnings",
        action="store_true",
        help="do not write stories with warnings to a file; about NLU data there is none (as in Rasa)",
    )
    shared.add_json(output)
    shared.add_rasa_files(output)
    output.add_argument(
        "--report",
        type=Path,
        nargs="?",
        const=Path("reports"),
        metavar="DIR",
        help="write the *_report.json files to this folder, too",
    )
    output.add_argument("--errors", type=Path, metavar="FILE", help="write the wrong intents to this file, too")
    output.add_argument(
        "--histogram", type=Path, metavar="FILE", help="draw the histogram of intents to this file, too"
    )
    output.add_argument("--confmat", type=Path, metavar="FILE", help="draw the confusion matrix to this file, too")


def nlu_options(namespace: argparse.Namespace) -> tuple[NluTestOptions, NluOutput]:
    """Return what ``test nlu`` measures with one configuration, and what it writes."""
    namespace.config = config_files(namespace.config or [])
    read_flags_of_rasa_0(namespace)
    options = NluTestOptions(
        settings=settings_of(namespace, workers=namespace.workers),
        models=models_of(namespace),
        cross_validation=namespace.cross_validation,
        pretrained=namespace.pretrained,
        are_folds_named=namespace.are_folds_named,
        repeat=namespace.repeat,
    )
    return options, nlu_output(namespace, DEFAULT_FOLDER)


def read_flags_of_rasa_0(namespace: argparse.Namespace) -> None:
    """Take ``--mode``, and ``-d`` with NLU data, as ``rasa_nlu.evaluate`` had them.

    Raises:
        UserError: a model is named for cross-validation, which trains its own.
    """
    from turncheck.messages.errors import UserError  # not for --help

    if namespace.mode == _CROSS_VALIDATION:
        if namespace.model is not None:
            raise UserError(
                "cross-validation trains its own models: --mode crossvalidation takes no --model",
                hint="Leave out one of them.",
            )
        namespace.cross_validation = True
    domain: Path | None = namespace.domain
    if domain is not None and domain.suffix in _DATA_SUFFIXES and namespace.nlu is None:
        namespace.nlu, namespace.domain = domain, None
    if namespace.folds is None:
        namespace.folds = _FOLDS if namespace.mode is None else _FOLDS_OF_RASA_0
        namespace.are_folds_named = namespace.mode is not None


def nlu_output(namespace: argparse.Namespace, folder: str) -> NluOutput:
    """Return what ``test nlu`` writes, to this folder unless another is named."""
    successes: Path | None = namespace.successes
    return NluOutput(
        folder=namespace.out or Path(folder),
        successes=successes is not None,
        errors=not namespace.no_errors,
        plots=not namespace.no_plot,
        json=namespace.json,
        rasa_files=namespace.rasa_files,
        is_folder_named=namespace.out is not None,
        report_folder=namespace.report,
        successes_file=successes if successes is not None and successes.name else None,
        errors_file=namespace.errors,
        histogram_file=namespace.histogram,
        confusion_file=namespace.confmat,
    )


DEFAULT_FOLDER: Final = "results"
DEFAULT_COMPARISON_FOLDER: Final = "nlu_comparison_results"
"""As Rasa's manual says (its program writes to ``results``)."""
FOLDS_OF_RASA_0_AND_1: Final = 10
_CONFIG_SUFFIXES: Final = (".yml", ".yaml")
_ERRORS: Final = "errors.json"
_REPORTS: Final = "reports"


class NluOutput(NamedTuple):
    """What ``test nlu`` writes, as its flags say. The last five are those of older Rasa versions.

    ``rasa_files``: the major version of Rasa whose files are written; ``None``: the project's. ``is_folder_named``:
    whether the folder was asked for: Rasa NLU 0.x writes where it is started.
    """

    folder: Path
    successes: bool = False
    errors: bool = True
    plots: bool = True
    json: Path | None = None
    rasa_files: int | None = None
    is_folder_named: bool = True
    report_folder: Path | None = None
    successes_file: Path | None = None
    errors_file: Path | None = None
    histogram_file: Path | None = None
    confusion_file: Path | None = None

    @property
    def further(self) -> tuple[Path | None, ...]:
        """What is written elsewhere than in the folder, as far as it is named."""
        named = (self.report_folder, self.successes_file, self.errors_file, self.histogram_file, self.confusion_file)
        return (self.json, *named)


class NluTestOptions(NamedTuple):
    """What ``test nlu`` judges. Several configurations are compared by :mod:`turncheck.commands.compare_pipelines`.

    ``are_folds_named``: otherwise their number is the default of the Rasa that the project is written for.
    ``repeat``: how often each sentence is asked; ``None``: as in a run.
    """

    settings: Settings
    models: Models
    cross_validation: bool = False
    pretrained: bool = False
    are_folds_named: bool = True
    repeat: int | None = None

    @property
    def project(self) -> Path:
        """The assistant's folder."""
        return Path(self.settings.project)


def config_files(paths: Sequence[Path]) -> list[Path]:
    """Return the configurations that ``--config`` names: files, or one folder with all YAML files in it, sorted.

    Raises:
        UserError: there is none in the folder.
    """
    if len(paths) == 1 and paths[0].is_dir():
        found = sorted(path for path in paths[0].iterdir() if path.suffix in _CONFIG_SUFFIXES)
        if not found:
            raise UserError(f"there is no configuration at '{paths[0]}'", hint="Name another one with --config.")
        return found
    return list(paths)


def for_rasa_of(project: Project, options: NluTestOptions) -> NluTestOptions:
    """Return the options with the default number of folds of Rasa 0 and 1 where the project is written for one."""
    from turncheck.render.rasa_files import NAMED_AS_TODAY

    if options.are_folds_named or project.major >= NAMED_AS_TODAY:
        return options
    return options._replace(settings=replace(options.settings, folds=FOLDS_OF_RASA_0_AND_1))


def print_nlu(report: Report, project: Path) -> None:
    """Print what was measured, or why nothing was; paths are relative to the current folder."""
    from turncheck.publishing.files import terminal_results
    from turncheck.render.label_tables import label_tables
    from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files

    sys.stdout.write(plain(terminal_results(report, str(project))))
    if report.nlu is not None and major_of_files(report.project) < NAMED_AS_TODAY:
        sys.stdout.write(plain(label_tables(report.nlu, report.engine)))


def run_test_nlu(options: NluTestOptions, output: NluOutput, screen: Console, source: Source | None = None) -> int:
    """Judge NLU data, held-out or by cross-validation, and write Rasa's files. Wrong predictions do not fail.

    Without ``nlu`` the project's own data are judged, as in Rasa: by an engine that was trained on them, unless by
    cross-validation.

    Raises:
        UserError: nothing to read, nothing to judge, a file that cannot be written. Where the engine gave up, all that
            was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.partial import end_with
    from turncheck.run.quarantined import with_quarantine

    ensure_apart_from_project(output.folder, options.settings, *output.further)
    report, stopped = evaluate_nlu(options, screen, source)
    held = with_quarantine(report, options.project, screen)
    write_test_files(held.report, output, screen)
    print_nlu(held.report, options.project)
    if stopped is not None:
        end_with(stopped)
    return EXIT_FAILED if held.is_faulty else EXIT_OK


def evaluate_nlu(
    options: NluTestOptions, screen: Console, source: Source | None = None
) -> tuple[Report, IncompleteError | None]:
    """Judge NLU data, and return the report with what ended it before its end.

    Raises:
        UserError: nothing to read, nothing to judge, flags that do not fit together.
    """
    from msgspec import structs

    from turncheck.evaluations.nlu.measure import NluOptions
    from turncheck.run.reading import NO_TESTS, Tests, read_answered_elsewhere, read_assistant
    from turncheck.run.single import Subject, run_single

    if options.repeat and options.cross_validation:
        raise UserError(
            "--repeat asks for each sentence several times; a cross-validation trains anew, and asks for each once",
            hint="Leave out one of them.",
        )
    settings = options.settings
    project = read_answered_elsewhere(settings) if settings.nlu else read_assistant(settings)
    options = for_rasa_of(project, options)
    data = read_judged(options, project)
    settings = options.settings if options.repeat is None else replace(options.settings, repeats="off")
    subject = Subject(settings, project, Tests(nlu=data, stories=(), e2e=()), options.models)
    if options.cross_validation:
        subject = structs.replace(subject, project=replace(project, nlu=data), tests=NO_TESTS)
    where = looked_in(options, project)
    asked = NluOptions(options.pretrained, options.repeat, is_own=data is project.nlu, looked_in=where)
    single = run_single(
        "nlu",
        subject,
        screen,
        asked,
        in_folds=options.cross_validation,
        source=source or _source(options.project),
    )
    return single.report, single.stopped


def _source(folder: Path) -> Source:
    """The commit that is checked out, for the plots."""
    from turncheck.ci.git import find_checkout
    from turncheck.report.model import Source

    checkout = find_checkout(folder)
    return Source(commit=checkout.head() if checkout else None)


def read_judged(options: NluTestOptions, project: Project) -> NluData:
    """Read the data that are judged; where no other ones are named, they are the project's own.

    Raises:
        UserError: some cannot be read.
    """
    from turncheck.run.reading import ensure_readable, read_checked_nlu

    data, paths = project.nlu, judged_paths(options, project)
    if paths:
        data, findings = read_checked_nlu(paths, options.project)
        fault = next((finding for finding in findings if finding.severity == "error"), None)
        if fault is not None:
            place = paths[0] if len(paths) == 1 else fault.location.path
            what = f"the NLU data at '{place}' cannot be read completely: {fault.message.rstrip('.')}"
            raise UserError(what, location=fault.location, hint=fault.hint or None)
    else:
        ensure_readable(project, {"nlu"})
    return data


def looked_in(options: NluTestOptions, project: Project) -> Path:
    """Return where the data that are judged were looked for."""
    from turncheck.project.candidates import DEFAULT_DATA
    from turncheck.project.testfiles import TESTS_FOLDER

    named = options.project / (DEFAULT_DATA if project.native is None else TESTS_FOLDER)
    return next(iter(judged_paths(options, project)), named)


def judged_paths(options: NluTestOptions, project: Project) -> list[Path]:
    """Return where the data are that are judged; none: they are the project's own.

    A bot over HTTP has no others than the test sentences below ``tests/``, where Rasa looks for none.
    """
    from turncheck.project.testfiles import find_test_nlu

    if options.settings.nlu is not None:
        return [Path(options.settings.nlu)]
    return find_test_nlu(project.root) if project.native is not None and not project.nlu.examples else []


def write_test_files(report: Report, output: NluOutput, screen: Console) -> None:
    """Write the report if requested, the files of ``rasa test nlu``, and the plots unless it was interrupted."""
    from turncheck.publishing.files import write_all, write_report
    from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files, nlu_files

    if output.json is not None:
        write_report(output.json, report)
    nlu = report.nlu
    if nlu is None:
        return
    major = major_of_files(report.project, output.rasa_files)
    if major < NAMED_AS_TODAY:
        write_older_nlu_files(major, report, output, screen)
        return
    files = nlu_files(nlu, successes=output.successes, errors=output.errors, major=major)
    write_all(output.folder, files)
    write_under_names(files, nlu, output)
    if report.stopped != INTERRUPTED and (output.plots or output.histogram_file or output.confusion_file):
        with screen.step("plots", "Drawing"):
            _draw(report, output)
    screen.note(
        f"Results are in {output.folder}" if output.folder.is_dir() else "There was nothing to write to a file."
    )


def _draw(report: Report, output: NluOutput) -> None:
    from turncheck.publishing.files import write_all, write_file
    from turncheck.render.plots import nlu_plots  # only imported to draw

    for plot in nlu_plots(report):
        if output.plots:
            write_all(output.folder, [plot])
        if plot.name == "intent_histogram.png" and output.histogram_file:
            write_file(output.histogram_file, plot.encoded)
        if plot.name == "intent_confusion_matrix.png" and output.confusion_file:
            write_file(output.confusion_file, plot.encoded)


def write_under_names(files: Sequence[Rendered], nlu: Nlu, output: NluOutput) -> None:
    """Write reports, successes and errors again to the places that flags of older Rasas name."""
    from turncheck.publishing.files import write_all, write_file
    from turncheck.render.rasa_files import as_json, intent_errors, intent_successes

    if output.report_folder is not None:
        write_all(output.report_folder, [file for file in files if file.name.endswith("_report.json")])
    if output.successes_file is not None:
        write_file(output.successes_file, as_json("successes.json", intent_successes(nlu)).encoded)
    if output.errors_file is not None:
        write_file(output.errors_file, as_json(_ERRORS, intent_errors(nlu)).encoded)


# The files of ``rasa test`` 1.x and ``rasa_nlu.evaluate`` 0.x, at the places that their flags name.

_HELD_OUT = "held-out"


def write_older_nlu_files(major: int, report: Report, output: NluOutput, screen: Console) -> None:
    """Write what ``test nlu`` of Rasa 1 writes, or ``evaluate`` of Rasa NLU 0.x, pictures included.

    Raises:
        UserError: a file cannot be written.
    """
    from turncheck.publishing.files import write_all, write_file
    from turncheck.render.older_files import NluNames, nlu_plots_of_rasa_0_and_1
    from turncheck.render.rasa_files import as_json, intent_errors, nlu_files

    nlu = report.nlu
    if nlu is None:
        return
    if major == 0 and nlu.mode != _HELD_OUT:
        screen.note("Rasa NLU 0.x writes no files by cross-validation.")
        return
    folder = output.folder if major > 0 or output.is_folder_named else Path()
    pictures = folder
    if major > 0:
        files = nlu_files(nlu, successes=output.successes, errors=output.errors, major=major)
        write_all(folder, files)
        write_under_names(files, nlu, output)
        if output.errors and output.errors_file is None and (wrong := intent_errors(nlu)):
            write_file(folder / _ERRORS, as_json(_ERRORS, wrong).encoded)  # as its manual calls them
        if output.errors_file is not None:
            pictures = Path()  # the versions with this flag wrote all that is named to where they were started
    else:
        _write_as_rasa_0(nlu, folder, output)
    if report.stopped != INTERRUPTED and (output.plots or output.histogram_file or output.confusion_file):
        with screen.step("plots", "Drawing"):
            from turncheck.render.plots import nlu_plots  # only imported to draw

            names = NluNames.of(output.histogram_file, output.confusion_file)
            named = {str(output.histogram_file), str(output.confusion_file)}
            for plot in nlu_plots_of_rasa_0_and_1(nlu_plots(report), names, responses=major > 0):
                if output.plots or plot.name in named:
                    write_file((pictures if plot.name in named else folder) / plot.name, plot.encoded)
    screen.note(f"Results are in {folder}" if folder.is_dir() else "There was nothing to write to a file.")


def _write_as_rasa_0(nlu: Nlu, folder: Path, output: NluOutput) -> None:
    """Write reports, which it only printed unless ``--report`` was named, successes if requested, and errors."""
    from turncheck.evaluations.nlu.imported import as_rasa_0_counts  # only projects of 0.x
    from turncheck.publishing.files import write_all
    from turncheck.render.rasa_files import as_json, intent_errors, intent_successes, nlu_files

    write_all(folder / (output.report_folder or _REPORTS), nlu_files(as_rasa_0_counts(nlu), errors=False, major=1))
    if output.successes and (right := intent_successes(nlu)):
        _write(folder / (output.successes_file or "successes.json"), as_json("successes.json", right))
    if output.errors and (wrong := intent_errors(nlu)):
        _write(folder / (output.errors_file or _ERRORS), as_json(_ERRORS, wrong))


def _write(path: Path, rendered: Rendered) -> None:
    from turncheck.publishing.files import write_file

    write_file(path, rendered.encoded)
