"""Regular expressions of the NLU data: those that do not compile, and those that can take exponential time."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cache
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.finding import Finding
    from turncheck.project.model import NluData

_LENGTH_LIMIT: Final = 10_000
_REPEATS: Final = frozenset({opcodes.MAX_REPEAT, opcodes.MIN_REPEAT})
_SAMPLE: Final = tuple(map(ord, "aZ_5 -.@/:,é\n"))
"""One character of each kind that patterns tell apart; two sets that share one of these overlap."""


def check_regexes(nlu: NluData) -> Iterator[Finding]:
    """Compile each pattern as Rasa would, and look for repetitions that can be split in many ways."""
    for regex in nlu.regexes:
        problem = compile_problem(regex.pattern)
        if problem is not None:
            yield found(
                "regex-invalid",
                f"The pattern '{regex.pattern}' of the regex '{regex.name}' does not compile: {problem}.",
                regex.location,
            )
        elif backtracks(regex.pattern):
            yield found(
                "regex-backtracks",
                f"The pattern '{regex.pattern}' of the regex '{regex.name}' can take exponential time.",
                regex.location,
            )


@cache
def compile_problem(pattern: str) -> str | None:
    """Return why a pattern does not compile, or ``None``."""
    if len(pattern) > _LENGTH_LIMIT:
        return f"it is longer than {_LENGTH_LIMIT} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's own notes on style, such as "possible nested set"
            re.compile(_flags_first(pattern))
            tree = parser.parse(_flags_first(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        return str(error) or type(error).__name__
    return "possessive quantifiers and atomic groups are not known to Python 3.10" if _is_newer(tree) else None


_GLOBAL_FLAGS: Final = re.compile(r"(?<!\\)\(\?([aimsux]+)\)")
_NEWER: Final = frozenset({opcodes.POSSESSIVE_REPEAT, opcodes.ATOMIC_GROUP})


def _flags_first(pattern: str) -> str:
    """Return the pattern with its global flags in front: Rasa 3.6 runs on Python 3.10, which takes them anywhere."""
    try:
        parser.parse(pattern)
    except re.error as error:
        if not error.msg.startswith("global flags not at the start"):
            return pattern
        flags = "".join(dict.fromkeys("".join(_GLOBAL_FLAGS.findall(pattern))))
        return f"(?{flags}){_GLOBAL_FLAGS.sub('', pattern)}" if flags else pattern
    return pattern


def _is_newer(part: Any) -> bool:
    """Whether a parsed pattern holds what Python knows since 3.11 only."""
    stack = [part]
    while stack:
        inner = stack.pop()
        if isinstance(inner, parser.SubPattern | list | tuple):
            stack.extend(inner)
        elif any(inner is operator for operator in _NEWER):
            return True
    return False


def backtracks(pattern: str) -> bool:
    """Whether an unbounded repetition holds something that can match the same text in several ways.

    That is: another unbounded repetition that may stand alone or meets itself (``(a+)+``, ``(a*b?)*``), or alternatives
    that can begin with the same character (``(ab|a.)*``). A heuristic on the parsed pattern; it may miss a case.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parser.parse(_flags_first(pattern))
    shape = _Shape(frozenset((*_SAMPLE, *_literals(tree))))
    return any(shape.is_ambiguous(body) for body in _repeated(tree))


def _repeated(tree: Any) -> Iterator[Any]:
    """All bodies of unbounded repetitions, from the outside to the inside."""
    for operator, argument in tree:
        if operator in _REPEATS:
            _, most, body = argument
            if most == opcodes.MAXREPEAT:
                yield body
        for child in _children(operator, argument):
            yield from _repeated(child)


def _literals(tree: Any) -> Iterator[int]:
    """All characters that the pattern names."""
    for operator, argument in tree:
        if operator in {opcodes.LITERAL, opcodes.NOT_LITERAL}:
            yield argument
        elif operator == opcodes.IN:
            for kind, value in argument:
                if kind == opcodes.LITERAL:
                    yield value
                elif kind == opcodes.RANGE:
                    yield from value
        for child in _children(operator, argument):
            yield from _literals(child)


def _children(operator: Any, argument: Any) -> list[Any]:
    if operator in _REPEATS or operator == opcodes.SUBPATTERN:
        return [argument[-1]]
    if operator == opcodes.BRANCH:
        return list(argument[1])
    if operator in {opcodes.ASSERT, opcodes.ASSERT_NOT}:
        return [argument[1]]
    return []


@dataclass(frozen=True, slots=True)
class _Shape:
    """What parts of a pattern can match, judged by the ``characters`` that it names and one of each kind beside."""

    characters: frozenset[int]

    def is_ambiguous(self, body: Any) -> bool:
        """Whether rounds of repeating this can be told apart in several ways."""
        items = _flat(body)
        for position, (operator, argument) in enumerate(items):
            if operator in _REPEATS and argument[1] == opcodes.MAXREPEAT:
                inner = self.first(argument[2])
                others = items[:position] + items[position + 1 :]
                # What stands beside it keeps the rounds apart, unless it may be empty or looks the same.
                if all(_may_be_empty([other]) or inner & self.first([other]) for other in others):
                    return True
            if operator == opcodes.BRANCH:
                firsts = [self.first(branch) for branch in argument[1]]
                if any(one & two for n, one in enumerate(firsts) for two in firsts[:n]):
                    return True
        return False

    def first(self, body: Any) -> frozenset[int]:
        """The characters that a match of the sequence can begin with."""
        characters: frozenset[int] = frozenset()
        for operator, argument in body:
            characters |= self._first_of(operator, argument)
            if not _item_may_be_empty(operator, argument):
                break
        return characters

    def _first_of(self, operator: Any, argument: Any) -> frozenset[int]:
        if operator == opcodes.LITERAL:
            return frozenset({argument})
        if operator in _REPEATS:
            return self.first(argument[2])
        if operator == opcodes.SUBPATTERN:
            return self.first(argument[-1])
        if operator == opcodes.BRANCH:
            return frozenset().union(*map(self.first, argument[1]))
        if operator in {opcodes.IN, opcodes.ANY, opcodes.NOT_LITERAL}:
            matches = _character_class(operator, argument)
            return frozenset(code for code in self.characters if matches(code))
        return frozenset()


def _flat(body: Any) -> list[tuple[Any, Any]]:
    """The items of a sequence, groups opened."""
    items: list[tuple[Any, Any]] = []
    for operator, argument in body:
        items += _flat(argument[-1]) if operator == opcodes.SUBPATTERN else [(operator, argument)]
    return items


def _may_be_empty(body: Any) -> bool:
    return all(_item_may_be_empty(operator, argument) for operator, argument in body)


def _item_may_be_empty(operator: Any, argument: Any) -> bool:
    if operator in _REPEATS:
        return argument[0] == 0 or _may_be_empty(argument[2])
    if operator == opcodes.SUBPATTERN:
        return _may_be_empty(argument[-1])
    if operator == opcodes.BRANCH:
        return any(_may_be_empty(branch) for branch in argument[1])
    return operator in {opcodes.AT, opcodes.ASSERT, opcodes.ASSERT_NOT}


def _character_class(operator: Any, argument: Any) -> Any:
    if operator == opcodes.ANY:
        return lambda code: code != ord("\n")
    if operator == opcodes.NOT_LITERAL:
        return lambda code: code != argument
    negated = bool(argument) and argument[0][0] == opcodes.NEGATE
    members = argument[1:] if negated else argument
    return lambda code: any(_is_member(code, kind, value) for kind, value in members) != negated


def _is_member(code: int, kind: Any, value: Any) -> bool:
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
