"""The commands' arguments: one module a family. Each turns a namespace into typed parameters and calls what does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add every command."""
    from turncheck.commands import conversation, nlu, report, run  # noqa: PLC0415 - read when a command line is, not before

    run.add_parsers(subparsers)
    data = subparsers.add_parser("data", help="check and split the project's data")
    nlu.add_data_split(data.add_subparsers(title="what is done", metavar="WHAT", required=True))
    test = subparsers.add_parser("test", help="test what was trained, as `rasa test` does")
    tested = test.add_subparsers(title="what is tested", metavar="WHAT", required=True)
    nlu.add_test_nlu(tested)
    conversation.add_test_e2e(tested)
    conversation.add_shell(subparsers)
    report.add_parsers(subparsers)
