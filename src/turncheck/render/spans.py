"""The content of a line before any sink: typed pieces, which each sink writes in its own markup.

Other people's text is only in :class:`Code`, :class:`Said` and :class:`Prose`; sinks escape every piece all the
same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turncheck.messages.location import Location

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


@dataclass(frozen=True, slots=True)
class Text:
    """Our own words."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Our own words that a reader must not miss."""

    text: str


@dataclass(frozen=True, slots=True)
class Term:
    """A word that the following text explains."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A name, letter by letter; one that is longer than ``limit`` is cut, an empty one becomes a dash.

    Without a font of its own, a name of several words is quoted: otherwise one could not see where it ends.
    """

    text: str
    limit: int = NAME_LIMIT

    def quoted(self, shown: str) -> str:
        """Return ``shown``, quoted if it has several words."""
        return f"'{shown}'" if " " in shown else shown


@dataclass(frozen=True, slots=True)
class Said(Code):
    """A sentence that somebody says, letter by letter."""

    def quoted(self, shown: str) -> str:
        """Return it in quotes, however many words it has."""
        return f"'{shown}'"


@dataclass(frozen=True, slots=True)
class Prose:
    """A sentence with names in backticks or quotes, cut after ``limit`` characters.

    ``names_paths``: it may name files relative to the project's folder; a sink writes these as it writes places.
    """

    text: str
    limit: int = PROSE_LIMIT
    names_paths: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """Words that link to an address, if there is one."""

    label: Line
    url: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the project; with ``on_base`` it is one in the base that was removed since."""

    location: Location
    on_base: bool = False


@dataclass(frozen=True, slots=True)
class Change:
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


Span = Text | Strong | Term | Code | Prose | Link | Place | Change
Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One statement: a line, and what belongs to it.

    ``label`` and ``outcome`` come first: the code of a finding; the name of a gate and its outcome, if that is
    not what one expects. After the line come the ``place`` and, as a sentence of its own, the ``hint``. Of the entries
    ``below``, ``in_sight`` are shown at once, ``None``: all; ``left_out`` more are not here but in the report. ``case``
    is the key of the test or sentence that it is about (:mod:`turncheck.render.case_keys`), if it is about one.
    """

    line: Line = ()
    place: Place | None = None
    sign: Sign = ""
    label: str = ""
    outcome: str = ""
    hint: str = ""
    below: tuple[Entry, ...] = ()
    in_sight: int | None = None
    left_out: int = 0
    case: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    cells: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Column:
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
        case Place():
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
    for one in lines:
        spans += [Text(separator), *one] if spans else one
    return tuple(spans)
