"""``turncheck test``: by itself the stories, then the NLU data, with one report of both; else one kind, or several
models or pipelines compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands import core, nlu
from turncheck.commands.core import CoreOutput, core_exit_code, evaluate_core, write_core_files
from turncheck.commands.flags.engine import add_engine_flags
from turncheck.commands.flags.shared import add_verbosity, screen_of
from turncheck.commands.nlu import evaluate_nlu, print_nlu, write_test_files
from turncheck.messages.errors import EXIT_FAILED, IncompleteError, UserError
from turncheck.settings.bounds import capped_workers

if TYPE_CHECKING:
    import argparse

    from turncheck.commands.core import CoreTestOptions
    from turncheck.commands.nlu import NluOutput, NluTestOptions
    from turncheck.process.screen import Console
    from turncheck.report.model import EngineInfo, Report

_KINDS: Final = ("nlu", "core", "e2e", "batch", "strength", "robustness")


def add_test(subparsers: argparse._SubParsersAction[Any], words: str, kind: str | None = None) -> None:
    """Add ``test`` and what is below it: one kind, or all if none is named or the name is unknown."""
    wanted = (kind,) if kind in _KINDS else _KINDS
    parser = subparsers.add_parser(
        "test",
        help=words,
        description="Test the stories end to end and the NLU data.",
    )
    nlu.add_nlu_flags(parser)
    core.add_story_flags(parser)
    add_engine_flags(parser)
    nlu.add_output_flags(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_test_both)
    kinds = parser.add_subparsers(title="commands for one kind of test", metavar="WHAT")
    if "nlu" in wanted:
        nlu.add_test_nlu(kinds).set_defaults(handler=_test_nlu)
    if "core" in wanted:
        core.add_test_core(kinds).set_defaults(handler=_test_core)
    if "e2e" in wanted:
        from turncheck.commands.e2e import add_test_e2e  # each kind is imported on demand

        add_test_e2e(kinds)
    if "batch" in wanted:
        from turncheck.commands.batch import add_test_batch

        add_test_batch(kinds)
    if not {"strength", "robustness"}.isdisjoint(wanted):
        from turncheck.commands import strength

        if "strength" in wanted:
            strength.add_test_strength(kinds)
        if "robustness" in wanted:
            strength.add_test_robustness(kinds)


def _test_both(namespace: argparse.Namespace) -> int:
    """Judge the stories end to end, then the NLU data; what the project lacks is left out with a note."""
    from turncheck.project.reader import read_project
    from turncheck.project.testfiles import find_test_stories
    from turncheck.run.reading import ensure_assistant, ensure_readable

    screen = screen_of(namespace)
    namespace.workers = capped_workers(namespace.workers, screen)
    nlu.read_flags_of_rasa_0(namespace)
    configs: list[Path] = namespace.config or []
    config = configs[0] if len(configs) == 1 and configs[0].is_file() else None
    has_stories = bool(namespace.stories or namespace.url or find_test_stories(namespace.project))
    project = read_project(
        namespace.project, config=config, data=getattr(namespace, "data", None), language=namespace.language
    )
    ensure_assistant(project)
    if namespace.nlu is None:
        ensure_readable(project, {"nlu"})
    has_nlu = namespace.nlu is not None or bool(project.nlu.examples)
    if not has_stories and not has_nlu:
        raise UserError("there is nothing to test: neither test stories nor NLU data", hint="See --stories and --nlu.")
    if has_stories:
        options = core.test_core_options(namespace, end_to_end=True)
        settings = replace(options.settings, config=None if config is None else str(config))
        options = options._replace(settings=settings)
        output = CoreOutput(
            folder=namespace.out or Path("results"),
            successes=namespace.successes is not None,
            errors=not namespace.no_errors,
            warnings=not namespace.no_warnings,
            plots=not namespace.no_plot,
            rasa_files=namespace.rasa_files,
        )
        if not has_nlu:
            screen.note("There are no NLU data: only the test stories are tested.")
            return core.run_test_core(options, output._replace(json=namespace.json), screen)
        if len(nlu.config_files(configs)) <= 1:
            return run_bare_test(options, output, *nlu.nlu_options(namespace), screen)
        return max(core.run_test_core(options, output, screen), _test_nlu(namespace))
    screen.note("There are no test stories: only the NLU data are tested.")
    return _test_nlu(namespace)


def _test_nlu(namespace: argparse.Namespace) -> int:
    """Run ``test nlu`` on parsed flags: a comparison where several configurations are named."""
    screen = screen_of(namespace)
    configs = nlu.config_files(namespace.config or [])
    namespace.workers = capped_workers(namespace.workers, screen)
    options, output = nlu.nlu_options(namespace)
    if len(configs) <= 1:
        return nlu.run_test_nlu(options, output, screen)

    from turncheck.commands.compare_pipelines import run_compare_nlu

    if options.repeat is not None:
        raise UserError(
            "--repeat is for one configuration: of several, each is trained and tested as often as --runs says",
            hint="Name one configuration, or leave out --repeat.",
        )
    return run_compare_nlu(
        options,
        configs,
        nlu.nlu_output(namespace, nlu.DEFAULT_COMPARISON_FOLDER),
        screen,
        runs=namespace.runs,
        percentages=namespace.percentages,
    )


def _test_core(namespace: argparse.Namespace) -> int:
    """Run ``test core``: with several models, or a folder of them, compare these."""
    options = core.test_core_options(namespace, end_to_end=namespace.e2e)
    output, screen = core.core_output(namespace), screen_of(namespace)
    models: list[Path] = namespace.model or []
    if not namespace.evaluate_model_directory and len(models) <= 1:
        return core.run_test_core(options, output, screen)
    from turncheck.commands.compare_policies import run_test_model_directory, run_test_models

    if namespace.evaluate_model_directory:
        return run_test_model_directory(options, output, screen)
    return run_test_models(options, models, output, screen)


def run_bare_test(
    core: CoreTestOptions, core_output: CoreOutput, nlu: NluTestOptions, nlu_output: NluOutput, screen: Console
) -> int:
    """Judge test stories and NLU data, and write Rasa's files of both and the report, which ``nlu_output`` names.

    If the stories could not be finished, the NLU data are not judged; if the NLU data cannot be judged, the results of
    the stories are kept.

    Raises:
        UserError: the cause, after everything that was finished is written.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    from turncheck.publishing.files import write_report
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.partial import end_with
    from turncheck.run.quarantined import with_quarantine

    ensure_apart_from_project(core_output.folder, core.settings, *nlu_output.further)
    report, stopped = evaluate_core(core, screen)
    held = with_quarantine(report, core.project, screen)
    report = held.report
    write_core_files(report, core_output, screen)
    if stopped is None:
        report, stopped = _with_nlu(report, nlu, nlu_output._replace(json=None), screen)
    else:
        report = _without_nlu(report, stopped)
    print_nlu(report, core.project)
    if nlu_output.json is not None:
        write_report(nlu_output.json, report)
    if stopped is not None:
        end_with(stopped)
    return EXIT_FAILED if held.is_faulty else core_exit_code(report, core)


