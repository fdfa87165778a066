"""The tests, tried on the mutants of what a branch changes: from git to the report, the comment and the exit code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from golden_texts import Golden
from test_strength import CASES, STORIES, small_bot

from turncheck.cli import run_command_line
from turncheck.report.codec import decode


def git(root: Path, *command: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=root, check=True)


@pytest.fixture
def branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch that gives a response another text, and moves the rules to another file."""
    root = small_bot(tmp_path / "bot", test_stories=STORIES, e2e_test_cases=CASES)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "base")
    git(root, "checkout", "-qb", "edit")
    domain = (root / "domain.yml").read_text("utf-8")
    (root / "domain.yml").write_text(domain.replace("See you", "See you soon"), encoding="utf-8")
    git(root, "mv", "data/rules.yml", "data/all_rules.yml")
    git(root, "add", ".")
    git(root, "commit", "-qm", "edit")
    monkeypatch.chdir(root)
    return root


def run(*flags: str) -> int:
    command = ["run", "--base", "main", "--workers", "1", "--evaluations", "core", "e2e", "--out", "../out"]
    return run_command_line([*command, "--strength", "changed", *flags])


def test_only_the_mutants_of_the_branch_are_tried(branch: Path, golden: Golden) -> None:
    assert run() == 0

    report = decode((branch.parent / "out/report.json").read_bytes())
    assert report.strength is not None
    assert report.strength.scope == "changed"
    assert len(report.strength.mutants) == 2
    golden(*sorted(one.what for one in report.strength.mutants))
    assert report.strength.score == 0.5
    comment = (branch.parent / "out/comment.md").read_text("utf-8")
    golden(comment, only="2 faults")
    golden(comment, only="rule")
    assert comment.count("would notice") <= 3


def test_a_gate_on_them(branch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--thresholds", "strength.score >= 0.6") == 1
    assert "strength.score >= 0.6" in capsys.readouterr().out
    assert run("--thresholds", "strength.score >= 0") == 0


def test_a_branch_that_touches_no_line_of_the_assistant(
    branch: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    git(branch, "checkout", "-qb", "move", "main")
    git(branch, "mv", "data/rules.yml", "data/all_rules.yml")
    git(branch, "commit", "-qm", "move")

    assert run_command_line(["test", "strength", "--changed", "--base", "main", "--fail-under", "0.9", "-q"]) == 0
    golden(capsys.readouterr().out)
