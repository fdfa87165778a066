"""``turncheck test robustness``: its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import add_engine_flags, settings_of
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_json,
    add_project,
    add_seed,
    add_training_files,
    add_verbosity,
    add_workers,
    folds,
    screen_of,
    share,
)

if TYPE_CHECKING:
    import argparse


def add_test_robustness(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``robustness`` below ``test``."""
    parser = subparsers.add_parser(
        "robustness",
        help="vary test sentences the way real users write",
        description="Vary test sentences with typos, casing, abbreviations and so on, and count which variants"
        " are misunderstood.",
    )
    read = parser.add_argument_group("input")
    add_project(read)
    add_training_files(read)
    words = "test sentences (default: below tests, else cross-validation)"
    read.add_argument("-u", "--nlu", metavar="PATH", help=words)
    add_seed(read, "the variants")
    read.add_argument(
        "--folds", type=folds, default=5, metavar="N", help="number of folds of the cross-validation (default: 5)"
    )
    add_workers(read)
    add_vectors_flag(read)
    add_custom_code_flag(read)
    add_engine_flags(parser)
    output = parser.add_argument_group("output")
    words = "end with exit code 1 above this failure rate"
    output.add_argument("--fail-over", type=share, metavar="RATE", help=words)
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_robustness)


def _test_robustness(namespace: argparse.Namespace) -> int:
    from turncheck.commands.robustness import RobustnessOptions, run_test_robustness  # not for --help

    settings = settings_of(namespace, workers=namespace.workers)
    return run_test_robustness(RobustnessOptions(settings, namespace.fail_over, namespace.json), screen_of(namespace))
