"""``turncheck quarantine``: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.shared import add_verbosity

if TYPE_CHECKING:
    import argparse


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``quarantine`` and what is below it."""
    parser = subparsers.add_parser(
        "quarantine",
        help="list, add and release tests that are known to fail",
        description="List, add and release tests that are known to fail, in turncheck.quarantine.yml.",
    )
    kinds = parser.add_subparsers(title="commands", metavar="WHAT", required=True)
    words = "list the tests in quarantine, with the days that are left"
    shown = kinds.add_parser("list", help=words, description=f"{words[0].upper()}{words[1:]}.")
    shown.add_argument("--json", action="store_true", help="as JSON")
    _add_folder(shown)
    shown.set_defaults(handler=_list)
    added = kinds.add_parser(
        "add",
        help="put a test into quarantine",
        description="Add a test to turncheck.quarantine.yml, which is created if it does not exist; its comments and"
        " order are kept. On a pull request, an entry counts once it is merged.",
    )
    _add_case(added)
    added.add_argument("--because", required=True, metavar="TEXT", help="why it is in quarantine")
    added.add_argument("--owner", required=True, metavar="NAME", help="who looks after it")
    added.add_argument("--until", metavar="DATE", help="the last day, at most 90 days ahead (default: in 30 days)")
    added.add_argument("--expect", choices=("flaky", "failing"), default="flaky", help="how it fails (default: flaky)")
    added.add_argument("--issue", metavar="LINK", help="where its repair is kept track of")
    _add_folder(added)
    added.set_defaults(handler=_add)
    released = kinds.add_parser(
        "release",
        help="take a test out of quarantine",
        description="Remove a test from turncheck.quarantine.yml, so that its failures count again; the rest of the"
        " file stays as it is.",
    )
    _add_case(released)
    _add_folder(released)
    released.set_defaults(handler=_release)


def _add_case(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("case", metavar="CASE", help="the test, by its name, or FILE::NAME")


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--project", type=Path, default=Path(), metavar="DIR", help="the folder of turncheck.yml (default: .)"
    )
    add_verbosity(parser)


def _list(namespace: argparse.Namespace) -> int:
    from turncheck.commands.quarantine import list_quarantine  # not for --help

    return list_quarantine(namespace.project, as_json=namespace.json)


def _add(namespace: argparse.Namespace) -> int:
    from turncheck.commands.quarantine import NewEntry, add_to_quarantine  # not for --help

    entry = NewEntry(
        namespace.case,
        namespace.because,
        namespace.owner,
        namespace.until,
        namespace.expect,
        namespace.issue,
    )
    return add_to_quarantine(namespace.project, entry)


def _release(namespace: argparse.Namespace) -> int:
    from turncheck.commands.quarantine import release_from_quarantine  # not for --help

    return release_from_quarantine(namespace.project, namespace.case)
