"""What real Rasa 3.6.21 was seen to refuse or to crash at while it loads a domain that its schema lets pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_project import read

from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

D, N = "domain.yml", "data/nlu.yml"


def slot(keys: str) -> tuple[str, str, str]:
    return (D, "slots:\n", f"slots:\n  a:\n{keys}    mappings: []\n")


FLOAT = "    type: float\n"
REFUSED = {
    "a slot that Rasa adds": (
        (D, "slots:\n", "slots:\n  session_started_metadata:\n    type: any\n    mappings: []\n"),
        "slot-duplicate",
    ),
    "a form like a default action": (
        (D, "forms:\n", "forms:\n  action_listen:\n    required_slots: [size]\n"),
        "action-duplicate",
    ),
    "a form like a response": (
        (D, "forms:\n", "forms:\n  utter_greet:\n    required_slots: [size]\n"),
        "action-duplicate",
    ),
    "a sentence twice": ((D, "", "e2e_actions:\n- hello\n- hello\n"), "action-duplicate"),
    "a sentence like a default action": ((D, "", "e2e_actions:\n- action_listen\n"), "action-duplicate"),
    "a sentence like a response": ((D, "", "e2e_actions:\n- utter_greet\n"), "action-duplicate"),
    "sentences as text": ((D, "", "e2e_actions: hello\n"), "name-not-text"),
    "a number as sentence": ((D, "", "e2e_actions:\n- 4\n"), "name-not-text"),
    "a number as response": ((D, "responses:\n", "responses:\n  3:\n  - text: x\n"), "name-not-text"),
    "a date as response": ((D, "responses:\n", "responses:\n  2020-01-01:\n  - text: x\n"), "name-not-text"),
    "a truth value as form": ((D, "forms:\n", "forms:\n  true:\n    required_slots: [size]\n"), "name-not-text"),
    "a number as intent": ((D, "- greet\n", "- greet\n- 3:\n    use_entities: []\n"), "name-not-text"),
    "a number as entity": ((D, "entities:\n", "entities:\n- 3:\n    roles: [a]\n"), "name-not-text"),
    "ignoring false": ((D, "- greet\n", "- greet:\n    ignore_entities: false\n"), "intent-malformed"),
    "ignoring nothing": ((D, "- greet\n", "- greet:\n    ignore_entities:\n"), "intent-malformed"),
    "using a number": ((D, "- greet\n", "- greet:\n    use_entities: 3\n"), "intent-malformed"),
    "using a list in a list": ((D, "- greet\n", "- greet:\n    use_entities: [[size]]\n"), "intent-malformed"),
    "using a number and a name": ((D, "- greet\n", "- greet:\n    use_entities: [1, size]\n"), "intent-malformed"),
    "roles of nothing": ((D, "entities:\n", "entities:\n- who:\n    roles:\n"), "entity-malformed"),
    "groups of a number": ((D, "entities:\n", "entities:\n- who:\n    groups: 3\n"), "entity-malformed"),
    "a range between texts": (slot(f"{FLOAT}    min_value: '1'\n    max_value: '0'\n"), "slot-range-invalid"),
    "a text and a number": (slot(f"{FLOAT}    min_value: '0'\n"), "slot-range-invalid"),
    "no least value": (slot(f"{FLOAT}    min_value:\n"), "slot-range-invalid"),
    "a word to start with": (slot(f"{FLOAT}    initial_value: half\n"), "slot-range-invalid"),
    "a class of Rasa's": (slot("    type: rasa.shared.core.slots.TextSlot\n    foo: 1\n"), "slot-key-unknown"),
    "an empty required slot": ((D, "    - size\n", "    - size\n    -\n"), "form-slot-undefined"),
    "a response like a form": (
        (N, "", "responses:\n  pizza_form:\n  - text: x\n"),
        "response-is-form",
    ),
}
PASSED = {
    "a response like a default action": (D, "responses:\n", "responses:\n  action_back:\n  - text: x\n"),
    "a response like an action": (D, "responses:\n", "responses:\n  action_bake:\n  - text: x\n"),
    "a form like an action": (D, "- action_bake", "- action_bake\n- pizza_form"),
    "default actions": (D, "- action_bake", "- action_bake\n- action_listen\n- action_listen"),
    "a name for a list": (D, "- greet\n", "- greet:\n    use_entities: size\n    ignore_entities: size\n"),
    "keys for a list": (D, "- greet\n", "- greet:\n    ignore_entities: {size: x}\n"),
    "nothing used": (D, "- greet\n", "- greet:\n    use_entities:\n"),
    "numbers ignored": (D, "- greet\n", "- greet:\n    ignore_entities: [1, size]\n"),
    "a text for roles": (D, "entities:\n", "entities:\n- who:\n    roles: a\n"),
    "texts as range": slot(f"{FLOAT}    min_value: '0'\n    max_value: '9'\n"),
    "no sentences": (D, "actions:\n", "e2e_actions:\nactions:\n"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_an_error_and_the_only_one(case: str, tmp_path: Path) -> None:
    edit, code = REFUSED[case]
    validated = validate(read(tmp_path, edit), drop_in=True)
    assert [finding.code for finding in validated.findings if finding.severity == "error"] == [code]
    assert validated.exit_code(fail_on_warnings=False) == 1


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        ((D, "      entity: size", "      intent: order"), "domain.yml:20:7"),
        ((D, "    - type: from_entity\n", "    - type: from_entities\n"), "domain.yml:20:7"),
        ((D, 'version: "3.1"', 'version: "9.0"'), "domain.yml:1:10"),
    ],
)
def test_a_domain_that_rasa_drops_is_not_called_empty(edit: tuple[str, str, str], place: str, tmp_path: Path) -> None:
    validated = validate(read(tmp_path, edit, (N, "faq/hours", "faq")), drop_in=True)
    (empty,) = [finding for finding in validated.findings if finding.code == "domain-empty"]
    assert place in empty.message


@pytest.mark.parametrize("case", PASSED)
def test_passes_as_in_rasa(case: str, tmp_path: Path) -> None:
    validated = validate(read(tmp_path, PASSED[case]), drop_in=True)
    assert [finding for finding in validated.findings if finding.severity == "error"] == []
    assert validated.exit_code(fail_on_warnings=True) == 0


def test_of_each_file_that_cannot_be_read_the_first_fault_is_an_error_and_the_others_are_notes(tmp_path: Path) -> None:
    twice = "actions:\n- a\nactions:\n- b\n"
    project = read(tmp_path, (D, "actions:\n", f"{twice}actions:\n"), (N, "", "nlu: []\n"))
    findings = validate(project, drop_in=True).findings
    assert [str(finding.location) for finding in findings if finding.severity == "error"] == [
        "data/nlu.yml:20:1",
        "domain.yml:41:1",
    ]
    assert [finding.message.partition(":")[0] for finding in findings if finding.severity == "info"] == [
        "yaml-duplicate-key"
    ]


def test_a_skipped_data_file_defines_nothing_and_ends_nothing(tmp_path: Path) -> None:
    newer = {
        "data/x.yml": 'version: "9"\nresponses:\n  pizza_form:\n  - text: x\n  utter_greet:\n  - text: x\n',
        "data/y.yml": 'version: "9"\nstories:\n- story: more\n  steps:\n  - slot_was_set:\n',
    }
    found = validate(read(tmp_path, **newer), drop_in=True).findings
    assert [finding.code for finding in found] == ["version-too-high", "version-too-high"]


SLOTS_OF_PRO = """\
slots:
  amount:
    type: float
    validation: {rejections: []}
    mappings:
    - type: from_llm
    - type: controlled
      conditions:
      - active_flow: transfer
  recipient:
    type: text
"""
CONDITIONAL_RESPONSE = "responses:\n  utter_amount:\n  - text: How much?\n    condition: slots.amount is null\n"


def test_slots_and_conditions_of_rasa_pro_are_faults_only_where_rasa_reads_them(tmp_path: Path) -> None:
    changes = (D, "slots:\n", SLOTS_OF_PRO), (D, "responses:\n", CONDITIONAL_RESPONSE)
    faults = {"mapping-type-unknown", "schema-violation", "slot-key-unknown"}
    project = read(tmp_path, *changes)
    assert faults & {finding.code for finding in validate(project, strict=True).findings}
    (tmp_path / "data" / "flows.yml").write_text("flows:\n  transfer:\n    steps: []\n", encoding="utf-8")
    calm = validate(read_project(tmp_path), strict=True).findings
    assert not faults & {finding.code for finding in calm}
