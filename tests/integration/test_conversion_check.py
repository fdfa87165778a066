"""``data convert --check`` trains the project as it is and as converted, and says where they do otherwise."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from golden_texts import Golden
from msgspec.structs import replace

from turncheck.cli import run_command_line
from turncheck.commands.converted_behaviour import compare_understanding
from turncheck.project.reader import read_project

ORACLE = Path(__file__).parents[1] / "oracle" / "legacy"


def check(kind: str, *files: str) -> int:
    return run_command_line(["data", "convert", kind, *files, "--out", "out", "--check"])


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ORACLE / request.param / "project", tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize("project", ["test_nlu/keyword_crf_015"], indirect=True)
def test_sentences_that_are_understood_otherwise_are_told(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert project.is_dir()
    assert check("nlu") == 1
    golden(capsys.readouterr().out, only="good morning")


@pytest.mark.parametrize("project", ["test_core/e2e"], indirect=True)
def test_tests_in_markdown_are_run_in_both_forms(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert project.is_dir()
    assert check("core", "tests") == 0
    assert Path("out/test_conversation_tests.yml").is_file()
    golden(capsys.readouterr().out, only="13 stories")


@pytest.mark.parametrize("project", ["test_core/mapping"], indirect=True)
def test_a_project_that_rasa_3_refuses_to_train_is_told(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (project / "data" / "more.md").write_text("## not what it maps to\n* help\n  - utter_bye\n")
    assert check("core") == 1
    golden(capsys.readouterr().out, only="'not what it maps to'")


@pytest.mark.parametrize("project", ["convert/yaml_2x"], indirect=True)
def test_yaml_of_rasa_2_keeps_its_text_but_for_what_is_called_otherwise(project: Path) -> None:
    rules = project / "data" / "rules.yml"
    rules.write_text(rules.read_text().replace("utter_done", "action_deactivate_form  # at last"))
    assert check("core") == 0
    written = Path("out/rules.yml").read_text()
    assert written == rules.read_text().replace('"2.0"', '"3.1"').replace("_deactivate_form ", "_deactivate_loop ")


@pytest.mark.parametrize("project", ["test_core/e2e"], indirect=True)
def test_what_rasa_3_changes_by_itself_is_told_and_no_difference(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    data = project / "data" / "nlu.md"
    data.write_text(data.read_text() + "\n## intent:help\n- [Tea](drink) and [tea](drink)\n- [brew](drink:Tea)\n")
    assert check("nlu") == 0
    golden(capsys.readouterr().out, only="EntitySynonymMapper")


@pytest.mark.parametrize("project", ["test_nlu/keyword_crf_110"], indirect=True)
def test_a_sentence_is_compared_unless_the_conversion_lists_it_as_left_out(project: Path) -> None:
    before = read_project(project)
    lost = next(one for one in before.nlu.examples if one.intent)
    kept = tuple(one for one in before.nlu.examples if one is not lost)
    after = dataclasses.replace(before, nlu=replace(before.nlu, examples=kept))
    assert any(f"“{lost.text}”" in line for line in compare_understanding(before, after, frozenset()).differences)
    assert compare_understanding(before, after, {lost.location}).differences == ()
