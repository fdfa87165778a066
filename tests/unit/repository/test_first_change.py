"""CONTRIBUTING's first change, made on a copy: it applies, and lint, types and its test pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "CONTRIBUTING.md"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "templates").symlink_to(ROOT / "templates")
    match = re.search(r"^```diff\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert match is not None
    applied = subprocess.run(
        ["git", "apply", "-"], cwd=copy, input=match[1], capture_output=True, text=True, check=False
    )
    assert not applied.returncode, applied.stderr
    return copy


@pytest.mark.parametrize(
    "command",
    [
        "ruff check src/turncheck/ci tests",
        "ruff format --check src/turncheck/ci tests",
        "mypy --follow-imports=silent src/turncheck/ci/builders.py src/turncheck/ci/hosts.py",
        "pytest -q -p no:cacheprovider tests",
    ],
)
def test_the_first_change_is_ready_to_merge(command: str, changed: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(changed / "src")}
    run = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=changed,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not run.returncode, run.stdout + run.stderr


def test_the_section_that_it_names_is_there() -> None:
    named = re.search(r'docs/architecture\.md, "([^"]+)"', PAGE.read_text("utf-8"))
    assert named is not None
    assert f"## {named[1]}\n" in (ROOT / "docs" / "architecture.md").read_text("utf-8")
