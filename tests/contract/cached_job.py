"""Jobs of a repository on GitHub that train a small bot: what each takes from GitHub's cache, and leaves there."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fake_caches import MAIN
from fake_github import ACTIONS_TOKEN, FakeGitHub
from fake_results import FakeResults

from turncheck.action import run_action
from turncheck.process.cache import Cache
from turncheck.process.environment import Secret
from turncheck.process.screen import Console
from turncheck.run.kept_cache import cache_of_host
from turncheck.settings.sources import from_inputs

FILES = {
    "config.yml": """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: LogisticRegressionClassifier
  max_iter: 5
policies:
- name: MemoizationPolicy
- name: RulePolicy
""",
    "domain.yml": """\
version: "3.1"
intents: [greet, bye]
responses:
  utter_greet:
  - text: Hello
  utter_bye:
  - text: Bye
""",
    "data/nlu.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi there
    - good morning
- intent: bye
  examples: |
    - bye
    - see you
    - good night
""",
    "data/stories.yml": """\
version: "3.1"
stories:
- story: greeting
  steps:
  - intent: greet
  - action: utter_greet
  - intent: bye
  - action: utter_bye
""",
    "tests/test_stories.yml": """\
version: "3.1"
stories:
- story: greeted
  steps:
  - user: |
      hello
    intent: greet
  - action: utter_greet
""",
    "tests/test_nlu.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
- intent: bye
  examples: |
    - bye
""",
}
RULE = """\
version: "3.1"
rules:
- rule: say bye
  steps:
  - intent: bye
  - action: utter_bye
"""
PULL = "refs/pull/7/merge"
TAKEN = "taken from the cache"
KEPT = "Kept in GitHub's cache: "


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    """A repository with the bot on its branch `main`."""
    for name, text in FILES.items():
        (folder / "bot" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bot" / name).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "A bot")
    return folder


@dataclass
class CachedJob:
    """A repository that is the current folder, and the services of GitHub that its jobs meet."""

    folder: Path
    github: FakeGitHub
    results: FakeResults
    log: str = ""
    notes: str = ""
    number: int = 100
    variables: dict[str, str] = field(default_factory=dict)
    """More variables of each job, or other values."""

    @property
    def repository(self) -> Path:
        return self.folder / "repository"

    @property
    def kept(self) -> list[str]:
        """The keys that can be restored, the newest first."""
        return [one.key for one in self.results.caches.done]

    @property
    def lines(self) -> list[str]:
        """What was said about GitHub's cache."""
        return [line for line in self.notes.splitlines() if "GitHub's cache" in line]

    def commit(self, **files: str) -> str:
        """Commit files of the bot, by their names without an ending."""
        for name, text in files.items():
            (self.repository / "bot" / f"{name.replace('__', '/')}.yml").write_text(text)
        git(self.repository, "add", "-A")
        git(self.repository, "commit", "-q", "--allow-empty", "-m", "change")
        return git(self.repository, "rev-parse", "HEAD")

    def on_main(self, event: str = "push", **inputs: str) -> int:
        """Run on the default branch."""
        return self.run(self.of_main(event, **inputs))

    def on_pull_request(self, *, fork: bool = False, **inputs: str) -> int:
        """Run on a pull request of what is checked out."""
        return self.run(self.of_pull_request(fork=fork, **inputs))

    def of_main(self, event: str = "push", **inputs: str) -> dict[str, str]:
        """The variables of a job on the default branch, which is the next one."""
        return self._job(event, {}, MAIN, [MAIN], inputs)

    def of_pull_request(self, *, fork: bool = False, **inputs: str) -> dict[str, str]:
        """The variables of a job on a pull request of what is checked out, which is the next one."""
        head = git(self.repository, "rev-parse", "HEAD")
        owner = "mallory" if fork else "acme"
        payload = {
            "pull_request": {
                "number": 7,
                "head": {"sha": head, "ref": "feature", "repo": {"full_name": f"{owner}/bots"}},
                "base": {"sha": git(self.repository, "rev-parse", "main"), "ref": "main"},
            }
        }
        return self._job("pull_request", payload, PULL, [PULL, MAIN], inputs)

    def of_merge_queue(self, **inputs: str) -> dict[str, str]:
        """The variables of a job on a group of the merge queue, which is the next one."""
        base = git(self.repository, "rev-parse", "main")
        head = git(self.repository, "rev-parse", "HEAD")
        group = {"head_sha": head, "base_sha": base, "base_ref": MAIN}
        ref = f"refs/heads/gh-readonly-queue/main/pr-7-{base}"
        return self._job("merge_group", {"merge_group": group}, ref, [ref, MAIN], inputs)

    def _job(
        self, event: str, payload: dict[str, Any], ref: str, refs: list[str], inputs: dict[str, str]
    ) -> dict[str, str]:
        self.number += 1
        self.results.caches.refs = refs
        described = {"repository": {"default_branch": "main", "full_name": "acme/bots"}, **payload}
        (self.folder / "event.json").write_text(json.dumps(described))
        for name in ("summary.md", "output"):
            (self.folder / name).write_text("")
        variables = {
            "GITHUB_REPOSITORY": "acme/bots",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_SHA": git(self.repository, "rev-parse", "HEAD"),
            "GITHUB_REF": ref,
            "GITHUB_API_URL": self.github.public,
            "GITHUB_RUN_ID": str(self.number),
            "GITHUB_WORKFLOW_REF": f"acme/bots/.github/workflows/turncheck.yml@{ref}",
            "GITHUB_WORKSPACE": str(self.repository),
            "GITHUB_ACTOR": "alice",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "HOME": str(self.folder / "home"),
            **self.results.variables,
            "INPUT_TOKEN": ACTIONS_TOKEN,
            "INPUT_PROJECT": "bot",
            "INPUT_COMMENT": "never",
            "INPUT_OUT": str(self.folder / "results"),
            **self.variables,
        }
        for name, value in inputs.items():
            variables[name if name.isupper() else f"INPUT_{name.upper().replace('_', '-')}"] = value
        return variables

    def run(self, variables: dict[str, str]) -> int:
        """Run a job, and return its exit code."""
        log: list[str] = []
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = run_action(variables, log.append)
        self.log, self.notes = "".join(log), said.getvalue()
        return code

    def in_a_process(self, variables: dict[str, str]) -> None:
        """Run a job as the container does, whose program ends with 0."""
        command = [sys.executable, "-I", "-m", "turncheck", "action"]
        variables = {"PATH": os.environ["PATH"], **variables}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        self.log = self.notes = done.stdout + done.stderr

    @contextlib.contextmanager
    def at_work(self, variables: dict[str, str]) -> Iterator[Cache | None]:
        """Yield the cache of a job that trains nothing itself; ``None`` if it has no folder of GitHub's cache."""
        said = io.StringIO()
        log: list[str] = []
        given = from_inputs(variables)
        with (
            contextlib.redirect_stdout(said),
            cache_of_host(given, variables, Console(stream=said), log.append) as all_,
        ):
            folder = all_.get("cache_folder")
            key = variables.get("INPUT_CACHE-KEY")
            yield Cache(Path(folder), Secret(key) if key else None) if folder else None
        self.log, self.notes = "".join(log), said.getvalue()

    def report(self) -> dict[str, Any]:
        """What the last run measured, and how it was judged, apart from how long it took."""
        report: dict[str, Any] = json.loads((self.folder / "results" / "report.json").read_text())
        for name in ("timings", "source"):
            report.pop(name, None)
        return report
