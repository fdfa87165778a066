"""Folders that this user may not read: named as such, counted as not judged, and never the end of a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

pytestmark = pytest.mark.usefixtures("_shared_cache")
PIZZERIA = Path(__file__).parents[2] / "examples" / "pizzeria"
OBEYS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
"""Has root obey permissions as other users do."""


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Path]:
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may read everything, and setpriv is not installed")
    yield Path(shutil.copytree(PIZZERIA, tmp_path / "bot"))
    for folder, _, _ in os.walk(tmp_path):
        Path(folder).chmod(0o755)


def run(bot: Path, *words: str | Path, out: str = "out") -> subprocess.CompletedProcess[str]:
    command = [*(OBEYS if os.getuid() == 0 else []), sys.executable, "-m", "turncheck"]
    given = ["run", str(bot), "--baseline", "none", "--out", str(bot.parent / out), *map(str, words)]
    return subprocess.run([*command, *given], cwd=bot.parent, capture_output=True, text=True, check=False, timeout=300)


def skipped(bot: Path) -> list[dict[str, Any]]:
    report: dict[str, Any] = json.loads((bot.parent / "out" / "report.json").read_text())
    return [one for one in report["skipped"] if one["fault"]]


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100])
def test_a_folder_beside_the_data_is_not_searched_and_not_judged(bot: Path, mode: int, golden: Golden) -> None:
    (bot / "extra").mkdir()
    (bot / "extra" / "test_more.yml").write_text("stories: []\n")
    (bot / "extra").chmod(mode)

    done = run(bot, "--evaluations", "validate,core")

    said = done.stdout + done.stderr
    assert "pyvenv" not in said
    assert done.returncode == 1, said
    golden(said, only="'extra'")
    assert [(one["evaluation"], one["part"], one["location"]["path"]) for one in skipped(bot)] == [
        ("core", True, "extra")
    ]


@pytest.mark.parametrize("folder", ["tests", "data"])
def test_a_folder_of_the_project_itself_is_named(bot: Path, folder: str, golden: Golden) -> None:
    (bot / folder).chmod(0)

    done = run(bot, "--evaluations", "validate,core")

    assert done.returncode == 1, done.stdout + done.stderr
    golden(done.stdout, only=f"'{folder}'")
    assert "pyvenv" not in done.stdout + done.stderr
    assert skipped(bot)


@pytest.mark.parametrize("folder", ["tests", "tests/inner", "extra"])
def test_validation_names_a_folder_whose_tests_it_could_not_see(bot: Path, folder: str, golden: Golden) -> None:
    (bot / folder).mkdir(exist_ok=True)
    (bot / folder).chmod(0)
    command = [*(OBEYS if os.getuid() == 0 else []), sys.executable, "-m", "turncheck", "data", "validate"]

    done = subprocess.run(command, cwd=bot, capture_output=True, text=True, check=False, timeout=300)

    golden(done.stdout, only=f"'{folder}'")
    assert (done.returncode, done.stderr) == (0, ""), "Rasa does not look for tests here"


def test_a_default_cache_that_may_not_be_read_is_no_cache(bot: Path) -> None:
    home = bot.parent / "home"
    (home / ".cache" / "turncheck" / "ab").mkdir(parents=True)
    (home / ".cache").chmod(0)
    variables = {"XDG_CACHE_HOME": "", "HOME": str(home)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        done = run(bot, "--evaluations", "core")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count(str(home)) == 1, "that nothing is kept is said once"
    assert (bot.parent / "out" / "report.json").is_file()


def test_where_nothing_may_be_written_permission_is_the_word(bot: Path) -> None:
    (bot.parent / "out").mkdir(mode=0o555)

    done = run(bot, "--evaluations", "validate")

    assert done.returncode == 2
    assert "Permission denied" in done.stderr
    assert "permissions" in done.stderr
    assert "Make room" not in done.stderr
