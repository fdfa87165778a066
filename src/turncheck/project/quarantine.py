"""``turncheck.quarantine.yml``: the tests that are known to fail, each with a reason, an owner and a last day."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import count, suggestion
from turncheck.messages.plain_text import from_log
from turncheck.process.regular_file import is_link, is_there
from turncheck.project.folder import ProjectFolder
from turncheck.report.quarantine import LONGEST_DAYS, Quarantine, QuarantinedTest, days_left
from turncheck.yaml_tree.shapes import Fault, Key, ListOf, Record, Text, json_schema, read
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from turncheck.yaml_tree.source import YamlSource

QUARANTINE_FILE: Final = "turncheck.quarantine.yml"
SYNTAX: Final = "quarantine-syntax"
EXPIRED: Final = "quarantine-expired"
UNKNOWN: Final = "quarantine-unknown-test"
NEVER_VARIES: Final = "quarantine-never-flaky"

_TEXT: Final = Text(may_be_empty=False)
ENTRY: Final = Record(
    "a quarantined test",
    {
        "case": Key(_TEXT, "The test, by its name; FILE::NAME where several have that name.", required=True),
        "because": Key(_TEXT, "Why it is in quarantine.", required=True),
        "owner": Key(_TEXT, "Who looks after it.", required=True),
        "until": Key(_TEXT, f"The last day, at most {LONGEST_DAYS} days ahead: 2026-12-31.", required=True),
        "expect": Key(Text(one_of=("flaky", "failing")), "How it fails: now and then, or always.", required=True),
        "issue": Key(_TEXT, "Where its repair is kept track of."),
    },
)
"""What an entry of the file looks like."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the file, as it is committed under ``docs/``."""
    from turncheck.report.codec import ADDRESS  # reading the file does not need it

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}turncheck.quarantine.schema.json",
        "title": QUARANTINE_FILE,
        "description": "The tests that are known to fail, each with a reason, an owner and a last day.",
        **json_schema(ListOf(ENTRY)),
    }


_LONGEST_TEXT: Final = 2_000


class QuarantineFile(Struct, frozen=True):
    """A quarantine file as it was read; entries with a fault are not among the tests."""

    quarantine: Quarantine
    findings: tuple[Finding, ...] = ()


def read_quarantine(folder: Path, root: Path, today: date, clock: date | None = None) -> QuarantineFile | None:
    """Read the quarantine file of a folder; ``None`` if there is none.

    Args:
        folder: where it is: beside ``turncheck.yml``.
        root: the project's folder, which paths of findings count from.
        today: the day of the run: what ended before it has expired.
        clock: what the clock says, if that is another day: entries may hold for so many days from then.
    """
    path = folder / QUARANTINE_FILE
    if not is_there(path) and not is_link(path):
        return None
    files = ProjectFolder(root)
    source = files.read(path, fence=folder)
    if source is None:
        return QuarantineFile(Quarantine(today=today.isoformat()), tuple(files.findings))
    return quarantine_in(source, today, clock)


def quarantine_in(source: YamlSource, today: date, clock: date | None = None) -> QuarantineFile:
    """Read a quarantine file whose text is known; the days are those of :func:`read_quarantine`."""
    nothing = Quarantine(today=today.isoformat())
    document = parse_yaml(source)
    if document.findings or document.root is None or not document.root.data:  # nothing is listed
        return QuarantineFile(nothing, tuple(document.findings))
    if not isinstance(document.root, YamlSequence):
        message = f"'{source.path}' must be a list of quarantined tests."
        hint = "Begin each entry with `- case:`."
        return QuarantineFile(nothing, (Finding(SYNTAX, "error", message, document.root.location, hint),))
    tests: dict[str, QuarantinedTest] = {}
    findings: list[Finding] = []
    for node in document.root.items:
        test, faults = _entry(node, clock or today)
        findings += [Finding(SYNTAX, "error", fault.message, fault.location, fault.hint) for fault in faults]
        if test is None:
            continue
        if test.case in tests:
            message = f"'{test.case[:200]}' is in quarantine twice."
            others = (tests[test.case].location,)
            findings.append(Finding(SYNTAX, "error", message, test.location, "Keep one entry.", others=others))
            continue
        tests[test.case] = test
        findings += _expired(test, node, nothing.today, clock)
    return QuarantineFile(nothing.with_tests(tests.values()), tuple(findings))


