"""``turncheck test nlu`` and ``turncheck data split nlu``: Rasa's flags, and a few of our own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, models_of, settings_of
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_config,
    add_domain,
    add_json,
    add_model,
    add_project,
    add_rasa_files,
    add_seed,
    add_verbosity,
    add_workers,
    folds,
    output_path,
    repetitions,
    screen_of,
    share,
    whole_number,
)
from turncheck.settings.bounds import capped_workers

if TYPE_CHECKING:
    import argparse

    from turncheck.commands.nlu import NluOutput, NluTestOptions


_CROSS_VALIDATION: Final = "crossvalidation"
_FOLDS: Final = 5
_FOLDS_OF_RASA_0: Final = 10
_DATA_SUFFIXES: Final = frozenset({".md", ".json"})
"""Suffixes of ``-d`` in Rasa NLU 0.x, where it is the data; a domain never has one of them."""


def add_test_nlu(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``nlu`` below ``test``."""
    parser = subparsers.add_parser(
        "nlu",
        help="test intents, entities and responses",
        description="Test NLU data with a trained model or by cross-validation, or compare pipelines.",
    )
    add_nlu_flags(parser)
    parser.add_argument(
        "--repeat", type=repetitions, default=1, metavar="N", help="ask for each sentence N times, to find flaky ones"
    )
    add_engine_flags(parser)
    add_output_flags(parser)
    add_verbosity(parser)
    parser.set_defaults(handler=test_nlu)


def add_nlu_flags(parser: argparse.ArgumentParser) -> None:
    """Add what ``test nlu`` reads and how it measures."""
    read = parser.add_argument_group("input")
    add_project(read)
    read.add_argument("-u", "--nlu", "--data", type=Path, metavar="PATH", help="test data (default: data)")
    add_model(read)
    add_config(read, several="several, or a folder of them, are compared")
    add_domain(read)
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
        "-f", "--folds", type=folds, metavar="N", help="number of folds (default: 5; for Rasa 0 and 1: 10)"
    )
    parser.set_defaults(are_folds_named=True, repeat=1)
    add_seed(measure, "folds and training")
    add_workers(measure)
    measure.add_argument("--cluster", metavar="ADDRESS", help="train on a Dask cluster: tcp://host:port")
    add_vectors_flag(measure)
    add_custom_code_flag(measure)
    add_cache_flags(measure)
    measure.add_argument("--pretrained", action="store_true", help="score the entities of spaCy and Duckling, too")
    compare = parser.add_argument_group("comparing pipelines")
    compare.add_argument("-r", "--runs", type=whole_number, default=3, metavar="N", help="repetitions (default: 3)")
    compare.add_argument(
        *("-p", "--percentages"),
        type=whole_number,
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
        type=output_path,
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
    add_json(output)
    add_rasa_files(output)
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


def add_data_split(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``split nlu`` below ``data``."""
    words = "split data into training and test data"
    split = subparsers.add_parser("split", help=words, description=f"{words[0].upper()}{words[1:]}.")
    kinds = split.add_subparsers(title="commands", metavar="KIND", required=True, prog=split.prog)
    parser = kinds.add_parser(
        "nlu",
        help="split NLU data, intent by intent, as Rasa does",
        description="Split NLU data, intent by intent, into training and test data: for the same seed as"
        " `rasa data split nlu` does.",
    )
    add_project(parser)
    parser.add_argument("-u", "--nlu", type=Path, metavar="PATH", help="file or folder with NLU data (default: data)")
    parser.add_argument(
        "--training-fraction",
        type=share,
        default=0.8,
        metavar="SHARE",
        help="share of the data to train on (default: 0.8)",
    )
    parser.add_argument(
        "--random-seed",
        type=whole_number,
        metavar="N",
        help="seed of the split (default: a random one, which is printed)",
    )
    parser.add_argument(
        "--out",
        type=output_path,
        default=Path("train_test_split"),
        metavar="DIR",
        help="output folder (default: train_test_split)",
    )
    add_verbosity(parser)
    parser.set_defaults(handler=_data_split_nlu)


def test_nlu(namespace: argparse.Namespace) -> int:
    """Run ``test nlu`` on parsed flags: a comparison where several configurations are named."""
    from turncheck.commands.nlu import DEFAULT_COMPARISON_FOLDER, config_files, run_test_nlu

    screen = screen_of(namespace)
    configs = config_files(namespace.config or [])
    namespace.workers = capped_workers(namespace.workers, screen)
    options, output = nlu_options(namespace)
    if len(configs) <= 1:
        return run_test_nlu(options, output, screen)

    from turncheck.commands.compare_pipelines import run_compare_nlu
    from turncheck.messages.errors import UserError

    if options.repeat > 1:
        raise UserError(
            "--repeat is for one configuration: of several, each is trained and tested as often as --runs says",
            hint="Name one configuration, or leave out --repeat.",
        )
    return run_compare_nlu(
        options,
        configs,
        _output(namespace, DEFAULT_COMPARISON_FOLDER),
        screen,
        runs=namespace.runs,
        percentages=namespace.percentages,
    )


def nlu_options(namespace: argparse.Namespace) -> tuple[NluTestOptions, NluOutput]:
    """Return what ``test nlu`` measures with one configuration, and what it writes."""
    from turncheck.commands.nlu import DEFAULT_FOLDER, NluTestOptions, config_files  # not for --help

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
    return options, _output(namespace, DEFAULT_FOLDER)


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


def _output(namespace: argparse.Namespace, folder: str) -> NluOutput:
    from turncheck.commands.nlu import NluOutput  # not for --help

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


def _data_split_nlu(namespace: argparse.Namespace) -> int:
    from turncheck.commands.nlu import run_data_split_nlu  # not for --help

    return run_data_split_nlu(
        namespace.project,
        namespace.nlu,
        namespace.out,
        fraction=namespace.training_fraction,
        seed=namespace.random_seed,
        screen=screen_of(namespace),
    )
