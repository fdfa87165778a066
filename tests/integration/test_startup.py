"""Pay for what you use: what commands import, and how soon they answer."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIZZERIA = ROOT / "examples" / "pizzeria"
HEAVY = ("sklearn", "scipy", "numpy", "matplotlib", "joblib", "requests")

PROGRAM = """
import sys
from turncheck.cli import run_command_line
code = run_command_line(sys.argv[2:])
loaded = [name for name in sys.argv[1].split(",") if name in sys.modules]
sys.stderr.write("LOADED " + ",".join(loaded) + "\\n")
sys.exit(code)
"""


def loaded_by(*arguments: str, of: tuple[str, ...] = HEAVY) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, ",".join(of), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stderr
    return next(line for line in done.stderr.splitlines() if line.startswith("LOADED")).removeprefix("LOADED ")


def test_validating_imports_nothing_that_learns_or_draws() -> None:
    assert loaded_by("data", "validate", "--project", str(PIZZERIA)) == ""


def test_validating_imports_only_what_it_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "domain.yml").write_text("intents: [greet]\n")
    (tmp_path / "data" / "nlu.yml").write_text("nlu:\n- intent: greet\n  examples: |\n    - hi\n    - hello\n")
    unused = (
        *("gzip", "turncheck.process.packed", "turncheck.dialogue.outward_events"),
        *("turncheck.render.links", "turncheck.commands.convert", "turncheck.commands.nlu"),
    )
    monkeypatch.chdir(tmp_path)

    assert loaded_by("data", "validate", of=unused) == ""


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"], ["data", "validate", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert loaded_by(*arguments, of=(*HEAVY, "rich", "yaml", "jinja2", "msgspec")) == ""


def test_a_run_without_language_understanding_imports_no_scikit_learn(tmp_path: Path) -> None:
    project = ROOT / "tests" / "oracle" / "core" / "rules_conditions" / "project"

    assert loaded_by("run", str(project), "--out", str(tmp_path), of=("sklearn", "scipy", "matplotlib")) == ""


def test_a_run_that_compares_no_sentences_imports_nothing_that_computes(tmp_path: Path) -> None:
    assert loaded_by("run", str(PIZZERIA), "--evaluations", "validate", "--out", str(tmp_path)) == ""


def test_nothing_is_drawn_unless_asked_for(tmp_path: Path) -> None:
    assert loaded_by("run", str(PIZZERIA), "--out", str(tmp_path), of=("matplotlib",)) == ""


@pytest.mark.bench
@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_the_first_words_come_at_once(argument: str) -> None:
    """Within ten times of an empty Python, measured in turn so that a busy machine slows both."""
    empty, ours = [], []
    for _ in range(5):
        empty.append(seconds([sys.executable, "-c", "pass"]))
        ours.append(seconds([sys.executable, "-m", "turncheck", argument]))

    assert statistics.median(ours) < 10 * statistics.median(empty)


def seconds(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begin