def _entry(node: YamlNode, today: date) -> tuple[QuarantinedTest | None, list[Fault]]:
    """Read an entry; ``None`` if it has a fault."""
    faults: list[Fault] = []
    entry = read(node, ENTRY, faults, "An entry")
    if faults or not isinstance(node, YamlMapping):
        return None, faults
    for name, text in entry.items():
        if len(text) > _LONGEST_TEXT:
            faults.append(Fault(f"'{name}' is longer than {_LONGEST_TEXT:,} characters.", _place(node, name)))
    try:
        until = date.fromisoformat(entry["until"])
    except ValueError:
        message = f"'until' must be a date, not '{entry['until'][:40]}'."
        return None, [*faults, Fault(message, _place(node, "until"), "Write it as 2026-12-31.")]
    entry["until"], entry["case"] = until.isoformat(), from_log(entry["case"])
    if (ahead := (until - today).days) > LONGEST_DAYS:
        message = (
            f"'until' is {count(ahead, 'day')} ahead of {today.isoformat()}, today; at most {LONGEST_DAYS} may be."
        )
        faults.append(Fault(message, _place(node, "until"), "Name an earlier day; it can be moved when it comes."))
    return (None if faults else QuarantinedTest(**entry, location=node.location)), faults


def _expired(test: QuarantinedTest, node: YamlNode, today: str, clock: date | None) -> Iterator[Finding]:
    """Yield that an entry has ended; ``clock``: what the clock says, if the run counts as on the day of its commit."""
    since = count(-days_left(test, today), "day")
    if days_left(test, today) < 0:
        when = f"{since} ago" if clock is None else f"{since} before the commit that is tested, which is of {today}"
        message = f"The quarantine of '{test.case[:200]}' ended on {test.until}, {when}."
        hint = f"{test.owner[:80]} looks after it: fix the test and remove the entry, or name another day."
        if clock is not None:
            hint = f"The clock says {clock.isoformat()}: it is wrong, or that of whoever committed was. {hint}"
        about = (Name("test", test.case),)
        yield Finding(EXPIRED, "error", message, _place(node, "until"), hint, subject=test.case, about=about)


def _place(node: YamlNode, name: str) -> Location:
    at = node.at(name)
    return at.location if at is not None else node.location


def unknown_tests(quarantine: Quarantine, known: Collection[tuple[str, str]]) -> list[Finding]:
    """Return a finding for each entry about a test that does not exist, or that an entry above is about as well.

    Args:
        quarantine: the entries.
        known: the names of all tests, with their files.
    """
    return [*_unknown(quarantine, known), *_about_the_same(quarantine, known)]


def _about_the_same(quarantine: Quarantine, known: Collection[tuple[str, str]]) -> Iterator[Finding]:
    """A test may be named with its file and without: only the first of such entries counts."""
    first: dict[tuple[str, str], QuarantinedTest] = {}
    for test in quarantine.tests:
        about = [one for one in known if test.is_about(*one)]
        other = next((first[one] for one in sorted(about) if one in first), None)
        if other is not None:
            message = f"'{test.case[:200]}' is in quarantine twice, also as '{other.case[:200]}'."
            yield Finding(SYNTAX, "error", message, test.location, "Keep one entry.", others=(other.location,))
        for one in about:
            first.setdefault(one, test)


def _unknown(quarantine: Quarantine, known: Collection[tuple[str, str]]) -> list[Finding]:
    names = {name for name, _ in known} | {f"{path}::{name}" for name, path in known}

    def near(test: QuarantinedTest) -> str:
        """Suggest a name; of a conversation of Botium that is several cases, the first of these."""
        parts = sorted(name for name in names if name.startswith(f"{test.case}/"))
        return f"Did you mean '{parts[0]}'?" if parts else suggestion(test.case, names)

    return [
        Finding(
            UNKNOWN,
            "error",
            " ".join(filter(None, (f"No test is called '{test.case[:200]}'.", near(test)))),
            test.location,
            "Correct the name, or remove the entry.",
            suggestion=near(test),
            about=(Name("test", test.case),),
        )
        for test in quarantine.tests
        if test.case not in names
    ]


def never_flaky(
    quarantine: Quarantine, known: Collection[tuple[str, str]], may_vary: Collection[tuple[str, str]]
) -> list[Finding]:
    """Return a finding for each entry that expects a test to fail now and then whose result is the same in each run.

    Args:
        quarantine: the entries.
        known: the names of all tests, with their files.
        may_vary: those of the tests whose result may be another one in another run.
    """
    return [
        Finding(
            NEVER_VARIES,
            "error",
            f"'{test.case[:200]}' cannot be flaky: its result is the same in each run of this engine.",
            test.location,
            "Write `expect: failing` if it fails, or remove the entry.",
            subject=test.case,
            about=(Name("test", test.case),),
        )
        for test in quarantine.tests
        if test.expect == "flaky"
        and any(test.is_about(*one) for one in known)
        and not any(test.is_about(*one) for one in may_vary)
    ]
