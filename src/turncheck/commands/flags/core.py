"""``turncheck train core`` and ``turncheck test core``: Rasa's flags, and a few of our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, models_of, settings_of
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_augmentation,
    add_config,
    add_domain,
    add_json,
    add_model_output,
    add_paths,
    add_project,
    add_rasa_files,
    add_seed,
    add_verbosity,
    at_least_one,
    output_path,
    repetitions,
    screen_of,
    whole_number,
)

if TYPE_CHECKING:
    import argparse

    from turncheck.commands.core import CoreOutput, CoreTestOptions
    from turncheck.commands.train import TrainOptions


def add_train_core(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``core`` below ``train``."""
    parser = subparsers.add_parser(
        "core",
        help="train the policies on stories and rules",
        description="Train the policies on stories and rules. With several configurations, train models to compare.",
    )
    add_train_core_flags(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=train_core)


def add_train_core_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``train core`` reads, and where its models go."""
    read = parser.add_argument_group("input")
    add_project(read)
    add_paths(read, "-s", "--stories", "--data", words="files or folders with stories and rules (default: data)")
    add_domain(read)
    add_config(read, several="with several, train models to compare")
    learn = parser.add_argument_group("training")
    add_augmentation(learn)
    add_seed(learn, "training")
    compare = parser.add_argument_group("comparing configurations")
    compare.add_argument("--runs", type=repetitions, default=3, metavar="N", help="repetitions (default: 3)")
    compare.add_argument(
        "--percentages",
        type=whole_number,
        nargs="+",
        action="extend",
        metavar="N",
        help="percentages of the stories to leave out (default: 0 25 50 75; for Rasa 0 and 1: 0 5 25 50 70 90 95)",
    )
    output = parser.add_argument_group("output")
    add_model_output(output)


def add_test_core(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``core`` below ``test``."""
    parser = subparsers.add_parser(
        "core",
        help="test the policies on test stories",
        description="Run test stories against a trained model. Custom actions are never called.",
    )
    add_test_core_flags(parser)
    add_story_flags(parser)
    add_engine_flags(parser)
    add_core_output_flags(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=test_core)


def add_test_core_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``test core`` reads beside the stories."""
    read = parser.add_argument_group("input")
    add_project(read)
    read.add_argument(
        *("-m", "--model"),
        type=Path,
        nargs="+",
        action="extend",
        metavar="PATH",
        help="a trained model, or a folder of models; several models are compared",
    )
    add_domain(read)
    add_config(read)
    add_seed(read, "training, if done in memory")
    add_vectors_flag(read)
    add_custom_code_flag(read)
    add_cache_flags(read)


def add_story_flags(parser: argparse.ArgumentParser) -> None:
    """Add which test stories are judged, and how."""
    judge = parser.add_argument_group("test stories")
    add_paths(judge, "-s", "--stories", words="test stories (default: test_*.yml below tests/; for Rasa 0 and 1: data)")
    judge.add_argument("--url", metavar="URL", help="fetch the test stories from this https address")
    judge.add_argument(
        "--endpoints", type=Path, metavar="PATH", help="the endpoints file; read, but nothing in it is called"
    )
    judge.add_argument("--max-stories", type=at_least_one, metavar="N", help="judge only the first N stories")
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
        "--out", type=output_path, default=Path("results"), metavar="DIR", help="output folder (default: results)"
    )
    output.add_argument("--successes", action="store_true", help="write the stories that passed to a file, too")
    output.add_argument("--no-errors", action="store_true", help="do not write failed stories to a file")
    output.add_argument("--no-warnings", action="store_true", help="do not write stories with warnings to a file")
    output.add_argument("--no-plot", action="store_true", help="draw no plots")
    add_rasa_files(output)
    add_json(output)


def train_core(namespace: argparse.Namespace) -> int:
    """Run ``train core``."""
    from turncheck.commands.train import run_train  # not for --help

    configs: list[Path] = namespace.config or []
    if len(configs) <= 1:
        return run_train(train_options(namespace), ("core",), screen_of(namespace))
    from turncheck.commands.compare_policies import run_train_comparison

    return run_train_comparison(
        train_options(namespace),
        configs,
        screen_of(namespace),
        runs=namespace.runs,
        percentages=namespace.percentages or (),
    )


def test_core(namespace: argparse.Namespace) -> int:
    """Run ``test core``."""
    from turncheck.commands.core import run_test_core  # not for --help

    options = test_core_options(namespace, end_to_end=namespace.e2e)
    output, screen = core_output(namespace), screen_of(namespace)
    models: list[Path] = namespace.model or []
    if not namespace.evaluate_model_directory and len(models) <= 1:
        return run_test_core(options, output, screen)
    from turncheck.commands.compare_policies import run_test_model_directory, run_test_models

    if namespace.evaluate_model_directory:
        return run_test_model_directory(options, output, screen)
    return run_test_models(options, models, output, screen)


def test_core_options(namespace: argparse.Namespace, *, end_to_end: bool) -> CoreTestOptions:
    """Return what ``test core`` measures."""
    from turncheck.commands.core import CoreTestOptions  # not for --help

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
    from turncheck.commands.core import CoreOutput  # not for --help

    return CoreOutput(
        folder=namespace.out,
        successes=namespace.successes,
        errors=not namespace.no_errors,
        warnings=not namespace.no_warnings,
        plots=not namespace.no_plot,
        json=namespace.json,
        rasa_files=namespace.rasa_files,
    )


def train_options(namespace: argparse.Namespace) -> TrainOptions:
    """Return what ``train`` trains, and where its model goes."""
    from turncheck.commands.train import TrainOptions  # not for --help

    return TrainOptions(
        settings=settings_of(namespace),
        out=namespace.out,
        fixed_name=namespace.fixed_model_name,
        augmentation=getattr(namespace, "augmentation", 50),
    )
