"""What an answer of a bot says of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.measuring import NO_USAGE, Usage
from turncheck.web.json_path import JsonPath, PathError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.settings.bot import Bot

_MOST_TOKENS: Final = 10**9
"""No turn takes more: a larger number is something else."""
_LONGEST_MODEL: Final = 200


def read_usage(bot: Bot, answer: Any) -> Usage:
    """Read what an answer took. What is not a number of tokens is no error of the bot: it is not known then."""
    shape = bot.usage
    if shape is None or answer is None:
        return NO_USAGE
    faults: list[str] = []
    tokens = []
    for name, path in (("input", shape.input), ("output", shape.output)):
        values = [value for value in _found(path, answer) if value is not None]
        numbers = [_tokens(value) for value in values]
        known = [number for number in numbers if number is not None]
        if path is not None and len(known) < len(numbers):
            wrong = values[numbers.index(None)]
            faults.append(f"`{name}: {path.text}` under `usage` ({path.location}) had {_what(wrong)}")
        is_known = bool(known) and len(known) == len(numbers) and sum(known) <= _MOST_TOKENS
        tokens.append(sum(known) if is_known else None)
    model = next((value for value in _found(shape.model, answer) if isinstance(value, str)), "")
    return Usage(tokens[0], tokens[1], model[:_LONGEST_MODEL], tuple(faults))


def _found(path: JsonPath | None, answer: Any) -> Iterator[Any]:
    try:
        yield from () if path is None else (value for _, value in path.found(answer))
    except PathError:
        return


def _tokens(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_TOKENS:
        return None
    return int(value) if value == int(value) else None


def _what(value: Any) -> str:
    """Say what is there in place of tokens, without showing it."""
    match value:
        case bool():
            return "a truth value"
        case int() | float():
            return "a negative number" if value < 0 else "a fraction" if value <= _MOST_TOKENS else "a huge number"
        case str():
            return "a string"
        case _:
            return "a list" if isinstance(value, list) else "a map"
