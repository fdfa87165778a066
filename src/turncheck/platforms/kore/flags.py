"""``turncheck kore``: its flags."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.commands.flags.engine import KORE_FLAGS
from turncheck.commands.flags.shared import add_setting, add_verbosity, output_path, screen_of
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from turncheck.commands.flags.parser import Parser

_BUILT_IN = "'Developer defined utterances' and 'Successful user utterances' are the platform's own"
_FLAGS = tuple(name for name in KORE_FLAGS if name != "kore-bot-name")


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``kore`` and what is below it."""
    kore = subparsers.add_parser(
        "kore",
        help=words,
        description="Manage and run batch suites on Kore.ai's platform, and fetch the assistant's export.",
    )
    kinds = kore.add_subparsers(title="commands", metavar="WHAT", required=True)
    _add(kinds, "suites", "list the suites and their runs", "list_suites")

    run = _add(
        kinds,
        "run",
        "run a suite on the platform and wait for its figures",
        _task_of_run,
        "name",
        "wait",
        "csv",
        "notes",
    )
    run.add_argument("name", metavar="NAME", help=f"the suite; {_BUILT_IN}")
    waits = run.add_mutually_exclusive_group()
    waits.add_argument("--wait", action="store_true", default=True, help="wait until the run has ended (the default)")
    waits.add_argument("--no-wait", dest="wait", action="store_false", help="print the run's id, and do not wait")
    run.add_argument("--csv", type=Path, metavar="FILE", help="write the platform's CSV of the run")
    words = "run both versions, in development and published, and compare them; not with --kore-version"
    run.add_argument("--both-versions", action="store_true", help=words)
    run.add_argument("--notes", default="", metavar="TEXT", help="notes on this run, up to 1,024 characters")

    cancelled = _add(kinds, "cancel", "cancel a run that is under way", "cancel_run", "name", "run")
    cancelled.add_argument("name", metavar="NAME", help="the suite")
    cancelled.add_argument("run", metavar="RUN", help="the run's id")

    status = _add(kinds, "status", "show the state of a run", "print_status", "name", "run", "csv")
    status.add_argument("name", metavar="NAME", help="the suite")
    status.add_argument("run", metavar="RUN", help="the run's id")
    status.add_argument("--csv", type=Path, metavar="FILE", help="write the platform's CSV of the run, if it has ended")

    words = "upload a suite and run a new one on both versions; one of the same name is replaced"
    stored = _add(kinds, "import", words, "import_suite", "file", "name", "description", "runs", "wait")
    stored.add_argument("file", type=Path, metavar="FILE", help="the suite file, JSON or CSV")
    stored.add_argument("--name", metavar="NAME", help="name on the platform (default: the file's name)")
    stored.add_argument("--description", default="", metavar="TEXT", help="what the suite is for")
    stored.add_argument("--no-run", dest="runs", action="store_false", help="do not run a new suite")
    words = "wait until the runs of a new suite have ended, and compare them"
    stored.add_argument("--wait", action="store_true", help=words)

    exported = _add(kinds, "export", "download a suite", "export_suite", "name", "out")
    exported.add_argument("name", metavar="NAME", help="the suite; the platform's own cannot be exported")
    exported.add_argument("--out", type=output_path, required=True, metavar="FILE", help="file to write")

    deleted = _add(kinds, "delete", "delete a suite, or one of its runs", "delete_suite", "name", "run")
    deleted.add_argument("name", metavar="NAME", help="the suite")
    deleted.add_argument("run", nargs="?", metavar="RUN", help="the run's id; without it, the suite itself is deleted")

    pulled = _add(kinds, "pull", "download the assistant's export, for the repository", "pull_bot", "out")
    pulled.add_argument("--out", type=output_path, required=True, metavar="DIR", help="folder for botDefinition.json")


def _add(kinds: Any, name: str, words: str, task: str | Callable[[argparse.Namespace], str], *fields: str) -> Parser:
    """Add a command; ``task``: the function of :mod:`.commands` that does it, which gets the ``fields``."""
    from turncheck.settings.declared import options  # not for the commands beside this one

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
    parser.set_defaults(handler=partial(_handle, task, fields))
    return parser


def _handle(
    task: str | Callable[[argparse.Namespace], str], fields: tuple[str, ...], namespace: argparse.Namespace
) -> int:
    from turncheck.platforms.kore import commands  # not for --help
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.settings.sources import combine, from_flags

    given = from_flags({flag: getattr(namespace, flag.replace("-", "_")) for flag in _FLAGS})
    settings = combine(given, {"engine": "kore", "language": namespace.language})
    json = Path(namespace.json) if namespace.json not in {None, "-"} else None
    ensure_apart_from_project(None, settings, json, getattr(namespace, "csv", None))
    function = getattr(commands, task if isinstance(task, str) else task(namespace))
    done = partial(function, **{field: getattr(namespace, field) for field in fields})
    return commands.run_kore(done, settings, os.environ, screen_of(namespace), namespace.json, sys.stdout)


def _task_of_run(namespace: argparse.Namespace) -> str:
    from turncheck.settings.parsers import MAX_NOTES  # not for --help

    if len(namespace.notes) > MAX_NOTES:
        raise UserError(f"--notes has {len(namespace.notes):,} characters; at most {MAX_NOTES:,} are allowed")
    if namespace.both_versions and namespace.kore_version is not None:
        raise UserError("--both-versions and --kore-version contradict each other", hint="Omit one of them.")
    return "run_on_both" if namespace.both_versions else "run_suite"
