"""The page about the pull requests of examples/first-pull-request: written by today's code, for people to read."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from tools.make_example_page import PAGE, comparable, example, kept_pages, shown_annotations, written

OLD = "run `python tools/make_example_page.py`, and look at the page"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run of the example leaves."""
    folder = tmp_path_factory.mktemp("first") / "pull requests"
    found: dict[str, int] = example().main(folder)
    assert found == {"enjoy-your-pizza": 0, "ask-for-a-review": 1, "orders-for-later": 0, "menu-first": 1}
    return folder


@pytest.mark.slow
def test_the_page_says_what_turncheck_says_today(out: Path) -> None:
    assert PAGE.name == "pull_request.md"
    page = PAGE.read_text("utf-8")

    assert comparable(written(page, out)) == comparable(page), OLD


@pytest.mark.slow
def test_the_pages_of_the_runs_are_todays(out: Path) -> None:
    pages = kept_pages()
    assert list(pages) == sorted(one.branch for one in example().PULL_REQUESTS)
    for name, kept in pages.items():
        today = (out / name / "report.html").read_text("utf-8")
        assert comparable(today) == comparable(kept.decode()), OLD


@pytest.mark.slow
def test_each_pull_request_ends_as_the_page_says(out: Path) -> None:
    verdicts = {
        one.branch: json.loads((out / one.branch / "verdict.json").read_text()) for one in example().PULL_REQUESTS
    }

    failed = {name: [gate["name"] for gate in one["gates"] if gate["fails"]] for name, one in verdicts.items()}
    assert failed == {
        "enjoy-your-pizza": [],
        "ask-for-a-review": ["new-failures"],
        "orders-for-later": [],
        "menu-first": ["gone-tests"],
    }
    assert "rules.yml" in verdicts["ask-for-a-review"]["summary"]
    assert "misunderstood" in verdicts["orders-for-later"]["summary"]


@pytest.mark.slow
def test_the_repository_is_the_same_whenever_it_is_made(out: Path, tmp_path: Path) -> None:
    again = example().make_repository(tmp_path / "repository")

    for branch, commit in again.items():
        there = subprocess.run(
            ["git", "rev-parse", branch], cwd=out / "repository", capture_output=True, text=True, check=True
        )
        assert there.stdout.strip() == commit
    page = PAGE.read_text("utf-8")
    assert all(commit[:8] in page for commit in again.values())


def test_what_differs_from_run_to_run_is_not_compared_and_all_else_is() -> None:
    text = "0.73 of 16, measured 2026-11-29 14:46 UTC"

    assert comparable(text) == comparable("0.74 of 16, measured 2026-11-30 09:01 UTC")
    assert comparable(text) != comparable("0.73 of 17, measured 2026-11-29 14:46 UTC")


def test_annotations_are_shown_as_people_see_them() -> None:
    log = (
        "Reading\n::error file=a/b.yml,line=7,title=story%3A x%2C y::100%25 wrong%0Aindeed\n::notice title=t::no file\n"
    )

    assert shown_annotations(log) == "error  a/b.yml:7\n    story: x, y\n    100% wrong\n    indeed"


def test_no_link_of_a_comment_leads_to_the_repository_that_does_not_exist() -> None:
    assert not re.search(r"acme/", re.sub(r"(?s)<!-- pull-request-\d -->```.*?```", "", PAGE.read_text("utf-8")))
