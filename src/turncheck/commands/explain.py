"""``turncheck explain``: what it takes to repair one test, finding or gate of a run, in at most eight kilobytes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags.shared import add_verbosity
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import suggestion

if TYPE_CHECKING:
    import argparse

    from turncheck.render.explained import Explained

MOST_BYTES: Final = 8_192
"""What a language model, or a person, takes in at once."""
_MOST_LISTED: Final = 8


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``explain``."""
    parser = subparsers.add_parser(
        "explain",
        help=words,
        description="Print what it takes to repair one thing of a run: what was expected, what came, the nearest data"
        " with their places, the changed part that is proved to be the cause. At most 8 KB.",
    )
    parser.add_argument(
        "subject",
        metavar="CASE|FINDING|GATE",
        help="a test or sentence, by its name; a finding, by its code; a gate, by its name; or a place, as path:line",
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=Path("results"),
        metavar="FILE",
        help="report.json of the run, or its folder (default: results)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_verbosity(parser)
    parser.set_defaults(handler=_explain)


def _explain(namespace: argparse.Namespace) -> int:
    from turncheck.commands.report import run_to_show
    from turncheck.render.explained import explain, names_in
    from turncheck.render.links import Links

    if not namespace.report.exists():
        raise UserError(
            f"there is no report at {namespace.report}", hint="Run `turncheck run` first, or name one with --report."
        )
    _refuse_several(namespace.report)
    run = run_to_show(namespace.report, None, Links())
    subject = namespace.subject.strip()
    found = explain(run, subject) or _of_the_manual(subject)
    if found is None:
        names = names_in(run)
        part = [name for name in names if subject.casefold() in name.casefold()]
        if len(part) != 1 or (found := explain(run, part[0])) is None:
            shown = ", ".join(f"'{name[:80]}'" for name in (part or names)[:_MOST_LISTED])
            hint = suggestion(subject, names) if not part else ""
            raise UserError(
                f"the run has no test, finding or gate '{subject[:200]}'", hint=hint or f"There are: {shown} …"
            )
    sys.stdout.write(shown_within(found, as_json=namespace.json))
    return EXIT_OK


def _refuse_several(folder: Path) -> None:
    """Name the folders of the assistants where a run of several of them left no report of its own.

    Raises:
        UserError: there are such folders.
    """
    if not folder.is_dir() or (folder / "report.json").exists():
        return
    assistants = sorted(one.parent.as_posix() for one in folder.rglob("report.json"))
    if assistants:
        shown = ", ".join(f"--report {one}" for one in assistants[:_MOST_LISTED])
        raise UserError(f"{folder} has the results of several assistants", hint=f"Name one: {shown}.")


def _of_the_manual(code: str) -> Explained | None:
    """What the manual says of a finding that the run does not have."""
    from turncheck.messages.plain_text import one_line
    from turncheck.render.explained import MANUAL, Explained
    from turncheck.validation.catalogue import CHECKS

    check = CHECKS.get(code)
    if check is None:
        return None
    why = one_line(f"{check.title}. {check.text}", 1_000)
    page = f"{MANUAL}findings.html#{code}"
    return Explained(subject=code, kind="finding", outcome="not found in this run", why=why, page=page)


def shown_within(found: Explained, *, as_json: bool) -> str:
    """Return it as text or JSON of at most :data:`MOST_BYTES`; lists are cut until it fits."""
    import msgspec

    from turncheck.render.explained import in_lines

    most = 32
    while True:
        if as_json:
            text = msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"
        else:
            text = "".join(f"{line}\n" for line in in_lines(found))
        if len(text.encode("utf-8")) <= MOST_BYTES or not most:
            return text
        most //= 2
        found = found.cut(most)
