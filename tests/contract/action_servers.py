"""A real rasa-sdk for tests: its virtual environment, and servers that run a folder's actions."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENT = Path(__file__).parents[2] / ".cache" / "rasa-sdk"
REQUIREMENT = "rasa-sdk==3.6.2"
START_SECONDS = 60


def rasa_sdk_python() -> Path:
    """Return the Python that has rasa-sdk, after making its virtual environment where there is none yet.

    Raises :class:`RuntimeError` where that cannot be done: tests that need it fail, they are never left out.
    """
    python = ENVIRONMENT / "bin" / "python"
    ready = ENVIRONMENT / ".ready"
    ENVIRONMENT.parent.mkdir(exist_ok=True)
    with (ENVIRONMENT.parent / "rasa-sdk.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes: one makes it, the others wait
        if not ready.exists():
            shutil.rmtree(ENVIRONMENT, ignore_errors=True)
            _run(_uv(), "venv", "--quiet", "--python", _python_3_10(), str(ENVIRONMENT))
            # setuptools: its pkg_resources is imported by rasa-sdk's plug-ins
            _run(_uv(), "pip", "install", "--quiet", "--python", str(python), REQUIREMENT, "setuptools<81")
            ready.touch()
    return python


def _uv() -> str:
    found = shutil.which("uv", path=sysconfig.get_path("scripts")) or shutil.which("uv")
    if found is None:
        raise RuntimeError("uv is needed to make the environment of rasa-sdk: install the test requirements")
    return found


def _python_3_10() -> str:
    """Return a Python 3.10: the one on the path, else one that pyenv has, else what uv can bring."""
    candidates = [shutil.which("python3.10")]
    if shutil.which("pyenv"):
        versions = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False).stdout
        wanted = [version for version in versions.split() if version.startswith("3.10.")]
        for version in wanted:
            prefix = subprocess.run(["pyenv", "prefix", version], capture_output=True, text=True, check=False).stdout
            candidates.append(f"{prefix.strip()}/bin/python3.10")
    for candidate in candidates:
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    return "3.10"


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")


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
