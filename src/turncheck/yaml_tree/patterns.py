"""Regular expressions that tests search for: parsed as Python's :mod:`re` does, searched for within a time limit.

The search is done by the package ``regex``, which supports Python's patterns and a timeout, unlike :mod:`re`: on a pull
request patterns are written by anyone, and some would run practically for ever.
"""

from __future__ import annotations

import re
import warnings
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

SEARCH_SECONDS: Final = 1.0
"""How long a pattern may be searched for in one text; ordinary ones take microseconds."""
MAX_SIZE: Final = 100_000
"""Maximum number of parts of a pattern with its repetitions expanded, as ``regex`` does."""
_REPEATS: Final = frozenset({opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT})


class EndlessSearchError(Exception):
    """The search for a pattern exceeded the time limit."""


def pattern_problem(pattern: str) -> str | None:
    """Return why a pattern cannot be used, or ``None``."""
    import regex  # only where there are patterns

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # notes on style, such as "possible nested set"
            re.compile(pattern)
            if _size(parser.parse(pattern)) > MAX_SIZE:
                return "it repeats more than can be searched for"
            regex.compile(pattern, flags=regex.VERSION0)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        return str(error) or type(error).__name__
    return None


def is_found(pattern: str, text: str) -> bool:
    """Whether the text holds the pattern; as it is, or as a regular expression.

    Raises:
        EndlessSearchError: the search took longer than :data:`SEARCH_SECONDS`.
    """
    if pattern in text:
        return True
    import regex  # only where there are patterns

    try:
        return regex.search(pattern, text, flags=regex.VERSION0, timeout=SEARCH_SECONDS, concurrent=True) is not None
    except TimeoutError:
        raise EndlessSearchError from None


def _size(tree: Any) -> int:
    size = 0
    for operator, argument in tree:
        times = max(1, argument[0]) if operator in _REPEATS else 1
        size += 1 + times * sum(map(_size, _parts(argument)))
    return size


def _parts(argument: Any) -> list[Any]:
    """Return the patterns inside of an item's argument, which is a pattern, a number, or a tuple of such."""
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, (tuple, list)):
        return [part for item in argument for part in _parts(item)]
    return []
