"""The commands and their arguments. Each turns a namespace into typed parameters and calls what the command does."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


class Command(NamedTuple):
    """What a command does, in the words of the help, and the function that adds its parser with them; its module is
    imported when the command is used."""

    words: str
    function: str


COMMANDS: Final[Mapping[str, Command]] = {
    "run": Command(
        "validate, run every evaluation that the project has files for, compare, and judge", "commands.run:add_run"
    ),
    "action": Command(
        "entrypoint of the container: reads its settings from INPUT_* variables", "commands.run:add_action"
    ),
    "data": Command("validate, split and convert the project's data", "commands.validate:add_parsers"),
    "train": Command("train a model: NLU and policies, or one of them", "commands.train:add_train"),
    "test": Command("test stories and NLU data, as `rasa test` does, or one kind of test", "commands.test:add_test"),
    "parse": Command("show how sentences are understood", "commands.parse:add_parsers"),
    "shell": Command("talk to the assistant", "commands.shell:add_shell"),
    "suite": Command("make batch suites", "commands.suites:add_parsers"),
    "suggest": Command(
        "suggest the tests to write next: each passes now, and notices faults that no test notices",
        "commands.strength:add_parsers",
    ),
    "init": Command("propose a workflow file, settings and first tests", "commands.init.command:add_parsers"),
    "report": Command("compare, render, import, publish and merge reports", "commands.report:add_parsers"),
    "explain": Command(
        "print what it takes to repair one test, finding or gate of a run", "commands.explain:add_parsers"
    ),
    "quarantine": Command("list, add and release tests that are known to fail", "commands.quarantine:add_parsers"),
    "calibrate": Command(
        "measure how far the embedded engine agrees with your own Rasa model, or several engines with each other",
        "commands.calibrate:add_calibrate",
    ),
    "compare-engines": Command("now `calibrate --engines`", "commands.calibrate:add_compare_engines"),
    "kore": Command(
        "manage suites, runs and the assistant's export on Kore.ai's platform", "platforms.kore.flags:add_parsers"
    ),
}
"""Every command, in the order of the help."""
_BY_KIND: Final = frozenset({"data", "test"})
"""Commands of which each kind has a function of its own, too."""


def add_parsers(
    subparsers: argparse._SubParsersAction[Any], command: str | None = None, kind: str | None = None
) -> None:
    """Add the parser of one command, or of all if none is named or the name is unknown; of its kinds likewise. For
    ``--help`` only their names.

    Creating all of them takes longer than some commands take.
    """
    known = COMMANDS.get(command or "")
    for name, (words, function) in ({command or "": known} if known else COMMANDS).items():
        if command in {"-h", "--help"}:
            subparsers.add_parser(name, help=words)
            continue
        module, _, add = function.partition(":")
        kinds = (kind,) if command in _BY_KIND else ()
        getattr(import_module(f"turncheck.{module}"), add)(subparsers, words, *kinds)
