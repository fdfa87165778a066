"""The parts of the platform's answers: objects, strings and figures, or an error that says what is wrong."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Json = Any
_MOST: Final = 10**9
"""The largest figure of a run."""
_LONGEST: Final = 3000
"""The most characters of a name or a link."""
_LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class UnreadableError(ValueError):
    """An answer that is not what was expected; the message says what is wrong with it."""


def read_json(body: bytes) -> Json:
    """Return an answer's content, with only strings that can be written.

    Raises:
        UnreadableError: it is not JSON.
    """
    try:
        value = json.loads(body.decode("utf-8", "replace"))
        return _writable(value) if _LONE_SURROGATE.search(body) else value
    except (ValueError, RecursionError):
        raise UnreadableError("it is not JSON" if body.strip() else "it is empty") from None


def _writable(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_writable(item) for item in value]
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    return value


def read_object(value: Json, name: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise UnreadableError(f"{name} is not an object")
    return value


def read_objects(value: Json, name: str) -> list[dict[str, Json]]:
    """Return the objects of a list; one object counts as a list of it, nothing as an empty one."""
    listed: Iterable[Json] = [] if value is None else [value] if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise UnreadableError(f"{name} is not a list")
    return [read_object(entry, f"an entry of {name}") for entry in listed]


def read_string(value: Mapping[str, Json], key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str) or not found.strip():
        raise UnreadableError(f"`{key}` is not a string" if key in value else f"it has no `{key}`")
    if len(found) > _LONGEST:
        raise UnreadableError(f"`{key}` has more than {_LONGEST:,} characters")
    return found.strip()


def read_number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def read_count(counts: Mapping[str, Json], key: str) -> int:
    value = counts.get(key, 0)
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        value = int(value)
    number = read_number(value)
    if number is None or not number.is_integer() or not 0 <= number <= _MOST:
        raise UnreadableError(f"`{key}` is not a count")
    return int(number)


def read_share(value: Json) -> str:
    """Return a share as the platform writes it, ``""`` if it is not one."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,3}(\.\d{1,6})?", value.strip(), re.ASCII):
        return value.strip()
    number = read_number(value)
    return "" if number is None else f"{number:.2f}"
