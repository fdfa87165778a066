"""``test nlu`` of a Rasa 1 project writes what Rasa 1.10.26 wrote: recorded cases (``tests/oracle/legacy``)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from turncheck.cli import run_command_line

ORACLE = Path(__file__).parent.parent / "oracle" / "legacy" / "test_nlu"
CASE = "keyword_json_110"


@pytest.mark.parametrize("run", ["plain", "successes"])
def test_the_files_say_what_those_of_rasa_1_say(run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ORACLE / CASE / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    command = ["test", "nlu", "-u", "tests/test.json", "--out", "out", "--no-plot"]
    assert run_command_line([*command, *(["--successes"] if run == "successes" else [])]) == 0
    recorded = sorted((ORACLE / CASE / "expected" / run).rglob("*.json"))
    assert recorded
    for path in recorded:
        ours = json.loads((Path("out") / path.name).read_text(encoding="utf-8"))
        assert comparable(ours) == comparable(json.loads(path.read_text(encoding="utf-8")))


def comparable(content: Any) -> Any:
    """Leave out the overall accuracy, which the scikit-learn of that time did not write for such a report."""
    return {key: value for key, value in content.items() if key != "accuracy"} if isinstance(content, dict) else content
