"""JSON with the position of every key and value, which is only computed on request.

Python's own parser reads the file, and finds a place by skipping what precedes it. A file of 20 MB is read in half a
second, while a parser that keeps all places takes half a minute.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.messages.location import Location
    from turncheck.yaml_tree.source import Source

Step = str | int
"""A key of an object, or an index of a list."""
_Places = dict[Step, int]

_BLANK: Final = re.compile(r"[ \t\n\r]*")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL
)
"""How one character may be escaped: two surrogates make one character."""
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_WORTH_KEEPING: Final = 10_000
"""The places of the members of an object or list of this many characters are kept."""
_DECODER: Final = json.JSONDecoder()


class JsonError(ValueError):
    """A text is not JSON: ``what`` is wrong, and where (``offset`` in the text)."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.what = what
        self.offset = offset


class JsonFile:
    """A JSON file: ``data`` as Python has it, and where its parts are.

    A path names a part by keys and indices: ``("sentences", 3, "sentence")``. If an object has a key twice, the last
    one counts, as in :mod:`json`. The place of a path that does not exist is that of its last existing part.
    """

    __slots__ = ("_known", "_text", "data", "source")

    def __init__(self, source: Source) -> None:
        """Parse the file.

        Raises:
            JsonError: it is not JSON.
        """
        self.source = source
        self._text = _whole_characters(source.file_text)
        self._known: dict[int, tuple[_Places, _Places]] = {}
        try:
            self.data: Any = _DECODER.decode(self._text)
        except json.JSONDecodeError as error:
            raise JsonError(error.msg, error.pos) from None
        except RecursionError:
            raise JsonError("lists or objects are nested too deep", 0) from None
        except ValueError:  # a number of thousands of digits
            raise JsonError("a number is too long", 0) from None

    def location(self, *path: Step) -> Location:
        """Return where the value begins; of a string that is its first character, after the quote."""
        return self.source.location(self._shown(self._offset(path)))

    def key_location(self, *path: Step) -> Location:
        """Return where the key that the path ends with begins, after its quote; of an index the value."""
        keys = self._members(self._offset(path[:-1]))[1] if path else {}
        at = keys.get(path[-1]) if path else None
        return self.location(*path) if at is None else self.source.location(self._shown(at))

    def _shown(self, offset: int) -> int:
        return offset + 1 if self._text[offset : offset + 1] == '"' else offset

    def _offset(self, path: Sequence[Step]) -> int:
        offset = _behind_blanks(self._text, 0)
        for step in path:
            found = self._members(offset)[0].get(step)
            if found is None:
                return offset
            offset = found
        return offset

    def _members(self, offset: int) -> tuple[_Places, _Places]:
        """Return where the values and the keys of the object or list at ``offset`` begin."""
        known = self._known.get(offset)
        if known is None:
            values, keys, end = _members(self._text, offset)
            known = values, keys
            if end - offset >= _WORTH_KEEPING:
                self._known[offset] = known
        return known


def _members(text: str, offset: int) -> tuple[_Places, _Places, int]:
    """Return where values and keys begin, and the object or list ends."""
    values: _Places = {}
    keys: _Places = {}
    opening = text[offset : offset + 1]
    position = _behind_blanks(text, offset + 1)
    if opening not in {"{", "["} or text[position] in "}]":
        return values, keys, position
    index = 0
    while True:
        step: Step = index
        if opening == "{":
            key, end = _DECODER.raw_decode(text, position)
            step = key
            keys[step] = position
            position = _behind_blanks(text, _behind_blanks(text, end) + 1)
        values[step] = position
        _, end = _DECODER.raw_decode(text, position)
        position = _behind_blanks(text, end)
        if text[position] in "}]":
            return values, keys, position
        position = _behind_blanks(text, position + 1)
        index += 1


def _behind_blanks(text: str, offset: int) -> int:
    match = _BLANK.match(text, offset)
    return offset if match is None else match.end()


def _whole_characters(text: str) -> str:
    """Replace lone surrogates by U+FFFD: no output could hold them."""
    return _ESCAPE.sub(_whole, text) if _HALF.search(text) else text


def _whole(match: re.Match[str]) -> str:
    return "\\ufffd" if _HALF.fullmatch(match[0]) else match[0]
