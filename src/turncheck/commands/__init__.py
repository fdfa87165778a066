"""The commands' arguments: one module a family. Each turns a namespace into typed parameters and calls what does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add every command."""
    from turncheck.commands import both, conversation, data, parse, report, run  # noqa: PLC0415 - not before they are needed

    run.add_parsers(subparsers)
    data.add_parsers(subparsers)
    both.add_train(subparsers)
    both.add_test(subparsers)
    parse.add_parsers(subparsers)
    conversation.add_shell(subparsers)
    report.add_parsers(subparsers)
