"""What a form does without: a question, and actions that the domain does not list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_project import checked, places

if TYPE_CHECKING:
    from pathlib import Path

D, S = "domain.yml", "data/stories.yml"
ASKS = '  utter_ask_size: [{text: "Which size?"}]\n'
TRIGGERED = "    - type: from_trigger_intent\n      value: small\n"
NOTHING = (D, ASKS, "")
CLASS = "class Code(rasa_sdk.Action):\n    def name(self):\n        return {name}\n"


@pytest.mark.parametrize(
    ("edits", "is_told"),
    [
        ([], False),
        ([NOTHING], True),
        ([(D, "utter_ask_size", "utter_ask_pizza_form_size")], False),
        ([(D, "utter_ask_size", "utter_ask_other_form_size")], True),
        ([NOTHING, (D, "- action_bake", "- action_bake\n- action_ask_size")], False),
        ([NOTHING, (D, "- action_bake", "- action_bake\n- action_ask_pizza_form_size")], False),
        ([NOTHING, (D, "- action_bake", "- action_bake\n- utter_ask_size")], False),
        ([NOTHING, (D, "- action_bake", "- action_bake\n- validate_pizza_form")], False),
        ([NOTHING, (D, "    values:\n", "    initial_value: small\n    values:\n")], False),
        ([NOTHING, (D, "    mappings:\n", f"    mappings:\n{TRIGGERED}")], False),
        ([NOTHING, (S, "  - action: pizza_form\n", "  - action: utter_greet\n  - action: pizza_form\n")], False),
    ],
)  # fmt: skip
def test_a_form_needs_something_that_asks(edits: list[tuple[str, str, str]], is_told: bool, tmp_path: Path) -> None:
    told = places(checked(tmp_path, *edits), "form-question-missing")

    assert bool(told) == is_told, told


def test_only_the_first_question_may_be_asked_before_a_form(tmp_path: Path) -> None:
    second = "  drink:\n    type: text\n    mappings:\n    - type: from_text\n"
    more = [(D, "slots:\n", f"slots:\n{second}"), (D, "    - size\nresp", "    - size\n    - drink\nresp")]
    story = (S, "  - action: pizza_form\n", "  - action: utter_greet\n  - action: pizza_form\n")

    found = checked(tmp_path, NOTHING, *more, story)

    (finding,) = [one for one in found.findings if one.code == "form-question-missing"]
    assert "'drink'" in finding.message


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ('"validate_pizza_form"', True),
        ('"action_ask_size"', True),
        ('"action_ask_pizza_form_size"', True),
        ('"action_validate_slot_mappings"', True),
        ('"action_bake"', False),
        ('"validate_other_form"', False),
        ('"action_left_over"', False),  # nothing looks for it by its name
        ('"validate_" + FORM', False),
    ],
)
def test_actions_that_rasa_looks_for_have_to_be_listed(name: str, is_told: bool, tmp_path: Path) -> None:
    (tmp_path / "actions.py").write_text(CLASS.format(name=name), encoding="utf-8")

    assert places(checked(tmp_path), "form-action-unlisted") == (["actions.py:1:1"] if is_told else [])


def test_a_listed_action_is_run(tmp_path: Path) -> None:
    (tmp_path / "actions.py").write_text(CLASS.format(name='"validate_pizza_form"'), encoding="utf-8")

    found = checked(tmp_path, (D, "- action_bake", "- action_bake\n- validate_pizza_form"))

    assert places(found, "form-action-unlisted") == []
