"""JavaScript's regular expressions, as Python writes them.

A pattern is read as ECMAScript 2024 does without flags, with what its Annex B allows besides (``{`` and ``\\q`` are
characters), and searched for in texts as it sees them: units of UTF-16.
"""

from __future__ import annotations

import itertools
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class UnsupportedPatternError(Exception):
    """A part of a pattern that JavaScript reads otherwise than Python can, or refuses; says which."""

    def __init__(self, part: str, *, is_refused: bool = False) -> None:
        super().__init__(f"'{part}' has another meaning in JavaScript's regular expressions")
        self.is_refused = is_refused
        """Whether JavaScript refuses it."""


@lru_cache(maxsize=4096)
def as_pattern(
    pattern: str, *, multiline: bool = False, ignores_case: bool = False, by_code_point: bool = False
) -> str:
    """Return a pattern of JavaScript's as Python writes it, to be searched for in what :func:`to_utf16_units` returns.

    What is broken in JavaScript does not compile in Python.

    Args:
        pattern: as it is written for JavaScript.
        multiline: with its flag ``m``.
        ignores_case: with its flag ``i``.
        by_code_point: with its flag ``u``; it is searched for in the text itself.

    Raises:
        UnsupportedPatternError: a part has another meaning there, or none.
    """
    written = _with_code_points(pattern) if by_code_point else to_utf16_units(pattern)
    tokens = list(_TOKEN.finditer(written))
    if any(_named(token) for token in tokens):
        tokens = list(_TOKEN_BESIDE_NAMES.finditer(written))
    anchors = _ANCHORS_OF_LINES if multiline else _ANCHORS
    return _Translation(tokens, _groups(tokens), anchors, ignores_case).text()


def why_not_read(pattern: str, *, by_code_point: bool = False) -> str:
    """Return why a pattern is not translated; "" if it is."""
    try:
        as_pattern(pattern, by_code_point=by_code_point)
    except UnsupportedPatternError as error:
        return f"'{pattern}': {error}"
    return ""


# Characters.


def to_utf16_units(text: str, *, ignores_case: bool = False) -> str:
    """Return a text as JavaScript searches it: characters outside the Basic Multilingual Plane as two surrogates."""
    units = _OUTSIDE.sub(_surrogates, text)
    return units.translate(_capitals()) if ignores_case else units


def from_utf16_units(units: str) -> str:
    """Return the text that these units of UTF-16 are."""
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_OUTSIDE: Final = re.compile("[\U00010000-\U0010ffff]")


def _surrogates(character: re.Match[str]) -> str:
    high, low = divmod(ord(character[0]) - 0x10000, 0x400)
    return chr(0xD800 + high) + chr(0xDC00 + low)


@cache
def _capitals() -> dict[int, int]:
    """Return the characters that the flag ``i`` takes for another: their capitals, but for none of ASCII."""
    capitals = {number: chr(number).upper() for number in range(0x10000)}
    return {
        number: ord(capital)
        for number, capital in capitals.items()
        if len(capital) == 1 and number != ord(capital) < 0x10000 and (number < 128 or ord(capital) >= 128)
    }


_HIGH, _LOW = "[Dd][89ABab][0-9A-Fa-f]{2}", "[Dd][C-Fc-f][0-9A-Fa-f]{2}"
_CODE_POINT: Final = re.compile(
    rf"\\u\{{(?P<number>[0-9A-Fa-f]+)\}}|\\u(?P<high>{_HIGH})\\u(?P<low>{_LOW})|(?P<property>\\[pP])|\\.",
    re.DOTALL,
)


def _with_code_points(pattern: str) -> str:
    """Return a pattern in which the characters that only the flag ``u`` allows to be written are there themselves."""

    def character(match: re.Match[str]) -> str:
        if match["property"]:
            raise UnsupportedPatternError(match[0])
        if match["number"] is None and match["high"] is None:
            return match[0]
        number = int(match["number"], 16) if match["number"] else _code_point(match["high"], match["low"])
        if number > 0x10FFFF:
            raise UnsupportedPatternError(match[0])
        return chr(number) if chr(number).isalnum() else f"\\{chr(number)}"

    return _CODE_POINT.sub(character, pattern)


def _code_point(high: str, low: str) -> int:
    return 0x10000 + (int(high, 16) - 0xD800) * 0x400 + int(low, 16) - 0xDC00


# Tokens: each character of a pattern belongs to one.

