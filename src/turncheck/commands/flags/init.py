"""``turncheck init``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.shared import existing_folder, not_negative

if TYPE_CHECKING:
    import argparse

_BUDGET = 300


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``init``."""
    from turncheck.commands.init.workflows import PROPOSALS  # not for the commands beside this one

    parser = subparsers.add_parser(
        "init",
        help="propose a workflow file, settings and first tests",
        description="Look at the repository and show the files to start with; --write writes those that do not"
        " exist yet.",
    )
    parser.add_argument(
        "folder", nargs="?", type=existing_folder, default=Path(), metavar="DIR", help="the repository (default: .)"
    )
    parser.add_argument(
        "--host",
        choices=sorted(PROPOSALS),
        help="the CI host (default: recognised by its files, else by the remote repository)",
    )
    parser.add_argument("--write", action="store_true", help="write the files; existing files are never overwritten")
    words = f"look for what fails today for at most S seconds (default: {_BUDGET}; 0: no limit)"
    parser.add_argument("--budget", type=not_negative, default=_BUDGET, metavar="S", help=words)
    parser.set_defaults(handler=_init)


def _init(namespace: argparse.Namespace) -> int:
    from turncheck.commands.init.command import InitOptions, run_init  # not for --help
    from turncheck.process.screen import Console

    init_options = InitOptions(namespace.host, namespace.budget, namespace.write)
    return run_init(namespace.folder, init_options, Console(), sys.stdout.write)
