"""A slot, entity, action or response under another name is known by where it stands, even if some use the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from golden_texts import Golden

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.process.screen import Console
from turncheck.report.model import Source
from turncheck.run.evaluated_project import report_of_project
from turncheck.run.inputs import Inputs
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.report.model import Report

FILES: Final = {
    "config.yml": """\
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
policies:
- name: RulePolicy
""",
    "domain.yml": """\
version: "3.1"
intents: [borrow, owe]
entities: [title, branch]
slots:
  title:
    type: text
    mappings:
    - {type: from_entity, entity: title}
  branch:
    type: text
    mappings:
    - {type: from_entity, entity: branch}
forms:
  lend_form:
    required_slots: [title, branch]
actions: [action_fees]
responses:
  utter_ask_title:
  - text: Which book?
  utter_ask_branch:
  - text: Which branch?
  utter_lent:
  - text: "{title} waits at {branch}."
""",
    "data/nlu.yml": """\
version: "3.1"
nlu:
- intent: borrow
  examples: |
    - lend me [Emma](title)
    - is [Dracula](title) at the [north](branch)
- intent: owe
  examples: |
    - what do I owe
    - any fine
""",
    "data/rules.yml": """\
version: "3.1"
rules:
- rule: lend
  steps:
  - intent: borrow
  - action: lend_form
  - active_loop: lend_form
- rule: lent
  condition:
  - active_loop: lend_form
  steps:
  - action: lend_form
  - active_loop: null
  - action: utter_lent
- rule: fees
  steps:
  - intent: owe
  - action: action_fees
""",
    "tests/test_stories.yml": """\
version: "3.1"
stories:
- story: owes
  steps:
  - intent: owe
  - action: action_fees
- story: has it
  steps:
  - intent: borrow
  - action: lend_form
  - active_loop: lend_form
  - action: lend_form
  - active_loop: null
  - action: utter_lent
""",
}
Edits = list[tuple[str, str, str]]
D, R, N = "domain.yml", "data/rules.yml", "data/nlu.yml"


def measured(folder: Path, edits: Edits) -> Report:
    for name, text in FILES.items():
        changed = text
        for _, old, new in [edit for edit in edits if edit[0] == name]:
            assert old in changed
            changed = changed.replace(old, new)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(changed, encoding="utf-8")
    settings = Settings(project=str(folder), evaluations=("validate",))
    return report_of_project(Inputs(settings=settings, source=Source(), root="", environment={}), Console(quiet=True))


SLOT: Edits = [
    (D, "  title:\n    type", "  book:\n    type"),
    (D, "[title, branch]\nactions", "[book, branch]\nactions"),
]
BOTH: Edits = [*SLOT, (D, "entity: title", "entity: book"), (D, "entities: [title", "entities: [book")]
ANNOTATED: Edits = [(N, "](title)", "](book)")]


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(SLOT, id="a slot"),
        pytest.param(
            [*BOTH, *ANNOTATED],
            id="a slot and its entity",
        ),
        pytest.param(
            [(D, "entity: branch", "entity: place"), (D, ", branch]\nslots", ", place]\nslots")],
            id="an entity",
        ),
        pytest.param(
            [(D, "action_fees", "action_debts"), (R, "action_fees", "action_debts")],
            id="an action",
        ),
        pytest.param(
            [(D, 'utter_lent:\n  - text: "', 'utter_waiting:\n  - text: "Fine, '), (R, "utter_lent", "utter_waiting")],
            id="a response",
        ),
        pytest.param(
            [
                (D, 'utter_lent:\n  - text: "', 'utter_waiting:\n  - text: "Fine, '),
                (R, "- action: utter_lent", "- action: utter_waiting\n  - action: action_fees"),
            ],
            id="a response and what follows it",
        ),
    ],
)
def test_it_is_said_what_stands_in_the_place_of_the_old_name(edits: Edits, tmp_path: Path, golden: Golden) -> None:
    base = measured(tmp_path / "base", [])
    comparison = compare(measured(tmp_path / "head", edits), Present(base, "git"))

    (error,) = [one for one in comparison.new_findings if one.severity == "error"]
    golden(error.message)
