"""``turncheck quarantine list|add|release``: the file is edited in place, its comments and order are kept."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from textwrap import indent
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.phrasing import count, suggestion
from turncheck.messages.plain_text import plain
from turncheck.process.regular_file import read_regular
from turncheck.project.quarantine import EXPIRED, QUARANTINE_FILE, QuarantineFile, quarantine_in, read_quarantine
from turncheck.publishing.files import write_file
from turncheck.report.quarantine import LONGEST_DAYS, Quarantine, QuarantinedTest, days_left
from turncheck.run.alone import named_tests
from turncheck.settings.file import read_settings_file
from turncheck.yaml_tree.source import YamlSource
from turncheck.yaml_tree.tree import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_DAYS: Final = 30
"""How long an entry holds if nobody says it."""
_LARGEST: Final = 32_000_000


@dataclass(frozen=True, slots=True)
class NewEntry:
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
    left = days_left(test, today)
    state = "expired" if left < 0 else "quarantined"
    keys = ("case", "because", "owner", "until", "expect", "issue")
    return {**{key: getattr(test, key) for key in keys}, "days_left": left, "state": state}


def _lines(test: QuarantinedTest, today: str) -> Iterator[str]:
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
    before = _read(folder)
    if any(test.case == entry.case for test in before.quarantine.tests):
        raise UserError(
            f"'{entry.case}' is in quarantine already", hint=f"Edit its entry in {folder / QUARANTINE_FILE}."
        )
    _ensure_it_counts(folder, entry)
    path = folder / QUARANTINE_FILE
    old = _content(path)
    listed = old if old.strip() not in {"[]", "null"} else ""
    below = listed + ("\n" if listed and not listed.endswith("\n") else "")
    text = below + indent(entry.text(_today()), _indentation(path, old) if before.quarantine.tests else "")
    _write(folder, old, text, {*_cases(before.quarantine), entry.case})
    until = next(test.until for test in _read(folder).quarantine.tests if test.case == entry.case)
    sys.stdout.write(plain(f"'{entry.case}' is in quarantine until {until}. It counts once this is merged.\n"))
    return EXIT_OK


def _ensure_it_counts(folder: Path, entry: NewEntry) -> None:
    """Raise an error if an entry is wrong, has expired, or is about no test."""
    for finding in quarantine_in(YamlSource(QUARANTINE_FILE, entry.text(_today())), _today()).findings:
        if finding.code == EXPIRED:
            raise UserError(
                f"--until {entry.until} has passed: the entry would not count",
                hint=f"Name today or a later day, at most {LONGEST_DAYS} days ahead.",
            )
        raise UserError(finding.message.rstrip("."), hint=finding.hint or None)
    within = read_settings_file(folder).values.get("project")
    known = {*named_tests(folder), *(named_tests(folder, folder / within) if within else ())}
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
    before = _read(folder)
    tests = before.quarantine.tests
    test = next((test for test in tests if test.case == case), None)
    if test is None or test.location.line is None:
        near = suggestion(case, _cases(before.quarantine))
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
    if old:
        write_file(path, old.encode())
    else:
        path.unlink()


def _read(folder: Path) -> QuarantineFile:
    """Read the file; one that is not there is empty. Entries that have expired may stay.

    Raises:
        UserError: names the first fault.
    """
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
