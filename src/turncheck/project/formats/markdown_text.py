"""Markdown of Rasa 0.x to 2.x as text: its comments and lines, and where each of them is in the file."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.location import Location
    from turncheck.yaml_tree.source import Source

COMMENT: Final = "<!--"
COMMENT_END: Final = "-->"
BULLETS: Final = "-*+"

IGNORED: Final = "markdown-ignored"
REFUSED: Final = "markdown-refused"
OTHERWISE: Final = "markdown-read-otherwise"


@dataclass(frozen=True, slots=True)
class Line:
    """A line (numbered from 1) without the white space around it, and where it begins in :class:`Uncommented`."""

    text: str
    number: int
    start: int


class Uncommented:
    """A text without its comments, which may span lines; a comment that is never closed stays in it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._ends: list[int] = []
        self._shifts: list[int] = []
        parts: list[str] = []
        text, done, length = source.text, 0, 0
        while (opening := text.find(COMMENT, done)) >= 0:
            closing = text.find(COMMENT_END, opening + len(COMMENT))
            if closing < 0:
                break
            parts.append(text[done:opening])
            length += opening - done
            done = closing + len(COMMENT_END)
            self._ends.append(length)
            self._shifts.append(done - length)
        parts.append(text[done:])
        self.text = "".join(parts)
        self.open_comment = self.text.find(COMMENT)

    def location(self, offset: int) -> Location:
        """Return the location of the character at an offset in the text without comments."""
        number = bisect_right(self._ends, offset) - 1
        return self.source.location(offset + (self._shifts[number] if number >= 0 else 0))

    def lines(self) -> Iterator[Line]:
        """Yield the lines as Python splits them: a form feed or U+2028 ends a line, too."""
        start = 0
        for number, line in enumerate(self.text.splitlines(keepends=True), 1):
            stripped = line.strip()
            yield Line(stripped, number, start + len(line) - len(line.lstrip()))
            start += len(line)


@dataclass(slots=True)
class Notes:
    """Collects findings while a file is read."""

    findings: list[Finding] = field(default_factory=list)

    def note(self, code: str, severity: Severity, message: str, place: Location, hint: str) -> None:
        """Note a finding."""
        self.findings.append(Finding(code, severity, message, place, hint))

    def ignored(self, message: str, place: Location, hint: str) -> None:
        """Note what Rasa skips silently."""
        self.note(IGNORED, "warning", message, place, hint)

    def refused(self, message: str, place: Location, hint: str) -> None:
        """Note a fault at which Rasa ends."""
        self.note(REFUSED, "error", message, place, hint)

    def otherwise(self, message: str, place: Location, hint: str) -> None:
        """Note what is read differently than one expects."""
        self.note(OTHERWISE, "warning", message, place, hint)


def item_of(line: str) -> str | None:
    """Return what follows a line's bullet; ``None`` if the line is not a list item."""
    if line[:1] and line[0] in BULLETS:
        return line[1:].lstrip() or None
    return None


def shown(line: str) -> str:
    """Return a line as a message shows it."""
    return line if len(line) <= 60 else f"{line[:57]}..."
