"""What ``train`` refuses and warns of before it trains: as real Rasa 3.6.21 did on the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line

if TYPE_CHECKING:
    from pathlib import Path

DOMAIN = """\
version: "3.1"
intents: [greet, bye]
slots:
  level: {type: float, mappings: [{type: custom}]}
responses:
  utter_greet: [{text: hi}]
  utter_bye: [{text: bye}]
"""
CONFIG = """\
recipe: default.v1
language: en
pipeline: [{name: WhitespaceTokenizer}, {name: KeywordIntentClassifier}]
policies: [{name: MemoizationPolicy}, {name: RulePolicy}]
"""
STORIES = """\
version: "3.1"
rules:
- rule: farewell
  steps:
  - intent: bye
  - action: utter_bye
stories:
- story: greeting
  steps:
  - intent: greet
  - action: utter_greet
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi
- intent: bye
  examples: |
    - bye
    - see you
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "domain.yml").write_text(DOMAIN)
    (tmp_path / "config.yml").write_text(CONFIG)
    (tmp_path / "data" / "stories.yml").write_text(STORIES)
    (tmp_path / "data" / "nlu.yml").write_text(NLU)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_story(project: Path, text: str) -> None:
    path = project / "data" / "stories.yml"
    path.write_text(path.read_text() + text)


def test_loose_checkpoints_are_warned_of_with_their_place(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    add_story(project, "- story: lost\n  steps:\n  - checkpoint: nowhere\n  - intent: greet\n  - action: utter_bye\n")
    assert run_command_line(["train", "core"]) == 0
    printed = capsys.readouterr().err
    golden(printed)


def test_a_slot_without_a_value_in_a_checkpoint_is_warned_of(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = "  - checkpoint: here\n    slot_was_set:\n    - level\n  - intent: greet\n  - action: utter_greet\n"
    add_story(project, f"- story: asks\n  steps:\n{steps}")
    assert run_command_line(["train", "core"]) == 0
    assert "[checkpoint-slot-invalid]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "change", "place"),
    [
        pytest.param("data/stories.yml", ("- intent: bye", "- intnt: bye"), "data/stories.yml:5:5", id="story schema"),
        pytest.param("config.yml", ("policies: [", "policies: 5 #"), "config.yml:4:11", id="config schema"),
        pytest.param("domain.yml", ("type: float", "type: flaot"), "domain.yml:4:3", id="slot type"),
        pytest.param("domain.yml", ("[greet, bye]", "[greet, greet, bye]"), "domain.yml:2:18", id="intent twice"),
        # Rasa warns of the version and goes on with an empty domain, which lacks what the rules name.
        pytest.param("domain.yml", ('"3.1"', '"4.0"'), "data/stories.yml:6:5", id="domain version"),
        pytest.param("data/nlu.yml", ("- intent: bye", "- intnt: bye"), "data/nlu.yml:7:3", id="NLU schema"),
        pytest.param(
            "data/stories.yml",
            ("  - action: utter_greet", "  - slot_was_set:\n    - nosuch: 1\n  - action: utter_greet"),
            "data/stories.yml:12:7",
            id="unknown slot",
        ),
        pytest.param(
            "data/stories.yml",
            ("- action: utter_bye", "- action: utter_nothing"),
            "data/stories.yml:6:5",
            id="unknown action of a rule",
        ),
    ],
)
def test_what_rasa_refuses_is_refused_with_its_place(
    project: Path, capsys: pytest.CaptureFixture[str], path: str, change: tuple[str, str], place: str
) -> None:
    file = project / path
    file.write_text(file.read_text().replace(*change, 1))
    assert run_command_line(["train", "core"]) == 1
    assert f"{place}: " in capsys.readouterr().err
    assert not (project / "models").exists()


def test_training_nlu_looks_at_nlu_data_and_configuration_alone(project: Path) -> None:
    (project / "data" / "stories.yml").write_text(STORIES.replace("- intent: bye", "- intnt: bye"))
    assert run_command_line(["train", "nlu"]) == 0
    (project / "data" / "nlu.yml").write_text(NLU.replace("- intent: bye", "- intnt: bye"))
    assert run_command_line(["train", "nlu"]) == 1


def test_bare_training_validates_before_it_trains(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_story(project, "- story: other\n  steps:\n  - intent: bye\n  - action: action_nothing\n")
    (project / "config.yml").write_text(CONFIG.replace(", {name: RulePolicy}", ""))
    assert run_command_line(["train", "core"]) == 0
    assert run_command_line(["train"]) == 1
    assert "[action-not-in-domain]" in capsys.readouterr().err
    assert run_command_line(["train", "--skip-validation"]) == 0


def test_bare_training_fails_on_warnings_where_that_is_asked_for(project: Path) -> None:
    add_story(project, "- story: other\n  steps:\n  - intent: greet\n  - action: utter_bye\n")
    assert run_command_line(["train"]) == 0
    assert run_command_line(["train", "--fail-on-validation-warnings"]) == 1


def test_a_configuration_without_policies_is_refused(project: Path) -> None:
    (project / "config.yml").write_text(CONFIG.replace("[{name: MemoizationPolicy}, {name: RulePolicy}]", "[]"))
    assert run_command_line(["train", "core"]) == 1


def test_a_slot_class_of_the_project_is_said_to_count_as_text(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (project / "slots.py").write_text("class Level: ...\n")
    domain = project / "domain.yml"
    domain.write_text(domain.read_text().replace("type: float", "type: slots.Level"))
    assert run_command_line(["train", "core"]) == 0
    golden(capsys.readouterr().err)
