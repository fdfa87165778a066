"""``turncheck parse``, and ``turncheck shell``: talk to the assistant. Their flags."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import (
    FLAGS,
    TALK_FLAGS,
    add_assistant,
    add_cache_flags,
    add_engine_flags,
    assistant_of,
    models_of,
    settings_of,
)
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_channel,
    add_config,
    add_domain,
    add_model,
    add_project,
    add_seed,
    add_verbosity,
    screen_of,
)
from turncheck.process.streams import ensure_utf_8, lines_of_input

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``parse``."""
    parser = subparsers.add_parser(
        "parse",
        help="show how sentences are understood",
        description="Show how sentences are understood. They come from the command line, otherwise from"
        " standard input, one per line.",
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="a sentence")
    parser.recognise("texts", lambda word: not Path(word).is_dir())
    add_project(parser)
    add_model(parser)
    add_config(parser)
    parser.add_argument("-u", "--nlu", type=Path, metavar="PATH", help="NLU data to train on (default: data)")
    add_domain(parser)
    add_seed(parser, "training")
    add_vectors_flag(parser)
    add_custom_code_flag(parser)
    add_cache_flags(parser)
    parser.add_argument(
        "--format",
        choices=("text", "jsonl"),
        default="text",
        help="text (default), or jsonl: one line per sentence, as Rasa's /model/parse answers",
    )
    add_engine_flags(parser, *(name for name in FLAGS if name != "kore-way"))
    add_verbosity(parser)
    parser.set_defaults(handler=_parse)


def _parse(namespace: argparse.Namespace) -> int:
    from turncheck.commands.parse import ParseOptions, run_parse  # not for --help

    options = ParseOptions(settings_of(namespace), models_of(namespace))
    screen = screen_of(namespace)
    texts = map(_sound, namespace.texts) if namespace.texts else _sentences()
    return run_parse(options, texts, namespace.format, os.environ, sys.stdout, screen)


def _sentences() -> Iterator[str]:
    for line in lines_of_input(sys.stdin):
        if line.strip():
            yield line.rstrip("\r\n")


def _sound(sentence: str) -> str:
    ensure_utf_8(sentence, "a sentence on the command line")
    return sentence


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
    from turncheck.commands.parse import ShellOptions, Terminal, run_shell, typed_lines

    interactive = sys.stdin.isatty() and namespace.format == "text"
    ends = Terminal(lines_of_input(typed_lines() if interactive else sys.stdin), sys.stdout, interactive)
    for fixture in namespace.fixture:
        ensure_utf_8(fixture, "--fixture")
    shell = ShellOptions(namespace.format, namespace.fixture, namespace.channel)
    return run_shell(assistant_of(namespace), shell, ends, os.environ, screen_of(namespace))
