"""End-to-end cases against the domain: names that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.dialogue.domain import DialogueDomain
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.validation.case_names import check_cases

if TYPE_CHECKING:
    from pathlib import Path

DOMAIN = """
version: "3.1"
intents: [greet]
slots: {tier: {type: text, mappings: [{type: custom}]}}
responses: {utter_greet: [{text: "Hello {name}", buttons: [{title: "{place[city]}", payload: /greet}]}]}
actions: [action_balance]
"""


def found(folder: Path, case: str, flows: tuple[str, ...] = ()) -> list[str]:
    (folder / "domain.yml").write_text(DOMAIN)
    (folder / "cases.yml").write_text(case)
    read = read_cases(folder, [folder / "cases.yml"])
    assert read.findings == ()
    checked = check_cases(read, DialogueDomain.of(read_project(folder)), flows)
    return [f"{finding.severity} {finding.message} {finding.hint}".strip() for finding in checked]


def asserting(assertion: str) -> str:
    return f"test_cases: [{{test_case: x, steps: [{{user: a, assertions: [{{{assertion}}}]}}]}}]"


def expecting(step: str) -> str:
    return f"test_cases: [{{test_case: x, steps: [{{user: a}}, {{{step}}}]}}]"


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (
            expecting("slot_was_set: [teir]"),
            "error The domain has no slot 'teir', which a step names. Did you mean 'tier'?",
        ),
        (expecting("slot_was_not_set: [teir]"), "error The domain has no slot 'teir', which a step names."),
        (expecting("utter: utter_gret"), "warning The domain has no response 'utter_gret', which a step names."),
        (
            asserting("slot_was_not_set: [{name: teir}]"),
            "error The domain has no slot 'teir', which an assertion names.",
        ),
        (asserting("slot_was_set: [{name: teir}]"), "error The domain has no slot 'teir'"),
        (asserting("action_executed: action_balanse"), "warning The domain has no action 'action_balanse'"),
        (asserting("bot_uttered: {utter_name: utter_gret}"), "warning The domain has no response 'utter_gret'"),
        (asserting("bot_did_not_utter: {utter_name: utter_gret}"), "error The domain has no response 'utter_gret'"),
    ],
)
def test_a_name_that_the_domain_does_not_have_is_told(tmp_path: Path, case: str, told: str) -> None:
    (one,) = found(tmp_path, case)
    assert one.startswith(told)
    (one,) = found(tmp_path, case, flows=("send",))
    assert one.startswith("warning"), "Rasa Pro has names of its own"


def test_an_unknown_slot_of_a_fixture_is_told_once_where_it_stands(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "domain.yml").write_text(DOMAIN)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.yml").write_text("fixtures:\n- shared:\n  - tier: a\n  - teir: b\n")
    cases = "".join(f"\n- {{test_case: {name}, fixtures: [shared], steps: [{{user: a}}, {{bot: b}}]}}" for name in "xy")
    (tmp_path / "tests" / "cases.yml").write_text(f"test_cases:{cases}")
    read = read_cases(tmp_path, [tmp_path / "tests"])
    (one,) = check_cases(read, DialogueDomain.of(read_project(tmp_path)))
    assert str(one.location).startswith("tests/conftest.yml:4:5")
    golden(one.message)


@pytest.mark.parametrize(
    ("stub", "told"),
    [
        ("action_balanse: {}", "warning The domain has no action 'action_balanse', which a stub names."),
        (
            "action_balance: {events: [{event: action, name: null}]}",
            "error The stub of 'action_balance' has an event that cannot be read: the event needs a 'name'",
        ),
        ("action_balance: {events: [{event: followup, name: utter_gret}]}", "warning The domain has no action 'utter"),
        ("action_balance: {events: [{event: active_loop, name: a_form}]}", "warning The domain has no loop 'a_form'"),
        ("action_balance: {events: [{event: slot, name: teir, value: 1}]}", "warning The domain has no slot 'teir'"),
        ("action_balance: {responses: [{response: utter_gret}]}", "warning The domain has no response 'utter_gret'"),
        (
            "action_balance: {responses: [{response: null, txet: hi}]}",
            "error 'txet' is not a key of a message. Did you mean 'text'?",
        ),
        (
            "action_balance: {responses: [{response: utter_greet, nmae: Bo, place: x}]}",
            "warning 'nmae' is neither a key of messages nor a placeholder of 'utter_greet'. Did you mean 'name'?",
        ),
    ],
)
def test_a_stub_returns_what_an_action_could(tmp_path: Path, stub: str, told: str) -> None:
    (one,) = found(tmp_path, f"stub_custom_actions: {{{stub}}}\n{expecting('bot: b')}")
    assert told in one


def test_flows_are_looked_up_where_there_are_some(tmp_path: Path, golden: Golden) -> None:
    case = asserting("flow_started: sned")
    assert found(tmp_path, case) == []
    golden(*found(tmp_path, case, flows=("send",)))
    assert found(tmp_path, asserting("flow_started: pattern_cancel_flow"), flows=("send",)) == []


def test_what_the_domain_has_and_what_rasa_adds_is_fine(tmp_path: Path) -> None:
    assert found(tmp_path, expecting("slot_was_set: [tier, session_started_metadata]")) == []
    assert found(tmp_path, asserting("action_executed: action_listen")) == []
