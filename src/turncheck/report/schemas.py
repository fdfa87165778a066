"""JSON Schemas of the documents turncheck writes, made from their types."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec


def document_schema(document: type, *, identifier: str, title: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document's type, the same under every version of Python."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": identifier,
        "title": title,
        **_dedented(msgspec.json.schema(document)),
    }


def _dedented(schema: Any) -> Any:
    """Descriptions are docstrings, and only Python 3.13 and newer take their indentation away."""
    if isinstance(schema, dict):
        return {
            key: inspect.cleandoc(value) if key == "description" and isinstance(value, str) else _dedented(value)
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [_dedented(value) for value in schema]
    return schema
