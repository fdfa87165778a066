"""The command line: arguments in, exit codes out, nothing else."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

from turncheck import __version__
from turncheck.errors import EXIT_INTERRUPTED, EXIT_NOT_DONE, EXIT_OK, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

REPORT_BUGS_AT = "https://github.com/turncheck/turncheck/issues"


class Parser(argparse.ArgumentParser):
    """An argument parser that takes no abbreviations, and whose help is coloured where somebody looks at it."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)  # type: ignore[arg-type]  # handed through as argparse takes them

    def format_help(self) -> str:
        """Colour the help on a terminal; Rich is imported for that alone."""
        if sys.stdout.isatty():
            from rich_argparse import RawDescriptionRichHelpFormatter  # noqa: PLC0415 - only for people who look

            self.formatter_class = RawDescriptionRichHelpFormatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and how to get help, without the whole usage."""
        self.exit(EXIT_NOT_DONE, f"{self.prog}: error: {message}\nSee `{self.prog} --help`.\n")


def build_parser(command: str | None = None) -> Parser:
    """Return the parser of this command, or of all; each sets ``handler``: from the namespace to an exit code."""
    from turncheck import commands  # noqa: PLC0415 - `turncheck --version` needs none of them

    parser = Parser(
        prog="turncheck",
        description="Tests for chat assistants, on every pull request.",
        epilog="Exit codes: 0 done or all passed, 1 failed, 2 could not be done, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"turncheck {__version__}")
    parser.add_argument(
        "--print-completion", choices=("bash", "zsh", "tcsh"), help="print a completion script for this shell, and exit"
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    commands.add_parsers(subparsers, command)
    return parser


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Nothing is raised: every error ends here as words."""
    if list(arguments) == ["--version"]:
        sys.stdout.write(f"turncheck {__version__}\n")
        return EXIT_OK
    try:
        return _dispatch(build_parser(arguments[0] if arguments else None), arguments)
    except SystemExit as done:  # argparse ends this way, with the help or an error already printed
        return done.code if isinstance(done.code, int) else EXIT_NOT_DONE
    except UserError as error:
        sys.stderr.write(f"turncheck: error: {error}\n")
        return EXIT_NOT_DONE
    except KeyboardInterrupt:
        sys.stderr.write("turncheck: interrupted\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        return EXIT_NOT_DONE
    except Exception:  # noqa: BLE001 - the last handler: a fault of ours, shown whole so that it can be reported
        import platform  # noqa: PLC0415 - only here
        import traceback  # noqa: PLC0415

        traceback.print_exc()
        sys.stderr.write(
            f"turncheck {__version__} met a fault of its own (Python {platform.python_version()}, {sys.platform}). "
            f"Please report it with the lines above: {REPORT_BUGS_AT}\n"
        )
        return EXIT_NOT_DONE


def _dispatch(parser: Parser, arguments: Sequence[str]) -> int:
    namespace = parser.parse_args(arguments)
    if namespace.print_completion:
        import shtab  # noqa: PLC0415 - only for this

        sys.stdout.write(shtab.complete(parser, shell=namespace.print_completion) + "\n")
        return EXIT_OK
    handler = getattr(namespace, "handler", None)
    if handler is None:
        parser.print_help()
        return EXIT_NOT_DONE
    return int(handler(namespace))
