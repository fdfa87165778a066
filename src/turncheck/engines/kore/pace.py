"""The platform's rate limits, kept by a clock: so many calls within any minute, and within any hour."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WINDOWS: Final = ((60, 60.0), (1800, 3600.0))
"""Calls, and the seconds in which there may be no more of them."""
_A_CALL: Final = 1.0
"""Seconds that an estimate has for one call."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What time it is, in seconds from anywhere, and how one waits."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class Pace:
    """Spaces calls so that no window has more of them than it may."""

    clock: Clock = field(default_factory=Clock)
    _calls: deque[float] = field(default_factory=lambda: deque(maxlen=max(calls for calls, _ in WINDOWS)))

    def wait(self, tell: Callable[[float], None] = lambda _seconds: None) -> None:
        """Wait until one more call may be made, and count it; ``tell`` hears before for how many seconds."""
        pause = _next(self._calls, self.clock.now()) - self.clock.now()
        if pause > 0:
            tell(pause)
            self.clock.sleep(pause)
        self._calls.append(self.clock.now())

    def seconds_for(self, calls: int) -> float:
        """Estimate how long that many further calls take, one after the other."""
        made, begin = deque(self._calls, self._calls.maxlen), self.clock.now()
        now = begin
        for _ in range(calls):
            now = _next(made, now)
            made.append(now)
            now += _A_CALL
        return now - begin


def _next(made: Sequence[float], now: float) -> float:
    """Return when the next call may be made, after those that were ``made``."""
    return max([now, *(made[-most] + seconds for most, seconds in WINDOWS if len(made) >= most)])
