"""Placeholders of what a bot is sent (``{text}``, ``{session}``): filled in as values, never pasted into JSON.

``{{text}}`` is none, but the text ``{text}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import dumps
from typing import Any, Final
from urllib.parse import quote

PLACEHOLDER: Final = re.compile(r"(?:(?<!\{)|(?=\{[a-z]+\}(?!\})))\{([a-z]+)\}")
_ESCAPED: Final = re.compile(r"\{(\{[a-z]+\})\}")
_EITHER: Final = re.compile(f"{_ESCAPED.pattern}|{PLACEHOLDER.pattern}")


def placeholders(template: Any) -> set[str]:
    """Return the names of the placeholders in a text, or anywhere in a value."""
    if isinstance(template, str):
        return set(PLACEHOLDER.findall(template))
    below = (
        template.values() if isinstance(template, Mapping) else template if isinstance(template, list | tuple) else ()
    )
    return set().union(*map(placeholders, below))


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return the template with its placeholders filled: one that is a whole text becomes the value itself."""
    if isinstance(template, Mapping):
        return {key: filled(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    if (whole := PLACEHOLDER.fullmatch(template)) is not None:
        return values[whole[1]]
    return _EITHER.sub(lambda match: match[1] or _written(values[match[2]]), template)


def filled_path(template: str, values: Mapping[str, Any]) -> str:
    """Return the path with its placeholders filled, percent-encoded."""
    return PLACEHOLDER.sub(lambda match: quote(_written(values[match[1]]), safe=""), template)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)