_ESCAPES: Final = "x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-3][0-7]{0,2}|[4-7][0-7]?|[^c]"
_TOKENS: Final = rf"""
    \[(?P<set> \^?(?:\\.|[^\]\\])* )\]
    | (?P<group> \((?:\?(?:<[=!]|<[^<>]*>|.)?)? )
    | (?P<close> \) )
    | (?P<quantifier> (?:[*+?]|\{{[0-9]+(?:,[0-9]*)?\}})\?? )
    | \\(?P<number> [1-9][0-9]* )
    | (?P<kind> \\[dDwWsS] )
    | (?P<boundary> \\[bB] )
    | (?P<character> \\(?:c[A-Za-z]|{_ESCAPES})|\\(?=c)|[^\\\[|^$.] )
    | (?P<anchor> [\^$] )
    | (?P<any> \. )
    | (?P<as_it_is> \||\[.*|. )  # with a set that does not end, or the beginning of an escape at the end
    """
_TOKEN: Final = re.compile(_TOKENS, re.DOTALL | re.VERBOSE)
_TOKEN_BESIDE_NAMES: Final = re.compile(rf"(?P<name>\\k(?:<[^<>]*>)?)|{_TOKENS}", re.DOTALL | re.VERBOSE)
"""In a pattern with a named group ``\\k`` is no letter."""
_IN_SET: Final = rf"\\(?:c[A-Za-z0-9_]|{_ESCAPES})|\\(?=c)|[^\\]"
_MEMBER: Final = re.compile(rf"(?P<first>{_IN_SET})(?:-(?P<last>{_IN_SET}))?", re.DOTALL)

Ranges = tuple[tuple[int, int], ...]
"""Characters: the numbers of the first and of the last of each range."""


def _ranges(text: str) -> Ranges:
    return tuple((ord(text[at]), ord(text[at + 1])) for at in range(0, len(text), 2))


def _complement(ranges: Ranges) -> Ranges:
    ends = [-1, *(number for one in ranges for number in one), 0x110000]
    return tuple((ends[at] + 1, ends[at + 1] - 1) for at in range(0, len(ends), 2))


_DIGITS: Final = _ranges("09")
_WORDS: Final = _ranges("09AZ__az")
_SPACES: Final = _ranges(
    "\t\r  \u00a0\u00a0\u1680\u1680\u2000\u200a\u2028\u2029\u202f\u202f\u205f\u205f\u3000\u3000\ufeff\ufeff"
)
_KINDS: Final = {
    r"\d": _DIGITS,
    r"\w": _WORDS,
    r"\s": _SPACES,
    r"\D": _complement(_DIGITS),
    r"\W": _complement(_WORDS),
    r"\S": _complement(_SPACES),
}


def _set(ranges: Ranges, *, negated: bool = False) -> str:
    """Return what matches one of the characters, or one of all others."""
    if not ranges:
        return r"[\s\S]" if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(itertools.starmap(_range, ranges))}]"


def _range(first: int, last: int) -> str:
    return re.escape(chr(first)) + (f"-{re.escape(chr(last))}" if last != first else "")


