"""Sentences that differ by a negation or by on and off are opposites, not near-duplicates."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import checked, places

N = "data/nlu.yml"


def _near(folder: Path, one: str, other: str) -> list[str]:
    edits = (
        (N, "    - hello there", f"    - hello there\n    - {one}"),
        (N, "    - see you later", f"    - see you later\n    - {other}"),
    )
    return places(checked(folder, *edits), "example-nearly-in-several-intents")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("turn on the light in the kitchen", "turn off the light in the kitchen"),
        ("I do want to continue with this order", "I do not want to continue with this order"),
        ("I have an account with you already", "I don't have an account with you already"),
    ],
)
def test_opposites_are_no_near_duplicates(one: str, other: str, tmp_path: Path) -> None:
    assert _near(tmp_path, one, other) == []


def test_another_small_word_still_makes_a_near_duplicate(tmp_path: Path) -> None:
    assert _near(tmp_path, "how do I reset the password please", "how do I reset a password please")
