"""Ctrl-C, and the SIGTERM that a cancelled job gets: both stop what is running and keep what was finished."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from types import FrameType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_SOON: Final = 0.02
"""Seconds."""
_heard: list[int] = []


def listen() -> None:
    """Raise :class:`KeyboardInterrupt` in the main thread for either signal from now on."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
            signal.signal(number, _raise)
    sys.unraisablehook = _again


def also_by(number: signal.Signals) -> None:
    """Take another signal for an interrupt, too, unless one has come already: a parent process repeats what it hears,
    and may be in the same group."""
    signal.signal(number, _raise_first)


def _again(lost: sys.UnraisableHookArgs) -> None:
    """Interrupt once more if it came where Python drops exceptions, in a callback or at an object's end."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        from threading import Timer  # every command imports this module, and hardly any comes here

        # Not from here, where it would be dropped as well.
        Timer(_SOON, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(lost)


def ignore() -> None:
    """Ignore both signals from now on: everything is done, and the exit code is known."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    # If an interrupt ever passed through an `exec` (every data class has one), Python ends itself by SIGINT instead of
    # with the exit code, although it was caught. Another `exec` resets that.
    exec("")  # noqa: S102 - a constant


def forget() -> None:
    """Forget the signals that came while an earlier command of this process ran."""
    _heard.clear()


def happened() -> bool:
    """Whether a signal came, even if a library turned the interrupt into an error of its own."""
    return bool(_heard)


def _raise(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - a signal handler
    _heard.append(number)
    raise KeyboardInterrupt


def _raise_first(number: int, frame: FrameType | None) -> None:
    if not _heard:
        _raise(number, frame)
