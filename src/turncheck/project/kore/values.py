"""Values of an export, any of which may be missing, null, or of another type than in all other exports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NO_BREAK_SPACE: Final = "\u00a0"
_JAVASCRIPT: Final = re.compile(r"/(?P<pattern>.*)/(?P<flags>[a-z]*)\Z", re.DOTALL)
_FLAGS: Final = "ims"
"""The flags that mean the same in Python, where ``g`` and ``u`` are not needed."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, or an empty one if the value is not an object."""
    return value if isinstance(value, dict) else {}


def records(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects in a list with their indexes; anything else is skipped."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict):
                yield index, item


def strings(value: Any) -> list[str]:
    """Return the strings in a list, cleaned, without empty ones."""
    return [text for item in value if (text := clean(item))] if isinstance(value, list) else []


def clean(value: Any) -> str:
    """Return a string trimmed, with no-break spaces as spaces; "" if the value is not a string."""
    return value.replace(_NO_BREAK_SPACE, " ").strip() if isinstance(value, str) else ""


def in_language(record: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """Return the part of a record in a language."""
    return mapping(mapping(record.get("localeData")).get(language))


def unquoted(word: str) -> str:
    """Return a synonym without the quotes around its words, one of which may be missing."""
    return word.strip().strip('"“”').strip()


def python_pattern(written: str) -> str:
    r"""Return a regular expression in Python's syntax: ``/\d{4}/gi`` becomes ``(?i)\d{4}``."""
    match = _JAVASCRIPT.match(written.strip())
    if match is None:
        return written.strip()
    flags = "".join(flag for flag in _FLAGS if flag in match["flags"])
    return f"(?{flags}){match['pattern']}" if flags else match["pattern"]
