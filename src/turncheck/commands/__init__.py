"""The commands' arguments: one module a family. Each turns a namespace into typed parameters and calls what does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add every command."""
    from turncheck.commands import both, conversation, nlu, report, run  # noqa: PLC0415 - not before they are needed

    run.add_parsers(subparsers)
    data = subparsers.add_parser("data", help="check and split the project's data")
    nlu.add_data_split(data.add_subparsers(title="what is done", metavar="WHAT", required=True))
    both.add_train(subparsers)
    both.add_test(subparsers)
    conversation.add_shell(subparsers)
    report.add_parsers(subparsers)
