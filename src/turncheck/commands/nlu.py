"""``turncheck test nlu`` and ``turncheck data split nlu``: typed parameters in, files and messages out, an exit code
back."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from turncheck.ci.git import find_checkout
from turncheck.evaluation.nlu import NluMeasurement, why_not_testable
from turncheck.evaluation.nlu_repeats import ask_times
from turncheck.evaluation.splits import Split, response_name, split_as_rasa
from turncheck.evaluations.nlu.measure import measure_by_folds, measure_held_out
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, INTERRUPTED, CutShortError, UserError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import plain
from turncheck.project.files import DEFAULT_CONFIG, DEFAULT_DATA
from turncheck.project.folder import YAML_SUFFIXES
from turncheck.project.formats.rasa_nlu_writer import (
    write_nlu_json,
    write_nlu_markdown,
    write_nlu_yaml,
    write_responses_markdown,
    write_responses_yaml,
)
from turncheck.project.reader import read_nlu, read_nlu_responses, read_project
from turncheck.project.story_sentences import with_story_sentences
from turncheck.project.testfiles import MARKDOWN
from turncheck.publishing.files import write_all, write_file, write_report
from turncheck.render.links import PathResolver
from turncheck.render.nlu_text import label_tables, nlu_text, trust_entry
from turncheck.render.older_files import NluNames, nlu_plots_of_rasa_0_and_1
from turncheck.render.phrases import not_run_text, noted_version_line
from turncheck.render.rasa_files import (
    NAMED_AS_TODAY,
    as_json,
    intent_errors,
    intent_successes,
    major_of_files,
    nlu_files,
)
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal_writer import TerminalWriter
from turncheck.report.model import Nlu, Report, Source
from turncheck.run.alone import Bench, end_with, measured_alone, quarantine_lines, with_quarantine
from turncheck.run.folders import ensure_apart, ensure_apart_from_project
from turncheck.run.reading import (
    ensure_assistant,
    ensure_readable,
    ensure_there,
    read_answered_elsewhere,
    read_assistant,
    read_checked_nlu,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.engines.base import Models
    from turncheck.process.screen import Console
    from turncheck.project.model import Project, Response
    from turncheck.project.nlu_data import Example, NluData
    from turncheck.settings.options import Settings

DEFAULT_FOLDER: Final = "results"

DEFAULT_COMPARISON_FOLDER: Final = "nlu_comparison_results"
"""As Rasa's manual says (its program writes to ``results``)."""

FOLDS_OF_RASA_0_AND_1: Final = 10
_CONFIG_SUFFIXES: Final = (".yml", ".yaml")
_ERRORS: Final = "errors.json"
_REPORTS: Final = "reports"
_LARGEST_SEED: Final = 2**31
_READS_YAML: Final = 2
"""The first major version of Rasa that reads data in YAML."""


@dataclass(frozen=True, slots=True)
class NluOutput:
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


@dataclass(frozen=True, slots=True)
class NluTestOptions:
    """What ``test nlu`` judges. Several configurations are compared by :mod:`turncheck.commands.compare_pipelines`.

    ``are_folds_named``: otherwise their number is the default of the Rasa that the project is written for.
    ``repeat``: how often each sentence is asked.
    """

    settings: Settings
    models: Models
    cross_validation: bool = False
    pretrained: bool = False
    are_folds_named: bool = True
    repeat: int = 1

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
    if options.are_folds_named or project.major >= NAMED_AS_TODAY:
        return options
    return replace(options, settings=replace(options.settings, folds=FOLDS_OF_RASA_0_AND_1))


