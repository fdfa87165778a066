"""`make replay`: a commit of a mirror is judged as a pull request, and its verdict held against what is right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository_at_work import CONFIG, DOMAIN, GREET, NLU, RULES, git
from tools.replay import SMALL_COMMENT, Replayed, assistants

ROOT = Path(__file__).parents[2]
BROKEN = RULES.replace("intent: greet\n  - action: utter_greet", "intent: greet\n  - action: utter_thank")


@pytest.fixture(scope="module")
def mirrors(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder of mirrors, and the commit of its only one that breaks a rule."""
    mirrors = tmp_path_factory.mktemp("mirrors")
    folder = mirrors / "somebody+bot" / "repo"
    files = {
        "config.yml": CONFIG,
        "domain.yml": DOMAIN,
        "data/nlu.yml": NLU,
        "data/rules.yml": RULES,
        "tests/test_stories.yml": f'version: "3.1"\nstories:\n{GREET}',
    }
    for name, text in files.items():
        (folder / "bot" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bot" / name).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a bot")
    (folder / "bot" / "data" / "rules.yml").write_text(BROKEN)
    git(folder, "commit", "-q", "-am", "another greeting")
    return mirrors, git(folder, "rev-parse", "HEAD").strip()


def replayed(mirrors: Path, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.replay", str(mirrors), "--out", str(tmp_path / "out"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def listed(tmp_path: Path, commit: str, more: str) -> list[str]:
    file = tmp_path / "commits.yml"
    file.write_text(
        f"- repository: somebody/bot\n  commit: '{commit}'\n  project: bot\n  right: a rule is broken\n{more}"
    )
    return ["--list", str(file)]


def test_a_verdict_holds_or_is_said_not_to(mirrors: tuple[Path, str], tmp_path: Path) -> None:
    folder, commit = mirrors
    right = listed(tmp_path, commit, "  outcome: failed\n  names: [greets, data/rules.yml]\n")
    done = replayed(folder, tmp_path, *right)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^somebody/bot \w{10} \[bot\] 2 lines, .*: holds$", done.stdout, re.MULTILINE)
    assert "1 commits of 1 repositories: 1 failed; 0 do not hold" in done.stdout

    wrong = listed(tmp_path, commit, "  outcome: passed\n  names: [nobody]\n  without: [utter_thank]\n")
    done = replayed(folder, tmp_path, *wrong)
    assert done.returncode == 1
    assert "failed, expected passed; does not name 'nobody'; says 'utter_thank'" in done.stdout


def test_what_nobody_has_judged_is_drawn(mirrors: tuple[Path, str], tmp_path: Path) -> None:
    folder, commit = mirrors
    (tmp_path / "none.yml").write_text("[]")
    done = replayed(folder, tmp_path, "--draw", "3", "--list", str(tmp_path / "none.yml"))
    assert done.returncode == 0
    assert f"somebody/bot {commit[:10]} [bot]" in done.stdout
    assert replayed(folder, tmp_path, "--draw", "3", *listed(tmp_path, commit, "  outcome: failed\n")).returncode == 2


def test_a_commit_that_no_mirror_has_is_named(mirrors: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = mirrors
    done = replayed(folder, tmp_path, *listed(tmp_path, "0" * 40, "  outcome: failed\n"))
    assert done.returncode == 2
    assert "somebody/bot 0000000000: not replayed" in done.stderr


def test_a_file_without_content_is_left_out_of_both_sides(mirrors: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = mirrors
    lacking = tmp_path / "mirrors"
    shutil.copytree(folder, lacking)
    mirror = lacking / "somebody+bot" / "repo"
    (mirror / "large.bin").write_bytes(b"\0" * 1000)
    (mirror / "bot" / "data" / "rules.yml").write_text(RULES)
    git(mirror, "add", "-A")
    git(mirror, "commit", "-q", "-m", "mended, with a large file")
    blob = git(mirror, "rev-parse", "HEAD:large.bin").strip()
    (mirror / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    commit = git(mirror, "rev-parse", "HEAD").strip()
    done = replayed(lacking, tmp_path, *listed(tmp_path, commit, "  outcome: passed\n"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_comments_have_a_limit_that_depends_on_the_change() -> None:
    def excess(lines: int, size: int) -> list[str]:
        return Replayed("a/b", "0", ".", "", lines, "passed", "", "x" * size, (), 1.0, 1.0).excess()

    assert excess(19, SMALL_COMMENT) == excess(20, 16_000) == []
    assert excess(19, 8_001) == ["comment of 8,001 bytes for 19 changed lines"]
    assert excess(20, 16_001) == ["comment of 16,001 bytes for 20 changed lines"]


def test_assistants_are_found_by_two_of_their_parts() -> None:
    files = [
        "a/config.yml",
        "a/domain.yml",
        "b/data/nlu.md",
        "c/policies.yml",
        "c/data/x.md",
        "docs/config.yml",
        "docs/domain.yml",
    ]
    assert assistants(files) == ["a", "c"]
