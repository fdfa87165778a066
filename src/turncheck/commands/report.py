"""``turncheck report``: compare, render."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.run import add_setting, add_verbosity
from turncheck.settings import options

if TYPE_CHECKING:
    import argparse

    from turncheck.screen import Screen

GATES = ("fail-on", "fail-on-warnings", "thresholds", "max-regression", "require", "not-judged")


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``report`` and what is below it."""
    report = subparsers.add_parser("report", help="work with reports that were written before")
    kinds = report.add_subparsers(title="what is done", metavar="WHAT", required=True)
    _add_compare(kinds)
    _add_render(kinds)


def _add_compare(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "compare",
        help="compare two reports and judge the second",
        description="Compare two reports; the second is judged by the gates given here, else by its own.",
    )
    parser.add_argument("base", type=Path, metavar="BASE", help="a report.json, or the folder it is in")
    parser.add_argument("head", type=Path, metavar="HEAD", help="the same for the newer one")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="folder (default: results)")
    gates = parser.add_argument_group("gates (default: those of HEAD)")
    for name in GATES:
        add_setting(gates, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_compare)


def _add_render(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser("render", help="write all outputs of a report again")
    parser.add_argument("report", type=Path, metavar="REPORT", help="a report.json, or the folder it is in")
    parser.add_argument("--baseline", metavar="WHAT", help="a report.json to compare with (path or https URL)")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="folder (default: results)")
    add_verbosity(parser)
    parser.set_defaults(handler=_render)


def _compare(namespace: argparse.Namespace) -> int:
    from turncheck.report_commands import compare_reports  # noqa: PLC0415 - not for --help
    from turncheck.settings import from_flags  # noqa: PLC0415

    gates = from_flags({name: getattr(namespace, name.replace("-", "_")) for name in GATES})
    return compare_reports(
        namespace.base,
        namespace.head,
        gates=gates,
        out=namespace.out,
        write=sys.stdout.write,
        screen=_screen(namespace),
    )


def _render(namespace: argparse.Namespace) -> int:
    from turncheck.report_commands import render_report  # noqa: PLC0415 - not for --help

    return render_report(namespace.report, namespace.baseline, namespace.out, _screen(namespace))


def _screen(namespace: argparse.Namespace) -> Screen:
    from turncheck.screen import Screen  # noqa: PLC0415 - not for --help

    return Screen(quiet=namespace.quiet, verbose=bool(namespace.verbose))
