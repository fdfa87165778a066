"""A small bot, and what a whole run says about a change of it: the base is the branch ``main``.

Its names are Rasa's commonest: the intent ``rent`` is answered by ``utter_rent``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from in_process import turncheck

Files = Mapping[str, str | bytes]
"""What the files have that differ from a project's; a file that has "" is not there."""
Edit = tuple[str, str, str]
"""A file, what is in it, and what takes its place each time; "" appends."""

WORKSHOP: Final[Files] = {
    "config.yml": """\
recipe: default.v1
assistant_id: bicycles
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: KeywordIntentClassifier
policies:
- name: MemoizationPolicy
- name: RulePolicy
""",
    "domain.yml": """\
version: "3.1"
intents:
- greet
- repair
- rent
entities:
- part
responses:
  utter_greet:
  - text: Good day, what does your bicycle lack?
  utter_repair:
  - text: It is done on Friday.
  utter_rent:
  - text: Ours are ten a day.
""",
    "data/nlu.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - good day
    - hi there
- intent: repair
  examples: |
    - my [saddle](part) is broken
    - the [chain](part) is loose
    - please mend it
- intent: rent
  examples: |
    - rent a bicycle
    - take one for a day
    - how much is a tandem
""",
    "data/rules.yml": """\
version: "3.1"
rules:
- rule: say hello
  steps:
  - intent: greet
  - action: utter_greet
- rule: take it in
  steps:
  - intent: repair
  - action: utter_repair
- rule: hand one out
  steps:
  - intent: rent
  - action: utter_rent
""",
    "tests/test_stories.yml": """\
version: "3.1"
stories:
- story: hello and a tandem
  steps:
  - user: hello
    intent: greet
  - action: utter_greet
  - user: how much is a tandem
    intent: rent
  - action: utter_rent
- story: a repair
  steps:
  - user: please mend it
    intent: repair
  - action: utter_repair
""",
}


def edited(files: Files, *edits: Edit) -> dict[str, str | bytes]:
    """Return the files with some texts replaced."""
    after = dict(files)
    for name, old, new in edits:
        text = after.get(name, "")
        assert isinstance(text, str)
        assert old in text, (name, old)
        after[name] = text.replace(old, new) if old else text + new
    return after


@dataclass(frozen=True)
class Judged:
    """The exit code of a run, and the documents it has written."""

    code: int
    comparison: dict[str, Any]
    verdict: dict[str, Any]
    report: dict[str, Any]
    comment: str

    @property
    def errors(self) -> list[str]:
        """The codes of all errors in the data."""
        return [one["code"] for one in self.report["validation"]["findings"] if one["severity"] == "error"]

    @property
    def new_errors(self) -> list[str]:
        return [one["code"] for one in self.comparison["new_findings"] if one["severity"] == "error"]

    @property
    def new_codes(self) -> set[str]:
        return {one["code"] for one in self.comparison["new_findings"]}

    @property
    def repaired(self) -> list[str]:
        """The files of the base that were repaired to be compared with."""
        return [one["location"]["path"] for one in self.comparison["baseline"].get("mended", ())]

    @property
    def hidden(self) -> list[str]:
        """The files of the base that could neither be read nor repaired."""
        return [one["location"]["path"] for one in self.comparison["baseline"].get("hidden", ())]

    @property
    def newly_failing(self) -> list[str]:
        stories = self.comparison["stories"]
        return [one["name"] for one in (*stories["worse"], *stories["added_failing"])]

    @property
    def stories(self) -> dict[str, bool]:
        """Whether each test story passed; none if they were not run."""
        return {one["name"]: one["passed"] for one in (self.report.get("core") or {"stories": ()})["stories"]}

    def gate(self, name: str) -> str:
        return str(next(gate["outcome"] for gate in self.verdict["gates"] if gate["name"] == name))


@dataclass(frozen=True)
class Repository:
    """A git repository whose branch ``main`` is a bot, and ``change`` what became of it."""

    folder: Path
    project: Files = field(default_factory=lambda: WORKSHOP)
    evaluations: tuple[str, ...] = ("validate", "nlu", "core")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True, cwd=self.folder)

    def given(self, files: Files) -> Files:
        """Return all files of the project, some of them changed."""
        return {name: content for name, content in {**self.project, **files}.items() if content != ""}

    def commit(self, files: Files) -> None:
        for old in [path for path in self.folder.rglob("*") if path.is_file() and ".git" not in path.parts]:
            old.unlink()
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A")
        self.git("commit", "-qm", "change")

    def judged(self, base: Files, change: Files, *flags: str) -> Judged:
        """What a change is judged to be; ``base`` and ``change``: what differs from the faultless project."""
        self.git("init", "-q", "-b", "main")
        self.commit(self.given(base))
        self.git("checkout", "-qb", "change")
        self.commit(self.given(change))
        gates = ("--fail-on", "new-errors", "new-failures")
        measured = ("--evaluations", *self.evaluations, "--folds", "2", "--no-cache", "--out", "results")
        done = turncheck("run", "--base", "main", *gates, *measured, *flags, cwd=self.folder)
        results = self.folder / "results"
        comparison, verdict, report = (
            json.loads((results / f"{name}.json").read_bytes()) for name in ("comparison", "verdict", "report")
        )
        comment = (results / "comment.md").read_text(encoding="utf-8")
        return Judged(done.returncode, comparison, verdict, report, comment)
