"""Findings for a terminal, for other programs, and for GitHub's log: pure functions from findings to text."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal

from turncheck.messages.finding import LEGACY_PROJECT, SEVERITIES, Finding, Location, Severity
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import log_line_in_place
from turncheck.render.sinks import commands as workflow_command
from turncheck.render.sinks import terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    SourceLine = Callable[[Location], str | None]

Notes = Literal["none", "some", "all"]
"""How much is shown of the findings that are ``info``."""
_NOTES_OF_A_CODE: Final[Mapping[Notes, int | None]] = {"none": 0, "some": 3, "all": None}

_COLOURS: Final[Mapping[Severity, str]] = {"error": "31", "warning": "33", "info": "36"}
_COMMANDS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "info": "notice"}
_WIDTH: Final = 160
_MESSAGE_WIDTH: Final = 2000


def findings_json(findings: Sequence[Finding], counts: Mapping[Severity, int]) -> str:
    """Return ``{"findings": [{code, severity, message, location}], "counts"}``, one finding per line."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    rows = [
        encode(
            {
                "code": finding.code,
                "severity": finding.severity,
                "message": finding.message,
                "location": {
                    "path": finding.location.path,
                    "line": finding.location.line,
                    "column": finding.location.column,
                },
            }
        )
        for finding in findings
    ]
    listed = "[\n    " + ",\n    ".join(rows) + "\n  ]" if rows else "[]"
    return f'{{\n  "findings": {listed},\n  "counts": {encode(dict(counts))}\n}}\n'


def findings_text(
    findings: Sequence[Finding],
    counts: Mapping[Severity, int],
    source_line: SourceLine,
    *,
    notes: Notes = "some",
    coloured: bool = False,
    folder: str = "",
) -> str:
    """Return the findings grouped by file, as a compiler shows them: place, source line with a caret, what to do.

    Findings of one severity at one place are one entry: an intent without examples that no story uses, either.
    What to do is said once, at the first finding that has this advice. Of findings that are ``info``, ``some`` shows
    the first three of each code in one line each and counts the others; ``all`` shows each like any other finding,
    ``none`` only counts them. ``source_line`` returns the line of a place, ``None`` if there is none; ``folder`` is the
    project's path from the current folder.
    """
    lines: list[str] = []
    advised: set[str] = set()
    shown, left_out = _selected(findings, notes)
    rooted = _rooted(folder, findings)
    for path, group in groupby(shown, key=lambda finding: finding.location.path):
        shown_path = terminal.place(Location(path), folder) if path else "(project)"
        lines.append(_styled(shown_path, "1", coloured=coloured))
        for (location, severity), together in groupby(group, key=lambda finding: (finding.location, finding.severity)):
            of_place = list(together)
            for finding in of_place:
                message = terminal.text(rooted(finding.message), _MESSAGE_WIDTH)
                lines.append(_headline(finding, message, coloured=coloured))
            if severity != "info" or notes == "all":
                lines += _source_lines(location, source_line, coloured=coloured)
                hints = [finding.hint for finding in of_place if finding.hint and finding.hint not in advised]
                lines += [f"    = {terminal.text(hint, _MESSAGE_WIDTH)}" for hint in dict.fromkeys(hints)]
                advised.update(hints)
        lines.append("")
    if left_out:
        more = ", ".join(f"{number} {code}" for code, number in left_out.items())
        lines += [f"Not shown: {more}.", ""]
    lines.append(
        ", ".join(_counted(counts[severity], severity) for severity in SEVERITIES) if findings else "Nothing was found."
    )
    if counts["info"] and notes != "all":
        lines[-1] += "; -v shows every note with its line and what to do"
    return "\n".join(lines) + "\n"


def _rooted(root: str, findings: Iterable[Finding]) -> Callable[[str], str]:
    """Return what writes the paths in a message as from the current folder, or from the repository's top."""
    if root in {"", "."}:
        return str
    from turncheck.render.links import RootedPaths, places_of_findings  # usually the project is in the current folder

    return RootedPaths(root, places_of_findings(findings)).text


def _selected(findings: Sequence[Finding], notes: Notes) -> tuple[list[Finding], Counter[str]]:
    """The findings that are shown, and by code how many notes are not."""
    most = _NOTES_OF_A_CODE[notes]
    shown: list[Finding] = []
    met: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for finding in findings:
        if finding.severity == "info":
            met[finding.code] += 1
            if most is not None and met[finding.code] > most:
                left_out[finding.code] += 1
                continue
        shown.append(finding)
    return shown, left_out


def _headline(finding: Finding, message: str, *, coloured: bool) -> str:
    place = ":".join(str(part) for part in (finding.location.line, finding.location.column) if part is not None)
    severity = _styled(finding.severity, _COLOURS[finding.severity], coloured=coloured)
    return f"  {place or '-'}  {severity}[{finding.code}]  {message}"


def _source_lines(location: Location, source_line: SourceLine, *, coloured: bool) -> list[str]:
    source = source_line(location)
    if source is None or location.line is None:
        return []
    number = str(location.line)
    shown, column = _window(source, location.column or 1)
    return [
        f"    {number} | {shown}",
        f"    {' ' * len(number)} | {' ' * (column - 1)}{_styled('^', '32', coloured=coloured)}",
    ]


def _window(source: str, column: int) -> tuple[str, int]:
    """The part of a line that is shown, and the caret's column in it.

    Each character keeps its place: what a terminal would act on becomes a replacement character.
    """
    begin = max(0, column - 1 - _WIDTH // 2)
    part = source[begin : begin + _WIDTH]
    shown = "".join(character if character.isprintable() else " " if character == "\t" else "�" for character in part)
    return log_line_in_place(shown), column - begin


def _counted(number: int, severity: Severity) -> str:
    return count(number, {"error": "error", "warning": "warning", "info": "note"}[severity])


def _styled(text: str, code: str, *, coloured: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if coloured else text


def findings_commands(findings: Sequence[Finding], root: str) -> str:
    """Return a workflow command per finding, worst first: GitHub shows ten of a level. ``root``: the project's path."""
    from turncheck.render.links import repository_path  # no other form has paths from the top

    ordered = sorted(findings, key=lambda one: (one.code != LEGACY_PROJECT, SEVERITIES.index(one.severity)))
    rooted = _rooted(root, findings)
    lines = []
    for finding in ordered:
        location = finding.location
        file = repository_path(root, location)
        lines.append(
            workflow_command.command(
                _COMMANDS[finding.severity],
                rooted(f"{finding.message}\n{finding.hint}" if finding.hint else finding.message),
                file=file,
                line=location.line if file else None,
                col=location.column if file and location.line else None,
                title=finding.code,
            )
        )
    return "".join(f"{line}\n" for line in lines)
