"""Values of an export, of which any may be missing, null, or of another type than in all other exports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NO_BREAK_SPACE: Final = "\u00a0"
_JAVASCRIPT: Final = re.compile(r"/(?P<pattern>.*)/(?P<flags>[a-z]*)\Z", re.DOTALL)
_FLAGS: Final = "ims"
"""The flags that mean the same in Python; ``g`` and ``u`` have no meaning of their own there."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def records(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of a list with their indexes, and skip all else."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict):
                yield index, item


def strings(value: Any) -> list[str]:
    """Return the texts of a list, cleaned, without the empty ones."""
    return [text for item in value if (text := clean(item))] if isinstance(value, list) else []


def clean(value: Any) -> str:
    """Return a text as the project has it: trimmed, no-break spaces as blanks; "" where it is none."""
    return value.replace(_NO_BREAK_SPACE, " ").strip() if isinstance(value, str) else ""


def in_language(record: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """Return what a record says in a language."""
    return mapping(mapping(record.get("localeData")).get(language))


def unquoted(word: str) -> str:
    """Return a synonym without the quotes that keep its words together, of which one may be missing."""
    return word.strip().strip('"“”').strip()


def python_pattern(written: str) -> str:
    r"""Return a regular expression as Python has it: ``/\d{4}/gi`` is ``(?i)\d{4}``."""
    match = _JAVASCRIPT.match(written.strip())
    if match is None:
        return written.strip()
    flags = "".join(flag for flag in _FLAGS if flag in match["flags"])
    return f"(?{flags}){match['pattern']}" if flags else match["pattern"]
