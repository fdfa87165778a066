"""What a turn took: the assistant's own milliseconds, its tokens, and the trace that its calls belong to."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.report.measured import MeasuredTurn
from turncheck.settings.bot_usage import NO_PRICES

if TYPE_CHECKING:
    from turncheck.engines.remote import Response
    from turncheck.settings.bot_usage import Prices

TRACE_HEADER: Final = "traceparent"


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

    def measured(self, prices: Prices = NO_PRICES) -> MeasuredTurn:
        """Return what the turn took."""
        usage = self.usage
        tokens_in, tokens_out = (None, None) if usage.faults else (usage.tokens_in, usage.tokens_out)
        return MeasuredTurn(
            first_ms=_milliseconds(self._first),
            ms=_milliseconds(self._last),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=prices.cost(usage.model, tokens_in, tokens_out),
            trace=self.trace,
        )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)
