"""How long what strangers wrote may be evaluated: paths, patterns and conditions of a test or of a bot's shape.

One deadline holds for all that is evaluated in a block of a thread. Libraries with a time limit of their own are given
what is left of it, others look at it now and then.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_THREAD: Final = threading.local()
_LEAST: Final = 0.001
"""Libraries take no limit of nothing: what is asked for after the deadline ends at once."""


def _end() -> float:
    return float(getattr(_OF_THREAD, "end", math.inf))


@contextmanager
def evaluating_within(seconds: float) -> Iterator[None]:
    """Let all that this thread evaluates in the block take at most so many seconds together.

    In a block within another one both limits hold.
    """
    before = _end()
    _OF_THREAD.end = min(before, time.monotonic() + seconds)
    try:
        yield
    finally:
        _OF_THREAD.end = before


def seconds_left(most: float) -> float:
    """Return how many seconds one search may take: at most so many, and not more than are left."""
    return max(_LEAST, min(most, _end() - time.monotonic()))


def is_over() -> bool:
    """Whether no time is left."""
    return time.monotonic() > _end()
