"""The commands and their arguments. Each turns a namespace into typed parameters and calls what the command does."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

COMMANDS: Final[Mapping[str, str]] = {
    "run": "commands.run:add_parsers",
    "action": "commands.run:add_parsers",
    "data": "commands.validate:add_parsers",
    "train": "commands.train:add_train",
    "test": "commands.test:add_test",
    "parse": "commands.parse:add_parsers",
    "shell": "commands.parse:add_shell",
    "suite": "commands.suites:add_parsers",
    "suggest": "commands.strength:add_parsers",
    "init": "commands.init.command:add_parsers",
    "report": "commands.report:add_parsers",
    "quarantine": "commands.quarantine:add_parsers",
    "calibrate": "commands.compare_engines:add_calibrate",
    "compare-engines": "commands.compare_engines:add_compare_engines",
    "kore": "platforms.kore.flags:add_parsers",
}
"""Every command, in the order of the help, with the function that adds its parser; its module is imported when the
command is used."""
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
        getattr(import_module(f"turncheck.{module}"), name)(subparsers, *kinds)
