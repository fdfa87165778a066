"""CSV as people and spreadsheets write it → records of fields with their locations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turncheck.messages.location import Location
    from turncheck.yaml_tree.source import Source

DELIMITERS: Final = ",;\t|"
_BLANKS: Final = " \t\u00a0"


@dataclass(frozen=True, slots=True)
class Field:
    """A trimmed field. ``is_quoted``: it was in straight quotes. ``stray``: where it has a quote that opens nothing."""

    text: str
    location: Location
    is_quoted: bool = False
    stray: Location | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One record, which may span lines inside quotes; ``location`` is where it begins.

    ``open_quote``: where a quote begins that is never closed.
    """

    fields: tuple[Field, ...]
    location: Location
    open_quote: Location | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all fields are empty."""
        return not any(field.text for field in self.fields)


def read_csv(source: Source, is_column: Callable[[str], bool]) -> Iterator[Record]:
    """Yield the records, the header first, without empty lines.

    The delimiter is one of ``,`` ``;`` tab ``|``: the one that finds the most known columns in the header
    (``is_column``), unless the first line names it (``sep=;``, as Excel has it).
    """
    text = source.file_text
    position, delimiter = 0, ""
    first = text.partition("\n")[0].strip()
    if first.lower().startswith("sep=") and len(first) == len("sep=") + 1:
        delimiter, position = first[-1], len(text.partition("\n")[0]) + 1
    delimiter = delimiter or _delimiter(source, is_column)
    while position < len(text):
        record, position = _record(source, position, delimiter)
        if not record.is_empty or record.open_quote:
            yield record


def _delimiter(source: Source, is_column: Callable[[str], bool]) -> str:
    def known(delimiter: str) -> int:
        position = 0
        while position < len(source.file_text):
            record, position = _record(source, position, delimiter)
            if not record.is_empty:
                return sum(is_column(field.text) for field in record.fields)
        return 0

    return max(DELIMITERS, key=known)


def _record(source: Source, start: int, delimiter: str) -> tuple[Record, int]:
    """Read the record that begins at ``start``; return it and where the next one begins."""
    text, position = source.file_text, start
    fields: list[Field] = []
    while True:
        begin = _behind_blanks(text, position, delimiter)
        if text[begin : begin + 1] == '"':
            value, end = _quoted(text, begin)
            if end < 0:
                place = source.location(begin)
                return Record((*fields, Field(value, place, True)), source.location(start), place), len(text)
            rest_end = _field_end(text, end, delimiter)
            rest = text[end:rest_end].strip()
            stray = source.location(end) if rest else None
            fields.append(Field((value + rest).strip(), source.location(begin + 1), True, stray))
            position = rest_end
        else:
            position = _field_end(text, begin, delimiter)
            value = text[begin:position].strip()
            quote = value.find('"')
            stray = source.location(begin + quote) if quote >= 0 else None
            fields.append(Field(value, source.location(begin), False, stray))
        if text[position : position + 1] != delimiter:
            break
        position += 1
    if text.startswith("\r\n", position):
        position += 1
    return Record(tuple(fields), source.location(start)), position + 1


def _behind_blanks(text: str, position: int, delimiter: str) -> int:
    while position < len(text) and text[position] in _BLANKS and text[position] != delimiter:
        position += 1
    return position


def _quoted(text: str, begin: int) -> tuple[str, int]:
    """Return the text between quotes, and where it ends (after the quote); -1 if the quote is not closed."""
    parts: list[str] = []
    position = begin + 1
    while True:
        end = text.find('"', position)
        if end < 0:
            return "".join((*parts, text[position:])), -1
        parts.append(text[position:end])
        if text[end + 1 : end + 2] != '"':
            return "".join(parts), end + 1
        parts.append('"')
        position = end + 2


def _field_end(text: str, position: int, delimiter: str) -> int:
    while position < len(text) and text[position] not in {delimiter, "\n", "\r"}:
        position += 1
    return position
