"""The page about the architecture names every room, and only files that are there."""

from __future__ import annotations

import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "turncheck"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS, CHANGES = PAGE.split("## Where to change what")


def test_every_room_has_its_paragraph() -> None:
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    headings = " ".join(re.findall(r"\*\*(.+?)\*\*", ROOMS))
    assert set(re.findall(r"`(\w+)`", headings)) == rooms - {"__init__"}


def test_what_is_to_be_changed_is_there() -> None:
    named = re.findall(r"`([\w/*.]+(?:\.\w+|/))`", CHANGES)
    assert len(named) > 15
    assert [one for one in named if not any(any(folder.glob(one)) for folder in (SOURCE, ROOT))] == []


def test_modules_that_the_paragraphs_name_are_there() -> None:
    rooms = {path.name for path in SOURCE.iterdir()}
    paragraphs = re.findall(r"\*\*`(\w+)`\*\*: (.+?)(?=\n\n)", ROOMS, re.DOTALL)
    assert len(paragraphs) > 5
    for room, text in paragraphs:
        for name in set(re.findall(r"`(\w+)/?`", text)) - rooms:
            assert any(SOURCE.glob(f"{room}/**/{name}*")), f"{room}: {name}"


def test_every_platform_has_a_floor_and_so_has_each_module_of_it() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    contracts = tools["importlinter"]["contracts"]
    floors = {name for floor in contracts[0]["layers"] for name in floor.split(" | ")}
    modules = {path.stem for path in (SOURCE / "platforms").iterdir()} - {"__init__", "__pycache__"}
    assert {name for name in floors if name.startswith("platforms")} == {f"platforms.{name}" for name in modules}
    inside = next(one["layers"] for one in contracts if one.get("containers") == ["turncheck.platforms.*"])
    known = {name.strip("()") for floor in inside for name in floor.split(" : ")}
    platforms = modules - {"base", "registry", "rows"}
    assert len(platforms) > 1
    found = {path.stem for name in platforms for path in (SOURCE / "platforms" / name).iterdir()}
    assert found - {"__init__", "__pycache__"} == known


def test_every_module_of_the_gates_has_a_floor() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    floors = [floor.split(" : ") for floor in tools["importlinter"]["contracts"][0]["layers"]]
    modules = {f"gates.{path.stem}" for path in (SOURCE / "gates").glob("*.py")} - {"gates.__init__"}
    assert {name for floor in floors for name in floor if name.startswith("gates")} == modules


def test_no_modules_import_each_other() -> None:
    """Not even for types, and not around a third one."""
    graph = grimp.build_graph("turncheck")
    TopologicalSorter({one: graph.find_modules_directly_imported_by(one) for one in graph.modules}).prepare()
