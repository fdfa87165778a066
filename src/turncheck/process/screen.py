"""The progress of a command: a changing line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from turncheck.messages.plain_text import plain
from turncheck.process.environment import redact
from turncheck.process.logs import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MINUTE = 60
_LONG = 90
"""Longer durations are shown in minutes."""
_CLEAR_LINE = "\r\x1b[2K"


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(0.4), duration(12.3), duration(89.9), duration(200)
    ('a second', '12 seconds', '90 seconds', '3 minutes')
    """
    if round(seconds) <= 1:
        return "a second"
    if seconds < _LONG:
        return f"{round(seconds)} seconds"
    return f"{round(seconds / _MINUTE)} minutes"


@dataclass(slots=True)
class Console:
    """Where progress goes: to standard error, so that standard output only has results.

    What it is given may quote files and answers of others: it shows all of it as mere text.
    ``timings`` collects the seconds of each named step, for the report. ``about`` begins each line, if several
    processes report at the same time.
    """

    quiet: bool = False
    verbose: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.perf_counter
    timings: dict[str, float] = field(default_factory=dict)
    about: str = ""

    @contextmanager
    def step(self, name: str, doing: str) -> Iterator[None]:
        """Show ``doing`` while the block runs, and keep its seconds under ``name``."""
        begin = self.clock()
        moving = not self.quiet and self._is_mine
        if moving:
            self._show(f"{plain(doing)} …")
        try:
            yield
        finally:
            seconds = self.clock() - begin
            self.timings[name] = round(self.timings.get(name, 0.0) + seconds, 3)
            if moving:
                self._show(_CLEAR_LINE)
            done = f"{doing} ({seconds:.1f} s)"
            if self.verbose or (not self.quiet and not moving):
                self._write(done)
            log("info", plain(done))

    def timer(self, name: str) -> Callable[[int, float], None]:
        """Return a function that keeps the seconds of one part of a step, by its index: ``core[3]``."""

        def keep(index: int, seconds: float) -> None:
            self.timings[f"{name}[{index}]"] = round(seconds, 6)

        return keep

    def note(self, text: str) -> None:
        """Print a note, unless --quiet is set."""
        log("info", plain(text))
        if not self.quiet:
            self._write(text)

    def progress(self, text: str) -> None:
        """Print how far something is: on a terminal in place of the previous line, elsewhere as a new line."""
        if not self.quiet and self._is_mine:
            self._show(f"{_CLEAR_LINE}{plain(text)} …")
            log("info", plain(text))
        else:
            self.note(text)

    def alarm(self, text: str) -> None:
        """Print that something went wrong, even with --quiet."""
        log("error", plain(text))
        self._write(text)

    def detail(self, text: str) -> None:
        """Print something that is only shown with --verbose."""
        log("debug", plain(text))
        if self.verbose and not self.quiet:
            self._write(text)

    @property
    def _is_mine(self) -> bool:
        """Whether a line can overwrite the one before."""
        return not self.about and self.stream.isatty()

    def _show(self, text: str) -> None:
        """Write at once. What cannot be shown (the terminal has gone) does not end the work."""
        with suppress(OSError, ValueError):
            self.stream.write(redact(text))
            self.stream.flush()

    def _write(self, text: str) -> None:
        text = plain(text)
        lines = [f"{plain(self.about)}: {line}" for line in text.split("\n")] if self.about else [text]
        self._show("".join(f"{line}\n" for line in lines))  # one call: no other line comes in
