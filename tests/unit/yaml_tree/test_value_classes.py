"""Classes of values are structs: those that are data classes have something that no struct has."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from turncheck.messages.value_classes import field_names

SOURCE = Path(__file__).parents[3] / "src" / "turncheck"
BEFORE_MSGSPEC = {
    "ci/hosts.py",
    "gates/gate.py",
    "settings/engines.py",
    "settings/options.py",
    "settings/parsers.py",
    "settings/repeats.py",
}
"""What `turncheck run --help` needs, which loads no msgspec."""
ONLY_OF_DATA_CLASSES = {"compare", "repr", "init", "kw_only"}


class Point(Struct, frozen=True):
    x: int
    y: int = 0


@dataclass(frozen=True)
class Place:
    name: str
    line: int = field(default=0, compare=False)


def test_the_fields_of_both_kinds_of_values_are_known() -> None:
    assert field_names(Point) == ("x", "y")
    assert field_names(Place) == ("name", "line")
    assert field_names(Place, compared=True) == ("name",)
    assert field_names(str) is None


def is_plain(kind: ast.ClassDef) -> bool:
    """Whether a frozen class with slots, of no family, has nothing that only a data class can have."""
    options = {
        ast.unparse(keyword) for call in kind.decorator_list if isinstance(call, ast.Call) for keyword in call.keywords
    }
    fields = [part.value for part in kind.body if isinstance(part, ast.AnnAssign) and isinstance(part.value, ast.Call)]
    more = {str(keyword.arg) for value in fields for keyword in value.keywords}
    sets = "object.__setattr__" in ast.unparse(kind)
    return {"frozen=True", "slots=True"} <= options and not kind.bases and not sets and not more & ONLY_OF_DATA_CLASSES


def test_a_frozen_data_class_has_a_field_that_is_not_compared_or_not_shown() -> None:
    classes = {
        (str(path.relative_to(SOURCE)), part.name): part
        for path in SOURCE.rglob("*.py")
        for part in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(part, ast.ClassDef)
    }
    bases = {ast.unparse(base) for kind in classes.values() for base in kind.bases}
    plain = {where for where, kind in classes.items() if is_plain(kind) and where[1] not in bases}

    assert {place for place, _ in plain} <= BEFORE_MSGSPEC
