"""Which lines a diff of git names."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class LinesOfChange(Struct, frozen=True):
    """Lines of a file by number: those ``written`` anew, and those ``beside`` lines that were removed."""

    written: frozenset[int] = frozenset()
    beside: frozenset[int] = frozenset()


def lines_of_diff(diff: str) -> dict[str, LinesOfChange]:
    """Return the lines that a diff without context adds, and those where others are gone, by file."""
    changed: dict[str, tuple[set[int], set[int]]] = {}
    written: set[int] = set()
    beside: set[int] = set()
    content = 0
    for line in diff.split("\n"):
        if content and line[:1] in {"+", "-"}:
            content -= 1  # whatever it looks like: an added line "++ b" looks like a file's name
        elif line.startswith("+++ "):
            written, beside = changed.setdefault(line.removeprefix("+++ ").rstrip("\t"), (set(), set()))
        elif match := _HUNK.match(line):
            gone, start, number = int(match[1] or 1), int(match[2]), int(match[3] or 1)
            content = gone + number
            written.update(range(start, start + number))
            beside.update(() if number else (max(start, 1), start + 1))
    changed.pop("/dev/null", None)
    return {
        name: LinesOfChange(frozenset(written), frozenset(beside))
        for name, (written, beside) in changed.items()
        if written or beside
    }
