"""`tools/new.py`: what it writes is registered and can be run, and its test fails until somebody writes it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from golden_texts import Golden
from tools.new import KINDS, write

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow
NAMES = {
    "check": "intent-shouts",
    "command": "stats",
    "engine": "keyword",
    "evaluation": "tone",
    "format": "tabs",
    "gate": "new-warnings",
    "metric": "nlu.longest_sentence",
    "output": "csv",
    "platform": "mybots",
}
TABLES = ("validation/test_own_checks.py", "gate_situations.py")
"""Tests that something new gets a row in."""
REGISTERED = """
from turncheck.commands.flags import COMMANDS
from turncheck.comparison.metrics import metric_of
from turncheck.evaluations.kinds import KINDS
from turncheck.project.formats.registry import FORMATS
from turncheck.gates.table import FAIL_ON
from turncheck.platforms.registry import PLATFORMS
from turncheck.render.outputs import OUTPUTS
from turncheck.settings.engines import ENGINES
from turncheck.validation.catalogue import CHECKS
print("intent-shouts" in CHECKS, "stats" in COMMANDS, "keyword" in ENGINES, "tabs" in FORMATS, "csv" in OUTPUTS)
print("tone" in KINDS, "mybots" in PLATFORMS, "new-warnings" in FAIL_ON)
print(metric_of("nlu.longest_sentence").section)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, with one new thing of each kind."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "templates").symlink_to(ROOT / "templates")
    (copy / "tests" / "unit" / "validation").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for name in TABLES:
        shutil.copy(ROOT / "tests" / "unit" / name, copy / "tests" / "unit" / name)
    for kind, name in NAMES.items():
        write(KINDS[kind](name), copy)
    return copy


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def test_there_is_one_of_each_kind() -> None:
    assert NAMES.keys() == KINDS.keys()


def test_what_is_new_is_registered(written: Path) -> None:
    assert run(written, "-c", REGISTERED).stdout.split() == ["True"] * 8 + ["nlu"]


def test_what_is_new_runs(written: Path) -> None:
    assert run(written, "-m", "turncheck", "stats").returncode == 0
    pizzeria = str(ROOT / "examples" / "pizzeria")
    ended = run(
        written,
        "-m",
        "turncheck",
        "run",
        pizzeria,
        "--engine",
        "keyword",
        "--evaluations",
        "tone",
        "nlu",
        "--output-format",
        "csv",
        "--fail-on",
        "new-warnings",
        "--out",
        "out",
        "--baseline",
        "none",
    )
    assert ended.returncode == 0, ended.stderr
    assert (written / "out" / "csv.txt").read_text() == "TODO: pizzeria\n"
    assert json.loads((written / "out" / "report.json").read_bytes())["tone"] == {"failed": 0}


def test_an_assistant_of_a_new_platform_is_read_and_checked(written: Path) -> None:
    bot = written / "bot"
    bot.mkdir()
    (bot / "mybots.json").write_text("{}")
    command = ("run", "bot", "--evaluations", "validate", "--baseline", "none", "--out", "of_mybots")
    ended = run(written, "-m", "turncheck", *command)
    assert ended.returncode == 0, ended.stderr
    report = json.loads((written / "of_mybots" / "report.json").read_bytes())
    assert report["project"]["kind"] == "mybots"
    assert report["validation"]["findings"] == []


def test_the_tests_fail_until_they_are_written(written: Path) -> None:
    written_tests = (written / "tests" / "unit").rglob("test_*.py")
    tests = sorted(str(path.relative_to(written)) for path in written_tests if not str(path).endswith(TABLES))
    assert len(tests) == len(NAMES) - 1, "a check is tested in the table of all checks"
    ended = run(written, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert f"{len(tests)} failed" in ended.stdout


def test_what_is_new_passes_the_lint_but_for_what_is_left_to_do(written: Path) -> None:
    ended = run(written, "-m", "ruff", "check", "--no-cache", "--ignore", "E501,TD,FIX", "src", "tests")
    assert ended.returncode == 0, ended.stdout


def test_nothing_is_overwritten(written: Path) -> None:
    before = (written / "src" / "turncheck" / "commands" / "stats.py").read_bytes()
    with pytest.raises(SystemExit, match="exists"):
        write(KINDS["command"]("stats"), written)
    assert (written / "src" / "turncheck" / "commands" / "stats.py").read_bytes() == before


@pytest.mark.parametrize("name", ["Shouts", "a b", "../x", ""])
def test_a_name_is_a_name(name: str, golden: Golden) -> None:
    ended = subprocess.run(
        [sys.executable, "tools/new.py", "check", name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    golden(ended.stderr)
