"""Chromium, as Debian has it, for tests of what a browser makes of the page; installed where it is missing."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache"
SHELL = "chromium-headless-shell"
"""The same engine without the windows around it, which take a quarter of the tests' time."""


def chromium() -> str:
    """Return the browser's path. Without one root installs Debian's; anybody else is told to."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "chromium.lock").open("w") as file:  # tests run in several processes
        fcntl.flock(file, fcntl.LOCK_EX)
        found = shutil.which(SHELL) or shutil.which("chromium")
        if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
            install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", SHELL, "fonts-dejavu-core"]
            subprocess.run(install, check=True, env=environment, stdout=subprocess.DEVNULL)
            found = shutil.which(SHELL)
    if found is None:
        pytest.fail(f"these tests need Chromium: install your system's package `{SHELL}` or `chromium`")
    return found
