"""Starts the team's action server for the length of a run, and stops it again with all that it started."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from turncheck.engines.embedded.actions.endpoint import ActionEndpoint
from turncheck.engines.embedded.actions.server import HttpActionServer
from turncheck.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

DEFAULT_URL = "http://localhost:5055/webhook"
"""Where rasa-sdk listens where nothing else is said."""
START_SECONDS = 60.0
STOP_SECONDS = 10.0
LOG_LINES = 30


@contextmanager
def running_action_server(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    endpoint: ActionEndpoint | None = None,
    start_seconds: float = START_SECONDS,
) -> Iterator[HttpActionServer]:
    """Start ``command`` (no shell reads it) in ``folder``, wait until ``/health`` answers, and yield the server.

    ``environment`` is all that the process gets. It is stopped at the end, with the processes it started.

    Raises:
        UserError: it cannot be started, ends by itself, or does not answer in time; its log's last lines are shown.
    """
    server = HttpActionServer(endpoint or ActionEndpoint(DEFAULT_URL))
    if server.healthy():
        raise UserError(
            f"something answers at {server.place} already, before the action server was started",
            remedy="Stop it, or use it: leave the command away and give its address.",
        )
    words = shlex.split(command)
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
        except (OSError, IndexError, ValueError) as error:
            raise UserError(f"the action server's command '{command}' cannot be run: {error}") from error
        try:
            _wait(server, process, start_seconds, lambda: _tail(log.fileno()))
            yield server
        finally:
            _stop(process)


def _wait(
    server: HttpActionServer, process: subprocess.Popen[bytes], seconds: float, read_log: Callable[[], str]
) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None:
        if server.healthy(timeout=1.0):
            return
        if time.monotonic() > end:
            raise UserError(
                f"the action server does not answer at {server.place} after {seconds:g} seconds. Its log ends with:\n"
                f"{read_log()}"
            )
        time.sleep(0.1)
    raise UserError(f"the action server ended with exit code {process.returncode}. Its log ends with:\n{read_log()}")


def _tail(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    text = os.pread(descriptor, 20_000, max(0, size - 20_000)).decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-LOG_LINES:]) or "(nothing was printed)"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group: servers with workers of their own leave none behind."""
    for stop in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, stop)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return
