"""A project of which a part cannot be read or trained is not judged by half, by no command, and is not a success."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line

PROJECT = {
    "config.yml": """
recipe: default.v1
assistant_id: bot
language: en
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
policies:
- name: MemoizationPolicy
""",
    "domain.yml": """
version: "3.1"
intents: [greet, bye]
responses:
  utter_hi: [{text: hi}]
""",
    "data/nlu.yml": """
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - good day
- intent: bye
  examples: |
    - see you
    - so long
""",
    "data/stories.yml": """
version: "3.1"
stories:
- story: greets
  steps:
  - intent: greet
  - action: utter_hi
- story: leaves
  steps:
  - intent: bye
  - action: utter_bye
""",
    "data/responses.yml": """
version: "3.1"
responses:
  utter_bye:
  - text: bye
""",
    "tests/test_stories.yml": """
version: "3.1"
stories:
- story: greeting
  steps:
  - user: hello
    intent: greet
  - action: utter_hi
- story: leaving
  steps:
  - user: see you
    intent: bye
  - action: utter_bye
""",
    "tests/nlu.yml": """
version: "3.1"
nlu:
- intent: greet
  examples: |
    - oh hello
- intent: bye
  examples: |
    - well so long
""",
    "tests/e2e_test_cases.yml": """
test_cases:
- test_case: greets
  steps:
  - user: hello
  - utter: utter_hi
