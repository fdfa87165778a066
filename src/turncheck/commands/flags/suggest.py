"""``turncheck suggest``: its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.shared import add_verbosity, at_least_one, not_negative, screen_of
from turncheck.commands.flags.strength import BUDGET, add_tested_flags, tested_settings

if TYPE_CHECKING:
    import argparse


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
    from turncheck.commands.suggest import SuggestOptions, run_suggest  # not for --help

    options = SuggestOptions(tested_settings(namespace), namespace.mutants, namespace.write)
    return run_suggest(options, screen_of(namespace))
