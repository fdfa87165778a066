"""Sections of a document: lists and tables that can be cut entry by entry until the document fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from turncheck.render.spans import Entry, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.render.spans import Column, Line

BUILT: Final = 3000
"""More entries than this are never built: they would not fit even with one character each."""

_Shown = TypeVar("_Shown")
"""What an entry is: neutral, or as a sink has written it."""
_Written = TypeVar("_Written")


@dataclass(frozen=True, slots=True)
class Section(Generic[_Shown]):
    """Entries of one kind under a title.

    The first ``unfolded`` entries are in plain sight, the others unfold; with ``unfolded`` 0 the title itself is what
    unfolds. With ``columns`` the entries are rows of a table; a ``note`` is above them. ``total`` counts all
    entries there are.
    """

    name: str
    title: str
    entries: tuple[_Shown, ...]
    total: int
    unfolded: int = BUILT
    columns: tuple[Column, ...] = ()
    note: Line = ()
    weights: tuple[int, ...] = ()
    """How many of ``total`` each entry counts for, if that is not one each."""

    @property
    def folded_number(self) -> int:
        """How many of ``total`` the folded entries count for."""
        return self._stand_for(self.unfolded, len(self.entries))

    @property
    def left_out(self) -> int:
        """How many of ``total`` are not shown."""
        return self.total - self._stand_for(0, len(self.entries))

    def _stand_for(self, first: int, end: int) -> int:
        return sum(self.weights[first:end]) if self.weights else len(self.entries[first:end])

    def cut(self, most: int) -> Section[_Shown]:
        """Return the section with at most this many entries."""
        return replace(self, entries=self.entries[:most])

    def written(self, write: Callable[[_Shown], _Written]) -> Section[_Written]:
        """Return the section with its entries as a sink writes them."""
        return cast("Section[_Written]", replace(self, entries=tuple(map(write, self.entries))))  # type: ignore[arg-type]


NeutralSection = Section[Entry | Row]


def fit(
    sections: Sequence[Section[_Shown]],
    degradation: Sequence[str],
    draw: Callable[[Mapping[str, Section[_Shown]]], str],
    measure: Callable[[str], int],
    limit: int,
) -> str:
    """Draw the document with as many entries as fit.

    Args:
        sections: all sections.
        degradation: names of sections in the order in which they give up entries, each all of its own before the next.
        draw: makes the document of its sections, by name.
        measure: size of a document (characters for a comment, bytes for a job summary).
        limit: the largest size.

    Returns:
        A document within the limit, as long as what is not a section fits.
    """
    return draw(cut_to_fit(sections, degradation, draw, measure, limit))


def cut_to_fit(
    sections: Iterable[Section[_Shown]],
    degradation: Sequence[str],
    draw: Callable[[Mapping[str, Section[_Shown]]], str],
    measure: Callable[[str], int],
    limit: int,
) -> dict[str, Section[_Shown]]:
    """Return the sections by name, cut so that :func:`fit` can draw them, as far as those in ``degradation`` allow."""
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
    return shown
