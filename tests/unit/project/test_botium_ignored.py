"""Conversations that a .gitignore beside them names are not run, as Botium does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.project.botium.ignored import _as_regex, is_ignored
from turncheck.project.folder import ProjectFolder
from turncheck.project.testfiles import find_e2e_cases

CONVO = "hello\n\n#me\nhi\n\n#bot\nhello\n"


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("pattern", "path", "is_left_out"),
    [
        ("drafts/", "drafts/z.convo.txt", True),
        ("drafts/", "a/drafts/z.convo.txt", True),
        ("/drafts", "a/drafts/z.convo.txt", False),
        ("drafts/", "drafts.convo.txt", False),
        ("*.convo.txt", "a/b.convo.txt", True),
        ("a/*.convo.txt", "a/b.convo.txt", True),
        ("a/*.convo.txt", "a/c/b.convo.txt", False),
        ("a/**/b.convo.txt", "a/c/d/b.convo.txt", True),
        ("a/**", "a/c/b.convo.txt", True),
        ("**/b.convo.txt", "b.convo.txt", True),
        ("[a-c].convo.txt", "b.convo.txt", True),
        ("[!a-c].convo.txt", "b.convo.txt", False),
        ("?.convo.txt", "b.convo.txt", True),
        ("# b.convo.txt", "b.convo.txt", False),
        ("*.convo.txt\n!b.convo.txt", "b.convo.txt", False),
        ("drafts/\n!drafts/z.convo.txt", "drafts/z.convo.txt", True),
        ("b.convo.txt   ", "b.convo.txt", True),
    ],
)
def test_the_rules_are_those_of_git(pattern: str, path: str, is_left_out: bool, tmp_path: Path) -> None:
    put(tmp_path, **{".gitignore": f"{pattern}\n", path: CONVO})
    assert is_ignored(ProjectFolder(tmp_path), tmp_path, tmp_path / path) == is_left_out


def test_a_file_further_down_counts_last(tmp_path: Path) -> None:
    put(tmp_path, **{".gitignore": "*.txt\n", "a/.gitignore": "!b.convo.txt\n", "a/b.convo.txt": CONVO})
    assert not is_ignored(ProjectFolder(tmp_path), tmp_path, tmp_path / "a/b.convo.txt")


@given(st.text(max_size=30))
def test_any_pattern_can_be_read(pattern: str) -> None:
    import re

    re.compile(_as_regex(pattern))


def test_ignored_conversations_are_no_tests_and_other_files_are(tmp_path: Path) -> None:
    put(
        tmp_path,
        **{
            "spec/convo/.gitignore": "drafts/\n",
            "spec/convo/a.convo.txt": CONVO,
            "spec/convo/drafts/z.convo.txt": CONVO,
            "tests/.gitignore": "cases.yml\n",
            "tests/cases.yml": "test_cases: []\n",
        },
    )
    found = [path.relative_to(tmp_path).as_posix() for path in find_e2e_cases(tmp_path)]
    assert found == ["spec/convo/a.convo.txt", "tests/cases.yml"]
