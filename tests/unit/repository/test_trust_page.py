"""What SECURITY.md says of a change, tests hold: each line names them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
_TEST: Final = re.compile(r"`(?:tests/[\w/]+/)?(test_\w+\.py)`")


def test_each_line_names_tests_that_there_are() -> None:
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    rows = [line for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
    outcomes = [one for one in cells if len(one) == 3 and one[2] != "test"]

    assert len(outcomes) > 30
    for change, _, tests in outcomes:
        named = _TEST.findall(tests)
        assert named or tests.startswith("the same"), change
        assert there.issuperset(named), change
