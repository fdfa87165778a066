"""The progress of a command: a changing line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO

from turncheck.messages.errors import UserError
from turncheck.messages.plain_text import plain
from turncheck.process.environment import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


# Logs as a file of the team configures them (``--logging-config-file``, as in Rasa): what is noted also goes there.

LOGGER: Final = "turncheck"
Level = Literal["debug", "info", "error"]
_MOST: Final = 1 << 20
_CLASS: Final = re.compile(r"logging\.(handlers\.)?[A-Z][A-Za-z]*Handler|logging\.(Formatter|Filter)")
_STREAMS: Final = frozenset({"ext://sys.stdout", "ext://sys.stderr"})
_CONFIGURED: list[Path] = []
"""The file that configured the logs of this process, if one did."""
_BETWEEN: Final = 10.0
"""Seconds between two lines of a log about how far something is."""


def configure_logs(path: Path) -> None:
    """Configure Python's logging by a file.

    Raises:
        UserError: it cannot be read, or is not a configuration of logs that may be used.
    """
    import logging.config  # only on request

    import yaml

    from turncheck.process.regular_file import read_regular

    try:
        content = yaml.safe_load(read_regular(path, most=_MOST))
    except OSError as error:
        raise UserError(f"the logging configuration '{path}' cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        raise UserError(f"the logging configuration '{path}' is not YAML: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"the logging configuration '{path}' is not a map", hint="See Python's logging.config.")
    if refused := next(_refused(content), None):
        raise UserError(
            f"the logging configuration '{path}' names {refused}, which is not a part of Python's logging",
            hint="Use the handlers and formatters of logging and logging.handlers.",
        )
    try:
        logging.config.dictConfig(content)
    except (ValueError, TypeError, AttributeError, ImportError, OSError) as error:
        cause = f": {error.__cause__}" if error.__cause__ else ""
        raise UserError(f"the logging configuration '{path}' cannot be used: {error}{cause}") from None
    _CONFIGURED[:] = [path]


def log(level: Level, text: str) -> None:
    """Log what is shown, if a file configured logs: in the logger ``turncheck``."""
    if _CONFIGURED:
        import logging

        getattr(logging.getLogger(LOGGER), level)("%s", redact(text))


def _refused(value: Any, key: str = "") -> Iterator[str]:
    """Yield what has Python import or call something else."""
    if isinstance(value, dict):
        for name, below in value.items():
            if name == "()":
                yield f"'(): {below}'"
            else:
                yield from _refused(below, str(name))
    elif isinstance(value, list):
        for one in value:
            yield from _refused(one)
    elif isinstance(value, str) and (
        (key == "class" and not _CLASS.fullmatch(value)) or (value.startswith("ext://") and value not in _STREAMS)
    ):
        yield f"'{value}'"


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


def _wrapped(line: str, width: int) -> list[str]:
    """Return a line in parts as wide as a terminal, broken between words; later ones are indented a little more."""
    if len(line) <= width:
        return [line]
    words = line.lstrip()
    indent = line[: len(line) - len(words)]
    return textwrap.wrap(
        words,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,  # an address or a path is copied whole
        break_on_hyphens=False,
    )


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

    @property
    def seconds_between(self) -> float:
        """How many seconds there should be between two messages about one piece of work: none if they take one line."""
        return 0.0 if self._is_mine else _BETWEEN

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
        lines = [f"{plain(self.about)}: {line}" if self.about else line for line in text.split("\n")]
        if self.stream.isatty():
            lines = [part for line in lines for part in _wrapped(line, shutil.get_terminal_size().columns)]
        self._show("".join(f"{line}\n" for line in lines))  # one call: no other line comes in
