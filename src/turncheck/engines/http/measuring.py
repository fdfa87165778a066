"""What a turn took: the bot's own milliseconds, the tokens that it says, and the trace that its calls belong to."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.report.measured import MeasuredTurn
from turncheck.web.json_path import JsonPath, PathError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.engines.remote import Response
    from turncheck.settings.bot import Bot

TRACE_HEADER: Final = "traceparent"
_MOST_TOKENS: Final = 10**9
"""No turn takes more: a larger number is something else."""
_LONGEST_MODEL: Final = 200


# What an answer says of its tokens.


class Usage(Struct, frozen=True):
    """The tokens of a turn; ``None``: not known. ``faults``: what was there that cannot be a number of tokens."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""
    faults: tuple[str, ...] = ()

    def plus(self, other: Usage) -> Usage:
        """Return that of two answers of one turn."""
        return Usage(
            _sum(self.tokens_in, other.tokens_in),
            _sum(self.tokens_out, other.tokens_out),
            other.model or self.model,
            self.faults + other.faults,
        )


NO_USAGE: Final = Usage()


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


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
            return "a text"
        case _:
            return "a list" if isinstance(value, list) else "a map"


# A turn in progress.


class Watch:
    """Measures one turn, by a clock that never jumps."""

    def __init__(self) -> None:
        self.trace = secrets.token_hex(16)
        self.usage = NO_USAGE
        self._asked: float | None = None
        self._came = 0.0
        self._ours = 0.0
        self._first: float | None = None
        self._last: float | None = None

    def header(self) -> dict[str, str]:
        """Return the header of the next call: the same trace, and a span of its own (W3C Trace Context, level 1)."""
        return {TRACE_HEADER: f"00-{self.trace}-{secrets.token_hex(8)}-01"}

    def call(self, begun: float, response: Response) -> None:
        """Note a call that was answered, which turncheck began at ``begun``.

        What passed until it was sent is turncheck's own: waiting for a free place, attempts that failed, and the pauses
        between them.
        """
        if self._asked is None:
            self._asked = response.asked
        else:
            self._ours += max(0.0, response.asked - begun)
        self._came = response.came

    def message(self, at: float | None = None) -> None:
        """Note that a message came: with the latest answer, or when the bot posted it."""
        if self._asked is None:
            return
        after = max(0.0, (self._came if at is None else at) - self._asked - self._ours)
        self._first = after if self._first is None else self._first
        self._last = max(after, self._last or 0.0)

    def measured(self, bot: Bot) -> MeasuredTurn:
        """Return what the turn took."""
        usage = self.usage
        tokens_in, tokens_out = (None, None) if usage.faults else (usage.tokens_in, usage.tokens_out)
        return MeasuredTurn(
            first_ms=_milliseconds(self._first),
            ms=_milliseconds(self._last),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=bot.prices.cost(usage.model, tokens_in, tokens_out),
            trace=self.trace,
        )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)
