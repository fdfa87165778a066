"""Files that are something else than their names say, wherever one is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_project import write_project

from turncheck.messages.errors import UserError
from turncheck.process.foreign_content import foreign_content
from turncheck.project.batch.reader import find_suites, read_suites
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.run.reading import read_tests
from turncheck.settings.file import read_settings_file
from turncheck.settings.options import Settings

POINTER = (
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32\nsize 12345\n"
)
PAGE = "\n<!-- proxy -->\n<!DOCTYPE html>\n<html><head><title>404: Not Found</title></head></html>\n"
XML = '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>\n'
CONFLICT = "version: '3.1'\n<<<<<<< HEAD\nnlu: []\n=======\nrules: []\n>>>>>>> topic\n"
INSIDE = (
    "nlu:\n- intent: a\n  examples: |\n    - b\n    <<<<<<< HEAD\n    - c\n    =======\n    - d\n    >>>>>>> 1a2b3c\n"
)
FOREIGN = {"pointer": POINTER, "page": PAGE, "xml": XML, "conflict": CONFLICT, "inside": INSIDE}


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (POINTER, "'a.yml' is a pointer of Git LFS, not the file itself."),
        ("\ufeff" + POINTER.replace("\n", "\r\n"), "'a.yml' is a pointer of Git LFS, not the file itself."),
        (PAGE, "'a.yml' is an HTML page, not what its name says."),
        ("<HTML lang='en'>", "'a.yml' is an HTML page, not what its name says."),
        ('<?xml version="1.0"?><html>', "'a.yml' is an HTML page, not what its name says."),
        (XML, "'a.yml' is an XML document, not what its name says."),
        (CONFLICT, "'a.yml' has git's conflict markers in it (lines 2 to 6)."),
        (CONFLICT.replace("\n", "\r\n"), "'a.yml' has git's conflict markers in it (lines 2 to 6)."),
        (INSIDE, "'a.yml' has git's conflict markers in it (lines 5 to 9)."),
        ("a: 1\n=======\nb: 2\n>>>>>>> topic\n", "'a.yml' has git's conflict markers in it (lines 2 to 4)."),
        (
            "<<<<<<< A\n1\n||||||| base\n0\n=======\n2\n>>>>>>> B\n",
            "'a.yml' has git's conflict markers in it (lines 1 to 7).",
        ),
    ],
)
def test_what_a_file_is(text: str, what: str) -> None:
    found = foreign_content("a.yml", text.encode())
    assert found is not None
    assert (found.message, found.severity, bool(found.hint)) == (what, "error", True)


@pytest.mark.parametrize(
    "text",
    [
        "nlu:\n- intent: sell\n  examples: |\n    - <<<<<<< sale >>>>>>>\n",
        "responses:\n  utter_sale:\n  - text: |\n      >>>>>>> look\n",
        "Title\n=======\n\nWords\n",
        "responses:\n  utter_html:\n  - text: <html>\n",
        "# version https://git-lfs.github.com/spec/v1\n",
        "",
    ],
)
def test_what_only_looks_like_it_is_read(text: str) -> None:
    assert foreign_content("a.yml", text.encode()) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(content: bytes) -> None:
    found = foreign_content("a.yml", content)
    assert found is None or found.code == "file-not-as-named"


PARTS = {"domain.yml": "domain", "config.yml": "config", "data/nlu.yml": "nlu", "data/rules.yml": "stories"}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_what_needs_such_a_file_is_incomplete(tmp_path: Path, name: str, text: str) -> None:
    root = write_project(tmp_path)
    put(root, name, text)
    project = read_project(root)
    (found,) = [finding for finding in project.findings if finding.severity == "error"]
    assert (found.code, found.location.path) == ("file-not-as-named", name)
    assert PARTS[name] in project.unreadable or text in {CONFLICT, INSIDE}
    assert project.unreadable


def test_the_lines_of_a_lookup_table_are_not_those_of_a_pointer(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    put(root, "data/cities.txt", POINTER)
    put(root, "data/more.yml", "nlu:\n- lookup: city\n  examples: |\n    - data/cities.txt\n")
    project = read_project(root)
    assert [(one.code, one.location.path) for one in project.findings if one.severity == "error"] == [
        ("file-not-as-named", "data/cities.txt")
    ]
    assert project.unreadable == {"nlu"}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("name", ["tests/test_stories.yml", "tests/test_nlu.yml", "tests/anything.yml"])
def test_tests_in_such_a_file_are_missed(tmp_path: Path, name: str, text: str) -> None:
    root = write_project(tmp_path)
    put(root, name, text)
    found = {(one.code, one.severity, one.location.path) for one in read_tests(Settings(project=str(root))).findings}
    assert ("file-not-as-named", "error", name) in found


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("name", ["tests/e2e_test_cases.yml", "tests/a.convo.txt"])
def test_cases_in_such_a_file_are_missed(tmp_path: Path, name: str, text: str) -> None:
    path = put(tmp_path, name, text)
    found = [(one.code, one.location.path) for one in read_cases(tmp_path, [path]).findings]
    assert ("file-not-as-named", name) in found


@pytest.mark.parametrize("name", ["tests/a.csv", "batch/a.json"])
def test_such_a_file_may_be_a_suite(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, POINTER)
    assert find_suites(tmp_path) == (str(path),)
    assert [one.code for one in read_suites(tmp_path, [path]).findings] == ["file-not-as-named"]


def test_such_a_file_is_no_settings(tmp_path: Path) -> None:
    put(tmp_path, "turncheck.yml", CONFLICT)
    with pytest.raises(UserError, match="conflict markers"):
        read_settings_file(tmp_path)


def test_a_file_for_people_to_read_is_not_looked_into(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    put(root, "data/README.md", CONFLICT)
    assert not [one for one in read_project(root).findings if one.severity == "error"]


# --- empty files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["config.yml", "data/nlu.yml"])
def test_a_file_without_which_nothing_is_learned_must_not_be_empty(tmp_path: Path, name: str) -> None:
    root = write_project(tmp_path)
    put(root, name, "\n")
    project = read_project(root)
    assert [(one.code, one.severity, one.location.path) for one in project.findings if one.code == "file-empty"] == [
        ("file-empty", "error", name)
    ]
    assert PARTS[name] in project.unreadable


def test_an_empty_file_beside_others_is_a_warning(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    put(root, "data/more_nlu.yml", "")
    project = read_project(root)
    assert [(one.code, one.severity) for one in project.findings if one.location.path == "data/more_nlu.yml"] == [
        ("file-empty", "warning")
    ]
    assert not project.unreadable


@pytest.mark.parametrize("name", ["tests/test_more.yml", "tests/cases.csv"])
def test_an_empty_test_file_is_named(tmp_path: Path, name: str) -> None:
    root = write_project(tmp_path)
    put(root, name, "")
    found = [one for one in read_tests(Settings(project=str(root))).findings if one.location.path == name]
    assert [one.code for one in found] == ["file-empty"]


@pytest.mark.parametrize("name", ["tests/s.json", "tests/more.yml", "tests/nlu/a.yaml", "tests/suite.csv"])
@pytest.mark.parametrize("text", ["", "\n \t\n", "\ufeff", "\r\n"])
def test_a_test_file_of_blanks_is_empty_and_nothing_else(tmp_path: Path, name: str, text: str) -> None:
    write_project(tmp_path)
    put(tmp_path, name, text)
    found = read_tests(Settings(project=str(tmp_path))).other_findings
    assert [(one.code, one.location.path) for one in found] == [("file-empty", name)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"rasa_nlu_data": {"common_exam', "test-file-not-looked-for"),
        ('{"sender_id": "a", "events": [', "data-not-json"),
        ("not JSON", "data-not-json"),
        ('{"sender_id": "a", "events": []}', ""),
        ("[]", ""),
    ],
)
def test_json_holds_sentences_only_if_it_says_so(tmp_path: Path, text: str, code: str) -> None:
    write_project(tmp_path)
    put(tmp_path, "tests/a.json", text)
    found = read_tests(Settings(project=str(tmp_path))).other_findings
    assert [one.code for one in found] == [code] * bool(code)


# --- JSON that is no data --------------------------------------------------------------------------------------------

TRACKER = '{"sender_id": "x", "slots": {}, "latest_message": {"intent": {}, "text": null}, "events": []}'


@pytest.mark.parametrize("name", ["tests/data/tracker.json", "tests/nlu_tracker.json", "tests/actions/test_one.json"])
@pytest.mark.parametrize("text", [TRACKER, "[]", '{"text": "hi", "intent_ranking": []}'])
def test_a_tracker_of_tests_of_actions_is_not_taken_for_sentences(tmp_path: Path, name: str, text: str) -> None:
    root = write_project(tmp_path)
    put(root, name, text)
    tests = read_tests(Settings(project=str(root)))
    assert tests.nlu is None
    assert [one.code for one in tests.findings if one.code == "test-file-not-looked-for"] == []


def test_sentences_in_json_under_another_name_are_still_named(tmp_path: Path) -> None:
    root = write_project(tmp_path)
    put(
        root,
        "tests/a.json",
        '{"rasa_nlu_data": {"common_examples": [{"text": "hi", "intent": "greet", "entities": []}]}}',
    )
    assert "test-file-not-looked-for" in [one.code for one in read_tests(Settings(project=str(root))).findings]