_WORD: Final = _set(_WORDS)
_BOUNDARIES: Final = {
    r"\b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    r"\B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_ENDS: Final = r"\n\r\u2028\u2029"
_IN_LINE: Final = f"[^{_ENDS}]"
_ANCHORS: Final = {"^": "^", "$": r"\Z"}
_ANCHORS_OF_LINES: Final = {"^": f"(?<!{_IN_LINE})", "$": f"(?!{_IN_LINE})"}
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _character(written: str) -> str:
    """Return the character that is written as it is or with a backslash."""
    name, digits = written[1:2], written[2:]
    if not name:
        return written
    if name == "c":
        return chr(ord(digits) % 32)
    if name in "xu" and digits:
        return chr(int(digits, 16))
    return chr(int(name + digits, 8)) if name in "01234567" else _ESCAPED.get(name, name)


# Groups, and what refers to them.

_BEHIND: Final = ("(?<=", "(?<!")
_UNNAMED: Final = ("(", "(?:", "(?=", "(?!", *_BEHIND)
_MOST_REFERENCES: Final = 99
"""The highest number of a group that Python can refer to."""


def _named(token: re.Match[str]) -> str:
    """Return the name of the group that a token begins; "" if it has none."""
    name = token[0][3:-1] if token.lastgroup == "group" and token[0].endswith(">") else ""
    return name if name.replace("$", "_").isidentifier() else ""


class _Group(Struct):
    """A group; ``around``: the one that it is in, ``last``: the place of its last token."""

    begin: str
    around: _Group | None
    last: int
    quantifier: str = ""
    is_plain: bool = True
    """Whether none around it is repeated, negated, or looks behind."""

    @property
    def keeps_its_text(self) -> bool:
        """Whether what refers to it finds the same text in Python as in JavaScript.

        There a repetition forgets what the groups in it had matched, and what looks behind is matched backwards.
        """
        return self.is_plain and self.quantifier in {"", "?", "??"}


class _Groups(Struct, frozen=True):
    """The groups of a pattern that can be referred to, with the numbers of those that have names.

    ``behind``: places of the tokens in groups that look behind; ``ends``: of the last ones.
    """

    numbered: list[_Group] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    behind: set[int] = field(default_factory=set)
    ends: set[int] = field(default_factory=set)


def _groups(tokens: Sequence[re.Match[str]]) -> _Groups:
    found, groups = _Groups(), list[_Group]()
    around: list[_Group] = []
    looking_behind = 0
    for at, token in enumerate(tokens):
        if looking_behind:
            found.behind.add(at)
        if token.lastgroup == "group":
            name = _named(token)
            group = _Group("(" if name else token[0], around[-1] if around else None, len(tokens))
            if group.begin not in _UNNAMED or name in found.names:
                raise UnsupportedPatternError(token[0], is_refused=True)
            groups.append(group)
            around.append(group)
            looking_behind += group.begin in _BEHIND
            if group.begin == "(":
                found.numbered.append(group)
            if name:
                found.names[name] = len(found.numbered)
        elif token.lastgroup == "close" and around:
            group = around.pop()
            group.last = at
            if group.begin in _BEHIND:
                looking_behind -= 1
                found.ends.add(at)
            if at + 1 < len(tokens) and tokens[at + 1].lastgroup == "quantifier":
                group.quantifier = tokens[at + 1][0]
    for group in groups:  # those around it come before it
        if (one := group.around) is not None:
            group.is_plain = one.is_plain and not one.quantifier and one.begin not in {*_BEHIND, "(?!"}
    return found


# Translation.


class _Translation(Struct, frozen=True):
    """Translates the tokens of a pattern, each by itself."""

    tokens: Sequence[re.Match[str]]
    groups: _Groups
    anchors: Mapping[str, str]
    ignores_case: bool

    def text(self) -> str:
        """Return the pattern as Python writes it."""
        return "".join(self._translated(at, token) for at, token in enumerate(self.tokens))

    def _translated(self, at: int, token: re.Match[str]) -> str:  # noqa: PLR0911 - one branch per kind, flat
        match token.lastgroup:
            case "set":
                return self._members(token["set"])
            case "group":
                return "(" if _named(token) else token[0]
            case "quantifier":
                return self._quantifier(at, token[0])
            case "number":
                return self._number(at, token["number"])
            case "name":
                return self._reference(at, self.groups.names.get(token[0][3:-1]), token[0])
            case "kind":
                return _set(_KINDS[token[0]])
            case "boundary":
                return _BOUNDARIES[token[0]]
            case "character":
                return self._literal(_character(token[0]))
            case "anchor":
                return self.anchors[token[0]]
            case "any":
                return _IN_LINE
            case _:
                return token[0]

    def _literal(self, text: str) -> str:
        return re.escape(text.translate(_capitals()) if self.ignores_case else text)

    def _members(self, written: str) -> str:
        negated = written.startswith("^")
        found: dict[tuple[int, int], None] = {}
        for member in _MEMBER.finditer(written, int(negated)):
            first, last = member["first"], member["last"] or member["first"]
            if first in _KINDS or last in _KINDS:  # a hyphen beside them is one
                for part in (first, "-", last) if member["last"] else (first,):
                    found |= dict.fromkeys(_KINDS.get(part) or self._range(part, part))
            else:
                found |= dict.fromkeys(self._range(first, last))
        return _set(tuple(found), negated=negated)

    def _range(self, first: str, last: str) -> Ranges:
        begin, end = ord(_character(first)), ord(_character(last))
        capitals = _capitals().items() if self.ignores_case else ()
        return (begin, end), *((capital, capital) for number, capital in capitals if begin <= number <= end)

    def _quantifier(self, at: int, written: str) -> str:
        before = self.tokens[at - 1].lastgroup if at else None
        if before == "quantifier" and written.startswith("+"):
            raise UnsupportedPatternError(self.tokens[at - 1][0] + written, is_refused=True)
        if before in {"anchor", "boundary"} or at - 1 in self.groups.ends:
            return rf"\b{written}"  # a place that is repeated: an error in both
        return written

    def _number(self, at: int, written: str) -> str:
        if int(written[:9]) <= len(self.groups.numbered):  # nobody writes so many groups, but anybody many digits
            return self._reference(at, int(written), rf"\{written}")
        octal = re.match("[0-3][0-7]{0,2}|[4-7][0-7]?", written)
        return self._literal(written if octal is None else chr(int(octal[0], 8)) + written[octal.end() :])

    def _reference(self, at: int, number: int | None, written: str) -> str:
        """Refer to a group: one that has matched nothing, or not yet, is empty text, rather than no match."""
        if number is None or number > _MOST_REFERENCES or at in self.groups.behind:
            raise UnsupportedPatternError(written, is_refused=number is None)
        group = self.groups.numbered[number - 1]
        if at < group.last:
            return "(?:)"
        if not group.keeps_its_text:
            raise UnsupportedPatternError(written)
        return rf"(?({number})\{number})"
