"""The pictures of the documentation show what the code of today does (compare-engines.png: test_compare_engines.py)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.make_pictures import (
    COMMENTS,
    NOTED,
    PICTURES,
    ROOT,
    digest_of_page,
    digests,
    kept_reports,
    measure_pizzeria,
    write_bank,
    write_pizzeria,
)

from turncheck.report.codec import decode

if TYPE_CHECKING:
    from pathlib import Path

NOTED_DIGESTS = json.loads(NOTED.read_text("utf-8"))


def test_no_picture_is_older_than_what_it_shows(tmp_path: Path) -> None:
    write_bank(tmp_path)
    write_pizzeria(tmp_path)
    today = digests(tmp_path)

    assert set(today) == {*COMMENTS, *PICTURES} - {"compare-engines.png"}
    old = [name for name, digest in today.items() if NOTED_DIGESTS.get(name) != digest]
    assert old == [], "run `make pictures`, and look at them"


def test_the_reports_that_pictures_show_are_what_is_measured_today(tmp_path: Path) -> None:
    for side, report in measure_pizzeria(tmp_path).items():
        assert judged(report) == judged(kept_reports()[side]), "run `make pictures`, and look at them"


def judged(report: bytes) -> object:
    """What became of each sentence, story and case."""
    read = decode(report)
    assert read.nlu
    assert read.core
    assert read.e2e
    sentences = [(one.text, one.expected.intent, one.predicted.intent) for one in read.nlu.predictions]
    return (
        sentences,
        [(story.name, story.passed) for story in read.core.stories],
        [case.outcome for case in read.e2e.cases],
    )


def test_what_differs_from_run_to_run_is_no_part_of_a_digest_and_all_else_is() -> None:
    page = '<p>0.73 of 16</p><tr><th scope="row">seconds</th><td>4.1</td></tr><p>turncheck 0.1.0 · asked today</p>'

    assert digest_of_page(page) == digest_of_page(page.replace("4.1", "5.2").replace("today", "yesterday"))
    assert digest_of_page("<p>0.7312345</p>") == digest_of_page("<p>0.7312346</p>")
    assert digest_of_page(page) != digest_of_page(page.replace("16", "17"))
    assert digest_of_page(page) != digest_of_page(page, "another file")


def test_every_picture_of_the_documentation_is_drawn() -> None:
    assert {path.name for path in (ROOT / "docs").glob("*.png")} == {*COMMENTS, *PICTURES} == set(NOTED_DIGESTS)
