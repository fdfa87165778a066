"""``turncheck quarantine list|add|release``: the file is edited in place, its comments and order are kept."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.commands.flags.shared import add_verbosity
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import count, suggestion
from turncheck.messages.plain_text import from_log, plain
from turncheck.process.regular_file import read_regular

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from turncheck.project.quarantine import QuarantineFile
    from turncheck.report.quarantine import Quarantine, QuarantinedTest


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``quarantine`` and what is below it."""
    parser = subparsers.add_parser(
        "quarantine",
        help=words,
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
    return list_quarantine(namespace.project, as_json=namespace.json)


def _add(namespace: argparse.Namespace) -> int:
    entry = NewEntry(
        from_log(namespace.case),
        namespace.because,
        namespace.owner,
        namespace.until,
        namespace.expect,
        namespace.issue,
    )
    return add_to_quarantine(namespace.project, entry)


def _release(namespace: argparse.Namespace) -> int:
    return release_from_quarantine(namespace.project, from_log(namespace.case))


_DAYS: Final = 30
"""How long an entry holds if nobody says it."""
_LARGEST: Final = 32_000_000


class NewEntry(NamedTuple):
    """What is put into quarantine; ``until``: thirty days from now, if it is not said."""

    case: str
    because: str
    owner: str
    until: str | None
    expect: str
    issue: str | None

    def text(self, today: date) -> str:
        """Return the entry as the file has it; JSON's strings are strings of YAML, too."""
        until = self.until if self.until is not None else (today + timedelta(days=_DAYS)).isoformat()
        keys = {"case": self.case, "because": self.because, "owner": self.owner, "until": until, "expect": self.expect}
        keys |= {"issue": self.issue} if self.issue is not None else {}
        lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in keys.items())
        return "- " + "\n  ".join(lines) + "\n"


def list_quarantine(folder: Path, *, as_json: bool) -> int:
    """Show each test with the days that are left.

    Raises:
        UserError: the file cannot be read.
    """
    file = _read(folder)
    tests = file.quarantine.tests
    if as_json:
        found = [_json(test, file.quarantine.today) for test in tests]
        sys.stdout.write(f"{json.dumps({'quarantine': found}, ensure_ascii=False, indent=1)}\n")
        return EXIT_OK
    lines = [line for test in tests for line in _lines(test, file.quarantine.today)]
    sys.stdout.write(plain("\n".join([*(lines or ["No test is in quarantine."]), ""])))
    return EXIT_OK


def _json(test: QuarantinedTest, today: str) -> dict[str, object]:
    from turncheck.report.quarantine import days_left

    left = days_left(test, today)
    state = "expired" if left < 0 else "quarantined"
    keys = ("case", "because", "owner", "until", "expect", "issue")
    return {**{key: getattr(test, key) for key in keys}, "days_left": left, "state": state}


def _lines(test: QuarantinedTest, today: str) -> Iterator[str]:
    from turncheck.report.quarantine import days_left

    left = days_left(test, today)
    when = f"expired {count(-left, 'day')} ago" if left < 0 else f"{count(left, 'day')} left"
    yield f"{test.case}: {test.expect}, until {test.until} ({when}), {test.owner}"
    yield f"  {test.because}{f' ({test.issue})' if test.issue else ''}"


def add_to_quarantine(folder: Path, entry: NewEntry) -> int:
    """Append an entry to the file.

    Raises:
        UserError: the test is in quarantine already or does not exist, the entry is not one that counts, or the file
            cannot be written.
    """
    from turncheck.project.quarantine import QUARANTINE_FILE
    from turncheck.report.codec import ADDRESS

    before = _read(folder)
    known = _known_tests(folder)
    if (other := _already(before.quarantine, entry.case, known)) is not None:
        named = "" if other == entry.case else f", as '{other}'"
        raise UserError(
            f"'{entry.case}' is in quarantine already{named}", hint=f"Edit its entry in {folder / QUARANTINE_FILE}."
        )
    _ensure_it_counts(entry, known)
    path = folder / QUARANTINE_FILE
    old = _content(path)
    head = f"# yaml-language-server: $schema={ADDRESS}turncheck.quarantine.schema.json\n"
    listed = old if old.strip() not in {"", "[]", "null"} else head
    below = listed + ("\n" if listed and not listed.endswith("\n") else "")
    text = below + indent(entry.text(_today()), _indentation(path, old) if before.quarantine.tests else "")
    _write(folder, old, text, {*_cases(before.quarantine), entry.case})
    until = next(test.until for test in _read(folder).quarantine.tests if test.case == entry.case)
    sys.stdout.write(plain(f"'{entry.case}' is in quarantine until {until}. It counts once this is merged.\n"))
    return EXIT_OK


def _already(quarantine: Quarantine, case: str, known: set[tuple[str, str]]) -> str | None:
    """Return how an entry names a test of this name, with its file or without."""
    from turncheck.report.quarantine import names_test

    about = [test for test in known if names_test(case, *test)]
    for entry in quarantine.tests:
        if entry.case == case or any(entry.is_about(*test) for test in about):
            return entry.case
    return None


def _known_tests(folder: Path) -> set[tuple[str, str]]:
    """Return the names of all tests, with their files."""
    from turncheck.run.quarantined import named_tests
    from turncheck.settings.file import read_settings_file

    within = read_settings_file(folder).values.get("project")
    return {*named_tests(folder), *(named_tests(folder, folder / within) if within else ())}


