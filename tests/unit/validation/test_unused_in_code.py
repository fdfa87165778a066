"""What only code or a button uses is not called unused."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import checked, places

from turncheck.project.testfiles import code_of_actions, names_in_code

D = "domain.yml"
LEFT_OVER = (D, "slots:\n", "slots:\n  doctor:\n    type: text\n    mappings:\n    - type: custom\n")
OLD_ACTION = (D, "- action_bake", "- action_bake\n- action_old")


def _code(folder: Path, path: str, text: str) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_slot_that_an_action_reads_is_used(tmp_path: Path) -> None:
    assert places(checked(tmp_path, LEFT_OVER), "slot-unused") == ["domain.yml:14:3"]
    _code(tmp_path, "actions/booking.py", 'doctor = tracker.get_slot("doctor")\n')
    assert places(checked(tmp_path, LEFT_OVER), "slot-unused") == []


def test_an_action_is_used_where_code_calls_it_not_where_code_defines_it(tmp_path: Path) -> None:
    _code(tmp_path, "actions/old.py", 'def name(self):\n    return "action_old"\n')
    assert places(checked(tmp_path, OLD_ACTION), "action-unused")
    _code(tmp_path, "actions/new.py", "return [FollowupAction(name='action_old')]\n")
    assert places(checked(tmp_path, OLD_ACTION), "action-unused") == []


IDLE = (D, "responses:\n", "responses:\n  utter_idle:\n  - text: Idle\n")


@pytest.mark.parametrize("quoted", ['"utter_idle"', "'utter_idle'", '"utter_idle/of_a_key"'])
def test_a_response_that_an_action_utters_is_used(quoted: str, tmp_path: Path) -> None:
    assert places(checked(tmp_path, IDLE), "response-unused") == ["domain.yml:27:3"]
    _code(tmp_path, "actions/idle.py", f"dispatcher.utter_message(response={quoted})\n")
    assert places(checked(tmp_path, IDLE), "response-unused") == []


def test_code_that_names_another_response_is_no_use(tmp_path: Path) -> None:
    _code(tmp_path, "actions/idle.py", 'dispatcher.utter_message(response="utter_idle_again")\n# utter_idle\n')
    assert places(checked(tmp_path, IDLE), "response-unused")


@pytest.mark.parametrize("folder", [".cache", "node_modules/x", "env"])
def test_code_of_others_names_nothing(folder: str, tmp_path: Path) -> None:
    _code(tmp_path, "env/pyvenv.cfg", "")
    _code(tmp_path, f"{folder}/x.py", 'tracker.get_slot("doctor")\n')
    assert names_in_code(tmp_path).quoted == frozenset()


@pytest.mark.parametrize("payload", ['/order{"color": "red"}', '/order{{"color": "red"}}'])
def test_an_entity_that_a_button_brings_is_used(payload: str, tmp_path: Path) -> None:
    button = (D, "    buttons:\n", f"    buttons:\n    - title: red\n      payload: '{payload}'\n")
    assert places(checked(tmp_path, (D, "- size\n", "- size\n- color\n"), button), "entity-unused") == []


ACTION = (
    'class Book(Action):\n    def name(self):\n        return "action_book"\n\n    def run(self):\n        return {}\n'
)


def test_the_code_of_an_action_is_known_by_its_name_without_comments_and_layout(tmp_path: Path) -> None:
    _code(tmp_path, "actions/actions.py", ACTION.format("[]"))
    before = code_of_actions(tmp_path)
    _code(tmp_path, "actions/actions.py", "# said otherwise\n\n" + ACTION.format("[ ]  # nothing"))
    remarked = code_of_actions(tmp_path)
    body = ACTION.format("[]").replace("\n    def run", "\n    'All books.'\n    def run")
    _code(
        tmp_path,
        "actions/actions.py",
        body.replace("self):\n        return []", "self):\n        'Once.'\n        return []"),
    )
    explained = code_of_actions(tmp_path)
    _code(tmp_path, "actions/actions.py", ACTION.format("[SlotSet('size')]"))
    edited = code_of_actions(tmp_path)

    assert list(before) == ["action_book"]
    assert remarked == explained == before
    assert edited != before


@pytest.mark.parametrize("text", ["def name(self:\n", "def name\x00", "def name(): pass\n" + "(" * 5000])
def test_code_that_is_none_is_left_to_the_action_server(text: str, tmp_path: Path) -> None:
    _code(tmp_path, "actions/broken.py", text)
    _code(tmp_path, "actions/good.py", ACTION.format("[]"))

    assert list(code_of_actions(tmp_path)) == ["action_book"]
