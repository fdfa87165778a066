"""The order of consecutive ``slot_was_set`` steps, in ``test e2e`` and in a run: as the slots are set, or any."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line

FILES = {
    "domain.yml": """\
version: "3.1"
intents: [inform]
entities: [city, date]
slots:
  city: {type: text, influence_conversation: false, mappings: [{type: from_entity, entity: city}]}
  date: {type: text, influence_conversation: false, mappings: [{type: from_entity, entity: date}]}
responses:
  utter_noted: [{text: Noted.}]
""",
    "config.yml": """\
recipe: default.v1
language: en
pipeline: [{name: WhitespaceTokenizer}, {name: KeywordIntentClassifier}]
policies: [{name: RulePolicy}]
""",
    "data/rules.yml": "rules: [{rule: note, steps: [{intent: inform}, {action: utter_noted}]}]\n",
    "data/nlu.yml": 'version: "3.1"\nnlu: [{intent: inform, examples: "- on Monday\\n- to Rome\\n"}]\n',
}
CASES = """\
test_cases:
- test_case: both
  steps:
  - user: '/inform{"city": "Rome", "date": "Monday"}'
  - slot_was_set:
    - %s
  - slot_was_set:
    - %s
  - utter: utter_noted
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    (tmp_path / "tests").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def case(*slots: str) -> None:
    Path("tests/e2e_test_cases.yml").write_text(CASES % slots)


def test_the_command_judges_the_order_unless_told_not_to(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    case("city: Rome", "date: Monday")
    assert run_command_line(["test", "e2e", "-q"]) == 0
    case("date: Monday", "city: Rome")
    assert run_command_line(["test", "e2e", "-q"]) == 1
    golden(capsys.readouterr().out, only="--slot-order")
    assert run_command_line(["test", "e2e", "-q", "--slot-order", "any"]) == 0


def test_a_run_judges_the_order_unless_told_not_to(project: Path) -> None:
    case("date: Monday", "city: Rome")
    command = ["run", "-q", "--evaluations", "e2e", "--baseline", "none"]
    assert run_command_line(command) == 1
    assert json.loads(Path("results/report.json").read_text())["settings"]["slot_order"] == "strict"
    assert run_command_line([*command, "--slot-order", "any"]) == 0
    (project / "turncheck.yml").write_text("slot-order: any\n")
    assert run_command_line(command) == 0
    assert json.loads(Path("results/report.json").read_text())["settings"]["slot_order"] == "any"
