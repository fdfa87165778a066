"""Classes that a Rasa 0 domain lists as actions: named as the project's Python names them, which is never imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate

DOMAIN = """intents:
- book
templates:
  utter_hi:
  - hi
actions:
- utter_hi
- {action}
"""
STORY = "## books\n* book\n  - action_book_room\n"
_CLASS = "class ActionBookRoom(Action):\n"
CODE = {
    "a string": f"{_CLASS}    def name(self):\n        return 'action_book_room'\n",
    "an attribute": f"{_CLASS}    NAME = 'action_book_room'\n    def name(self):\n        return self.NAME\n",
    "a static method": f"{_CLASS}    @staticmethod\n    def name():\n        return 'action_book_room'\n",
}


def project(root: Path, code: dict[str, str], *, domain: str, story: str = STORY) -> Path:
    files = {
        "nlu_config.yml": "language: en\npipeline: tensorflow_embedding\n",
        "policies.yml": "policies:\n- name: MemoizationPolicy\n",
        "domain.yml": domain,
        "data/nlu.md": "## intent:book\n- book it\n- a room please\n",
        "data/stories.md": story,
        **code,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def errors(root: Path) -> list[str]:
    return [finding.message for finding in validate(read_project(root)).findings if finding.severity == "error"]


@pytest.mark.parametrize("written", CODE)
@pytest.mark.parametrize("file", ["actions/rooms.py", "bot/actions/rooms.py", "actions/rooms/__init__.py"])
def test_an_action_has_the_name_that_its_class_returns(tmp_path: Path, file: str, written: str) -> None:
    root = project(tmp_path, {file: CODE[written]}, domain=DOMAIN.format(action="actions.rooms.ActionBookRoom"))
    domain = read_project(root).domain
    assert list(domain.actions) == ["utter_hi", "action_book_room"]
    assert domain.actions["action_book_room"].location.line == 8
    assert errors(root) == []


def test_a_name_that_no_class_has_is_an_error(tmp_path: Path) -> None:
    domain = DOMAIN.format(action="actions.rooms.ActionBookRoom")
    story = STORY.replace("action_book_room", "action_bock_room")
    root = project(tmp_path, {"actions/rooms.py": CODE["a string"]}, domain=domain, story=story)
    (message,) = errors(root)
    assert "The action 'action_bock_room'" in message


@pytest.mark.parametrize(
    "code",
    [
        {},
        {"actions/rooms.py": "class ActionBookRoom(Action):\n    def name(self):\n        return make_name()\n"},
        {"actions/rooms.py": "print 'this is Python 2'\nclass ActionBookRoom: pass\n"},
        {"actions/rooms.py": "from elsewhere import ActionBookRoom\n"},
    ],
    ids=["no file", "computed", "Python 2", "of a package"],
)
def test_what_is_not_seen_is_no_error(tmp_path: Path, code: dict[str, str]) -> None:
    root = project(tmp_path, code, domain=DOMAIN.format(action="actions.rooms.ActionBookRoom"))
    assert errors(root) == []


def test_a_response_is_never_one_of_the_classes_that_are_not_seen(tmp_path: Path) -> None:
    story = STORY + "  - utter_hello\n"
    root = project(tmp_path, {}, domain=DOMAIN.format(action="actions.rooms.ActionBookRoom"), story=story)
    assert "utter_hello" not in read_project(root).domain.actions


def test_names_of_a_remote_factory_are_taken_as_they_are(tmp_path: Path) -> None:
    domain = DOMAIN.format(action="rooms.ActionBookRoom") + "action_factory: remote\n"
    root = project(tmp_path, {"rooms.py": CODE["a string"]}, domain=domain)
    assert "rooms.ActionBookRoom" in read_project(root).domain.actions


def test_code_is_not_imported(tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\n{CODE['a string']}"
    root = project(tmp_path, {"actions/rooms.py": code}, domain=DOMAIN.format(action="actions.rooms.ActionBookRoom"))
    assert errors(root) == []
    assert not (tmp_path / "ran").exists()
