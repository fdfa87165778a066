"""``turncheck parse``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.run import add_custom_code_flag, add_verbosity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``parse``."""
    parser = subparsers.add_parser(
        "parse",
        help="what is understood of sentences",
        description="Understand sentences from the command line, else from standard input, one a line.",
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="a sentence")
    parser.add_argument(
        "--project", type=Path, default=Path(), metavar="DIR", help="the assistant's folder (default: .)"
    )
    parser.add_argument("-m", "--model", type=Path, metavar="PATH", help="a trained model, or a folder of them")
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", help="the configuration (default: config.yml)")
    parser.add_argument("-u", "--nlu", type=Path, metavar="PATH", help="NLU data to learn from (default: data)")
    parser.add_argument("-d", "--domain", type=Path, metavar="PATH", help="the domain (default: domain.yml)")
    parser.add_argument("--seed", type=int, default=42, metavar="N", help="seed of the training (default: 42)")
    add_custom_code_flag(parser)
    parser.add_argument(
        "--format", choices=("text", "jsonl"), default="text", help="jsonl: a line each, as Rasa's /model/parse answers"
    )
    add_verbosity(parser)
    parser.set_defaults(handler=_parse)


def _parse(namespace: argparse.Namespace) -> int:
    from turncheck.parse_command import ParseOptions, run_parse  # noqa: PLC0415 - not for --help
    from turncheck.screen import Screen  # noqa: PLC0415

    options = ParseOptions(
        project=namespace.project,
        model=namespace.model,
        config=namespace.config,
        nlu=namespace.nlu,
        domain=namespace.domain,
        seed=namespace.seed,
        allow_custom_code=namespace.allow_custom_code,
    )
    screen = Screen(quiet=namespace.quiet, verbose=bool(namespace.verbose))
    return run_parse(options, namespace.texts or _lines(), namespace.format, sys.stdout, screen)


def _lines() -> Iterator[str]:
    for line in sys.stdin:
        if line.strip():
            yield line.rstrip("\r\n")
