"""A repository at work, and a clone of it in a job of a CI host: for whole runs with a base."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from turncheck.cli import run_command_line

DOMAIN = """version: "3.1"
intents:
- greet
- thank
responses:
  utter_greet:
  - text: Hello
  utter_thank:
  - text: You are welcome
"""
CONFIG = 'version: "3.1"\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\npolicies:\n- name: RulePolicy\n'
RULES = """version: "3.1"
rules:
- rule: greet
  steps:
  - intent: greet
  - action: utter_greet
- rule: thank
  steps:
  - intent: thank
  - action: utter_thank
"""
NLU = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi
- intent: thank
  examples: |
    - thanks
    - thank you
"""
STORY = "- story: {name}\n  steps:\n  - intent: {intent}\n  - action: {action}\n"
GREET = STORY.format(name="greets", intent="greet", action="utter_greet")
THANK = STORY.format(name="thanks", intent="thank", action="utter_thank")
OF_HOSTS = re.compile(
    r"(GITHUB|GITLAB|CI|TF|SYSTEM|BUILD|AGENT|BITBUCKET|BUILDKITE|CIRCLE|TEAMCITY|JENKINS|CHANGE|BRANCH)(_|$)"
)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *identity, "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def commit_change(folder: Path, base: Mapping[str, str], change: Mapping[str, str]) -> None:
    """Commit the files of a base to `main`, and those of a change to a branch."""
    for branch, files in (("main", base), ("change", change)):
        git(folder, *(("init", "-q") if branch == "main" else ("checkout", "-q", "-b", branch)))
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", branch)


def assistant(folder: Path, *stories: str) -> None:
    """Write an assistant whose tests are these stories."""
    for name, text in (
        ("domain.yml", DOMAIN),
        ("config.yml", CONFIG),
        ("data/rules.yml", RULES),
        ("data/nlu.yml", NLU),
        ("tests/test_stories.yml", 'version: "3.1"\nstories:\n' + "".join(stories)),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def settings(folder: Path, text: str) -> None:
    (folder / "turncheck.yml").write_text(text)


class Repository:
    """A repository at work, and its clone with the change, in a job of a multibranch pipeline."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.job, self._patch = folder / "server", folder / "job", monkeypatch
        self.goes_to: Path | None = None
        self.server.mkdir()
        git(self.server, "init", "-q")
        git(self.server, "config", "uploadpack.allowFilter", "true")
        for name in [name for name in os.environ if OF_HOSTS.match(name)]:
            monkeypatch.delenv(name)

    def commit(self, words: str) -> None:
        git(self.server, "add", "-A")
        git(self.server, "commit", "-q", "-m", words)

    def judged(self, *flags: str, clone: tuple[str, ...] = (), **variables: str) -> tuple[int, dict[str, Any]]:
        """Clone the branch ``feature``, run in it, and return the exit code and the comparison."""
        self.clone(*clone)
        return self.run(*flags, **variables)

    def clone(self, *how: str) -> None:
        """Clone the branch ``feature``."""
        git(self.server.parent, "clone", "-q", *how, "--branch", "feature", f"file://{self.server}", "job")

    def run(self, *flags: str, **variables: str) -> tuple[int, dict[str, Any]]:
        """Run in the clone, or where a job goes to; return the exit code and the comparison."""
        self._patch.chdir(self.goes_to or self.job)
        jenkins = {"JENKINS_URL": "https://ci.example/", "CHANGE_ID": "7", "CHANGE_TARGET": "main"}
        for name, value in (variables or jenkins).items():
            self._patch.setenv(name, value)
        code = run_command_line(["run", "--evaluations", "validate", "core", "--no-cache", *flags])
        found = Path("results/comparison.json")
        return code, json.loads(found.read_text()) if found.exists() else {}


def change(repository: Repository, base: Callable[[Path], object], then: Callable[[Path], object]) -> None:
    base(repository.server)
    repository.commit("base")
    git(repository.server, "checkout", "-q", "-b", "feature")
    then(repository.server)
    repository.commit("change")
    git(repository.server, "checkout", "-q", "main")


def at_the_top(folder: Path) -> None:
    assistant(folder, GREET, THANK)


def in_bot(folder: Path) -> None:
    assistant(folder / "bot", GREET, THANK)
    settings(folder, "project: bot\n")


def several(folder: Path) -> None:
    for name in ("bank", "shop"):
        assistant(folder / "bots" / name, GREET, THANK)
    settings(folder, "projects: [bots/*]\n")


def one_test_deleted(folder: Path) -> None:
    place = next(one for one in (folder, folder / "bot") if (one / "domain.yml").exists())
    assistant(place, GREET)


def a_response_changed(folder: Path) -> None:
    place = next(one for one in (folder, folder / "bot") if (one / "domain.yml").exists())
    (place / "domain.yml").write_text(DOMAIN.replace("text: Hello", "text: Good morning"))
