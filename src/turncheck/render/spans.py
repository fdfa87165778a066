"""The content of a line before any sink: typed pieces, which each sink writes in its own markup.

Other people's text is only in :class:`Code`, :class:`Said` and :class:`Prose`; sinks escape every piece all the
same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.messages.finding import Location


Mark = Literal[
    "real gain",
    "real drop",
    "within noise",
    "too few sentences to tell",
    "unchanged",
    "better",
    "worse",
    "no verdict",
    "",
]
"""How significant a difference is, in words that need no statistics."""
Sign = Literal["passed", "failed", "not judged", "error", "warning", "info", "caution", "stopped", ""]
"""What an entry is, at a glance: the outcome of a gate, the severity of a finding, what to know before reading on."""

NAME_LIMIT: Final = 160
PROSE_LIMIT: Final = 400


class Text(Struct, frozen=True):
    """Our own words."""

    text: str


class Strong(Struct, frozen=True):
    """Our own words that a reader must not miss."""

    text: str


class Term(Struct, frozen=True):
    """A word that the following text explains."""

    text: str


class Code(Struct, frozen=True):
    """A name, letter by letter; one that is longer than ``limit`` is cut, an empty one becomes a dash.

    Without a font of its own, a name of several words is quoted: otherwise one could not see where it ends.
    """

    text: str
    limit: int = NAME_LIMIT

    def quoted(self, shown: str) -> str:
        """Return ``shown``, quoted if it has several words."""
        return f"'{shown}'" if " " in shown else shown


class Said(Code, frozen=True):
    """A sentence that somebody says, letter by letter."""

    def quoted(self, shown: str) -> str:
        """Return it in quotes, however many words it has."""
        return f"'{shown}'"


class Prose(Struct, frozen=True):
    """A sentence with names in backticks or quotes, cut after ``limit`` characters.

    ``names_paths``: it may name files relative to the project's folder; a sink writes these as it writes places.
    """

    text: str
    limit: int = PROSE_LIMIT
    names_paths: bool = False


class Link(Struct, frozen=True):
    """Words that link to an address, if there is one."""

    label: Line
    url: str | None


class PlaceSpan(Struct, frozen=True):
    """A place in the project; with ``on_base`` it is one in the base that was removed since."""

    location: Location
    on_base: bool = False


def at(location: Location | None, *, on_base: bool = False) -> PlaceSpan | None:
    """Return a place, if there is one."""
    return None if location is None else PlaceSpan(location, on_base)


class Change(Struct, frozen=True):
    """The difference between two figures, how significant it is, and what else to know about it."""

    difference: str
    mark: Mark
    note: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """The difference, and the rest in words; an unchanged figure has no difference."""
        if self.mark != "unchanged":
            return self.difference, f"{self.mark}{self.note}".removeprefix("; ")
        return "" if self.difference == "±0" else self.difference, f"same{self.note}"


Span = Text | Strong | Term | Code | Prose | Link | PlaceSpan | Change
Line = tuple[Span, ...]


class Entry(Struct, frozen=True):
    """One statement: a line, and what belongs to it.

    ``label`` and ``outcome`` come first: the code of a finding; the name of a gate and its outcome, if that is
    not what one expects. After the line come the ``place`` and, as a sentence of its own, the ``hint``. Of the entries
    ``below``, ``in_sight`` are shown at once, ``None``: all; ``left_out`` more are not here but in the report. ``case``
    is the key of the test or sentence that it is about (:mod:`turncheck.render.case_keys`), if it is about one, and
    ``trace`` the id of a trace of it.
    """

    line: Line = ()
    place: PlaceSpan | None = None
    sign: Sign = ""
    label: str = ""
    outcome: str = ""
    hint: str = ""
    below: tuple[Entry, ...] = ()
    in_sight: int | None = None
    left_out: int = 0
    case: str = ""
    trace: str = ""


class Row(Struct, frozen=True):
    """One row of a table."""

    cells: tuple[Line, ...]


class Column(Struct, frozen=True):
    """The head of a column of a table, and the alignment of its cells."""

    title: str
    align: Literal["", "left", "right"] = ""


def plain(shown: Line, place: Callable[[Location], object] = str) -> str:
    """Return a line as plain text, with sentences quoted and nothing cut, for sinks that escape and cut whole lines.

    Args:
        place: writes a place.

    >>> plain(line("expected ", Code("a"), " of ", Said("b")))
    "expected a of 'b'"
    """
    return "".join(_plain(span, place) for span in shown)


def _plain(span: Span, place: Callable[[Location], object]) -> str:
    match span:
        case Code():
            return span.quoted(span.text)
        case Link():
            return plain(span.label, place)
        case PlaceSpan():
            return str(place(span.location))
        case Change():
            return " ".join(filter(None, span.words))
        case _:
            return span.text


def line(*parts: Span | str | Iterable[Span]) -> Line:
    """Compose a line; a string is our own words.

    >>> line("expected ", Code("a"), (Text(", "), Text("b")))
    (Text(text='expected '), Code(text='a', limit=160), Text(text=', '), Text(text='b'))
    """
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            spans += [Text(part)] if part else []
        elif isinstance(part, Span):
            spans.append(part)
        else:
            spans += part
    return tuple(spans)


def listed(lines: Iterable[Line], separator: str = ", ") -> Line:
    """Join lines with our own words between them."""
    spans: list[Span] = []
    for line in lines:
        spans += [Text(separator), *line] if spans else line
    return tuple(spans)


# Sections of a document: lists and tables that can be cut entry by entry until the document fits.

BUILT: Final = 3000
"""More entries than this are never built: they would not fit even with one character each."""

_Shown = TypeVar("_Shown")
"""What an entry is: neutral, or as a sink has written it."""
_Written = TypeVar("_Written", bound=str)


class Section(Struct, Generic[_Shown], frozen=True):
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
        """How many of ``total`` are not in plain sight: those in the fold, and those that it says are left out."""
        return self.total - self._stand_for(self.unfolded)

    @property
    def left_out(self) -> int:
        """How many of ``total`` are not shown."""
        return self.total - self._stand_for(len(self.entries))

    def _stand_for(self, end: int) -> int:
        return sum(self.weights[:end]) if self.weights else len(self.entries[:end])

    def cut(self, most: int) -> Section[_Shown]:
        """Return the section with at most this many entries."""
        return replace(self, entries=self.entries[:most])

    def written(self, write: Callable[[_Shown], _Written], *, within: int) -> Section[_Written]:
        """Return the section with its entries as a sink writes them; those beyond this many characters never fit."""
        written: list[_Written] = []
        length = 0
        for entry in self.entries:
            if length > within:
                break
            written.append(write(entry))
            length += len(written[-1])
        return cast("Section[_Written]", replace(self, entries=tuple(written)))


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
