"""``turncheck data convert nlu|core|domain|config``: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.shared import add_project, add_verbosity, output_path, screen_of

if TYPE_CHECKING:
    import argparse

_KINDS: Final = {
    "nlu": "NLU data and responses in Markdown or JSON, or in the YAML of Rasa 2",
    "core": "stories in Markdown, or in the YAML of Rasa 2",
    "domain": "a domain of Rasa 0.x, 1.x or 2.x",
    "config": "a configuration of Rasa 0.x, 1.x or 2.x",
}


def add_older(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add the kinds of files of an older Rasa below ``convert``."""
    for kind, what in _KINDS.items():
        parser = kinds.add_parser(
            kind,
            help=f"{what}: to the YAML of Rasa 3",
            description=f"Convert {what} to the YAML of Rasa 3, and list what could not be converted.",
        )
        parser.add_argument(
            "files", nargs="*", type=Path, metavar="FILE", help="files or folders (default: those of the project)"
        )
        add_project(parser)
        parser.add_argument(
            "--out",
            type=output_path,
            default=Path("converted"),
            metavar="DIR",
            help="output folder (default: converted)",
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="train on both forms, and end with exit code 1 if they behave differently",
        )
        parser.add_argument("--dry-run", action="store_true", help="write nothing, show what would change")
        add_verbosity(parser)
        parser.set_defaults(handler=_convert, kind=kind)


def _convert(namespace: argparse.Namespace) -> int:
    from turncheck.commands.convert import Conversion, run_data_convert  # not for --help

    conversion = Conversion(
        namespace.kind, namespace.files, namespace.project, namespace.out, namespace.check, namespace.dry_run
    )
    return run_data_convert(conversion, screen_of(namespace))