def print_nlu(report: Report, project: Path) -> None:
    """Print what was measured, or why nothing was; paths are relative to the current folder."""
    nlu, folder = report.nlu, str(project)
    if nlu is None:
        sys.stdout.write(not_run_text(report))
        return
    entry = trust_entry(report)
    trust = TerminalWriter(folder, PathResolver(report, folder)).entry(entry) if entry else ""
    sys.stdout.write(plain(nlu_text(nlu, report.engine, folder, trust)))
    sys.stdout.writelines(plain(f"{line}\n") for line in quarantine_lines(structs.replace(report, core=None), folder))
    if major_of_files(report.project) < NAMED_AS_TODAY:
        sys.stdout.write(plain(label_tables(nlu, report.engine)))


def run_test_nlu(options: NluTestOptions, output: NluOutput, screen: Console, source: Source | None = None) -> int:
    """Judge NLU data, held-out or by cross-validation, and write Rasa's files. Wrong predictions do not fail.

    Without ``nlu`` the project's own data are judged, as in Rasa: by an engine that was trained on them, unless by
    cross-validation.

    Raises:
        UserError: nothing to read, nothing to judge, a file that cannot be written. Where the engine gave up, all that
            was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    ensure_apart_from_project(output.folder, options.settings, *output.further)
    report, stopped = evaluate_nlu(options, screen, source)
    held = with_quarantine(report, options.project, screen)
    write_test_files(held.report, output, screen)
    sys.stdout.write(noted_version_line(report.project, str(options.project)))
    print_nlu(held.report, options.project)
    if stopped is not None:
        end_with(stopped)
    return EXIT_FAILED if held.is_faulty else EXIT_OK


def evaluate_nlu(
    options: NluTestOptions, screen: Console, source: Source | None = None
) -> tuple[Report, CutShortError | None]:
    """Judge NLU data, and return the report with what ended it before its end.

    Raises:
        UserError: nothing to read, nothing to judge, flags that do not fit together.
    """
    if options.repeat > 1 and options.cross_validation:
        raise UserError(
            "--repeat asks for each sentence several times; a cross-validation trains anew, and asks for each once",
            hint="Leave out one of them.",
        )
    settings = options.settings
    project = read_answered_elsewhere(settings) if settings.nlu else read_assistant(settings)
    options = for_rasa_of(project, options)
    settings = options.settings

    alone = measured_alone(
        "nlu",
        settings,
        project,
        screen,
        lambda bench: _measurement(bench, project, options, screen),
        models=options.models,
        in_folds=options.cross_validation,
        engine_of=lambda measured: measured.engine,
    )
    section = None if alone.finished is None else alone.finished.section
    return alone.report(section, source=source or _source(options.project)), alone.result.stopped


def _measurement(bench: Bench, project: Project, options: NluTestOptions, screen: Console) -> NluMeasurement:
    settings, engines = options.settings, bench.engine
    is_trained = options.cross_validation or options.models.named is None
    needed = engines.needs("nlu", in_folds=options.cross_validation) if is_trained else frozenset()
    data = read_judged(options, project, needed)
    held_out = None if options.cross_validation else data
    if reason := why_not_testable(replace(project, nlu=data), held_out, folds=settings.folds):
        raise UserError(f"there is nothing to test: {reason}", hint="Name NLU data with --nlu.")
    sentences = count(len(data.examples), "sentence")
    if not options.cross_validation:
        engines.make_ready(("nlu",), screen, lambda: None)
        engine = engines.nlu or engines.nlu_trainer.fit(with_story_sentences(project))
        with screen.step("nlu", f"Judging {sentences}"):
            return measure_held_out(
                engines,
                engine,
                project,
                data,
                pretrained=options.pretrained,
                trained=engines.trained_sentences,
                repeat=None if options.repeat == 1 else partial(ask_times, options.repeat),
            )
    if note := engines.before_folds(settings.folds):
        screen.note(note)
    with screen.step("nlu", f"Judging {sentences} in {count(settings.folds, 'fold')}"):
        return measure_by_folds(
            engines,
            replace(project, nlu=data),
            settings,
            screen,
            cache=bench.cache if data is project.nlu else None,  # its keys are made from the project's own sentences
            work=bench.work,
            pretrained=options.pretrained,
        )


def _source(folder: Path) -> Source:
    """The commit that is checked out, for the plots."""
    checkout = find_checkout(folder)
    return Source(commit=checkout.head() if checkout else None)


def read_judged(options: NluTestOptions, project: Project, needed: AbstractSet[str]) -> NluData:
    """Read the data that are judged.

    Args:
        options: name them.
        project: what is trained on; its own data are judged where no other ones are named.
        needed: the parts that the engine is trained on.

    Raises:
        UserError: there are no data, no configuration to train by, or a part of what is needed cannot be read.
    """
    path = None if options.settings.nlu is None else Path(options.settings.nlu)
    if path is None:
        needed = needed | {"nlu"}  # judged and, unless by a model that is there, trained on
    elif options.cross_validation:
        needed = needed - {"nlu"}  # the folds are trained only on what is judged
    ensure_readable(project, needed)
    if "config" in needed and not project.config.keys:
        raise UserError(
            "there is no configuration to train with at"
            f" '{options.settings.config or options.project / DEFAULT_CONFIG}'",
            hint="Name a configuration with --config.",
        )
    data = project.nlu
    if path is not None:
        data, findings = read_checked_nlu([path], options.project)
        fault = next((finding for finding in findings if finding.severity == "error"), None)
        if fault is not None:
            what = f"the NLU data at '{path}' cannot be read completely: {fault.message.rstrip('.')}"
            raise UserError(what, location=fault.location, hint=fault.hint or None)
    if not data.examples:
        raise UserError(
            f"there are no NLU examples at '{path or options.project / DEFAULT_DATA}'",
            hint="Name NLU data with --nlu.",
        )
    return data


def write_test_files(report: Report, output: NluOutput, screen: Console) -> None:
    """Write the report if requested, the files of ``rasa test nlu``, and the plots unless it was interrupted."""
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
    from turncheck.render.plots import nlu_plots  # imports matplotlib

    for plot in nlu_plots(report):
        if output.plots:
            write_all(output.folder, [plot])
        if plot.name == "intent_histogram.png" and output.histogram_file:
            write_file(output.histogram_file, plot.encoded)
        if plot.name == "intent_confusion_matrix.png" and output.confusion_file:
            write_file(output.confusion_file, plot.encoded)


def write_under_names(files: Sequence[Rendered], nlu: Nlu, output: NluOutput) -> None:
    """Write reports, successes and errors again to the places that flags of older Rasas name."""
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
            from turncheck.render.plots import nlu_plots  # imports matplotlib

            names = NluNames.of(output.histogram_file, output.confusion_file)
            named = {str(output.histogram_file), str(output.confusion_file)}
            for plot in nlu_plots_of_rasa_0_and_1(nlu_plots(report), names, responses=major > 0):
                if output.plots or plot.name in named:
                    write_file((pictures if plot.name in named else folder) / plot.name, plot.encoded)
    screen.note(f"Results are in {folder}" if folder.is_dir() else "There was nothing to write to a file.")


def _write_as_rasa_0(nlu: Nlu, folder: Path, output: NluOutput) -> None:
    """Write reports, which it only printed unless ``--report`` was named, successes if requested, and errors."""
    from turncheck.evaluation.imported_nlu import as_rasa_0_counts  # only projects of 0.x

    write_all(folder / (output.report_folder or _REPORTS), nlu_files(as_rasa_0_counts(nlu), errors=False, major=1))
    if output.successes and (right := intent_successes(nlu)):
        _write(folder / (output.successes_file or "successes.json"), as_json("successes.json", right))
    if output.errors and (wrong := intent_errors(nlu)):
        _write(folder / (output.errors_file or _ERRORS), as_json(_ERRORS, wrong))


def _write(path: Path, rendered: Rendered) -> None:
    write_file(path, rendered.encoded)


# --- data split nlu --------------------------------------------------------------------------------------------------


def run_data_split_nlu(
    project: Path, nlu: Path | None, out: Path, *, fraction: float, seed: int | None, screen: Console
) -> int:
    """Split NLU data into ``training_data.yml`` and ``test_data.yml`` as ``rasa data split nlu`` does.

    The responses of retrieval intents go to ``nlg_training_data.yml`` and ``nlg_test_data.yml``, which are written even
    when empty. Markdown is split into ``.md`` files as in Rasa 1, its other data into ``.json``, with responses only
    where there are some.

    Without a seed a random one is used, and printed so that the split can be repeated.

    Raises:
        UserError: the fraction is outside (0, 1), nothing can be read, a file cannot be written.
    """
    if not 0 < fraction < 1:
        raise UserError(f"--training-fraction is {fraction:g}, and must be between 0 and 1")
    path = nlu or project / DEFAULT_DATA
    ensure_apart(out, (path, project / DEFAULT_DATA))
    read = read_project(project)
    if nlu is None:
        ensure_assistant(read)
        if (refusal := read.platform.no_split) is not None:
            raise UserError(refusal.what, hint=refusal.hint)
    ensure_there("nlu", [path])
    data, findings = read_nlu([path], project)
    faults = [finding for finding in findings if finding.severity == "error"]
    if faults:
        # A half-read file would be split without mentioning the lost half.
        raise UserError(
            f"the NLU data cannot be read: {faults[0].message}",
            location=faults[0].location,
            hint=f"`turncheck data validate` lists {count(len(faults), 'fault')}.",
        )
    if not data.examples:
        raise UserError(f"there are no NLU examples at '{path}'", hint="Name NLU data with --nlu.")
    if seed is None:
        seed = random.SystemRandom().randrange(_LARGEST_SEED)
        screen.note(f"The seed of this split is {seed}: --random-seed {seed} makes it again.")
    responses = read_nlu_responses([path], project)
    split = split_as_rasa(data.examples, responses, fraction=fraction, seed=seed)
    for warning in split.warnings:
        screen.note(f"Warning: {warning}")
    write_all(out, list(_split_files(data, split, responses, read.major)))
    sys.stdout.write(
        plain(f"{count(len(split.training), 'example')} to train on and {len(split.test):,} to test with: {out}\n")
    )
    return EXIT_OK


def needed_responses(examples: Iterable[Example], responses: Mapping[str, Response]) -> list[Response]:
    """Return the responses that retrieval examples select, in the order of the examples."""
    labels = (example.intent for example in examples if example.intent and "/" in example.intent)
    names = dict.fromkeys(response_name(label) for label in labels)
    return [responses[name] for name in names if name in responses]


def _split_files(data: NluData, split: Split, responses: Mapping[str, Response], major: int) -> Iterator[Rendered]:
    parts = {"training": split.training, "test": split.test}
    kinds = {Path(example.location.path).suffix for example in _first_of_blocks(data.examples)}
    for name, examples in parts.items():
        part, needed = replace(data, examples=examples), needed_responses(examples, responses)
        if kinds == {MARKDOWN}:
            yield Rendered(f"{name}_data.md", "text/markdown", write_nlu_markdown(part))
        elif major < _READS_YAML and kinds.isdisjoint(YAML_SUFFIXES):
            yield Rendered(f"{name}_data.json", "application/json", write_nlu_json(part))
        else:
            yield _yaml(f"{name}_data.yml", write_nlu_yaml(part))
            yield _yaml(f"nlg_{name}_data.yml", write_responses_yaml(needed))
            continue
        if needed:
            yield Rendered(f"nlg_{name}_data.md", "text/markdown", write_responses_markdown(needed))


def _first_of_blocks(examples: Iterable[Example]) -> Iterable[Example]:
    """Return one example of each block: they are in one file, and finding a place takes time."""
    return {id(example.origin): example for example in examples}.values()


def _yaml(name: str, content: str) -> Rendered:
    return Rendered(name, "application/yaml", content)
