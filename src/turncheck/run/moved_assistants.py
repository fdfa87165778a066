"""Finds where an assistant was on the base if a change moved it, and a flag or an input names only its new place.

A change must not choose what it is compared with. So only assistants that vanish in it count, each is taken by the new
one that has the most of its files, and one that nobody has taken has lost its tests.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.project.folder import assistants_below, is_assistant
from turncheck.run.base_projects import BaseProject, BaseTree, paired
from turncheck.settings.file import read_settings_file
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from pathlib import Path


class Moved(Struct, frozen=True):
    """Where an assistant was, and those of the base that are nowhere any more, by their paths."""

    project: BaseProject
    gone: tuple[BaseProject, ...] = ()


def moved_here(tree: BaseTree, path: str, folder: Path) -> Moved | None:
    """Return where an assistant was that is new at its place; ``None`` if none vanishes in this change.

    Args:
        tree: the base's files.
        path: the place in the repository.
        folder: where it is now.
    """
    vanished = [one for one in assistants_of(tree.tree) if _has_vanished(tree, one, folder)]
    if not vanished:
        return None
    then = [BaseProject(tree.path_of(one), one, one) for one in vanished]
    now = {one.relative_to(tree.top).as_posix(): one for one in assistants_of(tree.top)}
    new = {place: one for place, one in now.items() if not _is_one(tree.tree / place)}
    pairs = paired({**new, path: folder}, then, all_of_them=False)
    taken = {project.path for project in pairs.values()}
    left = [project for project in then if project.path not in taken]
    found = pairs.get(path) or paired({path: folder}, left, all_of_them=True).get(path)
    return None if found is None else Moved(found, tuple(one for one in left if one is not found))


def assistants_of(top: Path) -> list[Path]:
    """Return the folders of assistants in a repository: its own, or those below."""
    return [top] if _is_one(top) else assistants_below(top, _is_one)


def _is_one(folder: Path) -> bool:
    """Whether a folder is that of an assistant, by its files or by settings of its own."""
    if not folder.is_dir():
        return False
    try:
        if is_assistant(folder):
            return True
        values = read_settings_file(folder, faulty=True).values
    except (OSError, UserError):
        return False
    return (folder / FILE_NAME).is_file() and values.keys().isdisjoint({"project", "projects"})


def _has_vanished(tree: BaseTree, then: Path, folder: Path) -> bool:
    """Whether an assistant of the base is at its place no more; a link to the one that is measured is none."""
    now = tree.top / tree.path_of(then)
    return not _is_one(now) or (os.path.realpath(now) == os.path.realpath(folder) and now.is_symlink())
