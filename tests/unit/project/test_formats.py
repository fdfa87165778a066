"""The door for file formats: a format that nobody else knows is found, read, trained on, judged and told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.cli import run_command_line
from turncheck.messages.finding import Finding, Location
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import CaseTurn, E2ECase, E2ECases
from turncheck.project.formats import registry
from turncheck.project.formats.format import Format, FormatInput, ParsedFile
from turncheck.project.model import Domain, Intent
from turncheck.project.nlu_data import Example, NluData
from turncheck.project.reader import read_nlu, read_project, read_stories
from turncheck.project.testfiles import find_files_without_tests, find_test_nlu, find_test_stories
from turncheck.report.codec import decode
from turncheck.validation.before_training import unreadable_parts
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "recipe: default.v1\nassistant_id: a\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\n"
DOMAIN = 'version: "3.1"\nintents:\n- greet\n- bye\n'
SENTENCES = "greet\thello\ngreet\thi there\ngreet\tgood day\nbye\tbye bye\nbye\tsee you\nbye\tuntil [then](when)\n"


# --- a format in some twenty lines --------------------------------------------------------------------------------


class Lines:
    """Where the sentences of a file stand, one per line."""

    def __init__(self, path: str) -> None:
        self.path = path

    def locate(self, index: int) -> Location:
        return Location(self.path, index + 1, 1)


def read_tabs(file: FormatInput) -> ParsedFile:
    origin = Lines(file.source.path)
    examples, findings = [], []
    for index, line in enumerate(file.source.text.splitlines()):
        intent, tab, sentence = line.partition("\t")
        if tab:
            examples.append(Example(sentence, intent, origin=origin, index=index))
        else:
            message = f"In '{file.source.path}' a line must be an intent, a tab and a sentence."
            findings.append(Finding("schema-violation", "error", message, origin.locate(index)))
    return ParsedFile(NluData(tuple(examples)), findings=tuple(findings))


TABS = Format("Tabs", lambda path, _: path.suffix == ".tsv", frozenset({"nlu"}), read_tabs)


# ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def tabs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.FORMATS.built_in, "TABS", TABS)


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_its_sentences_are_trained_on_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, config_dot_yml=CONFIG, data__deep__some_dot_tsv=SENTENCES)
    out = tmp_path / "results"
    arguments = ("test", "nlu", "--project", tmp_path, "--cross-validation", "--folds", "3", "--no-plot", "--out", out)
    assert run_command_line([str(one) for one in (*arguments, "--json", out / "report.json")]) == 0
    assert capsys.readouterr().out.endswith("of 6 sentences\n")
    nlu = decode((out / "report.json").read_bytes()).nlu
    assert nlu is not None
    assert nlu.intents is not None
    assert {"greet", "bye"} <= nlu.intents.report.keys()


def test_a_fault_in_it_has_a_place_is_an_error_and_nothing_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, config_dot_yml=CONFIG, domain_dot_yml=DOMAIN, data__some_dot_tsv=f"{SENTENCES}no tab here\n")
    project = read_project(tmp_path)
    assert len(project.nlu.examples) == 6
    assert str(project.nlu.examples[3].location) == "data/some.tsv:4:1"
    assert str(unreadable_parts(project)["nlu"].location) == "data/some.tsv:7:1"
    assert run_command_line(["data", "validate", "--project", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "error[schema-violation]" in shown
    assert "7 | no tab here" in shown
    assert run_command_line(["test", "nlu", "--project", str(tmp_path), "--cross-validation"]) == 2
    assert "data/some.tsv:7:1" in capsys.readouterr().err


def test_what_is_asked_of_yaml_is_not_asked_of_it(tmp_path: Path) -> None:
    write(tmp_path, config_dot_yml=CONFIG, domain_dot_yml=DOMAIN, data__some_dot_tsv=SENTENCES)
    codes = {finding.code for finding in validate(read_project(tmp_path)).findings}
    assert codes == {"intent-unused"}  # no version is missing, and no brackets are a slip


def test_a_project_needs_no_domain_where_its_format_needs_none(tmp_path: Path) -> None:
    write(tmp_path, data__some_dot_tsv=SENTENCES)
    project = read_project(tmp_path)
    assert project.findings == ()
    assert not unreadable_parts(project)
    assert not any(finding.code.startswith(("domain-", "intent-not")) for finding in validate(project).findings)


def test_a_format_of_rasa_beside_it_needs_both(tmp_path: Path) -> None:
    write(tmp_path, data__some_dot_tsv=SENTENCES, data__nlu_dot_yml="nlu:\n- intent: a\n  examples: |\n    - b\n")
    assert {finding.code for finding in read_project(tmp_path).findings} == {"domain-not-found", "config-not-found"}


def test_what_is_named_must_be_there(tmp_path: Path) -> None:
    write(tmp_path, data__some_dot_tsv=SENTENCES)
    project = read_project(tmp_path, domain=tmp_path / "other.yml")
    assert [finding.code for finding in project.findings] == ["domain-not-found"]


def test_a_file_may_hold_a_whole_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_whole(file: FormatInput) -> ParsedFile:
        place = Location(file.source.path, 1, 1)
        return ParsedFile(domain=Domain(intents={"greet": Intent("greet", place)}, location=place))

    whole = Format("Whole", lambda path, _: path.suffix == ".bot", frozenset({"domain"}), read_whole)
    monkeypatch.setitem(registry.FORMATS.built_in, "whole", whole)
    project = read_project(write(tmp_path, data__all_dot_bot="bot", data__some_dot_tsv=SENTENCES))
    assert list(project.domain.intents) == ["greet"]
    assert project.domain.location.path == "data/all.bot"
    assert not project.findings
    found = [finding.message for finding in validate(project).findings if finding.code == "intent-not-in-domain"]
    assert any("'bye'" in message for message in found)


def test_it_is_found_and_read_among_the_tests(tmp_path: Path) -> None:
    write(tmp_path, tests__my_nlu_dot_tsv=SENTENCES, tests__test_more_dot_tsv=SENTENCES)
    assert [path.name for path in find_test_nlu(tmp_path)] == ["my_nlu.tsv"]
    assert find_test_stories(tmp_path) == []
    assert find_files_without_tests(tmp_path) == []
    nlu, findings = read_nlu(find_test_nlu(tmp_path), tmp_path)
    assert [one.intent for one in nlu.examples] == ["greet"] * 3 + ["bye"] * 3
    assert not findings
    assert read_stories([tmp_path / "tests"], tmp_path) == ((), ())


def test_end_to_end_cases_come_through_the_same_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_cases_of(file: FormatInput) -> ParsedFile:
        place = Location(file.source.path, 1, 1)
        turn = CaseTurn(user=file.source.text.strip(), location=place)
        return ParsedFile(cases=E2ECases((E2ECase("greets", place, (turn,)),)))

    plain = Format("Plain", lambda path, _: path.suffix == ".case", frozenset({"test_cases"}), read_cases_of)
    monkeypatch.setitem(registry.FORMATS.built_in, "plain", plain)
    write(tmp_path, tests__one_dot_case="hello\n", tests__some_dot_tsv=SENTENCES)
    cases = read_cases(tmp_path, [tmp_path / "tests"])
    assert [(case.name, case.turns[0].user) for case in cases.cases] == [("greets", "hello")]
    assert cases.files == ("tests/one.case",)
    assert not cases.findings


def test_one_that_is_not_text_is_said_to_be_unreadable(tmp_path: Path) -> None:
    write(tmp_path, data__some_dot_tsv="")
    (tmp_path / "data" / "some.tsv").write_bytes(b"greet\t\xff\n")
    project = read_project(tmp_path)
    assert [(finding.code, str(finding.location)) for finding in project.findings] == [
        ("file-not-utf8", "data/some.tsv:1:7")
    ]
    assert project.unreadable >= {"nlu"}
    assert "stories" not in project.unreadable


def test_a_fault_in_rasas_json_is_an_error_where_it_is_validated_too(tmp_path: Path) -> None:
    lacking = '{"rasa_nlu_data": {"common_examples": [{"intent": "greet"}]}}'
    write(tmp_path, config_dot_yml=CONFIG, domain_dot_yml=DOMAIN, data__nlu_dot_json=lacking)
    project = read_project(tmp_path)
    (fault,) = [finding for finding in validate(project).findings if finding.severity == "error"]
    assert (fault.code, str(fault.location)) == ("schema-violation", "data/nlu.json:1:40")
    assert unreadable_parts(project)["nlu"] == fault
