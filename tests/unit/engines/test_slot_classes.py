"""Slots whose type is a class of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_project import checked, places

if TYPE_CHECKING:
    from pathlib import Path

MODULES = {
    "a class": "class MySlot(Slot):\n    pass\n",
    "an import": "from .other import Other, MySlot\n",
    "a longer import": "from .other import (\n    Other,\n    Their as MySlot,  # renamed\n)\n",
    "all of a module": "from .other import *\n",
    "an assignment": "MySlot = make_slot()\n",
    "when asked": "def __getattr__(name):\n    return make(name)\n",
}


def unknown(tmp_path: Path, kind: str, **modules: str) -> list[str]:
    slot = f"slots:\n  odd:\n    type: {kind}\n    mappings:\n    - type: custom\n"
    return places(checked(tmp_path, ("domain.yml", "slots:\n", slot), **modules), "slot-type-unknown")


@pytest.mark.parametrize("what", MODULES)
@pytest.mark.parametrize("file", ["actions/slots.py", "actions/slots/__init__.py"])
def test_a_class_in_the_project_is_a_type(what: str, file: str, tmp_path: Path) -> None:
    assert unknown(tmp_path, "actions.slots.MySlot", **{file: MODULES[what]}) == []


@pytest.mark.parametrize("name", ["Text", "Boolean", "List", "Any", "Categorical", "Float"])
def test_a_class_of_rasas_own_is_a_type(name: str, tmp_path: Path) -> None:
    assert unknown(tmp_path, f"rasa.shared.core.slots.{name}Slot") == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("rasa.shared.nope.MySlot", ""),
        ("rasa.core.slots.TextSlot", ""),
        ("actions.slots.MySlot", "x = 1\n"),
        ("actions.slots.MySlot", "def MySlot():\n    pass\n"),
        ("actions.slots.MySlot", "# MySlot was here\nclass MySlots:\n    pass\n"),
        ("actions.MySlot", "class MySlot:\n    pass\n"),
        ("actions.other.MySlot", "class MySlot:\n    pass\n"),
        ("MySlot", "class MySlot:\n    pass\n"),
        ("...", ""),
    ],
)
def test_any_other_is_none(kind: str, text: str, tmp_path: Path) -> None:
    assert unknown(tmp_path, kind, **{"actions/slots.py": text}) == ["domain.yml:14:3"]


def test_a_module_that_is_a_link_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "slots.py").write_text("x = 1\n", encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "slots.py").symlink_to(tmp_path / "slots.py")
    assert unknown(project, "slots.MySlot") == []
