"""``turncheck kore``: its flags."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import KORE_FLAGS
from turncheck.commands.flags.run import add_setting
from turncheck.commands.flags.shared import add_verbosity, output_path, screen_of
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from turncheck.commands.flags.parser import Parser
    from turncheck.platforms.kore.commands import Task

_BUILT_IN = "'Developer defined utterances' and 'Successful user utterances' are the platform's own"
_FLAGS = tuple(name for name in KORE_FLAGS if name != "kore-bot-name")


def add_parsers(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``kore`` and what is below it."""
    kore = subparsers.add_parser(
        "kore",
        help="manage suites, runs and the assistant's export on Kore.ai's platform",
        description="Manage and run batch suites on Kore.ai's platform, and fetch the assistant's export.",
    )
    kinds = kore.add_subparsers(title="commands", metavar="WHAT", required=True)
    _add(kinds, "suites", "list the suites and their runs", _suites)

    run = _add(kinds, "run", "run a suite on the platform and wait for its figures", _run)
    run.add_argument("name", metavar="NAME", help=f"the suite; {_BUILT_IN}")
    waits = run.add_mutually_exclusive_group()
    waits.add_argument("--wait", action="store_true", default=True, help="wait until the run has ended (the default)")
    waits.add_argument("--no-wait", dest="wait", action="store_false", help="print the run's id, and do not wait")
    run.add_argument("--csv", type=Path, metavar="FILE", help="write the platform's CSV of the run")
    words = "run both versions, in development and published, and compare them; not with --kore-version"
    run.add_argument("--both-versions", action="store_true", help=words)
    run.add_argument("--notes", default="", metavar="TEXT", help="notes on this run, up to 1,024 characters")

    cancelled = _add(kinds, "cancel", "cancel a run that is under way", _cancel)
    cancelled.add_argument("name", metavar="NAME", help="the suite")
    cancelled.add_argument("run", metavar="RUN", help="the run's id")

    status = _add(kinds, "status", "show the state of a run", _status)
    status.add_argument("name", metavar="NAME", help="the suite")
    status.add_argument("run", metavar="RUN", help="the run's id")
    status.add_argument("--csv", type=Path, metavar="FILE", help="write the platform's CSV of the run, if it has ended")

    words = "upload a suite and run a new one on both versions; one of the same name is replaced"
    stored = _add(kinds, "import", words, _import)
    stored.add_argument("file", type=Path, metavar="FILE", help="the suite file, JSON or CSV")
    stored.add_argument("--name", metavar="NAME", help="name on the platform (default: the file's name)")
    stored.add_argument("--description", default="", metavar="TEXT", help="what the suite is for")
    stored.add_argument("--no-run", dest="runs", action="store_false", help="do not run a new suite")
    words = "wait until the runs of a new suite have ended, and compare them"
    stored.add_argument("--wait", action="store_true", help=words)

    exported = _add(kinds, "export", "download a suite", _export)
    exported.add_argument("name", metavar="NAME", help="the suite; the platform's own cannot be exported")
    exported.add_argument("--out", type=output_path, required=True, metavar="FILE", help="file to write")

    deleted = _add(kinds, "delete", "delete a suite, or one of its runs", _delete)
    deleted.add_argument("name", metavar="NAME", help="the suite")
    deleted.add_argument("run", nargs="?", metavar="RUN", help="the run's id; without it, the suite itself is deleted")

    pulled = _add(kinds, "pull", "download the assistant's export, for the repository", _pull)
    pulled.add_argument("--out", type=output_path, required=True, metavar="DIR", help="folder for botDefinition.json")


def _add(kinds: Any, name: str, words: str, task: Callable[[argparse.Namespace], Task]) -> Parser:
    from turncheck.settings.options import options  # not for the commands beside this one

    parser: Parser = kinds.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
    group = parser.add_argument_group("the assistant on the platform")
    for flag in _FLAGS:
        add_setting(group, flag, options()[flag])
    group.add_argument("--language", metavar="CODE", help="one of the assistant's languages (default: its own default)")
    output = parser.add_argument_group("output")
    words = "write the result as JSON to this file (.json), or without FILE to standard output instead of text"
    output.add_argument("--json", nargs="?", const="-", metavar="FILE", help=words)
    add_verbosity(output)
    for word in ("name", "run"):  # whatever is behind --json and is not a file's name
        parser.recognise(word, lambda given: not given.lower().endswith(".json"))
    parser.set_defaults(handler=partial(_handle, task))
    return parser


def _handle(task: Callable[[argparse.Namespace], Task], namespace: argparse.Namespace) -> int:
    from turncheck.platforms.kore.commands import run_kore  # not for --help
    from turncheck.run.output_folder import ensure_apart_from_project
    from turncheck.settings.sources import combine, from_flags

    given = from_flags({flag: getattr(namespace, flag.replace("-", "_")) for flag in _FLAGS})
    settings = combine(given, {"engine": "kore", "language": namespace.language})
    json = Path(namespace.json) if namespace.json not in {None, "-"} else None
    ensure_apart_from_project(None, settings, json, getattr(namespace, "csv", None))
    return run_kore(task(namespace), settings, os.environ, screen_of(namespace), namespace.json, sys.stdout)


def _suites(namespace: argparse.Namespace) -> Task:  # noqa: ARG001 - as all of them
    from turncheck.platforms.kore.commands import list_suites  # not for --help

    return list_suites


def _run(namespace: argparse.Namespace) -> Task:
    from turncheck.platforms.kore.commands import run_on_both, run_suite  # not for --help
    from turncheck.settings.parsers import MAX_NOTES

    if len(namespace.notes) > MAX_NOTES:
        raise UserError(f"--notes has {len(namespace.notes):,} characters; at most {MAX_NOTES:,} are allowed")
    if namespace.both_versions and namespace.kore_version is not None:
        raise UserError("--both-versions and --kore-version contradict each other", remedy="Omit one of them.")
    task = run_on_both if namespace.both_versions else run_suite
    given = {"name": namespace.name, "wait": namespace.wait, "csv": namespace.csv, "notes": namespace.notes}
    return partial(task, **given)


def _cancel(namespace: argparse.Namespace) -> Task:
    from turncheck.platforms.kore.commands import cancel_run  # not for --help

    return partial(cancel_run, name=namespace.name, run=namespace.run)


def _status(namespace: argparse.Namespace) -> Task:
    from turncheck.platforms.kore.commands import print_status  # not for --help

    return partial(print_status, name=namespace.name, run=namespace.run, csv=namespace.csv)


def _import(namespace: argparse.Namespace) -> Task:
    from turncheck.platforms.kore.commands import import_suite  # not for --help

    given = {"file": namespace.file, "name": namespace.name, "description": namespace.description}
    return partial(import_suite, **given, run=namespace.runs, wait=namespace.wait)


def _export(namespace: argparse.Namespace) -> Task:
    from turncheck.platforms.kore.commands import export_suite  # not for --help

    return partial(export_suite, name=namespace.name, out=namespace.out)


def _delete(namespace: argparse.Namespace) -> Task:
    from turncheck.platforms.kore.commands import delete_suite  # not for --help

    return partial(delete_suite, name=namespace.name, run=namespace.run)


def _pull(namespace: argparse.Namespace) -> Task:
    from turncheck.platforms.kore.commands import pull_bot  # not for --help

    return partial(pull_bot, out=namespace.out)
