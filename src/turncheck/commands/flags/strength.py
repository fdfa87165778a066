"""The flags of ``test strength``, ``test robustness`` and ``suggest``."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import add_cache_flags, add_engine_flags, settings_of
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_json,
    add_paths,
    add_project,
    add_seed,
    add_training_files,
    add_verbosity,
    add_workers,
    at_least_one,
    folds,
    not_negative,
    screen_of,
    share,
)

if TYPE_CHECKING:
    from turncheck.settings.options import Settings


BUDGET = 600
"""After how many seconds no further mutant is tried, unless the command says otherwise."""


def add_test_strength(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``strength`` below ``test``."""
    parser = subparsers.add_parser(
        "strength",
        help="try the tests on mutants of the project: which faults would no test notice?",
        description="Plant one small fault at a time in a copy of the project, and see whether its tests notice.",
    )
    add_tested_flags(parser)
    run = parser.add_argument_group("mutants")
    run.add_argument("--changed", action="store_true", help="only mutants of lines that differ from the base")
    run.add_argument(
        "--mutants", type=at_least_one, default=0, metavar="N", help="number of mutants to try (default: all)"
    )
    run.add_argument(
        "--budget",
        type=not_negative,
        default=BUDGET,
        metavar="S",
        help=f"stop after S seconds, with what was found until then (default: {BUDGET}; 0: no limit)",
    )
    run.add_argument(
        "--fail-under", type=_score, metavar="SCORE", help="end with exit code 1 if the score is below this"
    )
    output = parser.add_argument_group("output")
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_strength)


def add_tested_flags(parser: argparse.ArgumentParser) -> None:
    """Add what is read: the project and its tests."""
    read = parser.add_argument_group("input")
    add_project(read)
    add_training_files(read)
    add_paths(read, "-s", "--stories", words="test stories (default: test_*.yml below tests/)")
    add_paths(read, "--e2e", words="end-to-end test cases (default: found in tests/ and e2e_tests/)")
    read.add_argument(
        "-u", "--nlu", metavar="PATH", help="test sentences, a file or folder (default: found below tests/)"
    )
    read.add_argument("--base", metavar="REF", help="branch, tag or commit that --changed compares with")
    read.add_argument("--action-endpoint", metavar="URL", help="the action server, instead of the one in endpoints.yml")
    add_seed(read, "mutants and training")
    add_workers(read)
    add_vectors_flag(read)
    add_custom_code_flag(read)
    add_cache_flags(read)


def tested_settings(namespace: argparse.Namespace) -> Settings:
    """Return the settings of a command with these flags."""
    from dataclasses import replace  # not for --help

    settings = settings_of(namespace, workers=namespace.workers)
    e2e = tuple(map(str, namespace.e2e or ()))
    return replace(settings, e2e=e2e, base=namespace.base, strength_budget=getattr(namespace, "budget", 0))


def _test_strength(namespace: argparse.Namespace) -> int:
    from turncheck.commands.strength import StrengthOptions, run_test_strength  # not for --help

    options = StrengthOptions(
        tested_settings(namespace), namespace.mutants, namespace.changed, namespace.fail_under, namespace.json
    )
    return run_test_strength(options, screen_of(namespace))


def _score(written: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, not '{written[:80]}'")
    return value


# ``turncheck suggest``: its flags.


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``suggest``."""
    parser = subparsers.add_parser(
        "suggest",
        help="suggest the tests to write next: each passes now, and notices faults that no test notices",
        description="Find faults that no test would notice, and suggest tests that would. Each suggested test"
        " has been run.",
    )
    add_tested_flags(parser)
    look = parser.add_argument_group("suggestions")
    look.add_argument(
        "--mutants", type=at_least_one, default=0, metavar="N", help="number of mutants to try (default: all)"
    )
    words = f"try mutants for S seconds (default: {BUDGET}; 0: all of them)"
    look.add_argument("--budget", type=not_negative, default=BUDGET, metavar="S", help=words)
    look.add_argument("--write", action="store_true", help="write the suggestions to new files below tests/")
    add_verbosity(parser)
    parser.set_defaults(handler=_suggest)


def _suggest(namespace: argparse.Namespace) -> int:
    from turncheck.commands.strength import SuggestOptions, run_suggest  # not for --help

    options = SuggestOptions(tested_settings(namespace), namespace.mutants, namespace.write)
    return run_suggest(options, screen_of(namespace))


# ``turncheck test robustness``: its flags.


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
    add_cache_flags(read)
    add_engine_flags(parser)
    output = parser.add_argument_group("output")
    words = "end with exit code 1 above this failure rate"
    output.add_argument("--fail-over", type=share, metavar="RATE", help=words)
    add_json(output)
    add_verbosity(output)
    parser.set_defaults(handler=_test_robustness)


def _test_robustness(namespace: argparse.Namespace) -> int:
    from turncheck.commands.strength import RobustnessOptions, run_test_robustness  # not for --help

    settings = settings_of(namespace, workers=namespace.workers)
    return run_test_robustness(RobustnessOptions(settings, namespace.fail_over, namespace.json), screen_of(namespace))
