"""The commands and their arguments. Each turns a namespace into typed parameters and calls what the command does."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

COMMANDS: Final[Mapping[str, str]] = {
    "run": "flags.run:add_parsers",
    "action": "flags.run:add_parsers",
    "data": "flags.data:add_parsers",
    "train": "flags.bare:add_train",
    "test": "flags.bare:add_test",
    "parse": "flags.parse:add_parsers",
    "shell": "flags.shell:add_shell",
    "suite": "flags.suite:add_parsers",
    "suggest": "flags.strength:add_parsers",
    "init": "flags.init:add_parsers",
    "report": "flags.report:add_parsers",
    "calibrate": "flags.calibrate:add_parsers",
    "compare-engines": "flags.compare_engines:add_parsers",
    "kore": "flags.kore:add_parsers",
}
"""Every command, in the order of the help, with the function of a module of `turncheck.commands` that adds its parser,
imported when the command is used."""
_BY_KIND: Final = frozenset({"data"})
"""Commands of which each kind has a function of its own, too."""


def add_parsers(
    subparsers: argparse._SubParsersAction[Any], command: str | None = None, kind: str | None = None
) -> None:
    """Add the parser of one command, or of all if none is named or the name is unknown; of its kinds likewise.

    Creating all of them takes longer than some commands take.
    """
    known = COMMANDS.get(command or "")
    functions = (known,) if known else dict.fromkeys(COMMANDS.values())
    for function in functions:
        module, _, name = function.partition(":")
        kinds = (kind,) if command in _BY_KIND else ()
        getattr(import_module(f"turncheck.commands.{module}"), name)(subparsers, *kinds)
