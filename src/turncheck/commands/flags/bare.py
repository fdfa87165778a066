"""``turncheck train`` and ``turncheck test`` for both parts in one go, as in Rasa; ``test e2e`` and ``test batch``."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from turncheck.commands.flags import core
from turncheck.commands.flags.engine import (
    add_assistant,
    add_cache_flags,
    add_engine_flags,
    assistant_of,
    models_of,
    settings_of,
)
from turncheck.commands.flags.parser import holds_test_cases
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_augmentation,
    add_channel,
    add_config,
    add_domain,
    add_json,
    add_model,
    add_model_output,
    add_out,
    add_paths,
    add_project,
    add_seed,
    add_verbosity,
    at_least_one,
    output_path,
    repetitions,
    screen_of,
    workers,
)
from turncheck.settings.bounds import capped_workers


def add_train(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``train`` with its kinds below it."""
    parser = subparsers.add_parser(
        "train",
        help="train a model: NLU and policies, or one of them",
        description="Train language understanding and policies, and save them as one model.",
    )
    _add_train_flags(parser)
    add_augmentation(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_train_both)
    _add_validation_flags(parser)
    parts = parser.add_subparsers(title="commands for one part", metavar="PART")
    only_nlu = parts.add_parser("nlu", help="train language understanding", description="Train the NLU pipeline.")
    _add_train_flags(only_nlu)
    only_nlu.add_argument("-u", "--nlu", type=Path, metavar="PATH", help="NLU data (default: data)")
    add_verbosity(only_nlu)
    only_nlu.set_defaults(handler=_train_nlu)
    core.add_train_core(parts)


def _add_train_flags(parser: argparse.ArgumentParser) -> None:
    add_project(parser)
    add_paths(parser, "--data", words="training data, files or folders (default: data)")
    add_domain(parser)
    add_config(parser)
    add_seed(parser, "training")
    add_vectors_flag(parser)
    add_model_output(parser)


def _add_validation_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("validation before training")
    group.add_argument("--skip-validation", action="store_true", help="do not run `data validate` first")
    group.add_argument(
        "--fail-on-validation-warnings", action="store_true", help="do not train if the validation warns"
    )
    group.add_argument(
        "--validation-max-history",
        type=at_least_one,
        metavar="N",
        help="number of turns that the story structure check looks back",
    )


def add_test(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``test`` with its kinds below it."""
    from turncheck.commands.flags import nlu, strength  # `train` needs none of them

    parser = subparsers.add_parser(
        "test",
        help="test stories and NLU data, as `rasa test` does, or one kind of test",
        description="Test the stories end to end and the NLU data.",
    )
    nlu.add_nlu_flags(parser)
    core.add_story_flags(parser)
    add_engine_flags(parser)
    nlu.add_output_flags(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=_test_both)
    kinds = parser.add_subparsers(title="commands for one kind of test", metavar="WHAT")
    nlu.add_test_nlu(kinds)
    core.add_test_core(kinds)
    add_test_e2e(kinds)
    add_test_batch(kinds)
    strength.add_test_strength(kinds)
    strength.add_test_robustness(kinds)


def _train_both(namespace: argparse.Namespace) -> int:
    from turncheck.commands.train import Validation, run_train  # not for --help

    options = core.train_options(namespace)
    if not namespace.skip_validation:
        validation = Validation(namespace.validation_max_history, namespace.fail_on_validation_warnings)
        options = replace(options, validation=validation)
    return run_train(options, ("nlu", "core"), screen_of(namespace))


def _train_nlu(namespace: argparse.Namespace) -> int:
    from turncheck.commands.train import run_train  # not for --help

    return run_train(core.train_options(namespace), ("nlu",), screen_of(namespace))


def _test_both(namespace: argparse.Namespace) -> int:
    """Judge the stories end to end, then the NLU data; what the project lacks is left out with a note."""
    from turncheck.commands.bare import run_bare_test  # not for --help
    from turncheck.commands.core import CoreOutput, run_test_core
    from turncheck.commands.flags import nlu
    from turncheck.commands.nlu import config_files
    from turncheck.messages.errors import UserError
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
        options = replace(options, settings=settings)
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
            return run_test_core(options, replace(output, json=namespace.json), screen)
        if len(config_files(configs)) <= 1:
            return run_bare_test(options, output, *nlu.nlu_options(namespace), screen)
        return max(run_test_core(options, output, screen), nlu.test_nlu(namespace))
    screen.note("There are no test stories: only the NLU data are tested.")
    return nlu.test_nlu(namespace)


# ``turncheck test batch``: its flags.


def add_test_batch(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``batch`` below ``test``."""
    parser = subparsers.add_parser(
        "batch",
        help="run batch suites",
        description="Run batch suites of Kore.ai's platform: labelled utterances in JSON or CSV, with any engine.",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="SUITE",
        help="files or folders of suites (default: those found in tests/ and batch/ of the project)",
    )
    parser.recognise("paths", os.path.exists)
    group = parser.add_argument_group("the assistant")
    add_project(group)
    add_domain(group)
    add_paths(group, "--data", words="training data, files or folders (default: data)")
    add_config(group)
    add_model(group)
    add_seed(group, "training")
    add_vectors_flag(group)
    add_custom_code_flag(group)
    add_cache_flags(group)
    add_engine_flags(parser)
    run = parser.add_argument_group("suites")
    run.add_argument("--name", metavar="NAME", help="name of the suite (default: the file's name)")
    run.add_argument("--description", default="", metavar="TEXT", help="what the suite is for")
    run.add_argument("--notes", default="", metavar="TEXT", help="notes on this run, up to 1,024 characters")
    run.add_argument(
        "--repeat", type=repetitions, default=1, metavar="N", help="ask for each utterance N times, to find flaky ones"
    )
    run.add_argument("--strict", action="store_true", help="treat unknown keys as errors, and advise on names")
    output = parser.add_argument_group("output")
    output.add_argument("--csv", type=Path, metavar="FILE", help="write the results in the platform's report layout")
    output.add_argument(
        "--raw-csv", action="store_true", help="do not put ' before cells that a spreadsheet would run as formulas"
    )
    add_out(output, "report.json", "junit.xml", "the CSV files")
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_batch)


