"""JSON files as the tree of :mod:`turncheck.yaml_tree.tree`, with every fault of a file named, not only the first.

``parse_json(source)`` gives a :class:`JsonDocument`: ``root`` and ``faults``. The parser recovers from typical
mistakes, so that what follows is checked too: typographic quotes, a comma after the last entry, one that is missing, a
list that is not closed, control characters in strings. It stops at any other. This is for files that people write and
edit by hand. Large generated files, of which only a few places are needed, are read by
:mod:`turncheck.yaml_tree.json_tree`, at the speed of Python's own parser.

The grammar is that of Python's ``json``: RFC 8259, and ``NaN`` and ``Infinity`` as numbers.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from msgspec import Struct, field

from turncheck.yaml_tree.tree import MAX_DEPTH, YamlMapping, YamlNode, YamlScalar, YamlSequence, let_nest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.messages.finding import Location
    from turncheck.yaml_tree.source import Source


MAX_FAULTS: Final = 50
"""Parsing stops after this many faults."""

TYPOGRAPHIC_QUOTES: Final = "“”„‟‘’‚‛«»＂"
"""What word processors and web pages make of straight quotes."""

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_STRING: Final = re.compile(r'"((?:[^"\\\x00-\x1f]|\\.)*)"')
_STRING_WITH_CONTROLS: Final = re.compile(r'"((?:[^"\\\n\r]|\\.)*)"')
_TYPOGRAPHIC_STRING: Final = re.compile(
    rf'[{TYPOGRAPHIC_QUOTES}]((?:[^"\\\n\r]|\\.)*?)["{TYPOGRAPHIC_QUOTES}](?=\s*(?:[:,}}\]]|$))'
)
_SINGLE_STRING: Final = re.compile(r"'((?:[^'\\\n\r]|\\.)*)'")
_TYPOGRAPHIC_END: Final = re.compile(rf"[{TYPOGRAPHIC_QUOTES}](?=\s*(?:[:,}}\]]|$))")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(r"-?[^\W\d][\w-]*")
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_WORDS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_OF_PYTHON: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_DECODER: Final = json.JSONDecoder()

Kind = Literal["syntax", "typographic-quote", "duplicate-key"]


class JsonFault(Struct, frozen=True):
    """What is wrong at a place, as the end of a sentence that begins with what the file is; how to write it."""

    kind: Kind
    what: str
    location: Location
    hint: str


class JsonDocument(Struct, frozen=True):
    """A parsed file. ``root``: if there are faults, what could be recovered; ``None`` if parsing had to stop."""

    source: Source
    root: YamlNode | None
    faults: tuple[JsonFault, ...] = ()


def parse_json(source: Source) -> JsonDocument:
    """Parse a file. If a key appears twice, the first one counts, and a fault reports it."""
    reader = _Reader(source)
    try:
        reader.read()
    except _ReadingEndsError:
        return JsonDocument(source, None, tuple(reader.faults))
    return JsonDocument(source, reader.root, tuple(reader.faults))


class _ReadingEndsError(Exception):
    """Parsing cannot continue."""


class _Open(Struct):
    """A list or an object that is not closed yet."""

    node: YamlMapping | YamlSequence
    key: YamlScalar | None = None
    keys: list[YamlNode] = field(default_factory=list)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, YamlMapping)


class _Reader:
    """Parses without recursion, so that no nesting can exhaust the stack; ``_wants``: what is expected next."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.file_text
        self.root: YamlNode | None = None
        self.faults: list[JsonFault] = []
        self._position = 0
        self._stack: list[_Open] = []
        self._wants: Literal["first", "entry", "colon", "value", "comma"] = "value"
        self._comma = 0
        self._string: YamlScalar | None = None

    def read(self) -> None:
        text = self.text
        while True:
            match = _BLANKS.match(text, self._position)
            self._position = match.end() if match else self._position
            if self._position >= len(text):
                break
            self._take(text[self._position])
        if self._stack:
            self._unclosed(self._stack[-1], "at the end of the file")
            raise _ReadingEndsError
        if self.root is None:
            self._end("the file is empty", 0, 'Write {"testCases": [ … ]}.' if not text.strip() else "")

    def _take(self, character: str) -> None:
        if not self._stack and self.root is not None:
            if not self._ended_typographically():
                self._end("something follows after its end", self._position, "Remove what follows the last bracket.")
        elif character in "}]":
            self._close(character)
        elif self._wants == "comma":
            self._after_value(character)
        elif self._wants == "colon":
            self._after_key(character)
        elif self._stack and self._stack[-1].is_mapping and self._wants in {"first", "entry"}:
            self._key(character)
        else:
            self._value(character)

    # --- between values -----------------------------------------------------------------------------------------------

    def _after_value(self, character: str) -> None:
        if character == ",":
            self._comma = self._position
            self._position += 1
            self._wants = "entry"
        elif self._ended_typographically():
            return
        elif character in '"{[-' or character.isalnum() or character in TYPOGRAPHIC_QUOTES:
            self._fault("a comma is missing before this", self._position, "Separate entries by commas.")
            self._wants = "entry"
        else:
            closer = "}" if self._stack[-1].is_mapping else "]"
            self._end(f"expected ',' or '{closer}'", self._position, "Check the quotes and brackets just above.")

    def _after_key(self, character: str) -> None:
        if character != ":":
            if self._ended_typographically():
                return
            hint = 'Write "key": value; a quote inside a string is written \\".'
            if character != "=":
                self._end("expected ':' after this key", self._position, hint)
            self._fault("expected ':' after this key", self._position, hint)
        self._position += 1
        self._wants = "value"

    def _close(self, closer: str) -> None:
        if not self._stack:
            self._end(f"'{closer}' closes nothing", self._position, "Remove it.")
        if self._wants == "entry":
            self._fault("a comma after the last entry", self._comma, "Remove the comma.")
        elif self._wants in {"colon", "value"}:
            self._end(f"a value is missing before '{closer}'", self._position, 'Write "key": value.')
        is_mapping = closer == "}"
        if self._stack[-1].is_mapping != is_mapping:
            if all(one.is_mapping != is_mapping for one in self._stack):
                self._end(f"'{closer}' closes nothing", self._position, "Remove it.")
            while self._stack[-1].is_mapping != is_mapping:
                self._unclosed(self._stack[-1], f"where '{closer}' is")
                self._finish()
        self._position += 1
        self._finish()

    def _unclosed(self, _open: _Open, where: str) -> None:
        what, closer = ("object", "}") if _open.is_mapping else ("list", "]")
        begin = _open.node.location
        self._fault(
            f"the {what} that begins in line {begin.line} is not closed {where}",
            self._position,
            f"Write '{closer}' before this.",
        )

    def _finish(self) -> None:
        one = self._stack.pop()
        if isinstance(one.node, YamlMapping):
            one.node.key_nodes = tuple(one.keys)
        self._attach(one.node)

    # --- keys and values ----------------------------------------------------------------------------------------------

    def _key(self, character: str) -> None:
        one = self._stack[-1]
        start = self._position
        node = self._text_node(character)
        if node is None and (word := _WORD.match(self.text, start)):
            self._fault("a key without quotes", start, f'Write "{word[0][:40]}".')
            self._position = word.end()
            node = YamlScalar(self.source, start, len(word[0]), word[0])
        if node is None:
            self._end("expected a key in double quotes", start, 'Write "key": value.')
        else:
            one.key = node
            self._wants = "colon"

    def _value(self, character: str) -> None:
        start = self._position
        if character in "{[":
            if len(self._stack) >= MAX_DEPTH:
                self._end(f"lists and objects nest deeper than {MAX_DEPTH} levels", start, "Nest less deeply.")
            let_nest(len(self._stack))
            kind = YamlMapping if character == "{" else YamlSequence
            self._stack.append(_Open(kind(self.source, start)))
            self._position += 1
            self._wants = "first"
            return
        node = self._text_node(character) or self._number_or_word()
        if node is None:
            self._end("expected a value", start, "A string needs double quotes.")
        else:
            self._attach(node)

    def _number_or_word(self) -> YamlScalar | None:
        start = self._position
        word, number = _WORD.match(self.text, start), _NUMBER.match(self.text, start)
        match = word or number
        if match is None:
            return None
        value: Any = None
        if word is not None:
            meant = _OF_PYTHON.get(word[0])
            if word[0] not in _WORDS and meant is None:
                return None
            if meant is not None:
                self._fault(f"'{word[0]}' is not a value", start, f"Write {meant}.")
            value = _WORDS[meant or word[0]]
        else:
            try:
                value = json.loads(match[0])
            except ValueError:  # Python refuses to convert thousands of digits
                self._end("a number has too many digits", start, "Write it as a string.")
        self._position = match.end()
        return YamlScalar(self.source, start, len(match[0]), value)

    def _text_node(self, character: str) -> YamlScalar | None:
        start = self._position
        if character == '"':
            value = self._string_value(start)
        elif character in TYPOGRAPHIC_QUOTES:
            value = self._typographic(start)
        elif character == "'" and (match := _SINGLE_STRING.match(self.text, start)):
            self._fault("a string in single quotes", start, 'Write double quotes: "…".')
            value, self._position = match[1], match.end()
        else:
            return None
        self._string = YamlScalar(self.source, start, self._position - start, value, '"')
        return self._string

    def _string_value(self, start: int) -> str:
        match = _STRING.match(self.text, start)
        if match is None:
            return self._strange_string(start)
        self._position = match.end()
        return self._unescaped(match[1], start) if "\\" in match[1] else match[1]

    def _unescaped(self, written: str, start: int) -> str:
        try:
            value = str(_DECODER.raw_decode(self.text, start)[0])
        except json.JSONDecodeError as error:
            self._fault("a backslash that does not begin an escape", error.pos, "Write it twice: \\\\.")
            return written
        if half := _HALF_CHARACTER.search(value):
            self._fault(f"the escape of half a character (U+{ord(half[0]):04X})", start, "Write the character itself.")
            value = _HALF_CHARACTER.sub("\ufffd", value)
        return value

    def _strange_string(self, start: int) -> str:
        """A string with control characters, or one that is not closed in its line."""
        if match := _STRING_WITH_CONTROLS.match(self.text, start):
            control = _CONTROL.search(self.text, start, match.end())
            place, sign = (control.start(), control[0]) if control else (start, "")
            shown = "\\t" if sign == "\t" else f"\\u{ord(sign or ' '):04x}"
            self._fault(f"a control character in a string (U+{ord(sign or ' '):04X})", place, f"Write {shown}.")
            self._position = match.end()
            return match[1]
        end = self._end_of_line(start)
        if typographic := _TYPOGRAPHIC_END.search(self.text, start + 1, end):
            return self._closed_typographically(start, typographic.start())
        self._end("a string that is not closed in its line", start, 'Close it by "; write a line break as \\n.')
        return ""

    def _typographic(self, start: int) -> str:
        sign = self.text[start]
        self._fault(_typographic(sign), start, 'Write straight quotes: "…".', "typographic-quote")
        match = _TYPOGRAPHIC_STRING.match(self.text, start, self._end_of_line(start))
        if match is None:
            raise _ReadingEndsError
        self._position = match.end()
        return match[1]

    def _ended_typographically(self) -> bool:
        """Whether the string before this went on so far since its end is a typographic quote; then it ends there."""
        node = self._string
        if node is None or self.text[node.end : self._position].strip():
            return False
        match = _TYPOGRAPHIC_END.search(self.text, node.start + 1, node.end)
        if match is None:
            return False
        node.value = self._closed_typographically(node.start, match.start())
        node.length = self._position - node.start
        self._string = None
        return True

    def _closed_typographically(self, start: int, end: int) -> str:
        self._fault(_typographic(self.text[end]), end, 'Write a straight quote: ".', "typographic-quote")
        self._position = end + 1
        return self.text[start + 1 : end]

    def _end_of_line(self, start: int) -> int:
        ends = [end for sign in "\r\n" if (end := self.text.find(sign, start)) >= 0]
        return min(ends, default=len(self.text))

    # --- the tree -----------------------------------------------------------------------------------------------------

    def _attach(self, node: YamlNode) -> None:
        self._wants = "comma"
        if not self._stack:
            self.root = node
            return
        one = self._stack[-1]
        if isinstance(one.node, YamlSequence):
            one.node.items.append(node)
        elif one.key is not None:
            key, one.key = one.key, None
            if key.value in one.node.items:
                first = one.keys[list(one.node.items).index(key.value)].location.line
                what = f"the key '{str(key.value)[:40]}' appears a second time; the first is in line {first}"
                self._fault(what, key.start, "Remove one of them.", "duplicate-key")
            else:
                one.node.items[key.value] = node
                one.keys.append(key)

    def _fault(self, what: str, offset: int, hint: str, kind: Kind = "syntax") -> None:
        self.faults.append(JsonFault(kind, what, self.source.location(offset), hint))
        if len(self.faults) >= MAX_FAULTS:
            raise _ReadingEndsError

    def _end(self, what: str, offset: int, hint: str) -> NoReturn:
        self._fault(what, offset, hint)
        raise _ReadingEndsError


def _typographic(sign: str) -> str:
    return f"a typographic quote {sign} (U+{ord(sign):04X}) where a straight one is expected"


# JSON with the position of every key and value, which is only computed on request.
#
# Python's own parser reads the file, and finds a place by skipping what precedes it. A file of 20 MB is read in half a
# second, while a parser that keeps all places takes half a minute.

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
