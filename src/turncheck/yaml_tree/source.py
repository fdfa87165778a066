"""The text of a file, as it is and as the YAML parser sees it, and where each character of it is in the file."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, Protocol

from turncheck.messages.finding import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Sequence

    class Scalar(Protocol):
        """A scalar of a YAML or JSON file: its value, how it is written, and from where to where."""

        @property
        def source(self) -> Source:
            """Its file."""

        @property
        def value(self) -> object:
            """What it means."""

        @property
        def style(self) -> str:
            """Its quote, or the mark of a block; empty if it has none."""

        @property
        def start(self) -> int:
            """Where it starts (an offset into ``source.text``)."""

        @property
        def end(self) -> int:
            """Where it ends."""


_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")
# A run of backslashes and, behind it, what may be a `\u` escape. Only an odd number of backslashes makes one.
_ESCAPE: Final = re.compile(r"(\\+)(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|u|U)")
_HEX_START: Final = 1
_NEAR: Final = 500


class EscapeError(ValueError):
    """A ``\\u`` escape that names no character; ``offset`` is where it is in the file's text."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"invalid escape at {offset}")
        self.offset = offset

    def finding(self, source: Source) -> Finding:
        """Return this error as a finding."""
        return Finding(
            "yaml-syntax",
            "error",
            "A backslash and 'u' must be followed by four hexadecimal digits, 'U' by eight: in a file of plain "
            "ASCII Rasa decodes them everywhere.",
            source.location(self.offset),
            "Write the backslash twice if it is meant as such.",
        )


class Source:
    """A file's text. Offsets count the characters of ``text`` (code points).

    Lines end with ``\\n``, ``\\r\\n`` or ``\\r``, as in editors. A byte order mark is not part of the text.
    """

    __slots__ = ("_escapes", "_file_text", "_line_starts", "has_byte_order_mark", "path", "text")

    def __init__(self, path: str, text: str, *, has_byte_order_mark: bool = False) -> None:
        """Take the decoded file."""
        self.path = path
        self.has_byte_order_mark = has_byte_order_mark or text.startswith("\ufeff")
        self._file_text = self.text = text.removeprefix("\ufeff")
        self._line_starts: list[int] | None = None
        self._escapes: list[tuple[int, int]] = []

    @property
    def line_starts(self) -> list[int]:
        """The offsets in the file's text at which its lines begin."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self._file_text))]
        return self._line_starts

    @property
    def file_text(self) -> str:
        """The file's own text, without a byte order mark."""
        return self._file_text

    @property
    def has_escapes(self) -> bool:
        """Whether ``text`` differs from the file's text."""
        return bool(self._escapes)

    def line(self, number: int) -> str:
        """Return the line with this number (from 1) of the file, without its end."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self._file_text)
        return self._file_text[starts[number - 1] : end].rstrip("\r\n")

    def location(self, offset: int) -> Location:
        """Return the location of the character at ``offset`` of ``text``."""
        offset = self._in_file(offset)
        if self._line_starts is None and offset < _NEAR:  # the first keys of a file: not worth a look at all its lines
            starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self._file_text, 0, offset))]
            return Location(self.path, len(starts), offset - starts[-1] + 1)
        line = bisect_right(self.line_starts, offset)
        return Location(self.path, line, offset - self.line_starts[line - 1] + 1)

    def _in_file(self, offset: int) -> int:
        if not self._escapes:
            return offset
        position = bisect_right(self._escapes, (offset, -1)) - 1
        return offset if position < 0 else offset + self._escapes[position][1]


class YamlSource(Source):
    """A file's text as it is parsed.

    In a file of pure ASCII ``\\u00e9`` and ``\\U0001f600`` are decoded everywhere, also outside of quotes, before YAML
    is parsed: Rasa does so (``rasa.shared.utils.io.read_yaml``). Locations are those of the file all the same.
    """

    __slots__ = ()

    def __init__(self, path: str, text: str, *, has_byte_order_mark: bool = False) -> None:
        """Take the decoded file; raises :class:`EscapeError`."""
        super().__init__(path, text, has_byte_order_mark=has_byte_order_mark)
        text = self.text
        if "\\" in text and text.isascii() and not self.has_byte_order_mark and ("\\u" in text or "\\U" in text):
            self.text, self._escapes = _decode_escapes(text)

    @classmethod
    def of(cls, source: Source) -> YamlSource:
        """Take the text of a file that was read regardless of its type; raises :class:`EscapeError`."""
        mark = source.has_byte_order_mark
        return cls(source.path, source.file_text, has_byte_order_mark=mark)


def _decode_escapes(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Decode ``\\u`` escapes; return the text and pairs (offset after an escape, how far the file is ahead there)."""
    parts: list[str] = []
    shifts: list[tuple[int, int]] = []
    done = length = 0
    for match in _ESCAPE.finditer(text):
        if len(match[1]) % 2 == 0:
            continue
        start = match.end(1) - 1
        if start < done:  # the second half of a surrogate pair
            continue
        character, end = _character(text, match, start)
        parts += (text[done:start], character)
        length += start - done + 1
        done = end
        shifts.append((length, done - length))
    parts.append(text[done:])
    return "".join(parts), shifts


def _character(text: str, match: re.Match[str], start: int) -> tuple[str, int]:
    """Return the character escaped at ``start`` and where the escape ends; two surrogates make one character."""
    if len(match[2]) == _HEX_START:
        raise EscapeError(start)
    code = int(match[2][1:], 16)
    end = match.end()
    if 0xD800 <= code < 0xDC00 and (second := re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(text, end)):
        return chr(0x10000 + ((code - 0xD800) << 10) + int(second[1], 16) - 0xDC00), second.end()
    if 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        raise EscapeError(start)
    return chr(code), end


