"""Keeps what ``${NAME}`` in a project's files stands for out of its report, and so out of all that is made of it.

It may be a secret, and whoever opens a pull request decides where it stands: in a response, a slot, a name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from msgspec import Struct, structs

from turncheck.messages.finding import Location
from turncheck.process.environment import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.model import Project
    from turncheck.report.model import Report

_LEAST: Final = 4
"""Shorter values (``5``, ``en``) are found in ordinary words: without them no report could be read."""
_LEAST_ANYWHERE: Final = 8
"""Values shorter than this are only hidden where they are words of their own."""
_ORDINARY: Final = frozenset({"true", "false", "null", "none"})
_WITHOUT: Final = frozenset({"schema", "tool", "source", "settings", "plugins"})
"""Parts of a report in which nothing of the project's files is."""


def values_in(project: Project) -> tuple[str, ...]:
    """Return what is to be hidden of a project: the values and their lines, the longest first."""
    parts = {part.strip() for value in project.expanded for part in (value, *value.splitlines())}
    kept = {part for part in parts if len(part) >= _LEAST and part.lower() not in _ORDINARY}
    return tuple(sorted(kept, key=lambda part: (-len(part), part)))


def masked(report: Report, values: Iterable[str]) -> Report:
    """Return a report in which ``***`` stands for these values, wherever they are."""
    words = [
        re.escape(value) if len(value) >= _LEAST_ANYWHERE else rf"(?<!\w){re.escape(value)}(?!\w)" for value in values
    ]
    if not words:
        return report
    pattern = re.compile("|".join(words))
    changed = {
        name: _masked(getattr(report, name), pattern) for name in report.__struct_fields__ if name not in _WITHOUT
    }
    return structs.replace(report, **changed)


def _masked(value: Any, pattern: re.Pattern[str]) -> Any:
    found = value
    if isinstance(value, str):
        found = pattern.sub(HIDDEN, value)
    elif isinstance(value, Struct):
        if not isinstance(value, Location):  # paths are nowhere expanded
            parts = {name: getattr(value, name) for name in _free_fields(type(value))}
            new = {name: _masked(part, pattern) for name, part in parts.items()}
            if any(new[name] is not part for name, part in parts.items()):
                found = structs.replace(value, **new)
    elif isinstance(value, tuple | list):
        items = [_masked(item, pattern) for item in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            found = type(value)(items)
    elif isinstance(value, dict):
        found = {_masked(key, pattern): _masked(item, pattern) for key, item in value.items()}
    return found


@cache
def _free_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields of a document's part that hold text, not one of a few words."""
    return tuple(one.name for one in structs.fields(kind) if not _is_literal(one.type))


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal or any(get_origin(one) is Literal for one in get_args(kind))
