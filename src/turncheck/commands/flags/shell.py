"""``turncheck shell``: talk to the assistant."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import TALK_FLAGS, add_assistant, add_engine_flags, assistant_of
from turncheck.commands.flags.shared import add_channel, add_verbosity, screen_of

if TYPE_CHECKING:
    import argparse


def add_shell(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``shell``."""
    parser = subparsers.add_parser(
        "shell",
        help="talk to the assistant",
        description="Talk to the assistant. From a pipe, each line is one message.",
    )
    add_assistant(parser)
    talk = parser.add_argument_group("conversation")
    talk.add_argument(
        "--format",
        choices=("text", "jsonl"),
        default="text",
        help="text (default), or jsonl: one line of JSON per turn",
    )
    talk.add_argument(
        "--fixture",
        action="append",
        default=[],
        metavar="SLOT=VALUE",
        help="fill a slot before the conversation; the value is JSON, else a string (repeatable)",
    )
    add_channel(talk)
    add_engine_flags(parser, *TALK_FLAGS)
    add_verbosity(parser)
    parser.set_defaults(handler=_shell, remote_storage=None)


def _shell(namespace: argparse.Namespace) -> int:
    from turncheck.commands.shell import ShellOptions, Terminal, run_shell, typed_lines

    interactive = sys.stdin.isatty() and namespace.format == "text"
    ends = Terminal(typed_lines() if interactive else sys.stdin, sys.stdout, interactive)
    shell = ShellOptions(namespace.format, namespace.fixture, namespace.channel)
    return run_shell(assistant_of(namespace), shell, ends, os.environ, screen_of(namespace))
