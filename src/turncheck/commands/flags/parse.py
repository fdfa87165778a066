"""``turncheck parse``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import FLAGS, add_cache_flags, add_engine_flags, models_of, settings_of
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import (
    add_config,
    add_domain,
    add_model,
    add_project,
    add_seed,
    add_verbosity,
    screen_of,
)

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
    return run_parse(options, namespace.texts or _lines(), namespace.format, os.environ, sys.stdout, screen)


def _lines() -> Iterator[str]:
    for line in sys.stdin:
        if line.strip():
            yield line.rstrip("\r\n")