def _with_nlu(
    report: Report, options: NluTestOptions, output: NluOutput, screen: Console
) -> tuple[Report, IncompleteError | None]:
    """Add to the report of the stories what the NLU data give."""
    from msgspec import UnsetType, structs

    from turncheck.comparison.quarantine import with_results

    try:
        nlu, stopped = evaluate_nlu(options, screen)
    except UserError as error:
        stopped = IncompleteError(error)
        return _without_nlu(report, stopped), stopped
    if not isinstance(report.quarantine, UnsetType):
        nlu = with_results(nlu, report.quarantine)
    write_test_files(nlu, output, screen)
    joined = structs.replace(
        nlu, engine=_of_both(report.engine, nlu.engine), core=report.core, coverage=report.coverage, seed=report.seed
    )
    return joined, stopped


def _without_nlu(report: Report, stopped: IncompleteError) -> Report:
    from msgspec import structs

    from turncheck.report.model import Skipped
    from turncheck.run.partial import cause

    skipped = Skipped(evaluation="nlu", reason=cause(stopped))
    return structs.replace(report, skipped=(*report.skipped, skipped), stopped=str(stopped))


def _of_both(engine_info: EngineInfo | None, other: EngineInfo | None) -> EngineInfo | None:
    """Return the engine with the substitutions and notes of both, each once."""
    from msgspec import structs

    if engine_info is None or other is None:
        return engine_info or other
    return structs.replace(
        engine_info,
        substitutions=tuple(dict.fromkeys((*engine_info.substitutions, *other.substitutions))),
        notes=tuple(dict.fromkeys((*engine_info.notes, *other.notes))),
        model=engine_info.model or other.model,
    )
