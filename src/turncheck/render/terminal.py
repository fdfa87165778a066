"""What the summary is printed on if there is a terminal: with colours, and lines that wrap at its width."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.render.paper import Styled


class Terminal:
    """A terminal of so many columns."""

    def __init__(self, width: int) -> None:
        self._out = StringIO()
        self._console = Console(
            file=self._out,
            width=width,
            force_terminal=True,
            color_system="standard",
            highlight=False,
            emoji=False,
            markup=False,
            legacy_windows=False,
        )

    def line(self, styled: Styled, indent: int = 0) -> None:
        """Print a line; where it wraps, what follows is indented as well."""
        self._console.print(Padding(Text.assemble(*styled), (0, 0, 0, indent), expand=False))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Styled]], right: Sequence[bool]) -> None:
        """Print a table that fits the width."""
        table = Table(box=None, pad_edge=False, show_header=bool(head))
        for number, at_right in enumerate(right):
            table.add_column(head[number] if head else "", justify="right" if at_right else "left")
        for row in rows:
            table.add_row(*(Text.assemble(*styled) for styled in row))
        self._console.print(table)

    def written(self) -> str:
        """Return all of it, with the terminal's signs for colours."""
        return self._out.getvalue()
