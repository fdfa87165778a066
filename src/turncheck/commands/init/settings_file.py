"""A ``turncheck.yml`` with the keys that matter most, explained; keys that are commented out have their default."""

from __future__ import annotations

import json
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from turncheck.report.codec import ADDRESS
from turncheck.settings.declared import default_of, options
from turncheck.settings.groups import FIRST

if TYPE_CHECKING:
    from collections.abc import Mapping


_WIDTH: Final = 100
_ELSEWHERE: Final = ("project", "projects")
"""Keys of a file that is not in the assistant's own folder."""


def settings_text(chosen: Mapping[str, str | tuple[str, ...]] = MappingProxyType({})) -> str:
    """Return the file's text; ``chosen``: the values of keys that have not their defaults.

    An editor that knows the schema completes and explains the keys that are not in it.
    """
    head = f"# yaml-language-server: $schema={ADDRESS}turncheck.schema.json"
    parts = [
        f"{head}\n# Settings of turncheck: the keys that matter most, with their defaults. docs/settings.md has all.\n"
    ]
    for name, option in options().items():
        if not option.file_key or name in _ELSEWHERE or (name not in FIRST and name not in chosen):
            continue
        about = f"{option.help[0].upper()}{option.help[1:]}"
        if not all(choice in about for choice in option.choices):
            about += f" ({', '.join(option.choices)})"
        lines = [f"# {line}" for line in wrap(f"{about}.", _WIDTH, break_long_words=False, break_on_hyphens=False)]
        mark = "" if name in chosen else "# "
        parts.append("\n".join([*lines, f"{mark}{name}: {value_text(chosen.get(name, default_of(name)))}"]) + "\n")
    return "\n".join(parts)


def value_text(default: Any) -> str:
    if default is None:
        return "…"
    if default == "":
        return '""'
    return json.dumps(list(default) if isinstance(default, tuple) else default).replace('"', "")
