"""Every link of the documentation leads somewhere: a file of the repository, and a heading of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documentation import ROOT, anchors, broken, pages

MENTIONED = re.compile(r"\bdocs/(?!spec\.md)(?P<file>[\w./-]+\.(?:md|png|json))(?:#(?P<anchor>[\w-]+))?")
"""An address of a page in a message, a docstring or a workflow; spec.md is that of git-lfs."""
SPEAKING = (
    "src",
    "templates",
    "tools",
    "examples",
    "page/src",
    "action.yml",
    "Makefile",
    "pyproject.toml",
    "Dockerfile",
)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_anchors_of_a_page_resolve(page: Path) -> None:
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    good = "[a](gates.md) [b](../README.md) [c](#here) [d](https://example.org/x) [e](../examples)\n\n## Here\n"
    bad = "[a](no.md) [b](gates.md#no-such-heading) [c](#there) [d](../../outside.md) ![e](no.png)\n\n## Here\n"

    assert broken(ROOT / "docs" / "new.md", good) == []
    assert broken(ROOT / "docs" / "new.md", bad) == [
        "no.md",
        "gates.md#no-such-heading",
        "#there",
        "../../outside.md",
        "no.png",
    ]


def test_pages_that_code_names_exist() -> None:
    wrong = []
    for top in SPEAKING:
        path = ROOT / top
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and file.suffix in {".py", ".yml", ".yaml", ".j2", ".ts", ".toml", ".md", ".sh", ""}:
                text = file.read_text("utf-8", "replace")
                wrong += [(file.name, match[0]) for match in MENTIONED.finditer(text) if not _is_there(match)]
    assert wrong == []


def _is_there(match: re.Match[str]) -> bool:
    page = ROOT / "docs" / match["file"]
    return page.exists() and (not match["anchor"] or match["anchor"] in anchors(page.read_text("utf-8")))


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150
