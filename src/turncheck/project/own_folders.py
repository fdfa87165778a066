"""The folders of a project that may hold something of its own: no hidden ones, none of installed packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.process.existing import is_folder, is_link, is_there
from turncheck.project.folder import MAX_DEPTH, listed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PACKAGES: Final = frozenset({"node_modules", "__pycache__", "site-packages"})


@dataclass(frozen=True, slots=True)
class ListedFolder:
    """A folder, what is in it, and why that cannot be said."""

    path: Path
    entries: tuple[Path, ...] = ()
    refusal: str = ""


def own_folders(root: Path) -> Iterator[ListedFolder]:
    """Yield the folders in the order of their paths; symbolic links are not followed.

    ``os.walk`` would recurse as deep as the folders.
    """
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            entries = tuple(listed(folder))
        except OSError as error:
            yield ListedFolder(folder, refusal=error.strerror or type(error).__name__)
            continue
        inner = [path for path in entries if is_folder(path) and not is_link(path) and not _is_of_packages(path)]
        waiting += [(path, depth + 1) for path in reversed(inner) if depth < MAX_DEPTH]
        yield ListedFolder(folder, entries)


def is_foreign(folder: Path) -> bool:
    """Whether a folder among tests is hidden, or of installed packages."""
    return folder.name.startswith(".") or folder.name == "node_modules" or _is_environment(folder)


def _is_of_packages(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _PACKAGES or _is_environment(folder)


def _is_environment(folder: Path) -> bool:
    return is_there(folder / "pyvenv.cfg")
