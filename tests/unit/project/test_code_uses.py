"""Names that Python code uses: what is recognised with its place, and that the code is never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_project import checked, places

from turncheck.project.code_uses import uses_in_code

if TYPE_CHECKING:
    from pathlib import Path


def uses(folder: Path, code: str) -> list[tuple[str, str, int | None]]:
    (folder / "actions.py").write_text(f"import rasa_sdk\n{code}\n", encoding="utf-8")
    return [(use.kind, use.name, use.location.line) for use in uses_in_code(folder)]


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        ('tracker.get_slot("size")', "slot", "size"),
        ("tracker.get_slot(key='size')", "slot", "size"),
        ("self.tracker.get_slot(\n'size')", "slot", "size"),
        ('tracker.slots["size"]', "slot", "size"),
        ('tracker.slots.get("size", 1)', "slot", "size"),
        ('tracker.current_slot_values()["size"]', "slot", "size"),
        ('tracker.current_slot_values().get("size")', "slot", "size"),
        ('return_value = [SlotSet("size", None)]', "slot", "size"),
        ('rasa_sdk.events.SlotSet(key="size", value=1)', "slot", "size"),
        ('dispatcher.utter_message(response="utter_x")', "response", "utter_x"),
        ('dispatcher.utter_message(template="utter_x")', "response", "utter_x"),
        ('dispatcher.utter_template("utter_x", tracker)', "response", "utter_x"),
        ('dispatcher.utter_message(response="utter_x" if big else "utter_y")', "response", "utter_y"),
        ('FollowupAction("action_x")', "action", "action_x"),
        ('FollowupAction(name="action_x")', "action", "action_x"),
        ('ActiveLoop("x_form")', "form", "x_form"),
        ('tracker.active_loop.get("name") == "x_form"', "form", "x_form"),
        ('tracker.active_loop_name != "x_form"', "form", "x_form"),
        ('tracker.get_intent_of_latest_message() == "greet"', "intent", "greet"),
        ('tracker.latest_message["intent"]["name"] in ("greet", "bye")', "intent", "bye"),
        ('"greet" == tracker.latest_message["intent"].get("name")', "intent", "greet"),
        ('next(tracker.get_latest_entity_values("city"), None)', "entity", "city"),
    ],
)
def test_what_is_used(code: str, kind: str, name: str, tmp_path: Path) -> None:
    assert (kind, name) in {use[:2] for use in uses(tmp_path, code)}


def test_a_validation_action_uses_the_slots_of_its_methods_and_what_they_return(tmp_path: Path) -> None:
    code = """\
class ValidateForm(rasa_sdk.FormValidationAction):
    def validate_size(self, value):
        return {"size": value, "color": None}
    async def extract_city(self):
        return {}
class Other(Action):
    def validate_nothing(self):
        return {"nothing": 1}
"""
    assert uses(tmp_path, code) == [
        *(("method", "size", 3), ("slot", "size", 4), ("slot", "color", 4)),
        ("method", "city", 5),
    ]


@pytest.mark.parametrize(
    "code",
    [
        '# tracker.get_slot("size")',
        '"""tracker.get_slot("size")"""',
        "tracker.get_slot(name)",
        'tracker.get_slot(f"{name}")',
        'tracker.other("size")',
        'slots["size"]',
        'print "tracker.get_slot("size")',
        "raise SystemExit(tracker)",
        "(" * 5_000,
    ],
)
def test_what_is_not_written_or_cannot_be_parsed_is_no_use(code: str, tmp_path: Path) -> None:
    assert uses(tmp_path, code) == []


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_fault(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("code")
    (folder / "a.py").write_bytes(b"tracker\n" + text.encode("utf-8", "replace"))
    assert isinstance(uses_in_code(folder), tuple)


OF_ACTION = """\
import rasa_sdk
class One(rasa_sdk.Action):
    def name(self):
        return {name}

    def run(self, dispatcher, tracker, domain):
        return [SlotSet("sise", 1)]
"""


@pytest.mark.parametrize(
    ("name", "is_told"),
    [
        ('"action_bake"', True),  # in the domain
        ('"pizza_form"', True),  # a form
        ('"action_session_start"', True),  # one of Rasa's own
        ('"action_old"', False),
        ("self.called", True),  # computed
    ],
)
def test_code_of_an_action_that_the_domain_does_not_list_is_never_run(name: str, is_told: bool, tmp_path: Path) -> None:
    (tmp_path / "actions.py").write_text(OF_ACTION.format(name=name), encoding="utf-8")

    assert places(checked(tmp_path), "code-name-undefined") == (["actions.py:7:25"] if is_told else [])


def test_what_an_action_calls_outside_of_its_class_is_used_by_others_too(tmp_path: Path) -> None:
    code = OF_ACTION.format(name='"action_old"') + "def helped(tracker):\n    return tracker.get_slot('color')\n"
    (tmp_path / "actions.py").write_text(code, encoding="utf-8")

    assert places(checked(tmp_path), "code-name-undefined") == ["actions.py:9:29"]


@pytest.mark.parametrize(("slot", "is_told"), [("num-people", False), ("num_people", False), ("number", True)])
def test_methods_are_named_after_slots_whose_dashes_are_underscores(slot: str, is_told: bool, tmp_path: Path) -> None:
    code = "class V(FormValidationAction):\n    def validate_num_people(self, value, tracker):\n        return {}\n"
    (tmp_path / "actions.py").write_text(code, encoding="utf-8")
    defined = ("domain.yml", "slots:\n", f"slots:\n  {slot}:\n    type: text\n    mappings:\n    - type: custom\n")

    assert places(checked(tmp_path, defined), "code-name-undefined") == (["actions.py:2:5"] if is_told else [])
