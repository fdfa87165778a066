"""npm packages for tests against official clients, installed once into ``.cache/`` of the checkout by npm itself.

Node.js comes with the packages of requirements/test.txt, as it does for the page.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tools.build_page import node_folder

__all__ = ["CACHE", "alone", "node_folder", "npm_package"]

CACHE = Path(__file__).parents[2] / ".cache"


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
