"""What a turn of a bot over HTTP took: milliseconds, tokens, money."""

from __future__ import annotations

from typing import Annotated

import msgspec

from turncheck.report.part import LARGEST_FIGURE, Count, Part

Amount = Annotated[float, msgspec.Meta(ge=0, le=LARGEST_FIGURE)]
TraceId = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{32})?(?!\n)$")]
"""An id of the W3C's Trace Context; empty if there is none."""


class MeasuredTurn(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What one turn took. What is not known is left out: it is never 0."""

    first_ms: Amount | None = None
    """Milliseconds until the first message, without waiting and retries of turncheck's own."""
    ms: Amount | None = None
    """The same until the last message."""
    tokens_in: Count | None = None
    """Tokens that the bot read, by its own account."""
    tokens_out: Count | None = None
    """Tokens that it wrote."""
    cost: Amount | None = None
    """What these cost, by ``prices`` under ``bot:``."""
    trace: TraceId = ""
    """The trace that the message belonged to, by its header ``traceparent``."""


class MeasuredRun(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The turns of one run of a test."""

    turns: tuple[MeasuredTurn, ...]
    """One for each message that was answered, in their order."""
    base: tuple[MeasuredTurn, ...] = ()
    """The same of the base, if it was asked beside this run."""
