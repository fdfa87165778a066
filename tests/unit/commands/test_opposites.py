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
        ("turn the fan on and the light off", "turn the light on and the fan off"),
        ("that is not good but bad", "that is not bad but good"),
    ],
)
def test_opposites_are_no_near_duplicates(one: str, other: str, tmp_path: Path) -> None:
    assert _near(tmp_path, one, other) == []


def test_another_small_word_still_makes_a_near_duplicate(tmp_path: Path) -> None:
    assert _near(tmp_path, "how do I reset the password please", "how do I reset a password please")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("where is my order", "my order is where"),
        ("a naïve question", "a naive question"),
        ("Wo ist das Café?", "wo ist das Cafe"),
        ("please can you book a table for two tonight", "can you please book a table for two tonite"),
        ("I do not want that one please", "please I do not want that one"),
    ],
)
def test_another_order_and_accents_still_make_a_near_duplicate(one: str, other: str, tmp_path: Path) -> None:
    assert _near(tmp_path, one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("when do you close", "where do you live"), ("book a table", "cancel a table"), ("two at eight", "eight at one")],
)
def test_sentences_that_share_some_words_are_no_near_duplicates(one: str, other: str, tmp_path: Path) -> None:
    assert _near(tmp_path, one, other) == []
