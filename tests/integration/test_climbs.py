"""Calls go down as imports do: whoever reads a command from its first line seldom has to climb."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PIZZERIA = HERE.parents[1] / "examples" / "pizzeria"
MOST = 10


@pytest.mark.slow
@pytest.mark.parametrize("command", [["test", "nlu", "--no-plot", "--project"], ["run"]], ids=["test nlu", "run"])
def test_a_command_seldom_climbs(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "climbs.py"), *command, str(PIZZERIA), "--out", str(tmp_path), "--workers", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    climbs = [line for line in done.stderr.splitlines() if line.startswith("CLIMB ")]
    assert 0 < len(climbs) <= MOST, "\n".join(climbs)
