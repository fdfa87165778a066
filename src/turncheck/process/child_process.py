"""A program of the team's own as a child process: no shell, its own environment, stopped together with its children."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.process.environment import redact
from turncheck.process.system import KILL, read_at, signal_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

STOP_SECONDS: Final = 10.0
HURRIED_SECONDS: Final = 1.5
"""After an error or an interrupt: a cancelled job on GitHub is killed after ten seconds."""
LOG_LINES: Final = 30
_PROCESSES: Final = Path("/proc")
_LOG_BYTES: Final = 20_000
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Colour codes, which mean nothing outside a terminal."""


class Child(Struct, frozen=True):
    """A child process and its output. ``what`` names it in messages: "the action server"."""

    what: str
    process: subprocess.Popen[bytes]
    log: IO[bytes]

    def log_end(self) -> str:
        """Return the last lines that it printed."""
        size = os.fstat(self.log.fileno()).st_size
        text = read_at(self.log.fileno(), _LOG_BYTES, max(0, size - _LOG_BYTES)).decode("utf-8", "replace")
        text = _ESCAPES.sub("", text)
        lines = [line.rstrip().rpartition("\r")[2] for line in text.split("\n")]  # a progress bar: its last state
        end = "\n".join([line for line in lines if line][-LOG_LINES:])
        return redact(end) or "(nothing was printed)"  # it may print what was passed to it

    def failure(self, happened: str) -> UserError:
        """Return the error to raise: what happened, and the end of the log."""
        return UserError(f"{self.what} {happened}", hint=f"Its log ends with:\n{self.log_end()}")

    def ended(self) -> UserError | None:
        """Return the error to raise if it ended by itself."""
        code = self.process.poll()
        return None if code is None else self.failure(f"ended with exit code {code}")


def split_command(what: str, command: str) -> list[str]:
    """Return the words of a command; no shell ever reads it.

    Raises:
        UserError: there is none, or a quote is left open.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"{what}'s command '{command}' cannot be run: {error}") from None
    if not words:
        raise UserError(f"{what}'s command is empty", hint="Give the program and its arguments.")
    return words


@contextmanager
def running_child(what: str, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[Child]:
    """Start a program in ``folder`` and yield it; at the end it is stopped, with the processes it started.

    After an error or an interrupt it has less time to end by itself.

    ``environment`` is all that it gets.

    Raises:
        UserError: it cannot be started.
    """
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(  # noqa: S603 - the command comes from a flag, and no shell reads it
                words,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise UserError(f"{what}'s command '{shlex.join(words)}' cannot be run: {error}") from error
        seconds = HURRIED_SECONDS
        with _ended_with_us(process.pid):
            try:
                yield Child(what, process, log)
                seconds = STOP_SECONDS
            finally:
                _stop(process, seconds)


@contextmanager
def _ended_with_us(pid: int) -> Iterator[None]:
    """End the child, too, if we are killed in the block: nobody else would."""
    words = [sys.executable, "-I", "-S", str(Path(__file__).with_name("child_watch.py")), str(pid)]
    with subprocess.Popen(  # noqa: S603 - a program of ours
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},  # Python needs it on Windows
    ) as watch:
        try:
            yield
        finally:
            with suppress(OSError):  # it may have been killed itself
                os.write(watch.stdin.fileno(), b".")  # type: ignore[union-attr]  # it is a pipe


def _stop(process: subprocess.Popen[bytes], seconds: float) -> None:
    """End the process and its descendants: servers with workers of their own leave none behind. After the time limit
    they are killed."""
    below = _descendants(process.pid)
    try:
        _signal(process, signal.SIGTERM)
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:
        _signal(process, KILL)  # the workers of one that has ended, too
        for identity in below:
            if _identity(identity[0]) == identity:  # one that left the group, unless its number was reused
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(identity[0], KILL)
        process.wait(STOP_SECONDS)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        signal_group(process.pid, number)


def _descendants(pid: int) -> list[tuple[int, str]]:
    """Return the processes below this one by number and time of start, as far as the system shows (Linux)."""
    parents: dict[int, list[int]] = {}
    for entry in _PROCESSES.glob("[0-9]*"):
        fields = _stat(int(entry.name))
        if fields:
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return [identity for child in found if (identity := _identity(child)) is not None]


def _identity(pid: int) -> tuple[int, str] | None:
    fields = _stat(pid)
    return (pid, fields[19]) if fields else None


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` after the program's name (proc(5)): state, parent …; none if it is gone."""
    try:
        return (_PROCESSES / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []
