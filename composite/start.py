"""Install turncheck outside the workspace, and start it as the container's entrypoint does.

``start.sh`` runs this with ``python -I``: only the standard library is imported, nothing of the workspace. The packages
are those of the image, by hash (requirements/run.txt); turncheck itself is the action's own checkout. Whatever runs
before turncheck runs in a new folder of the runner's, reads no file with settings of uv or pip (the home folder may be
the workspace), and gets neither inputs nor tokens of the runner.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
INPUTS = "TURNCHECK_INPUTS"
"""All inputs as a JSON object: a composite action is given none by itself, and shells drop a variable INPUT_FAIL-ON."""
NOT_DONE = 2
HINT = (
    "Without the internet, name a mirror of PyPI in the step's `env` (PIP_INDEX_URL), or use turncheck/turncheck on "
    "Linux, whose image has everything: so, too, on Alpine, Intel Macs and Windows on ARM, for which there are no "
    "wheels of what turncheck needs."
)
_FOR_TURNCHECK = ("INPUT_", "ACTIONS_")
_WINDOWS = os.name == "nt"
_EXE = sysconfig.get_config_var("EXE") or ""
_UV = re.compile(r"^uv==(?P<version>[\w.]+).*\\\n(?:.*\\\n)*.*\n", re.MULTILINE)


class NotInstalledError(Exception):
    """A program that installs has failed; the message is what it said."""


def main() -> NoReturn:
    """Install, and become turncheck."""
    variables = dict(os.environ)
    inputs = inputs_of(variables.pop(INPUTS, ""))
    workspace = variables.get("GITHUB_WORKSPACE") or str(Path.cwd())
    bare = {name: value for name, value in variables.items() if not name.upper().startswith(_FOR_TURNCHECK)}
    try:
        folder = folder_outside(workspace, [variables.get("RUNNER_TEMP", ""), tempfile.gettempdir()])
        python = Installation(folder, workspace, bare).install()
    except (NotInstalledError, OSError) as error:
        give_up(str(error))
    command = [str(python), "-I", "-m", "turncheck", "action"]
    if not _WINDOWS:
        os.execve(command[0], command, variables | inputs)
    sys.exit(subprocess.run(command, env=variables | inputs, check=False).returncode)


def inputs_of(text: str) -> dict[str, str]:
    """Return the inputs as the runner hands them to a container: ``{"fail-on": "none"}`` as ``INPUT_FAIL-ON``."""
    given = json.loads(text or "{}")
    return {f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in given.items()}


def folder_outside(workspace: str, candidates: Iterable[str]) -> Path:
    """Return a new folder in the first of these that is not in the workspace, and that can be written to.

    Raises:
        NotInstalledError: there is none.
    """
    for one in candidates:
        if is_outside(one, workspace):
            with suppress(OSError):
                return Path(tempfile.mkdtemp(prefix="turncheck-", dir=one))
    raise NotInstalledError("there is no folder to write to outside the workspace (RUNNER_TEMP, TMPDIR).")


def is_outside(path: str, folder: str, flavour: ModuleType = os.path) -> bool:
    """Whether a path is absolute, and not a folder nor in it. Links are followed; case and slashes are the system's.

    Args:
        path: any path.
        folder: an absolute one.
        flavour: the rules of a system, ``posixpath`` or ``ntpath``.
    """
    if not flavour.isabs(path):
        return False
    inner, outer = (flavour.normcase(flavour.realpath(one)) for one in (path, folder))
    try:
        return bool(flavour.commonpath([inner, outer]) != outer)
    except ValueError:  # on another drive
        return True


def program(name: str, path: str, workspace: str, flavour: ModuleType = os.path) -> str | None:
    """Return the path of the first program of this name on the path; nothing in the workspace, and no link into it."""
    folders = (folder for folder in path.split(flavour.pathsep) if is_outside(folder, workspace, flavour))
    there = (found for folder in folders if os.access(found := flavour.join(folder, name), os.X_OK))
    return next((found for found in there if is_outside(found, workspace, flavour)), None)


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment with turncheck, in a folder of its own; the variables are those that uv and pip get."""

    folder: Path
    workspace: str
    variables: Mapping[str, str]

    @property
    def environment(self) -> Path:
        """The folder of the environment."""
        return self.folder / "environment"

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.environment / ("Scripts/python.exe" if _WINDOWS else "bin/python")

    def kept(self) -> Path:
        """Return where uv, and what it fetches, are kept: among the runner's tools, if it has a folder for them.

        Whoever can write there could exchange the runner's Python as well.
        """
        tools = self.variables.get("RUNNER_TOOL_CACHE", "")
        if is_outside(tools, self.workspace):
            with suppress(OSError):
                (folder := Path(tools, "turncheck")).mkdir(exist_ok=True)
                if os.access(folder, os.W_OK) and is_outside(str(folder), self.workspace):
                    return folder
        return self.folder

    def install(self) -> Path:
        """Return the environment's Python.

        Raises:
            NotInstalledError: neither uv nor pip could install.
        """
        requirements = ROOT / "requirements" / "run.txt"
        self._run(sys.executable, "-I", "-m", "venv", "--without-pip", str(self.environment))
        try:
            self._by_uv(self._uv(), requirements)
        except (NotInstalledError, OSError) as error:
            print(f"uv could not install the packages, so pip does: {error}", flush=True)
            self._run(sys.executable, "-I", "-m", "venv", str(self.environment))
            self._by_pip(str(self.python), requirements)
        site = self._run(str(self.python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        (Path(site.strip()) / "turncheck.pth").write_text(f"{ROOT / 'src'}\n", "utf-8")
        return self.python

    def _uv(self) -> str:
        """Return the path of uv: of the job's, else of the one that is pinned for turncheck's own work."""
        if there := program(f"uv{_EXE}", self.variables.get("PATH", ""), self.workspace):
            return there
        found = _UV.search((ROOT / "requirements" / "test.txt").read_text("utf-8"))
        if found is None:
            raise NotInstalledError("requirements/test.txt pins no uv.")
        tools = self.kept() / f"uv-{found['version']}"
        if not tools.exists():
            new, pinned = tempfile.mkdtemp(dir=tools.parent), self.folder / "uv.txt"
            pinned.write_text(found[0], "utf-8")
            self._by_pip(sys.executable, pinned, "--target", new)
            with suppress(OSError):  # another job of this runner was quicker
                Path(new).rename(tools)
        return str(tools / "bin" / f"uv{_EXE}")

    def _by_uv(self, uv: str, requirements: Path) -> None:
        index = {}
        if "PIP_INDEX_URL" in self.variables and not {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & self.variables.keys():
            index["UV_DEFAULT_INDEX"] = self.variables["PIP_INDEX_URL"]
        flags = [
            "--no-config",
            "--cache-dir",
            str(self.kept() / "cache"),
            "pip",
            "install",
            "--python",
            str(self.python),
        ]
        self._run(uv, *flags, *_pinned(requirements), **index)

    def _by_pip(self, python: str, requirements: Path, *flags: str) -> None:
        command = [python, "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-compile"]
        self._run(*command, *_pinned(requirements), *flags, PIP_CONFIG_FILE=os.devnull)

    def _run(self, *command: str, **added: str) -> str:
        """Run a program in the folder, and return what it printed.

        Raises:
            NotInstalledError: it failed.
        """
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**self.variables, **added},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise NotInstalledError(" ".join(said[-3:])[-600:] or f"{command[0]} ended with {done.returncode}")
        return done.stdout


def _pinned(requirements: Path) -> list[str]:
    """Return the flags for what is to be as it was pinned, and is not built here."""
    return ["--quiet", "--require-hashes", "--only-binary", ":all:", "-r", str(requirements)]


def give_up(why: str) -> NoReturn:
    """Say in the log why turncheck could not be started, and end."""
    escaped = why.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::error title=turncheck::turncheck could not be installed: {escaped} {HINT}", flush=True)
    sys.exit(NOT_DONE)


if __name__ == "__main__":
    main()
