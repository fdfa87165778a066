"""Where a project keeps its tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from turncheck.process.regular_file import file_and_case
from turncheck.project.testfiles import find_e2e_cases, find_test_nlu, find_test_stories
from turncheck.run.reading import read_tests
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

STORIES = "stories: []\n"
NLU = "nlu: []\n"


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def names(root: Path, paths: Iterable[Path]) -> list[str]:
    return [path.relative_to(root).as_posix() for path in paths]


@pytest.mark.follows(page="rasa-3", sentence="Test stories are in files with the prefix `test_`.")
def test_test_stories_are_files_of_that_prefix_below_tests(tmp_path: Path) -> None:
    write(
        tmp_path,
        tests__test_b=STORIES,
        tests__sub__test_a="rules: []\n",
        tests__other=STORIES,
        tests__test_data=NLU,
        tests__e2e_test_cases="test_cases: []\n",
        test_elsewhere=STORIES,
    )
    assert names(tmp_path, find_test_stories(tmp_path)) == ["tests/sub/test_a.yml", "tests/test_b.yml"]


def test_without_a_tests_folder_the_whole_project_is_searched_but_for_foreign_folders(tmp_path: Path) -> None:
    write(tmp_path, test_a=STORIES, data__test_b=STORIES, node_modules__x__test_c=STORIES, venv__lib__test_d=STORIES)
    write(tmp_path / ".hidden", test_e=STORIES)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("", encoding="utf-8")
    assert names(tmp_path, find_test_stories(tmp_path)) == ["data/test_b.yml", "test_a.yml"]


def test_test_nlu_data_are_files_and_folders_named_nlu_below_tests(tmp_path: Path) -> None:
    write(tmp_path, tests__my_nlu_set=NLU, tests__NLU__deep__a=NLU, tests__test_nlu_stories=STORIES, test_data=NLU)
    assert names(tmp_path, find_test_nlu(tmp_path)) == ["tests/NLU/deep/a.yml", "tests/my_nlu_set.yml"]


def test_else_test_nlu_data_is_test_data_yml(tmp_path: Path) -> None:
    assert find_test_nlu(tmp_path) == []
    write(tmp_path, tests__test_data=NLU)
    assert names(tmp_path, find_test_nlu(tmp_path)) == ["tests/test_data.yml"]


def test_a_test_file_that_cannot_be_read_is_found_so_that_reading_says_why(tmp_path: Path) -> None:
    write(tmp_path, tests__test_a=STORIES)
    (tmp_path / "tests" / "test_a.yml").write_bytes(b"stories: \xff")
    assert names(tmp_path, find_test_stories(tmp_path)) == ["tests/test_a.yml"]


CASES = "# A whole conversation.\ntest_cases:\n- test_case: a\n  steps: [{user: hi}, {utter: utter_hi}]\n"


def test_e2e_cases_are_found_by_content_below_both_folders(tmp_path: Path) -> None:
    write(
        tmp_path,
        tests__e2e__booking=CASES,
        tests__anything=f'version: "3.1"\nfixtures: []\n{CASES}',
        tests__test_broken=f"{CASES}- [\n",
        tests__conftest=CASES,
        tests__e2e_results="test_results:\n- name: a\n  test_cases: 3\n",
        tests__test_stories=STORIES,
        tests__nlu=NLU,
        e2e_tests__happy__path=CASES,
        e2e_tests__notes="a: b\n",
        data__more=CASES,
    )
    write(tmp_path / "tests" / ".hidden", a=CASES)
    (tmp_path / "tests" / "notes.md").write_text(CASES, encoding="utf-8")
    (tmp_path / "e2e_tests" / "unreadable.yml").write_bytes(b"test_cases: \xff")

    assert names(tmp_path, find_e2e_cases(tmp_path)) == [
        "e2e_tests/happy/path.yml",
        "e2e_tests/unreadable.yml",
        "tests/anything.yml",
        "tests/e2e/booking.yml",
        "tests/test_broken.yml",
    ]


def test_e2e_cases_that_are_not_run_are_named(tmp_path: Path) -> None:
    write(tmp_path, tests__a=CASES, e2e_tests__b=CASES, e2e__c=CASES, data__e2e_notes="a: b\n", data__other=NLU)

    def not_run(*named: str) -> list[str]:
        settings = Settings(project=str(tmp_path), e2e=tuple(str(tmp_path / one) for one in named))
        found = read_tests(settings).other_findings
        assert all(one.message.endswith(" not run.") for one in found)
        return [one.location.path for one in found]

    assert not_run() == ["e2e/c.yml"]
    assert not_run("tests/a.yml::a") == ["e2e_tests/b.yml"]
    assert not_run("tests", "e2e_tests/b.yml") == []


@pytest.mark.follows(page="rasa-pro", sentence="Test cases are in `tests/e2e_test_cases.yml` by default.")
def test_e2e_cases_stand_where_rasa_has_them(tmp_path: Path) -> None:
    assert find_e2e_cases(tmp_path) == []
    write(tmp_path, tests__e2e_test_cases="test_cases: []\n")
    assert names(tmp_path, find_e2e_cases(tmp_path)) == ["tests/e2e_test_cases.yml"]


def test_a_path_with_colons_is_not_cut_where_a_case_could_begin(tmp_path: Path) -> None:
    file = tmp_path / "bots::old" / "e2e.yml"
    file.parent.mkdir()
    file.write_text("test_cases: []\n")

    assert file_and_case(file) == (file, None)
    assert file_and_case(f"{file}::a::b") == (file, "a::b")
    assert file_and_case(f"{file.parent}::a") == (file.parent, "a")
    assert file_and_case("missing.yml::a::b") == (Path("missing.yml"), "a::b")
    assert file_and_case("missing.yml") == (Path("missing.yml"), None)


def test_a_pipe_or_a_device_in_the_place_of_tests_is_found_so_that_reading_says_why(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    os.mkfifo(tmp_path / "tests" / "test_pipe.yml")
    (tmp_path / "tests" / "test_nlu.yml").symlink_to("/dev/zero")

    assert "tests/test_pipe.yml" in names(tmp_path, find_test_stories(tmp_path))
    assert names(tmp_path, find_test_nlu(tmp_path)) == ["tests/test_nlu.yml"]
    tests = read_tests(Settings(project=str(tmp_path)))
    found = {(finding.code, finding.location.path) for finding in tests.findings}
    assert ("file-unreadable", "tests/test_pipe.yml") in found
    assert ("file-outside-project", "tests/test_nlu.yml") in found
