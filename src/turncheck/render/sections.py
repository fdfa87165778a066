"""Sections of a Markdown document: lists and tables that can be cut, whole entry by entry, until the document fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turncheck.render.sinks.markdown import Markdown, trusted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BUILT: Final = 3000
"""More entries than this are never built: not even one character each would fit."""


@dataclass(frozen=True, slots=True)
class Section:
    """Entries of one kind under a title.

    The first ``unfolded`` entries are in plain sight, the others in a ``<details>`` below them; with ``unfolded`` 0 the
    title itself is what unfolds. ``header`` stands above the entries: that of a table whose rows they are, or a line.
    ``total`` counts all entries there are; ``where`` says where those are that are not shown.
    """

    name: str
    title: Markdown
    entries: tuple[Markdown, ...]
    total: int
    where: Markdown
    unfolded: int = BUILT
    header: Markdown | None = None
    weights: tuple[int, ...] = ()
    """How many of ``total`` each entry stands for, where that is not one each."""

    @property
    def visible(self) -> tuple[Markdown, ...]:
        """Entries in plain sight."""
        return self.entries[: self.unfolded]

    @property
    def folded(self) -> tuple[Markdown, ...]:
        """Entries that unfold."""
        return self.entries[self.unfolded :]

    @property
    def fold_title(self) -> Markdown:
        """What unfolds: all of it, or the rest."""
        return trusted(f"{self._stand_for(self.unfolded, len(self.entries)):,} more") if self.unfolded else self.title

    @property
    def left_out(self) -> Markdown | None:
        """What is said about entries that are not shown."""
        missing = self.total - self._stand_for(0, len(self.entries))
        if missing <= 0:
            return None
        return trusted(f"… and {missing:,} more, {self.where}" if self.entries else f"{missing:,}, {self.where}")

    def _stand_for(self, first: int, end: int) -> int:
        return sum(self.weights[first:end]) if self.weights else len(self.entries[first:end])

    def cut(self, most: int) -> Section:
        """Return the section with at most so many entries."""
        return replace(self, entries=self.entries[:most])


def fit(
    sections: Sequence[Section],
    degradation: Sequence[str],
    draw: Callable[[Mapping[str, Section]], str],
    measure: Callable[[str], int],
    limit: int,
) -> str:
    """Draw the document with as many entries as fit.

    Args:
        sections: all sections.
        degradation: names of sections in the order in which they give up entries, each to its last before the next.
        draw: makes the document of its sections, by name.
        measure: size of a document (characters for a comment, bytes for a job summary).
        limit: the largest size.

    Returns:
        A document within the limit, as long as what is no section fits.
    """
    shown = {section.name: section for section in sections}
    document = draw(shown)
    for name in degradation:
        if measure(document) <= limit:
            break
        full = shown.get(name)
        if full is None:
            continue
        fewest, most = 0, len(full.entries)
        while fewest < most:
            middle = (fewest + most + 1) // 2
            if measure(draw({**shown, name: full.cut(middle)})) <= limit:
                fewest = middle
            else:
                most = middle - 1
        shown[name] = full.cut(fewest)
        document = draw(shown)
    return document
