"""A real rasa-sdk for tests: its virtual environment, and servers that run a folder's actions."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests
from python_3_10 import python_with

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REQUIREMENT = "rasa-sdk==3.6.2"
START_SECONDS = 60


def rasa_sdk_python() -> Path:
    """Return the Python that has rasa-sdk, after making its virtual environment where there is none yet.

    Raises :class:`RuntimeError` where that cannot be done: tests that need it fail, they are never left out.
    """
    # setuptools: its pkg_resources is imported by rasa-sdk's plug-ins
    return python_with("rasa-sdk", REQUIREMENT, "setuptools<81")


@contextmanager
def action_server(folder: Path, module: str = "actions") -> Iterator[str]:
    """Run the actions of ``folder`` on a free loopback port, and yield the webhook's address."""
    port = free_port()
    log = folder / "action-server.log"
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", ""), "SANIC_HOST": "127.0.0.1"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    command = [str(rasa_sdk_python()), "-m", "rasa_sdk", "--actions", module, "--port", str(port)]
    with (
        log.open("w") as output,
        subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, env=environment) as server,
    ):
        try:
            _wait_until_healthy(port, server, log)
            yield f"http://127.0.0.1:{port}/webhook"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            if requests.get(f"http://127.0.0.1:{port}/health", timeout=1).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise RuntimeError(f"the action server did not start:\n{log.read_text()}")


if __name__ == "__main__":
    sys.stdout.write(f"{rasa_sdk_python()}\n")
