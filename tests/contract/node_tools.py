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
NOTHING = "exports.shim = () => {};\n"
"""A package without contents; what would add to old Node.js what ours has adds nothing."""


@cache
def npm_package(name: str, version: str, unused: tuple[str, ...] = ()) -> Path:
    """Return the folder of an npm package; install it if need be, with nothing in place of what no test uses of it."""
    home = CACHE / "npm" / f"{name.replace('/', '_')}-{version}"
    folder = node_folder()
    with alone(home):
        if not (home / "complete").exists():
            _describe(home, {name: version}, unused)
            npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
            environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
            flags = ["--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--prefer-offline", "--no-package-lock"]
            command = [str(folder / "bin" / "node"), str(npm), "install", *flags]
            subprocess.run(command, cwd=home, env=environment, check=True, stdout=sys.stderr)
            (home / "complete").touch()
    return home / "node_modules" / name


def _describe(home: Path, wanted: dict[str, str], unused: tuple[str, ...]) -> None:
    """Write what npm installs: most of its time is for unpacking thousands of files that are never read."""
    nothing = home / "nothing"
    nothing.mkdir(exist_ok=True)
    (nothing / "package.json").write_text(json.dumps({"name": "nothing", "version": "1.0.0"}), "utf-8")
    (nothing / "index.js").write_text(NOTHING, "utf-8")
    overrides = dict.fromkeys(unused, "file:./nothing")
    whole = {"private": True, "type": "module", "overrides": overrides, "dependencies": wanted}
    (home / "package.json").write_text(json.dumps(whole), "utf-8")


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Tests run in several processes; one of them installs, the others wait."""
    home.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
