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
    return ChangedLines({project.name(path): with_enclosing(changed, _text(path)) for path, changed in lines.items()})


def with_enclosing(lines: frozenset[int], text: str) -> frozenset[int]:
    """Return lines of a file with those that hold them by indentation.

    Who changes a threshold changes its component, and who changes a line of a response's text that response.

    >>> sorted(with_enclosing(frozenset({4}), "slots:\\n  size:\\n    values:\\n    - small\\n  name:\\n"))
    [1, 2, 3, 4]
    """
    found = set(lines)
    holders: list[tuple[int, bool, int]] = []  # indentation, whether it is an entry of a list, number of the line
    for number, line in enumerate(text.split("\n"), start=1):
        said = line.lstrip(" ")
        if not said or said.startswith("#"):
            continue
        depth, is_entry = len(line) - len(said), said.startswith("- ") or said.rstrip() == "-"
        # A list may be as far to the right as its key.
        while holders and holders[-1][0] >= depth and not (holders[-1][0] == depth and is_entry > holders[-1][1]):
            holders.pop()
        if number in lines:
            found |= {holder for _, _, holder in holders}
        holders.append((depth, is_entry, number))
    return frozenset(found)


def _text(path: Path) -> str:
    """Return what a file says, nothing where it is not plainly a file."""
    try:
        return "" if path.is_symlink() or not path.is_file() else path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
