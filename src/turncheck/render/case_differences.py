"""The differences of failed end-to-end cases, in the manner of pytest, for a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Location
from turncheck.render.sinks.terminal import aligned, place, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.report.model import CaseResult

_WIDTH: Final = 80
_COLOURS: Final = {"- ": "\x1b[31m", "+ ": "\x1b[32m", "? ": "\x1b[2m"}
_RESET: Final = "\x1b[0m"
_GUIDE: Final = re.compile(r"[ ^+~-]*")


def case_differences(failed: Sequence[CaseResult], folder: str = "", *, colour: bool = False) -> str:
    """Return what was expected and what came of each case.

    Args:
        failed: the cases.
        folder: the project's path from the current folder.
        colour: whether a terminal shows it.
    """
    return "".join(f"{line}\n" for case in failed for line in _of_case(case, folder, colour))


def _of_case(case: CaseResult, folder: str, colour: bool) -> Iterator[str]:
    yield f" {text(case.name)} ".center(_WIDTH, "_")
    yield _place(case, None, folder)
    if case.fixtures:
        yield f"fixtures: {text(', '.join(case.fixtures), 400)}"
    yield ""
    yield from (_difference_line(line, colour) for line in case.difference)
    for step in case.steps:
        if step.outcome == "failed" and step.reason:
            yield f"{_place(case, step.location, folder)}: {aligned(step.reason, 1000)}"
    if case.reason:
        yield f"note: {text(case.reason, 1000)}"
    if case.attempts is not None:
        yield f"passed {case.attempts.passed} of {case.attempts.of} times"
    yield ""


def _difference_line(line: str, colour: bool) -> str:
    prefix, content = line[:2], line[2:]
    is_guide = prefix == "? " and _GUIDE.fullmatch(content)
    shown = line if is_guide else f"{prefix}{aligned(content, 2000)}"
    if colour and prefix in _COLOURS:
        return f"{_COLOURS[prefix]}{shown}{_RESET}"
    return shown


def _place(case: CaseResult, step: Location | None, folder: str) -> str:
    """The place of a step, or of the first that failed; in the case's file."""
    failed = (one.location for one in case.steps if one.outcome == "failed" and one.location is not None)
    found = step or next(failed, case.location)
    return place(Location(case.location.path, found.line), folder)
