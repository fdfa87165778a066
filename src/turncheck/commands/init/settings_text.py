"""A ``turncheck.yml`` with every key explained; keys that are commented out have their default."""

from __future__ import annotations

import json
from textwrap import wrap
from typing import Any, Final

from turncheck.settings.options import default_of, options

_WIDTH: Final = 100
_SAID: Final = ("not-judged",)
"""Keys that are there with their defaults, since teams decide them first; the workflow decides what fails a run."""

_ELSEWHERE: Final = ("project", "projects")
"""Keys of a file that is not in the assistant's own folder."""


def settings_text() -> str:
    """Return the file's text."""
    parts = ["# Settings of turncheck: every key, explained. A key that is commented out has its default.\n"]
    for name, option in options().items():
        if not option.file_key or name in _ELSEWHERE:
            continue
        about = f"{option.help[0].upper()}{option.help[1:]}"
        if not all(choice in about for choice in option.choices):
            about += f" ({', '.join(option.choices)})"
        lines = [f"# {line}" for line in wrap(f"{about}.", _WIDTH, break_long_words=False, break_on_hyphens=False)]
        mark = "" if name in _SAID else "# "
        parts.append("\n".join([*lines, f"{mark}{name}: {_value(default_of(name))}"]) + "\n")
    return "\n".join(parts)


def _value(default: Any) -> str:
    if default is None:
        return "…"
    if default == "":
        return '""'
    return json.dumps(list(default) if isinstance(default, tuple) else default).replace('"', "")
