"""JSON Schemas of the documents turncheck writes, made from their types.

A property is described by the string below its field, a type by its docstring. The schemas are in ``docs/`` and come
with the package: ``importlib.resources.files("turncheck") / "schemas" / "report.schema.json"``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any, Final

import msgspec

ADDRESS: Final = "https://raw.githubusercontent.com/turncheck/turncheck/main/docs/"
"""Where the schemas are; an ``$id`` is an absolute address (JSON Schema 2020-12, 8.2.1)."""


def document_schema(document: type, *, name: str, title: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document's type, the same with every version of Python.

    Args:
        document: the type.
        name: the file's name under ``docs/``, without ``.schema.json``.
        title: the document's title.
    """
    (schema,), parts = msgspec.json.schema_components([document], ref_template="#/$defs/{name}")
    types = _types_below(document)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}{name}.schema.json",
        "title": title,
        **schema,
        "$defs": {name: _described(part, types[name]) for name, part in parts.items()},
    }


def _types_below(document: type) -> dict[str, type]:
    """All types that a document consists of, by name."""
    found: dict[str, type] = {}

    def visit(node: Any) -> None:
        if isinstance(node, list | tuple):
            for one in node:
                visit(one)
        elif isinstance(node, msgspec.Struct):
            cls = getattr(node, "cls", None)
            if cls is not None:
                if cls.__name__ in found:
                    return
                found[cls.__name__] = cls
            for name in node.__struct_fields__:
                visit(getattr(node, name))

    visit(msgspec.inspect.type_info(document))
    return found


def _described(schema: dict[str, Any], described: type) -> dict[str, Any]:
    """Add the strings below the fields; take the docstring without its indentation, which Python 3.12 leaves there."""
    texts: dict[str, str] = {}
    for base in reversed(described.__mro__):
        if base.__module__ == described.__module__:
            texts |= field_descriptions(base)
    properties = {
        name: {"description": texts[name], **part} if name in texts else part
        for name, part in schema["properties"].items()
    }
    return {**schema, "description": inspect.getdoc(described) or "", "properties": properties}


def field_descriptions(described: type) -> dict[str, str]:
    """Return the string below each field of a class, on one line, by the field's name."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(described))).body
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - it is the source of a class
    texts = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
            case _:
                pass
    return texts
