"""The settings that gates are made of."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import shown_path
from turncheck.report.model import GateSettings
from turncheck.settings.declared import of_scope, options
from turncheck.settings.engines import ENGINES
from turncheck.settings.file import read_settings_file
from turncheck.settings.repeats import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from turncheck.settings.options import Settings

GATES: Final = tuple(name.replace("-", "_") for name in of_scope("judging"))
"""Settings that judge, and are in the report."""


def gate_settings(settings: Settings) -> GateSettings:
    """Return the settings that judge or choose what is judged, and are in the report."""
    reported = (name.replace("-", "_") for name, option in options().items() if option.reported)
    values = {name: getattr(settings, name) for name in reported if name != "projects"}
    for name in ("config", "domain", "data", "nlu", "stories", "e2e", "batch"):
        paths = (values[name],) if isinstance(values[name], str) else values[name]
        values[name] = _in_project(filter(None, paths or ()), settings)
    values |= {
        "language": settings.language or "",
        "vectors": _vectors(settings),
        "bot": () if settings.bot is None else settings.bot.lines,
    }
    if settings.repeats == AUTO and ENGINES[settings.engine].from_files:
        del values["repeats"]
    return GateSettings(**values)


def named_projects(folder: Path) -> tuple[str, ...]:
    """Return the assistants that the ``turncheck.yml`` of a folder names, as the report has them.

    Raises:
        UserError: the file cannot be read.
    """
    named = read_settings_file(folder).values.get("projects", ()) if folder.is_dir() else ()
    return tuple(shown_path(os.path.relpath(path, folder)) for path in named)


def _vectors(settings: Settings) -> str:
    if isinstance(settings.vectors, bool):
        return "true" if settings.vectors else "false"
    return _in_project((settings.vectors,), settings)[0]


def _in_project(paths: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """Paths as the report has them: relative to the project, wherever that is."""
    return tuple(shown_path(os.path.relpath(path, settings.project)) for path in paths)
