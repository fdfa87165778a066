"""A slot, entity, action or response under another name is known by where it stands, even if some use the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from golden_texts import Golden
from msgspec.structs import replace

from turncheck.comparison import failed_tests
from turncheck.comparison.changes import CaseChange, ChangedCases
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.comparison.renames import broken_references
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
D, R, N, T = "domain.yml", "data/rules.yml", "data/nlu.yml", "tests/test_stories.yml"


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


def test_none_of_two_names_was_renamed_to_the_one_that_stands_in_their_place(tmp_path: Path) -> None:
    two = "actions: [action_debts_later, action_fees]"
    before: Edits = [
        (D, "actions: [action_fees]", two.replace("fees", "debts_now")),
        (
            R,
            "action_fees",
            "action_debts_now\n- rule: waits\n  steps:\n  - intent: borrow\n  - action: action_debts_later",
        ),
        (
            T,
            "action_fees",
            "action_debts_now\n- story: later\n  steps:\n  - intent: borrow\n  - action: action_debts_later",
        ),
    ]
    one: Edits = [
        (D, "[action_debts_later, action_debts_now]", "[action_debts]"),
        (R, "action_debts_now", "action_debts"),
        (R, "action_debts_later", "action_debts"),
    ]
    base = measured(tmp_path / "base", before)
    comparison = compare(measured(tmp_path / "head", [*before, *one]), Present(base, "git"))

    found = [broken_references(error) for error in comparison.new_findings if error.severity == "error"]
    assert sorted(found) == [("action_debts_later", "action_debts"), ("action_debts_now", "action_debts")]
    assert [one for one in comparison.renamed if one.kind == "actions"] == []


def test_a_bot_that_says_the_name_of_a_slot_fails_because_of_the_new_name(tmp_path: Path) -> None:
    base = measured(tmp_path / "base", [])
    comparison = compare(measured(tmp_path / "head", [*BOTH, *ANNOTATED]), Present(base, "git"))
    (error,) = [one for one in comparison.new_findings if one.severity == "error"]
    said = [
        CaseChange(
            name=text,
            expected="Emma waits at north.",
            actual=text,
            passed=False,
            base_passed=True,
            location=None,
            base_location=None,
        )
        for text in ("{title} waits at {branch}.", "Emma waits at {branch}.", "title waits at north.")
    ]
    cases = ChangedCases(worse=(*said[1:],), edited=(replace(said[0], edits=("edited",)),))

    (because,) = failed_tests.tests_because_of(replace(comparison, e2e=cases)).items()

    assert (because[0], [case.name for _, case in because[1]]) == (error.location, [said[0].name])
