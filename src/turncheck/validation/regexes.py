"""Regular expressions of the NLU data: those that do not compile, and those that can take exponential time."""

from __future__ import annotations

import re
import warnings
from functools import cache
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

from turncheck.validation.backtracking import is_exponential, loops_in_a_row
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.finding import Finding
    from turncheck.location import Location
    from turncheck.project.model import NluData

_LENGTH_LIMIT: Final = 10_000
_MOST_LOOPS: Final = 4
"""From so many loops in a row on, a long message takes minutes: a thousand characters in four loops are 10^12 steps."""
_REPEATS: Final = frozenset({opcodes.MAX_REPEAT, opcodes.MIN_REPEAT})


def check_regexes(nlu: NluData) -> Iterator[Finding]:
    """Compile each pattern as Rasa would, and look for repetitions that can be split in many ways."""
    for regex in nlu.regexes:
        yield from check_pattern(regex.pattern, f"the regex '{regex.name}'", regex.location)


def check_pattern(pattern: str, owner: str, place: Location) -> Iterator[Finding]:
    """Compile one pattern as Rasa would, and look for loops that can read a text in several ways."""
    problem = compile_problem(pattern)
    if problem is not None:
        yield found("regex-invalid", f"The pattern '{pattern}' of {owner} does not compile: {problem}.", place)
    elif backtracks(pattern):
        yield found("regex-backtracks", f"The pattern '{pattern}' of {owner} can take exponential time.", place)
    elif (power := loops_in_a_row(_parsed(pattern))) >= _MOST_LOOPS:
        message = f"The pattern '{pattern}' of {owner} can take time that grows with the {power}th power of a length."
        yield found("regex-backtracks", message, place)


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
    """Whether matching can take exponential time, or would with anything behind the pattern: ``(a+)+``."""
    tree = _parsed(pattern)
    return _has_loop_of_loop(tree) or is_exponential(tree)


def _parsed(pattern: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parser.parse(_flags_first(pattern))


def _has_loop_of_loop(part: Any) -> bool:
    """Whether a repetition without end repeats nothing but another one, which is never of use."""
    return any(
        (_is_endless(operator, argument) and _is_endless(*_only(argument[2])))
        or any(map(_has_loop_of_loop, _children(operator, argument)))
        for operator, argument in part
    )


def _is_endless(operator: Any, argument: Any) -> bool:
    return operator in _REPEATS and argument[1] == opcodes.MAXREPEAT


def _only(body: Any) -> tuple[Any, Any]:
    """The one item of a sequence, groups opened."""
    while len(body) == 1 and body[0][0] == opcodes.SUBPATTERN:
        body = body[0][1][-1]
    return body[0] if len(body) == 1 else (None, None)


def _children(operator: Any, argument: Any) -> list[Any]:
    if operator in _REPEATS or operator == opcodes.SUBPATTERN:
        return [argument[-1]]
    return list(argument[1]) if operator == opcodes.BRANCH else []
