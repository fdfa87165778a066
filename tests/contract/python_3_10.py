"""Virtual environments with Python 3.10 below ``.cache``: Rasa and its SDK run with no newer one."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sysconfig
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"


def python_with(name: str, *requirements: str) -> Path:
    """Return the Python of the environment ``name``, made and filled where there is none yet.

    ``requirements``: what ``uv pip install`` takes, files too (``-r``, path). With others the environment is made anew.

    Raises :class:`RuntimeError` where that cannot be done: tests that need it fail, they are never left out.
    """
    environment = CACHE / name
    python = environment / "bin" / "python"
    ready = environment / ".ready"
    wanted = "\n".join(Path(one).read_text() if Path(one).is_file() else one for one in requirements)
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes: one makes it, the others wait
        if not ready.exists() or ready.read_text() != wanted:
            shutil.rmtree(environment, ignore_errors=True)
            _run(_uv(), "venv", "--quiet", "--python", _python_3_10(), str(environment))
            _run(_uv(), "pip", "install", "--quiet", "--python", str(python), *requirements)
            ready.write_text(wanted)
    return python


def _uv() -> str:
    found = shutil.which("uv", path=sysconfig.get_path("scripts")) or shutil.which("uv")
    if found is None:
        raise RuntimeError("uv is needed to make the environment of Rasa: install the test requirements")
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
