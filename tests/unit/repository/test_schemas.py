"""The committed JSON Schemas are those of the types, and the documents are valid by them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pull_request import pull_request
from tools import write_schemas

from turncheck.comparison.metrics import METRICS
from turncheck.comparison.model import encode
from turncheck.render.wording.verdict import json_schemas

DOCS = Path(__file__).parents[3] / "docs"
documents = cache(write_schemas.documents)
NAMES = sorted(path.name for path in DOCS.glob("*.schema.json"))


@pytest.mark.parametrize("name", ["comparison", "verdict"])
def test_the_committed_schema_is_the_one_of_the_types(name: str) -> None:
    """Write the new ones with: python tools/write_schemas.py"""
    made = json.loads(json.dumps(json_schemas()[name]))

    assert json.loads((DOCS / f"{name}.schema.json").read_text("utf-8")) == made


@pytest.mark.slow
def test_what_is_written_is_valid_by_them() -> None:
    _, comparison, verdict = pull_request()
    schemas = json_schemas()

    jsonschema.validate(json.loads(encode(comparison)), schemas["comparison"])
    jsonschema.validate(json.loads(encode(verdict)), schemas["verdict"])


def test_every_metric_name_of_the_page_on_gates_is_known() -> None:
    page = (DOCS / "gates.md").read_text("utf-8")
    names = set(re.findall(r"`((?:validation|nlu|core|e2e|batch|coverage)\.[^`\s:]+)`", page))

    assert len(names) > 15
    assert [name for name in names if not any(family.pattern.fullmatch(name) for family in METRICS)] == []


def properties(schema: Any) -> Iterator[tuple[str, Any]]:
    """All properties of all objects in a schema, by name."""
    if isinstance(schema, dict):
        found = schema.get("properties")
        if isinstance(found, dict):
            yield from found.items()
        for part in schema.values():
            yield from properties(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from properties(part)


@pytest.mark.slow
def test_no_schema_is_left_over_or_missing() -> None:
    assert sorted(documents()) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_property_is_described_and_the_schema_has_an_absolute_address(name: str) -> None:
    """The description of a document's property is the string below its field."""
    schema = json.loads(documents()[name])

    assert (DOCS / name).read_text("utf-8") == documents()[name]
    assert schema["$id"].startswith("https://")
    assert schema["$id"].endswith(f"/docs/{name}")
    found = [(key, part) for key, part in properties(schema) if isinstance(part, dict)]
    assert len(found) > 5
    assert [key for key, part in found if not str(part.get("description", "")).endswith((".", "…"))] == []
