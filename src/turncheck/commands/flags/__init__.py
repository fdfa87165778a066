"""The commands' arguments: one module per family. Each turns a namespace into typed parameters and calls the
command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


COMMANDS = (
    *("run", "action", "data", "train", "test", "parse", "shell", "report", "calibrate", "suite", "suggest", "kore"),
    "init",
)


def add_parsers(
    subparsers: argparse._SubParsersAction[Any], command: str | None = None, kind: str | None = None
) -> None:
    """Add the parser of one command, or of all if none is named or the name is unknown; of its kinds likewise.

    Creating all of them takes longer than some commands take.
    """
    wanted = (command,) if command in COMMANDS else COMMANDS
    if "run" in wanted or "action" in wanted:
        from turncheck.commands.flags import run  # each family is imported on demand

        run.add_parsers(subparsers)
    if "data" in wanted:
        from turncheck.commands.flags import data

        data.add_parsers(subparsers, kind)
    if "train" in wanted:
        from turncheck.commands.flags import bare

        bare.add_train(subparsers)
    if "test" in wanted:
        from turncheck.commands.flags import bare

        bare.add_test(subparsers)
    if "parse" in wanted:
        from turncheck.commands.flags import parse

        parse.add_parsers(subparsers)
    if "shell" in wanted:
        from turncheck.commands.flags import shell

        shell.add_shell(subparsers)
    if "suite" in wanted:
        from turncheck.commands.flags import suite

        suite.add_parsers(subparsers)
    if "suggest" in wanted:
        from turncheck.commands.flags import strength as suggest

        suggest.add_parsers(subparsers)
    if "init" in wanted:
        from turncheck.commands.flags import init

        init.add_parsers(subparsers)
    if "report" in wanted:
        from turncheck.commands.flags import report

        report.add_parsers(subparsers)
    if "calibrate" in wanted:
        from turncheck.commands.flags import calibrate

        calibrate.add_parsers(subparsers)
    if "kore" in wanted:
        from turncheck.commands.flags import kore

        kore.add_parsers(subparsers)
