"""Finds the assistants below a folder that is not an assistant itself, in a repository with several of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.platforms.registry import PLATFORMS
from turncheck.process.regular_file import is_folder, is_there

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.messages.finding import Finding
    from turncheck.project.folder import ProjectFolder
    from turncheck.project.project_file import ProjectFile

_DEEPEST: Final = 4
_MOST_FOLDERS: Final = 3_000
_MOST_FOUND: Final = 20
_MOST_SHOWN: Final = 5
_EXPORTS: Final = frozenset(name for platform in PLATFORMS.values() for name in platform.export_names)
_ABSENT: Final = frozenset({"domain-not-found", "config-not-found"})
_PARTS: Final = ("config.yml", "domain.yml", "domain", "data", "turncheck.yml")
_FOREIGN: Final = frozenset({"node_modules", "venv", "env", "site-packages", "__pycache__", "models", "results"})


def assistants_below(root: Path) -> list[Path]:
    """Return the folders of assistants below ``root``, sorted: at most 20, four levels deep, links not followed.

    A Rasa assistant has a ``config.yml`` or training data next to its domain (``domain.yml`` or a folder ``domain``),
    one of another platform its export. Anything below an assistant belongs to it.
    """
    paths: list[Path] = []
    for seen, (current, folders, files) in enumerate(os.walk(root)):
        if seen >= _MOST_FOLDERS or len(paths) >= _MOST_FOUND:
            break
        folder = Path(current)
        depth = len(folder.relative_to(root).parts)
        if depth and _is_assistant(folders, files):
            paths.append(folder)
            folders.clear()
        elif depth >= _DEEPEST:
            folders.clear()
        folders[:] = sorted(name for name in folders if not (name.startswith(".") or name in _FOREIGN))
    return sorted(paths)


def is_assistant(folder: Path) -> bool:
    """Whether a folder is itself that of an assistant."""
    entries = sorted(folder.iterdir())
    return _is_assistant(
        [entry.name for entry in entries if entry.is_dir()], [entry.name for entry in entries if entry.is_file()]
    )


def may_be_assistant(path: Path) -> bool:
    """Whether a path holds at least a part of an assistant: a folder with one of its files, or an export."""
    if not is_folder(path):
        return path.suffix == ".json"
    return any(is_there(path / name) for name in (*_PARTS, *_EXPORTS))


def assistants_in_words(paths: Sequence[Path]) -> str:
    """``bots/a, bots/b and 3 more``."""
    shown = ", ".join(path.as_posix() for path in paths[:_MOST_SHOWN])
    return f"{shown} and {len(paths) - _MOST_SHOWN} more" if len(paths) > _MOST_SHOWN else shown


def _is_assistant(folders: list[str], files: list[str]) -> bool:
    has_domain = "domain.yml" in files or "domain" in folders
    is_of_rasa = has_domain and ("config.yml" in files or "data" in folders)
    return is_of_rasa or not _EXPORTS.isdisjoint(files)


def assistants_in_place(folder: ProjectFolder, files: Iterable[ProjectFile]) -> tuple[Path, ...]:
    """Return the assistants below a folder that has neither domain, configuration nor data."""
    if not {finding.code for finding in folder.findings} >= _ABSENT or any(file.role == "data" for file in files):
        return ()
    return tuple(assistants_below(folder.root))


def named_below(findings: Iterable[Finding], below: Sequence[Path]) -> Iterator[Finding]:
    """Add the assistants below to the findings about a missing domain or configuration."""
    for finding in findings:
        if below and finding.code in _ABSENT:
            message = f"{finding.message} There are assistants below: {assistants_in_words(below)}."
            yield replace(finding, message=message, hint=f"Name one of them: --project {below[0].as_posix()}.")
        else:
            yield finding
