"""The platform's rate limits, kept by a clock: a number of calls within any minute, and within any hour."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WINDOWS: Final = ((60, 60.0), (1800, 3600.0))
"""The most calls, and the number of seconds that they count for."""
_A_CALL: Final = 1.0
"""Estimated seconds for one call."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, in seconds since any moment, and a way to wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class Pace:
    """Spaces calls so that no window has more of them than allowed."""

    clock: Clock = field(default_factory=Clock)
    share: int = 1
    """How many runs share the limits: each uses at most its share."""
    _lock: Lock = field(default_factory=Lock)
    _calls: deque[float] = field(default_factory=lambda: deque(maxlen=max(calls for calls, _ in WINDOWS)))

    def wait(self, say: Callable[[float], None] = lambda _seconds: None) -> None:
        """Wait until one more call may be made, and count it; ``say`` is called before with the number of seconds.

        Several threads may wait, each for its own turn.
        """
        with self._lock:
            now = self.clock.now()
            moment = _next(self._calls, now, self.share)
            self._calls.append(moment)
        if moment > now:
            say(moment - now)
            self.clock.sleep(moment - now)

    def seconds_for(self, calls: int) -> float:
        """Estimate how long this many further calls take, one after the other."""
        made, begin = deque(self._calls, self._calls.maxlen), self.clock.now()
        now = begin
        for _ in range(calls):
            now = _next(made, now, self.share)
            made.append(now)
            now += _A_CALL
        return now - begin


@cache
def pace_of(app: tuple[str, str], name: str, clock: Clock, share: int) -> Pace:  # noqa: ARG001 - whose it is
    """Return the pace shared by everything in this process that calls for an app, such as several assistants of a run.

    ``app``: its platform and its client id. ``name``: the limit's name, for kinds of calls with their own.
    """
    return Pace(clock, share)


def _next(made: Sequence[float], now: float, share: int) -> float:
    """Return when the next call may be made, after those that were ``made``, in a ``share``-th of the limits.

    If more runs share a limit than it has calls, each makes one call in a multiple of its seconds.
    """
    limits = [(max(1, most // share), seconds * max(1.0, share / most)) for most, seconds in WINDOWS]
    return max([now, *(made[-most] + seconds for most, seconds in limits if len(made) >= most)])
