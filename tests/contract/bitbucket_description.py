"""Bitbucket's API as the npm package ``bitbucket`` has it, which is made from Atlassian's own description (swagger).

Its routes check parameters at run time; its types are read here: the fields of each kind of document, and their values.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from node_tools import npm_package

VERSION = "2.12.0"
_KIND = re.compile(r"^  export (?:type (\w+) = (?:(\w+) & )?|interface (\w+) )\{\n(.*?)^  \}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"(\w+)\??: (.*)")
_PRIMITIVES: dict[str, Any] = {"string": str, "number": (int, float), "boolean": bool}


@cache
def package() -> Path:
    """Return the folder of the package; it is installed if need be."""
    return npm_package("bitbucket", VERSION)


@cache
def kinds() -> dict[str, tuple[str, str]]:
    """Every kind: what it extends ("" for nothing), and the text of its fields."""
    text = (package() / "lib" / "bitbucket.d.ts").read_text("utf-8")
    found = re.findall(
        r"^  export (?:type (\w+) = (?:(\w+) & )?|interface (\w+) )\{\n(.*?)^  \}", text, re.MULTILINE | re.DOTALL
    )
    return {name or interface: (base, fields) for name, base, interface, fields in found}


def faults(kind: str, document: Any, place: str = "$") -> list[str]:
    """Return what of a document is not as the description has it: unknown fields, values of another type."""
    if kind.endswith("[]"):
        if not isinstance(document, list):
            return [f"{place}: no list"]
        return [one for at, item in enumerate(document) for one in faults(kind[:-2], item, f"{place}[{at}]")]
    if kind in _PRIMITIVES:
        return [] if isinstance(document, _PRIMITIVES[kind]) else [f"{place}: no {kind}"]
    if "'" in kind:
        return [] if document in re.findall(r"'([^']*)'", kind) else [f"{place}: {document!r} is not in {kind}"]
    if kind not in kinds():
        return []  # "unknown", say
    if not isinstance(document, dict):
        return [f"{place}: no object"]
    fields = _fields_of(kind)
    unknown = [f"{place}.{name} is unknown" for name in document if name not in fields]
    return unknown + [
        one
        for name, value in document.items()
        if name in fields
        for one in _of_field(fields[name], value, f"{place}.{name}")
    ]


def _of_field(kind: str | dict[str, Any], value: Any, place: str) -> list[str]:
    if isinstance(kind, str):
        return faults(kind, value, place)
    if not isinstance(value, dict):
        return [f"{place}: no object"]
    unknown = [f"{place}.{name} is unknown" for name in value if name not in kind]
    return unknown + [
        one for name in value if name in kind for one in _of_field(kind[name], value[name], f"{place}.{name}")
    ]


def _fields_of(kind: str) -> dict[str, Any]:
    base, text = kinds()[kind]
    lines = iter(text.splitlines())
    inherited = _fields_of(base) if base in kinds() else {}
    return {"type": "string", **inherited, **_fields(lines)}


def _fields(lines: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in lines:
        if line.strip() == "}":
            break
        if match := _FIELD.match(line.strip()):
            found[match[1]] = _fields(lines) if match[2] == "{" else match[2]
    return found
