"""The fields of values: their classes are structs of msgspec, or data classes if a field is not compared."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from msgspec import Struct


def field_names(kind: type[Any], *, compared: bool = False) -> tuple[str, ...] | None:
    """Return the names of the fields of a class of values, or of those compared; ``None`` of any other class."""
    if issubclass(kind, Struct):
        return kind.__struct_fields__
    if not is_dataclass(kind):
        return None
    return tuple(field.name for field in fields(kind) if field.compare or not compared)