""",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(project: Path, name: str, old: str, new: str) -> None:
    content = (project / name).read_text()
    assert old in content
    (project / name).write_text(content.replace(old, new, 1))


def run(*flags: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
    exit_code = run_command_line(["run", "--baseline", "none", "-q", *flags])
    report, verdict = (json.loads(Path("results", name).read_text()) for name in ("report.json", "verdict.json"))
    skipped = {entry["evaluation"]: entry for entry in report["skipped"] if entry["evaluation"] != "batch"}
    return exit_code, skipped, verdict


def test_a_story_with_a_step_that_cannot_be_read_is_not_judged_as_another_one(project: Path, golden: Golden) -> None:
    change(project, "tests/test_stories.yml", "- action: utter_bye", "- acton: utter_bye")
    exit_code, skipped, verdict = run("--evaluations", "validate", "core")
    stories = json.loads(Path("results/report.json").read_text())["core"]["stories"]
    assert (exit_code, skipped["core"]["part"]) == (1, True)
    assert [(story["name"], story["passed"]) for story in stories] == [("greeting", True)]
    failed = [gate for gate in verdict["gates"] if gate["outcome"] == "failed" and not gate.get("follows")]
    assert [gate["name"] for gate in failed] == ["could-be-run"]
    golden(verdict["summary"])


ALL = {"nlu", "core", "e2e"}
FAULTS = [
    # What, where the fault is said to be, and what is not judged because of it.
    ("data/nlu.yml", "    - good day", "   - good day", "data/nlu.yml:7", ALL),
    ("data/nlu.yml", "  examples: |\n    - see", "  exampels: |\n    - see", "data/nlu.yml:9", ALL),
    ("data/nlu.yml", "so long", 'so [long]{"entity": 1}', "data/nlu.yml:11", ALL),
    ("data/nlu.yml", "- intent: bye", "- intent: [bye]", "data/nlu.yml:8", ALL),
    ("data/stories.yml", "  - action: utter_bye", " - action: utter_bye", "data/stories.yml:11", {"core", "e2e"}),
    ("data/stories.yml", "  - action: utter_bye", "  - acton: utter_bye", "data/stories.yml:11", {"core", "e2e"}),
    ("data/stories.yml", "  - intent: bye", "  - intent: bye\n   user: so", "data/stories.yml:11", ALL),
    ("domain.yml", "  utter_hi: [{text: hi}]", "  utter_hi: [{text: hi}", "domain.yml:", {"core", "e2e"}),
    ("domain.yml", "intents: [greet, bye]", "intents: {greet: bye}", "domain.yml:3", {"core", "e2e"}),
    ("data/responses.yml", "  - text: bye", "  - txt: bye", "data/responses.yml:5", ALL),
    ("data/responses.yml", "  - text: bye", " - text: bye\n  x", "data/responses.yml:", ALL),
    ("config.yml", "- name: KeywordIntentClassifier", " - name: KeywordIntentClassifier", "config.yml:7", ALL),
    ("config.yml", "- name: KeywordIntentClassifier", "- nam: KeywordIntentClassifier", "config.yml:7", ALL),
    ("tests/nlu.yml", "- intent: bye\n", "- intnt: bye\n", "tests/nlu.yml:7", {"nlu"}),
    ("tests/nlu.yml", '"3.1"', '"4.0"', "tests/nlu.yml:2", {"nlu"}),
    ("tests/test_stories.yml", "    intent: bye", "   intent: bye", "tests/test_stories.yml:12", {"core"}),
    (
        "tests/test_stories.yml",
        "    intent: bye",
        "    intent: bye\n    entites: []",
        "tests/test_stories.yml:13",
        {"core"},
    ),
    ("tests/test_stories.yml", "- story: leaving", "- stry: leaving", "tests/test_stories.yml:9", {"core"}),
    ("tests/e2e_test_cases.yml", "  - utter", " - utter", "tests/e2e_test_cases.yml:", {"e2e"}),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_run_skips_what_needs_the_part_says_where_and_fails(
    project: Path, fault: tuple[str, str, str, str, set[str]]
) -> None:
    name, old, new, place, unjudged = fault
    change(project, name, old, new)
    exit_code, skipped, verdict = run()
    assert set(skipped) == unjudged
    assert exit_code == 1
    gates = {gate["name"]: gate for gate in verdict["gates"]}
    for entry in skipped.values():
        assert place in entry["reason"], entry["reason"]
        assert entry["fault"]
        assert f"{entry['location']['path']}:{entry['location']['line']}".startswith(place.rstrip(":"))
    assert {gates[gate]["outcome"] for gate in ("could-be-run", "errors")} == {"failed"}
    if unjudged & {"core", "e2e"}:
        assert gates["test-failures"]["outcome"] == "failed"
        named = re.findall(r"core|e2e", gates["test-failures"]["reason"])
        assert named == sorted(unjudged & {"core", "e2e"})


@pytest.mark.parametrize(
    "flags", [["--fail-on", "none"], ["--fail-on", "test-failures"], ["--evaluations", "nlu,core"]]
)
def test_no_choice_of_gates_lets_a_half_read_project_pass(project: Path, flags: list[str]) -> None:
    change(project, "data/nlu.yml", "    - good day", "   - good day")
    exit_code, _, verdict = run(*flags)
    assert exit_code == 1
    assert next(gate for gate in verdict["gates"] if gate["name"] == "could-be-run")["outcome"] == "failed"


def test_what_is_whole_is_judged_though_the_data_have_errors(project: Path) -> None:
    change(project, "domain.yml", "intents: [greet, bye]", "intents: [greet, bye, greet]")
    change(
        project, "data/stories.yml", "- story: greets", "- story: other\n  steps:\n  - intent: greeet\n- story: greets"
    )
    exit_code, skipped, verdict = run()
    assert not skipped
    assert exit_code == 1
    assert {gate["name"] for gate in verdict["gates"] if gate["outcome"] == "failed"} == {"errors"}


def test_a_file_of_a_domain_folder_that_rasa_passes_by_is_missed_all_the_same(project: Path) -> None:
    (project / "domain").mkdir()
    (project / "domain.yml").rename(project / "domain" / "a.yml")
    (project / "domain" / "b.yml").write_text("responses:\n  utter_more: [{text: more}\n")
    exit_code, skipped, _ = run()
    assert set(skipped) == {"core", "e2e"}
    assert "domain/b.yml:" in skipped["core"]["reason"]
    assert exit_code == 1


COMMANDS = {
    "test nlu": ["test", "nlu", "--no-plot"],
    "test nlu in folds": ["test", "nlu", "--no-plot", "--cross-validation", "-f", "2"],
    "test core": ["test", "core", "--no-plot"],
    "test core, end to end": ["test", "core", "--e2e", "--no-plot"],
    "test e2e": ["test", "e2e"],
    "train": ["train"],
    "parse": ["parse", "hello"],
    "shell": ["shell"],
}
TRAINED = [fault for fault in FAULTS if not fault[0].startswith("tests/")]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fault", TRAINED)
def test_no_command_trains_on_half(
    project: Path, capsys: pytest.CaptureFixture[str], command: str, fault: tuple[str, str, str, str, set[str]]
) -> None:
    name, old, new, place, unjudged = fault
    change(project, name, old, new)
    needs = {"nlu"} if "nlu" in command or command == "parse" else {"core"}
    exit_code = run_command_line(COMMANDS[command])
    said = capsys.readouterr().err
    if needs & unjudged and not (command == "test nlu in folds" and name == "data/stories.yml"):
        assert exit_code in ({1, 2} if command == "train" else {2})
        assert place in said
    else:
        assert exit_code == 0
    assert not list(project.glob("models/*")) or exit_code == 0


@pytest.mark.parametrize("fault", FAULTS[13:])
def test_half_of_a_test_file_is_not_run(
    project: Path, capsys: pytest.CaptureFixture[str], fault: tuple[str, str, str, str, set[str]]
) -> None:
    name, old, new, place, (evaluation,) = fault
    change(project, name, old, new)
    assert run_command_line(["test", evaluation, *(["--nlu", name] if evaluation == "nlu" else [])]) == 2
    assert place in capsys.readouterr().err


UNTRAINABLE = [
    ("data/nlu.yml", "good day", "good day :(", "data/nlu.yml:7", "keyword-not-regex"),
    ("config.yml", "KeywordIntentClassifier", "LogisticRegressionClassifier", "config.yml:7", "component-order"),
    ("config.yml", "WhitespaceTokenizer", "WhitespaceTokenizer\n  token_pattern: '['", "config.yml:7", "regex-invalid"),
    (
        "config.yml",
        "- name: Keyword",
        "- name: WhitespaceTokenizer\n- name: Keyword",
        "config.yml:7",
        "training-refused",
    ),
    ("config.yml", "KeywordIntentClassifier", "KeywordIntentClasifier", "config.yml:7", "component-unknown"),
]


@pytest.mark.parametrize("fault", UNTRAINABLE)
def test_a_pipeline_that_cannot_be_trained_is_an_error_at_its_place(
    project: Path, fault: tuple[str, str, str, str, str]
) -> None:
    name, old, new, place, code = fault
    change(project, name, old, new)
    exit_code, skipped, verdict = run()
    assert {"nlu", "core"} <= set(skipped)
    assert exit_code == 1
    gates = {gate["name"]: gate for gate in verdict["gates"]}
    assert {gates[gate]["outcome"] for gate in ("could-be-run", "errors", "test-failures")} == {"failed"}
    assert re.findall(r"core|e2e", gates["test-failures"]["reason"]) == ["core", "e2e"]
    findings = json.loads(Path("results/report.json").read_text())["validation"]["findings"]
    errors = [
        (f"{one['location']['path']}:{one['location']['line']}", one["code"])
        for one in findings
        if one["severity"] == "error"
    ]
    assert (place, code) in errors
    assert len(errors) == 1 or code == "regex-invalid", "it is said once"


def test_mutants_and_variants_of_a_pipeline_that_cannot_be_trained_are_skipped_with_the_reason(
    project: Path, golden: Golden
) -> None:
    change(project, "config.yml", "KeywordIntentClassifier", "KeywordIntentClasifier")
    exit_code, skipped, _ = run("--strength", "all", "--robustness")
    assert exit_code == 1
    assert "(config.yml:7:3)" in skipped["robustness"]["reason"]
    golden(skipped["strength"]["reason"], skipped["robustness"]["reason"])


UNREADABLE_TESTS = [
    ("tests/test_stories.yml", "- action: utter_hi", "- actoin: utter_hi", "tests/test_stories.yml:8"),
    ("tests/e2e_test_cases.yml", "- utter: utter_hi", "- uter: utter_hi", "tests/e2e_test_cases.yml:6"),
    ("tests/nlu.yml", "- intent: bye", "- intnet: bye", "tests/nlu.yml:7"),
]


@pytest.mark.parametrize("fault", UNREADABLE_TESTS)
def test_mutants_are_not_tried_with_half_of_the_tests(
    project: Path, capsys: pytest.CaptureFixture[str], fault: tuple[str, str, str, str], golden: Golden
) -> None:
    *edit, place = fault
    change(project, *edit)
    for command in (["test", "strength"], ["suggest"]):
        assert run_command_line(command) == 2
        told = capsys.readouterr().err
        assert place in told
        golden(told)
    exit_code, skipped, _ = run("--strength", "all", "--evaluations", "strength")
    assert exit_code == 1
    assert place in skipped["strength"]["reason"]


def test_sentences_are_not_varied_where_some_of_them_cannot_be_read(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    change(project, *UNREADABLE_TESTS[2][:3])
    assert run_command_line(["test", "robustness"]) == 2
    golden(capsys.readouterr().err, only="tests/nlu.yml:7:3: ")
    exit_code, skipped, _ = run("--evaluations", "robustness")
    assert exit_code == 1
    assert "tests/nlu.yml:7:3" in skipped["robustness"]["reason"]


def test_a_project_of_sentences_alone_has_mutants(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    for name in ("data/stories.yml", "tests/test_stories.yml", "tests/e2e_test_cases.yml"):
        (project / name).unlink()
    assert run_command_line(["test", "strength", "--workers", "1"]) == 0
    assert "Strength" in capsys.readouterr().out
    assert run_command_line(["suggest", "--workers", "1"]) == 0
    (project / "data/nlu.yml").unlink()
    assert run_command_line(["test", "strength"]) == 2
    golden(capsys.readouterr().err, only="error")


def test_word_lists_that_cannot_be_read_are_an_error_at_their_place(project: Path, golden: Golden) -> None:
    (project / "tests" / "noise.yml").write_text("prefixes:\n  hi\n", encoding="utf-8")
    exit_code, skipped, _ = run("--robustness")
    assert exit_code == 1
    assert "(tests/noise.yml:2:3)" in skipped["robustness"]["reason"]
    golden(skipped["robustness"]["reason"])


def test_without_validation_the_gates_say_what_could_not_be_trained(project: Path) -> None:
    change(project, "data/nlu.yml", "good day", "good day :(")
    exit_code, _, verdict = run("--evaluations", "nlu", "core")
    gates = {gate["name"]: gate for gate in verdict["gates"]}
    assert exit_code == 1
    assert gates["errors"]["outcome"] == "failed"
    assert gates["errors"]["failed_by"][0]["location"] == {"path": "data/nlu.yml", "line": 7, "column": 7}
    assert gates["something-was-tested"]["outcome"] == "failed"


def test_what_cannot_be_trained_in_a_fold_is_a_fault_of_the_pipeline(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    sentences = "".join(f"    - word{number} here\n" for number in range(6))
    data = f'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n{sentences}    - hello there :(\n'
    (project / "data/nlu.yml").write_text(data)
    (project / "tests/nlu.yml").unlink()

    assert run_command_line(["run", "--evaluations", "nlu"]) == 1

    out = capsys.readouterr().out
    golden(out, only="'hello there :('")
    assert "()" not in out
