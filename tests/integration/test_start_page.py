"""The first page for newcomers: its commands, in its order, lead from nothing to a failing pull request and back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from documentation import ROOT, fences

START = ROOT / "docs" / "start.md"
INSTALL = "pip install turncheck\n"
REMOTE = "git@github.com:YOU/shop.git"


class Newcomer:
    """Somebody with an empty folder and one shell, who types what the page shows. Nothing is fetched or pushed out."""

    def __init__(self, folder: Path) -> None:
        self.place = folder
        self.remote = folder / "remote.git"
        subprocess.run(["git", "init", "--quiet", "--bare", str(self.remote)], check=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_", "CI"))},
            **{f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": str(folder),
        }
        self.output = ""

    def types(self, commands: str) -> int:
        """Run commands in the shell's folder and environment, which the next ones find as they were left."""
        installed = Path(sys.executable).with_name("turncheck")
        commands = commands.replace(INSTALL, f'ln -s {installed} "$VIRTUAL_ENV/bin/turncheck"\n').replace(
            REMOTE, str(self.remote)
        )
        state = self.remote.with_name("state")
        script = f"set -e\ntrap 'code=$?; pwd >{state}; echo \"$PATH\" >>{state}; exit $code' EXIT\n{commands}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.place, env=self.environment, check=False, capture_output=True, text=True
        )
        place, path = state.read_text("utf-8").splitlines()
        self.place, self.environment = Path(place), {**self.environment, "PATH": path}
        self.output = done.stdout + done.stderr
        return done.returncode


@pytest.mark.slow
def test_the_page_leads_to_a_failing_pull_request_and_its_repair(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path)
    codes = []
    shown = 0
    for fence in fences(START):
        if fence.language == "sh":
            codes.append(newcomer.types(fence.text))
            assert codes[-1] in {0, 1}, newcomer.output
        else:
            shown += 1
            missing = [line for line in fence.text.splitlines() if line not in newcomer.output]
            assert missing == [], newcomer.output

    assert codes.count(1) == 1, "the pull request fails, and nothing else"
    assert shown == 5
    pushed = subprocess.run(["git", "-C", str(newcomer.remote), "branch"], check=True, capture_output=True, text=True)
    assert {"ask-for-the-name", "main"} == set(pushed.stdout.replace("*", "").split())
