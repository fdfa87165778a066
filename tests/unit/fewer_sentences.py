"""An example with few training sentences, for tests to which their number is beside the point: it is soon trained."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_OF_AN_INTENT = re.compile(r"(- intent: .*\n +examples: \|\n)((?: +- .*\n)+)")


def keep_sentences(project: Path, most: int) -> Path:
    """Keep only the first sentences of each intent, and all that is said of words; return the project."""

    def first(block: re.Match[str]) -> str:
        return block[1] + "".join(block[2].splitlines(keepends=True)[:most])

    shorter = 0
    for path in (project / "data").rglob("*.yml"):
        before = path.read_text(encoding="utf-8")
        after = _OF_AN_INTENT.sub(first, before)
        path.write_text(after, encoding="utf-8")
        shorter += after != before
    assert shorter, f"{project} has no intent with more than {most} sentences"
    return project
