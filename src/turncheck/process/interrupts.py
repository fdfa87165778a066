"""Ctrl-C, and the SIGTERM that a cancelled job gets: both stop what was started and keep what was finished."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_heard: list[int] = []


def listen() -> None:
    """From now on raise :class:`KeyboardInterrupt` in the main thread for either signal."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
            signal.signal(number, _raise)


def ignore() -> None:
    """From now on nothing happens any more: all is done, and the exit code is known."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    # Where an interrupt once passed an `exec` (every data class has one), Python ends itself by SIGINT instead of with
    # the exit code, though it was caught. Another `exec` makes it forget that.
    exec("")  # noqa: S102 - a constant


def happened() -> bool:
    """Whether a signal came, also where a library made an error of its own out of the interrupt."""
    return bool(_heard)


def _raise(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - a signal handler
    _heard.append(number)
    raise KeyboardInterrupt
