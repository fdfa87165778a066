"""Where the characters of a scalar's value are in the file: in blocks, in folded and in quoted texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.location import Location

if TYPE_CHECKING:
    from turncheck.yaml_tree.tree import YamlScalar

_WHITE: Final = frozenset(" \t\n\r\x85\u2028\u2029")
_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")
_LINE_BREAK: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_RARE_BREAK: Final = re.compile("[\x85\u2028\u2029]")
_ESCAPE: Final = re.compile(
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

    def __init__(self, scalar: YamlScalar) -> None:
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

    def __init__(self, texts: list[YamlScalar]) -> None:
        self._texts = texts

    def locate(self, index: int) -> Location:
        """Return where the sentence with this index (from 0) begins."""
        return text_location(self._texts[index])


def text_location(scalar: YamlScalar) -> Location:
    """Return where the text of a scalar begins: its first character that is not white space, after quotes and marks."""
    value = str(scalar.value)
    first = len(value) - len(value.lstrip(_STRIPPED))
    offsets = character_offsets(scalar) if first < len(value) else []
    return scalar.source.location(offsets[first] if offsets else scalar.start)


def character_offsets(scalar: YamlScalar) -> list[int]:
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


def _is_plain_literal(scalar: YamlScalar) -> bool:
    """Whether the scalar's lines are in the file as they are, one for one, but for their indentation."""
    if scalar.style != "|" or scalar.source.has_escapes:
        return False
    return _RARE_BREAK.search(scalar.source.text, scalar.start, scalar.end) is None


def _header_line(scalar: YamlScalar) -> int:
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


def _sentence_offsets(scalar: YamlScalar) -> list[int]:
    offsets = [*character_offsets(scalar), max(scalar.end - 1, scalar.start)]
    result = []
    position = 0
    for line in str(scalar.value).splitlines(keepends=True):
        result.append(offsets[position + _sentence_start(line.rstrip(_STRIPPED))])
        position += len(line)
    return result


def _content_start(scalar: YamlScalar) -> int:
    """Return where the value begins: after anchor and tag, the quote, or the line of the block's header."""
    text = scalar.source.text
    properties = _PROPERTIES.match(text, scalar.start)
    start = properties.end() if properties else scalar.start
    if scalar.style in ("|", ">"):
        line_break = _LINE_BREAK.search(text, start)
        return line_break.end() if line_break else scalar.end
    return start + len(scalar.style)


def _skip_white(text: str, position: int, end: int, style: str) -> int:
    while position < end:
        if text[position] in _WHITE:
            position += 1
        elif style == '"' and (escape := _ESCAPE.match(text, position)) and _is_white_escape(escape[0]):
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
    if style == '"' and (escape := _ESCAPE.match(text, position)):
        return len(escape[0])
    return 2 if style == "'" and text[position] == "'" else 1
