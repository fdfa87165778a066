"""Which lines of the project a change touches: what differs from where it left its base."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.ci.git import GitError, find_checkout
from turncheck.ci.host import Base
from turncheck.project.folder import ProjectFolder
from turncheck.run.find_base import BaseSearch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.ci.host import Host
    from turncheck.settings.options import Settings


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """Lines by file, as places name them. ``unknown``: why nobody knows, "" where they are known."""

    by_file: Mapping[str, frozenset[int]] = field(default_factory=dict)
    unknown: str = ""


def changed_lines(settings: Settings, host: Host) -> ChangedLines:
    """Return the lines of a project that its base does not have."""
    folder = Path(settings.project)
    checkout = find_checkout(folder)
    if checkout is None:
        return ChangedLines(unknown="the project is not in a git checkout")
    search = BaseSearch(settings, checkout, host, lambda _, __: None)
    found = search.find() if settings.base is None else search.find_named(settings.base)
    if not isinstance(found, Base) or found.commit is None:
        return ChangedLines(unknown=getattr(found, "reason", "") or "the base is not known")
    try:
        lines = checkout.changed_lines(found.commit, folder)
    except GitError as error:
        return ChangedLines(unknown=f"git: {error}")
    project = ProjectFolder(folder)
    return ChangedLines({project.name(path): changed for path, changed in lines.items()})
