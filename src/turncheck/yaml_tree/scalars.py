"""What an unquoted YAML scalar means: the core schema of YAML 1.2, as Rasa reads it.

PyYAML knows YAML 1.1 only, where ``yes``, ``off`` or ``12:30`` are not strings. Rasa reads with ruamel.yaml set to
version 1.2; so the words and number formats here are those that ruamel.yaml accepts, with two exceptions in which it
keeps habits of YAML 1.1: dates and numbers with underscores (``1_000``) are strings here, as the YAML 1.2 specification
(chapter 10.3) has them.
"""

import re
from typing import Final

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT: Final = re.compile(r"[-+]?(?:0b[01]+|0o?[0-7]+|[0-9]+|0x[0-9a-fA-F]+)")
# Without a digit before the point an exponent must carry its sign: `.5e3` is a string, `.5e+3` is 500.0.
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+][0-9]+)?)"
)
_SPECIAL_FLOAT: Final = re.compile(r"(?P<infinite>[-+]?\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)")
_BASES: Final = {"0b": 2, "0o": 8, "0x": 16}
_NUMBER_START: Final = frozenset("-+.0123456789")

MAX_DIGITS: Final = 4000
"""A longer run of digits stays a string: Python refuses to convert more than 4300, and nobody means a number by it."""


def resolve_plain(text: str) -> Scalar:
    """Return the value of a plain (unquoted, untagged) scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START:
        return text
    return _number(text)


def _number(text: str) -> Scalar:
    if len(text) > MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    special = _SPECIAL_FLOAT.fullmatch(text)
    if special is None:
        return text
    if special["infinite"] is None:
        return float("nan")
    return float("-inf") if text[0] == "-" else float("inf")


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    base = _BASES.get(digits[:2], 10)
    value = int(digits[2:], base) if base != 10 else int(digits)
    return -value if text[0] == "-" else value
