"""The page in a real browser: each view, the keyboard alone, addresses, hostile texts; page/test/ says what holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import chromium
from page_examples import write_examples
from tools.build_page import install, node

TESTS = sorted((Path(__file__).parents[2] / "page" / "test").glob("*.test.mjs"))


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    install()
    folder = tmp_path_factory.mktemp("pages")
    write_examples(folder)
    return folder


@pytest.mark.parametrize("script", TESTS, ids=lambda path: path.name.partition(".")[0])
def test_in_a_browser(script: Path, examples: Path) -> None:
    done = node("--test", "--test-reporter=spec", str(script), PAGES=str(examples), CHROMIUM=chromium())

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_scripts_to_run() -> None:
    assert {path.name for path in TESTS} >= {"hostile.test.mjs", "use.test.mjs", "views.test.mjs"}
