"""Bare ``turncheck train`` and ``turncheck test``: language understanding and dialogue in one go, as Rasa's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags import core
from turncheck.commands.flags.engine import add_engine_flags
from turncheck.commands.flags.run import add_vectors_flag
from turncheck.commands.flags.shared import (
    add_augmentation,
    add_config,
    add_domain,
    add_model_output,
    add_paths,
    add_project,
    add_seed,
    add_verbosity,
    at_least_one,
    screen_of,
)
from turncheck.settings.bounds import capped_workers

if TYPE_CHECKING:
    import argparse


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
    from turncheck.commands.flags import batch, e2e, nlu, strength  # `train` needs none of them
    from turncheck.commands.flags import strength as robustness

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
    e2e.add_test_e2e(kinds)
    batch.add_test_batch(kinds)
    strength.add_test_strength(kinds)
    robustness.add_test_robustness(kinds)


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
    from turncheck.run.trainable import ensure_assistant, ensure_readable

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
        raise UserError(
            "there is nothing to test: neither test stories nor NLU data", remedy="See --stories and --nlu."
        )
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
