"""Where a path that is written leads: no symbolic link of a checkout leads out of it.

A link in a checkout may be the change's. Whoever runs turncheck can name another place by itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import is_link, is_there

if TYPE_CHECKING:
    from collections.abc import Iterator

_GIT: Final = ".git"
_MOST_LINKS: Final = 40
"""As many as the system follows."""


def on_the_way(path: Path) -> Iterator[Path]:
    """Yield each symbolic link on the way to a path, and where it leads; each by its real path.

    Raises:
        UserError: the links lead in a circle.
    """
    waiting = list(reversed(Path(os.path.abspath(path)).parts))  # noqa: PTH100 - resolve() follows links
    current, links = Path(waiting.pop()), 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            current = current.parent
            continue
        current /= part
        if not is_link(current):
            continue
        yield current
        links += 1
        if links > _MOST_LINKS:
            raise UserError(f"'{path}' cannot be reached: its links lead in a circle")
        target = current.readlink()
        current = Path(target.anchor) if target.is_absolute() else current.parent
        waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    yield current


def ensure_inside(path: Path, project: Path | None = None) -> None:
    """Refuse a place to write to that a link leads to out of its checkout, or into what git keeps there.

    Without a checkout, the links of the current folder and of ``project`` may not lead out of that.

    Raises:
        UserError: one does, or the links lead in a circle.
    """
    *links, end = on_the_way(path)
    for link in links:
        top = _top_around(link, project)
        if top is not None and not end.is_relative_to(top):
            raise _refusal(path, link, f"leads out of '{top}'")
        if top is not None and _GIT in end.relative_to(top).parts:
            raise _refusal(path, link, "leads to files of git")


def _top_around(link: Path, project: Path | None) -> Path | None:
    """Return the folder that a link belongs to: the innermost checkout, else the project or the current folder.

    Nothing is asked of git: a change cannot bring a ``.git``, and one more would only allow less.
    """
    checkout = next((folder for folder in link.parents if is_there(folder / _GIT)), None)
    others = (Path(os.path.realpath(folder)) for folder in (project, Path()) if folder is not None)
    return checkout or next((folder for folder in others if link.is_relative_to(folder)), None)


def _refusal(path: Path, link: Path, why: str) -> UserError:
    return UserError(
        f"'{path}' is not written: the symbolic link '{link}' {why}",
        hint="Remove the link, or name the folder that it leads to.",
    )
