"""The pictures of the documentation show what the code of today does (compare-engines.png: test_compare_engines.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tools.make_pictures import (
    COMMENTS,
    NOTED,
    PICTURES,
    ROOT,
    digest_of_comment,
    digest_of_page,
    write_bank,
    write_pizzeria,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOTED_DIGESTS = json.loads(NOTED.read_text("utf-8"))
OLD = "is older than what it shows: run `make pictures`, and look at it"


def test_the_comment_is_drawn_as_it_is_written() -> None:
    for picture in COMMENTS:
        assert NOTED_DIGESTS[picture] == digest_of_comment(), f"{picture} {OLD}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "pictures"),
    [
        (write_bank, ("page.png", "page-sentences.png")),
        (write_pizzeria, ("page-intents.png", "page-conversations.png")),
    ],
    ids=["bank", "pizzeria"],
)
def test_no_page_was_drawn_from_other_figures_or_by_other_code(
    write: Callable[[Path], None], pictures: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path)
    for picture in pictures:
        page = (tmp_path / f"{PICTURES[picture][0]}.html").read_text("utf-8")
        assert NOTED_DIGESTS[picture] == digest_of_page(page), f"{picture} {OLD}"


def test_what_differs_from_run_to_run_is_no_part_of_a_digest_and_all_else_is() -> None:
    page = '<p>0.73 of 16</p><tr><th scope="row">seconds</th><td>4.1</td></tr><p>turncheck 0.1.0 · asked today</p>'

    assert digest_of_page(page) == digest_of_page(page.replace("4.1", "5.2").replace("today", "yesterday"))
    assert digest_of_page("<p>0.7312345</p>") == digest_of_page("<p>0.7312346</p>")
    assert digest_of_page(page) != digest_of_page(page.replace("16", "17"))


def test_every_picture_of_the_documentation_is_drawn() -> None:
    drawn = {*COMMENTS, *PICTURES}

    assert {path.name for path in (ROOT / "docs").glob("*.png")} == drawn == set(NOTED_DIGESTS)
