"""A project as a command names it: read, and refused where there is nothing to train on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.errors import UserError
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turncheck.project.model import Project


def read_given_project(
    root: Path,
    domain: Path | None,
    data: Sequence[Path] | None,
    config: Path | None,
    endpoints: Path | None = None,
) -> Project:
    """Read a project; a path that was given must be there.

    Raises:
        UserError: a given path is missing.
    """
    given = [
        ("domain", domain),
        ("config", config),
        ("endpoints", endpoints),
        *(("stories", path) for path in data or ()),
    ]
    for name, path in given:
        if path is not None and not path.exists():
            raise UserError(f"the path '{path}' of --{name} does not exist", remedy="Correct the path.")
    return read_project(root, domain=domain, data=data, config=config, endpoints=endpoints)


def ensure_trainable(project: Project) -> None:
    """Refuse a project whose dialogue parts cannot be read, or that has nothing to learn from.

    Raises:
        UserError: says which file is at fault.
    """
    if project.calm is not None:
        raise UserError(f"{project.calm}: the embedded engine does not run CALM assistants")
    ensure_readable(project, {"domain", "stories", "config"})
    if not project.stories and not project.rules:
        raise UserError(
            "the project has neither stories nor rules to learn from", remedy="Write some, or name them with --stories."
        )


def ensure_readable(project: Project, parts: set[str]) -> None:
    """Refuse a project of which one of these parts cannot be read whole.

    Raises:
        UserError: says which file is at fault.
    """
    broken = sorted(project.unreadable & parts)
    if broken:
        fault = next((finding for finding in project.findings if finding.severity == "error"), None)
        raise UserError(
            f"the {' and '.join(broken)} of the project cannot be read{f': {fault.message}' if fault else ''}",
            location=fault.location if fault else None,
            remedy="`turncheck data validate` lists all faults.",
        )
