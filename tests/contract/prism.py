"""Stoplight's Prism as a proxy: what is sent through it, and what comes back, must fit GitHub's own API description.

A request that does not fit is answered 422 and goes no further; an answer of the server behind that GitHub would not
give becomes 500 with the violations. So it checks our client and our fake at once.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from node_tools import node_folder, npm_package

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIPTION = Path(__file__).with_name("github_openapi.json")
VERSION = "5.14.2"
_START = 120.0


@contextmanager
def prism_before(upstream: str) -> Iterator[str]:
    """Run Prism in front of a server and give its address."""
    package = npm_package("@stoplight/prism-cli", VERSION, ("postman-collection",))
    node = node_folder() / "bin" / "node"
    port = free_port()
    preload = str(Path(__file__).with_name("prism_redirects.cjs"))
    command = [str(node), "--require", preload, str(package / "dist" / "index.js"), "proxy", "--errors"]
    command += ["-h", "127.0.0.1", "-p", str(port), str(DESCRIPTION), upstream]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment["PRISM_HTTP"] = str(package.parent / "prism-http")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"Prism ended with {process.returncode}")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("Prism did not start")