def _ensure_it_counts(entry: NewEntry, known: set[tuple[str, str]]) -> None:
    """Raise an error if an entry is wrong, has expired, or is about no test."""
    from turncheck.project.quarantine import EXPIRED, QUARANTINE_FILE, quarantine_in
    from turncheck.report.quarantine import LONGEST_DAYS
    from turncheck.yaml_tree.source import YamlSource

    for finding in quarantine_in(YamlSource(QUARANTINE_FILE, entry.text(_today())), _today()).findings:
        if finding.code == EXPIRED:
            raise UserError(
                f"--until {entry.until} has passed: the entry would not count",
                hint=f"Name today or a later day, at most {LONGEST_DAYS} days ahead.",
            )
        raise UserError(finding.message.rstrip("."), hint=finding.hint or None)
    names = {name for name, _ in known} | {f"{path}::{name}" for name, path in known}
    if entry.case not in names:
        near = suggestion(entry.case, names)
        raise UserError(
            f"no test is called '{entry.case[:200]}'",
            hint=near or "Name it as its file does; --project names the folder of turncheck.yml.",
        )


def _indentation(path: Path, old: str) -> str:
    """Return what precedes the dash of each entry.

    Raises:
        UserError: nothing can be appended, since the entries are not one below the other, or the document has an end.
    """
    from turncheck.yaml_tree.source import YamlSource
    from turncheck.yaml_tree.tree import parse_yaml

    source = YamlSource(path.name, old)
    root = parse_yaml(source).root
    place = root.location if root is not None else None
    if place is None or place.line is None or place.column is None:
        raise _not_below(path)
    before, first = (line := source.text.splitlines()[place.line - 1])[: place.column - 1], line[place.column - 1 :]
    if not first.startswith("-") or before.strip(" "):
        raise _not_below(path)
    if re.search(r"^\.\.\.(\s|$)", source.text, re.MULTILINE):
        raise UserError(f"cannot edit {path}: `...` ends its list", hint="Remove that line, and add the test again.")
    return before


def _not_below(path: Path) -> UserError:
    return UserError(
        f"cannot edit {path}: its entries are not one below the other",
        hint="Begin each entry with `- case:` on a line of its own, or edit the file by hand.",
    )


def release_from_quarantine(folder: Path, case: str) -> int:
    """Remove the entry of a test; what is around it stays as it is.

    Raises:
        UserError: it is not in quarantine, or the file cannot be written.
    """
    from turncheck.project.quarantine import QUARANTINE_FILE

    before = _read(folder)
    tests = before.quarantine.tests
    test = next((test for test in tests if test.case == case), None)
    if test is None or test.location.line is None:
        names = _cases(before.quarantine)
        with_file = [name for name in names if name.endswith(f"::{case}")]
        near = f"Did you mean '{with_file[0]}'?" if len(with_file) == 1 else suggestion(case, names)
        raise UserError(f"'{case}' is not in quarantine", hint=near or "See: turncheck quarantine list")
    path = folder / QUARANTINE_FILE
    old = _content(path)
    lines = old.splitlines(keepends=True)
    first = test.location.line - 1
    begins = [other.location.line - 1 for other in tests if other.location.line is not None]
    after = min((line for line in begins if line > first), default=len(lines))
    while after > first + 1 and (not lines[after - 1].strip() or lines[after - 1].lstrip().startswith("#")):
        after -= 1  # a comment before the next entry is about that one
    _write(folder, old, "".join([*lines[:first], *lines[after:]]), {*_cases(before.quarantine)} - {case})
    sys.stdout.write(plain(f"'{case}' is released from quarantine.\n"))
    return EXIT_OK


def _write(folder: Path, old: str, new: str, cases: set[str]) -> None:
    """Write the file, and take it back if it then does not say what it should.

    Raises:
        UserError: it does not, since it is written in another way than one entry below the other.
    """
    from turncheck.project.quarantine import QUARANTINE_FILE
    from turncheck.publishing.files import write_file

    path = folder / QUARANTINE_FILE
    write_file(path, new.encode())
    try:
        if _cases(_read(folder).quarantine) == cases:
            return
    except UserError as error:
        _take_back(path, old)
        raise _not_below(path) from error
    _take_back(path, old)
    raise _not_below(path)


def _take_back(path: Path, old: str) -> None:
    from turncheck.publishing.files import write_file

    if old:
        write_file(path, old.encode())
    else:
        path.unlink()


def _read(folder: Path) -> QuarantineFile:
    """Read the file; one that is not there is empty. Entries that have expired may stay.

    Raises:
        UserError: names the first fault.
    """
    from turncheck.project.quarantine import EXPIRED, QuarantineFile, read_quarantine
    from turncheck.report.quarantine import Quarantine

    if not folder.is_dir():
        raise UserError(f"no such folder: {folder}", hint="Name that of turncheck.yml with --project.")
    today = _today()
    file = read_quarantine(folder, folder, today) or QuarantineFile(Quarantine(today=today.isoformat()))
    faults = [finding for finding in file.findings if finding.code != EXPIRED]
    if faults:
        raise UserError(faults[0].message.rstrip("."), location=faults[0].location, hint=faults[0].hint or None)
    return file


def _cases(quarantine: Quarantine) -> set[str]:
    return {test.case for test in quarantine.tests}


def _content(path: Path) -> str:
    return read_regular(path, most=_LARGEST).decode("utf-8") if path.exists() else ""


def _today() -> date:
    return datetime.now(UTC).date()
