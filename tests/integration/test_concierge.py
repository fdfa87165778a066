"""The example of a bot over HTTP, started, judged and stopped by its one command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "examples" / "concierge" / "run.py"


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "code"), [(("--seed", "3"), 0), (("--fails", "1"), 1)])
def test_it_is_judged_by_one_command(flags: tuple[str, ...], code: int, tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), *flags, "--out", str(tmp_path / "out"), "--baseline", "none", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["engine"]["name"] == "http"
    assert report["project"]["kind"] == "http"
    assert report["validation"]["findings"] == []
    outcomes = {case["name"]: case["outcome"] for case in report["e2e"]["cases"]}
    of_botium = [f"breakfast/UTT_BREAKFAST-L{number}" for number in (1, 2, 3)] + ["a table.couple", "a table.family"]
    assert {outcomes[name] for name in of_botium} == {"passed" if code == 0 else "failed"}
    assert len(outcomes) == len(of_botium) + 4
    assert report["nlu"]["intents"]["accuracy"] == (1.0 if code == 0 else 0.0)
