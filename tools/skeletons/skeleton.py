"""What is written for one new thing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = Path("src") / "turncheck"


@dataclass(frozen=True, slots=True)
class Insertion:
    """Lines for a file that exists; they are put before or after the first line that fits the pattern."""

    path: Path
    pattern: str
    lines: str
    after: bool = False


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What is written for one new thing, and what remains to be done."""

    files: dict[Path, str]
    insertions: tuple[Insertion, ...]
    left: tuple[str, ...] = ()


_TEST: Final = '''\
"""{title}"""

from __future__ import annotations

import pytest


def test_{word}() -> None:
    pytest.fail("TODO: show what {what} does")
'''


def test_file(word: str, title: str, what: str, *, room: str) -> dict[Path, str]:
    path = Path("tests", "unit", room, f"test_{word}.py")
    return {path: _TEST.format(word=word, title=title, what=what)}
