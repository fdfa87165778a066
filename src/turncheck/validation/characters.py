"""The characters that a regular expression distinguishes, one of each kind representing the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Character = int
"""A code point."""

_SAMPLE: Final = tuple(map(ord, "aZ_5 -.@/:,é\n"))
_NEWLINE: Final = ord("\n")


@dataclass(frozen=True, slots=True)
class Alphabet:
    """One character of each kind that a pattern distinguishes, and the pattern's flags."""

    letters: tuple[Character, ...]
    flags: int

    @classmethod
    def of(cls, characters: Sequence[Any], flags: int) -> Alphabet:
        """Take the characters that the pattern names, and some of each usual kind; keep one of each kind."""
        everything = cls(tuple(dict.fromkeys((*_SAMPLE, *_named(characters)))), flags)
        different = list({repr(character): character for character in characters}.values())
        kinds = [set(everything.matching(character)) for character in different]
        one_of_a_kind: dict[tuple[bool, ...], Character] = {}
        for letter in everything.letters:
            signature = (_is_word(letter), letter == _NEWLINE, *(letter in kind for kind in kinds))
            one_of_a_kind.setdefault(signature, letter)
        return cls(tuple(one_of_a_kind.values()), flags)

    def matching(self, character: Any) -> tuple[Character, ...]:
        """The characters that a parsed character or class matches."""
        return tuple(letter for letter in self.letters if self._matches(letter, *character))

    def _matches(self, letter: Character, operator: Any, argument: Any) -> bool:
        if operator == opcodes.ANY:
            return bool(letter != _NEWLINE or self.flags & re.DOTALL)
        if operator == opcodes.LITERAL:
            return bool(argument in self._cases(letter))
        if operator == opcodes.NOT_LITERAL:
            return bool(argument not in self._cases(letter))
        if operator != opcodes.IN:
            return True  # what a group has matched may be anything
        negated = bool(argument) and argument[0][0] == opcodes.NEGATE
        members = argument[1:] if negated else argument
        cases = self._cases(letter)
        is_member = any(_is_member(case, kind, value) for case in cases for kind, value in members)
        return is_member != negated

    def _cases(self, letter: Character) -> tuple[Character, ...]:
        other = chr(letter).swapcase()
        return (letter, ord(other)) if self.flags & re.IGNORECASE and len(other) == 1 else (letter,)

    def allows(self, before: Character, after: Character, conditions: frozenset[Any]) -> bool:
        """Whether conditions such as a word boundary can hold between two characters. A lookaround always can."""
        return all(self._allows(before, after, condition) for condition in conditions)

    def _allows(self, before: Character, after: Character, condition: Any) -> bool:
        is_many_lines = bool(self.flags & re.MULTILINE)
        if condition in {opcodes.AT_BOUNDARY, opcodes.AT_NON_BOUNDARY}:
            return bool((_is_word(before) != _is_word(after)) == (condition == opcodes.AT_BOUNDARY))
        if condition == opcodes.AT_BEGINNING:
            return is_many_lines and before == _NEWLINE
        if condition == opcodes.AT_END:
            return is_many_lines and after == _NEWLINE
        return condition not in {opcodes.AT_BEGINNING_STRING, opcodes.AT_END_STRING}


def _named(characters: Sequence[Any]) -> Iterator[Character]:
    for operator, argument in characters:
        if operator in {opcodes.LITERAL, opcodes.NOT_LITERAL}:
            yield argument
        elif operator == opcodes.IN:
            for kind, value in argument:
                if kind == opcodes.LITERAL:
                    yield value
                elif kind == opcodes.RANGE:
                    yield from value


def _is_word(letter: Character) -> bool:
    return chr(letter).isalnum() or chr(letter) == "_"


def _is_member(code: Character, kind: Any, value: Any) -> bool:
    if kind == opcodes.LITERAL:
        return bool(code == value)
    if kind == opcodes.RANGE:
        return bool(value[0] <= code <= value[1])
    categories = {
        opcodes.CATEGORY_DIGIT: r"\d",
        opcodes.CATEGORY_NOT_DIGIT: r"\D",
        opcodes.CATEGORY_SPACE: r"\s",
        opcodes.CATEGORY_NOT_SPACE: r"\S",
        opcodes.CATEGORY_WORD: r"\w",
        opcodes.CATEGORY_NOT_WORD: r"\W",
    }
    return re.match(categories[value], chr(code)) is not None
