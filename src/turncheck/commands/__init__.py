"""The commands' arguments: one module a family. Each turns a namespace into typed parameters and calls what does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

Subparsers = "argparse._SubParsersAction[Any]"


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add every command."""
    from turncheck.commands import run  # noqa: PLC0415 - a family is imported when a command line is read

    run.add_parsers(subparsers)
