"""What the summary on a terminal is printed on; this here has neither colours nor an edge."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol
from unicodedata import combining, east_asian_width

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Sequence

Styled = tuple[tuple[str, str], ...]
"""A line: its texts, each with its style."""


class Paper(Protocol):
    """What is printed on."""

    def line(self, styled: Styled, indent: int = 0) -> None:
        """Print a line so far from the left."""

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Styled]], right: Sequence[bool]) -> None:
        """Print a table; ``right``: which columns are aligned there. Without a ``head`` there are only the rows."""

    def written(self) -> str:
        """Return all of it."""


class PlainPaper(Struct):
    """No terminal: lines are not wrapped, since whoever reads or greps a log wants complete lines."""

    lines: list[str] = field(default_factory=list)

    def line(self, styled: Styled, indent: int = 0) -> None:
        """Print a line, without its styles."""
        self.lines += [" " * indent + part for part in _text(styled).split("\n")]

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Styled]], right: Sequence[bool]) -> None:
        """Print columns two spaces apart."""
        cells = [*([list(head)] if head else []), *([_text(styled) for styled in row] for row in rows)]
        widths = [max(map(_columns, column)) for column in zip_longest(*cells, fillvalue="")]
        for row in cells:
            gaps = [" " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=False)]
            aligned = zip(row, gaps, right, strict=False)
            self.lines.append("  ".join(gap + cell if at_right else cell + gap for cell, gap, at_right in aligned))

    def written(self) -> str:
        """Return the lines."""
        return "\n".join(self.lines)


def _text(styled: Styled) -> str:
    return "".join(text for text, _ in styled)


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)