def _test_batch(namespace: argparse.Namespace) -> int:
    from turncheck.commands.batch import BatchOptions, run_test_batch  # not for --help
    from turncheck.project.batch.reader import HowToRead
    from turncheck.settings.engines import ENGINES

    settings, models = settings_of(namespace), models_of(namespace)
    uploads = ENGINES[settings.engine].uploads
    upload = uploads is not None and getattr(settings, uploads[0]) == uploads[1]
    options = BatchOptions(
        tuple(namespace.paths),
        HowToRead(namespace.name, namespace.description, strict=namespace.strict, upload=upload),
        namespace.notes,
        namespace.csv,
        namespace.raw_csv,
        namespace.json,
        namespace.out,
        namespace.repeat,
    )
    return run_test_batch(options, settings, models, os.environ, screen_of(namespace), sys.stdout)


_DEFAULT_RESULTS: Final = Path()


# ``turncheck test e2e``: its flags.


def add_test_e2e(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``e2e`` below ``test``."""
    parser = subparsers.add_parser(
        "e2e",
        help="run end-to-end test cases",
        description="Run end-to-end test cases: whole conversations, judged turn by turn.",
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files or folders of test cases, or file.yml::name (default: found in tests/ and e2e_tests/)",
    )
    parser.recognise("paths", holds_test_cases)
    group = add_assistant(parser)
    group.add_argument(
        "--remote-storage",
        metavar="WHERE",
        help="where the model named by --model is stored: a folder, https://…, s3://bucket/prefix, gs://bucket/prefix,"
        " aws, gcs or azure",
    )
    add_engine_flags(parser)
    run = parser.add_argument_group("execution")
    run.add_argument("--fail-fast", action="store_true", help="stop after the first case that fails")
    run.add_argument(
        "--slot-order",
        choices=("any", "strict"),
        default="strict",
        help="strict: consecutive slot_was_set steps must be in the order in which the slots are set, as Rasa's"
        " documentation demands; any: in any order (default: strict)",
    )
    run.add_argument(
        "--repeat", type=repetitions, default=1, metavar="N", help="run each case N times, to find flaky cases"
    )
    run.add_argument(
        "--workers", type=workers, default=0, metavar="N", help="number of cases run in parallel (default: 0, four)"
    )
    run.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="time limit of a turn in seconds (default: 60)"
    )
    add_channel(run)
    output = parser.add_argument_group("output")
    output.add_argument(
        *("-o", "--e2e-results"),
        type=Path,
        nargs="?",
        const=_DEFAULT_RESULTS,
        metavar="PATH",
        help="write the results to PATH (without PATH: tests/e2e_results.yml in the project)",
    )
    output.add_argument(
        "--coverage-report",
        action="store_true",
        help="show and write which steps of flows, or of stories and rules, the cases that passed and failed reach",
    )
    output.add_argument(
        "--coverage-output-path",
        type=output_path,
        metavar="DIR",
        help="where to write the coverage report (default: e2e_coverage_results in the project)",
    )
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_e2e)


def _test_e2e(namespace: argparse.Namespace) -> int:
    from turncheck.commands.coverage_report import DEFAULT_FOLDER
    from turncheck.commands.e2e import E2EOptions, run_test_e2e
    from turncheck.evaluation.e2e_case import CaseRun

    screen = screen_of(namespace)
    at_once = capped_workers(namespace.workers, screen)
    run = CaseRun(
        slot_order=namespace.slot_order,
        fail_fast=namespace.fail_fast,
        workers=at_once or 4,
        repeat=namespace.repeat,
        turn_timeout=namespace.timeout,
        channel=namespace.channel,
    )
    results = namespace.e2e_results
    if results is _DEFAULT_RESULTS:
        results = namespace.project / "tests" / "e2e_results.yml"
    coverage = namespace.coverage_output_path
    if namespace.coverage_report and coverage is None:
        coverage = namespace.project / DEFAULT_FOLDER
    options = E2EOptions(tuple(namespace.paths), run, results, namespace.json, coverage)
    return run_test_e2e(options, assistant_of(namespace, workers=at_once), os.environ, screen, sys.stdout)


def _seconds(written: str) -> float:
    try:
        seconds = float(written)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, not '{written}'")
    return seconds
