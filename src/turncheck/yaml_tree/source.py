"""The text of a file, as it is and as the YAML parser sees it, and where each character of it is in the file."""

import re
from bisect import bisect_right
from typing import Final

from turncheck.messages.finding import Finding
from turncheck.messages.location import Location

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

    def finding(self, source: "Source") -> Finding:
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
    def of(cls, source: Source) -> "YamlSource":
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