# Where the characters of a scalar's value are in the file: in blocks, in folded and in quoted texts.

_WHITE: Final = frozenset(" \t\n\r\x85\u2028\u2029")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")
_YAML_LINE_BREAK: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_RARE_BREAK: Final = re.compile("[\x85\u2028\u2029]")
_SCALAR_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r\n|.)",
    re.DOTALL,
)
"""Of double quotes; two escapes together, as JSON writes a character beyond U+FFFF, are one."""
_NAMED_WHITE_ESCAPES: Final = frozenset("tnrNLP \t\n\r\x85\u2028\u2029")
_STRIPPED: Final = "\n\r "
"""What Rasa strips from an example. A tab stays."""


class ScalarLines:
    """Says where the lines of a scalar are, as Rasa splits a block of examples (``str.splitlines``).

    Exact in literal blocks (``|``). In the other styles it follows the characters other than white space, which no
    style changes.
    """

    __slots__ = ("_first_line", "_offsets", "_scalar")

    def __init__(self, scalar: Scalar) -> None:
        self._scalar = scalar
        self._first_line: int | None = None
        self._offsets: list[int] | None = None

    def locate(self, index: int) -> Location:
        """Return where the sentence on the line with this index (from 0) begins, after its dash."""
        if self._first_line is None and self._offsets is None:
            if _is_plain_literal(self._scalar):
                self._first_line = _header_line(self._scalar) + 1
            else:
                self._offsets = _sentence_offsets(self._scalar)
        source = self._scalar.source
        if self._offsets is not None:
            return source.location(self._offsets[index])
        number = (self._first_line or 0) + index
        return Location(source.path, number, _sentence_start(source.line(number)) + 1)


class ListedTexts:
    """Says where the sentences of a list are, each a scalar of its own; the list may still grow."""

    __slots__ = ("_texts",)

    def __init__(self, texts: Sequence[Scalar]) -> None:
        self._texts = texts

    def locate(self, index: int) -> Location:
        """Return where the sentence with this index (from 0) begins."""
        return text_location(self._texts[index])


def text_location(scalar: Scalar) -> Location:
    """Return where the text of a scalar begins: its first character that is not white space, after quotes and marks."""
    value = str(scalar.value)
    first = len(value) - len(value.lstrip(_STRIPPED))
    offsets = character_offsets(scalar) if first < len(value) else []
    return scalar.source.location(offsets[first] if offsets else scalar.start)


def character_offsets(scalar: Scalar) -> list[int]:
    """Return for each character of the value its offset in ``source.text``; white space is placed nearby."""
    text = scalar.source.text
    position = _content_start(scalar)
    offsets = []
    for character in str(scalar.value):
        if character not in _WHITE:
            position = _skip_white(text, position, scalar.end, scalar.style)
        offsets.append(position)
        if character not in _WHITE:
            position += _width(text, position, scalar.style)
    return offsets


def _is_plain_literal(scalar: Scalar) -> bool:
    """Whether the scalar's lines are in the file as they are, one for one, but for their indentation."""
    if scalar.style != "|" or scalar.source.has_escapes:
        return False
    return _RARE_BREAK.search(scalar.source.text, scalar.start, scalar.end) is None


def _header_line(scalar: Scalar) -> int:
    offset = scalar.source.text.index(scalar.style, scalar.start)
    return scalar.source.location(offset).line or 1


def _sentence_start(line: str) -> int:
    """Return the index of the first character after the dash; where there is none, that of the dash."""
    dash = len(line) - len(line.lstrip(" "))
    if line[dash : dash + 1] != "-":
        return dash
    sentence = line[dash + 1 :]
    stripped = sentence.lstrip(_STRIPPED)
    return dash + 1 + len(sentence) - len(stripped) if stripped else dash


def _sentence_offsets(scalar: Scalar) -> list[int]:
    offsets = [*character_offsets(scalar), max(scalar.end - 1, scalar.start)]
    result = []
    position = 0
    for line in str(scalar.value).splitlines(keepends=True):
        result.append(offsets[position + _sentence_start(line.rstrip(_STRIPPED))])
        position += len(line)
    return result


def _content_start(scalar: Scalar) -> int:
    """Return where the value begins: after anchor and tag, the quote, or the line of the block's header."""
    text = scalar.source.text
    properties = _PROPERTIES.match(text, scalar.start)
    start = properties.end() if properties else scalar.start
    if scalar.style in ("|", ">"):
        line_break = _YAML_LINE_BREAK.search(text, start)
        return line_break.end() if line_break else scalar.end
    return start + len(scalar.style)


def _skip_white(text: str, position: int, end: int, style: str) -> int:
    while position < end:
        if text[position] in _WHITE:
            position += 1
        elif style == '"' and (escape := _SCALAR_ESCAPE.match(text, position)) and _is_white_escape(escape[0]):
            position = escape.end()
        else:
            break
    return position


def _is_white_escape(escape: str) -> bool:
    code = escape[1:]
    if code[0] in "xuU" and len(code) > 1:
        return "\\" not in code and chr(int(code[1:], 16)) in _WHITE
    return code[0] in _NAMED_WHITE_ESCAPES


def _width(text: str, position: int, style: str) -> int:
    if style == '"' and (escape := _SCALAR_ESCAPE.match(text, position)):
        return len(escape[0])
    return 2 if style == "'" and text[position] == "'" else 1
