"""What the base measures, by its own files.

A change may move an assistant, and its settings with it. It must not choose another one to be measured: whatever the
base measured is found again at the same path, or is compared with the new assistant that has the most files in common.
"""

from __future__ import annotations

import glob
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.messages.finding import shown_path
from turncheck.process.regular_file import file_and_case, read_regular
from turncheck.project.folder import assistants_below, has_part, is_assistant, may_be_assistant
from turncheck.settings.file import read_settings_file
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.settings.options import Settings

_FILES: Final = ("config", "domain", "data", "nlu", "stories", "e2e", "batch")
"""Settings that name files of an assistant."""
_LARGEST: Final = 1024 * 1024
_MOST_FILES: Final = 2_000
"""Files that are looked at to recognise an assistant that was moved."""


class BaseProject(Struct, frozen=True):
    """An assistant that the base measures.

    ``path`` is its path in the repository as it is named there, ``folder`` where it is in the base's files,
    ``settings`` the folder there whose ``turncheck.yml`` counts.
    """

    path: str
    folder: Path
    settings: Path


class BaseTree(Struct, frozen=True):
    """The base's files: ``tree`` has those of the repository, whose files of this run are in ``top``."""

    tree: Path
    top: Path

    def folder_of(self, word: str) -> Path | None:
        """Return where a path of this run is in the base's files; ``None`` if it is not one of the repository."""
        return next(iter(self._folders_of(word)), None)

    def _folders_of(self, word: str) -> list[Path]:
        """Return where a path of this run may be in the base's files, the most likely place first.

        The system says where the current folder is, not by which path a job has entered it: that may be any folder of
        the base that links of this change now lead to it from.
        """
        named = path_in_repository(Path(word), self.top)
        if named is None:
            return []
        as_named = self.tree / named
        places = {as_named.resolve(): as_named}
        here = path_in_repository(Path.cwd(), self.top)
        if here is not None and not Path(word).is_absolute():
            for folder in self._led_to(here):
                entered = Path(os.path.normpath(folder / word))
                if entered.is_relative_to(self.tree):
                    places.setdefault(entered.resolve(), entered)
        return sorted(
            places.values(),
            key=lambda path: (not may_be_assistant(path), not os.path.lexists(path), path == as_named),
        )

    def _led_to(self, here: str) -> list[Path]:
        """Return the folders of the base that are now another name of a folder of this run."""
        real = os.path.realpath(self.top / here)
        linked = _linked(self.tree, self.top)
        return [path for path in linked if os.path.realpath(self.top / path.relative_to(self.tree)) == real]

    def moved(self, value: Any) -> Any:
        """Return a path or paths of this run in the base's files; one outside the repository is the same for both."""
        if value is None:
            return value
        if not isinstance(value, str):
            return tuple(self.moved(path) for path in value)
        path, case = file_and_case(value)
        folder = self.folder_of(str(path))
        if folder is None:
            return value
        return str(folder) if case is None else f"{folder}::{case}"

    def paths_of(self, settings: Settings) -> list[str]:
        """Return the paths in the repository of all that these settings, of the base, name."""
        named = [settings.project, settings.config, settings.domain, settings.nlu]
        named += [*settings.data, *settings.stories, *settings.e2e, *settings.batch]
        paths = [Path(os.path.normpath(file_and_case(path)[0])) for path in named if path]
        return [self.path_of(place) for place in paths if place.is_relative_to(self.tree)]

    def is_pattern(self, word: str) -> bool:
        """Whether a word is a pattern, not the name of a folder that has such characters, there or here."""
        return glob.has_magic(word) and not (os.path.lexists(word) or self._is_there(word))

    def _is_there(self, word: str) -> bool:
        folder = self.folder_of(word)
        return folder is not None and os.path.lexists(folder)

    def needed_for(self, word: str) -> list[str]:
        """Return the paths in the repository that must be there to know what a word chooses."""
        parts = Path(word).parts
        patterns = (index for index, part in enumerate(parts) if glob.has_magic(part) and self.is_pattern(word))
        fixed = Path(*parts[: next(patterns, len(parts))])
        folder = self.folder_of(str(fixed))
        if folder is None:
            return []
        if len(fixed.parts) < len(parts):
            return [self.path_of(folder)]
        patterns = (_settings_of(folder) or {}).get("projects", ())
        below = (self.needed_for(str(self.top / os.path.relpath(pattern, self.tree))) for pattern in patterns)
        return [self.path_of(folder / FILE_NAME), *(path for paths in below for path in paths)]

    def path_of(self, folder: Path) -> str:
        """Return the path in the repository of a folder in the base's files."""
        path = shown_path(os.path.relpath(os.path.normpath(folder), self.tree))
        return "" if path == "." else path

    def projects(
        self, words: Sequence[str], *, given: bool, flags: Mapping[str, Any] = MappingProxyType({})
    ) -> list[BaseProject]:
        """Return the assistants that these words choose there, together with the base's own ``turncheck.yml``.

        Args:
            words: folders and patterns, from flags or inputs or by default.
            given: whether a flag or an input gave them, so that the file does not choose another folder.
            flags: all that flags and inputs give: files of an assistant may have names of their own.
        """
        paths = self._folders_of(words[0]) if len(words) == 1 and not self.is_pattern(words[0]) else []
        if not paths:
            return self._each(match for word in words for match in self._matches(word))
        return [base_project for path in paths for base_project in self._chosen_in(path, given=given, flags=flags)]

    def _chosen_in(self, path: Path, *, given: bool, flags: Mapping[str, Any]) -> list[BaseProject]:
        """Return the assistants that a path chooses there, and the settings file beside it."""
        only = path.parent if path.is_file() else path
        if not only.is_dir():
            return []
        values = _settings_of(only)
        if values is None and not given:  # whichever it measured is one of these
            return self._each([only] if is_assistant(only) else assistants_below(only))
        values = values or {}
        if "projects" in values:
            return self._each(match for pattern in values["projects"] for match in self._expanded(Path(pattern)))
        folder = only / values["project"] if "project" in values and not given else only
        if folder.is_file():  # an export
            folder = folder.parent
        named = {**{name: self.moved(flags.get(name)) for name in _FILES}, **_named_files(values)}
        names_another = given and "project" in values
        is_one = has_part(folder) if names_another else may_be_assistant(folder)
        return [self._of(folder, only)] if is_one or _any_exists(named.values()) else []

    def _each(self, paths: Iterable[Path]) -> list[BaseProject]:
        """Return each of several assistants once: a symbolic link to one of them is not another one."""
        folders: dict[Path, Path] = {}
        for folder in sorted(dict.fromkeys(paths), key=os.path.islink):
            if may_be_assistant(folder):
                folders.setdefault(folder.resolve(), folder)
        return [self._of(folder, folder) for folder in folders.values()]

    def _matches(self, word: str) -> list[Path]:
        folder = self.folder_of(word)
        return [] if folder is None else self._expanded(folder)

    def _expanded(self, pattern: Path) -> list[Path]:
        """Return what a path or a pattern in the base's files names, as for this run."""
        below = os.path.relpath(pattern, self.tree)
        if not glob.has_magic(below) or os.path.lexists(pattern):
            return [pattern] if pattern.exists() else []
        whole = f"{glob.escape(str(self.tree))}/{below}"
        return [Path(one) for one in sorted(glob.glob(whole, recursive=True)) if Path(one).exists()]  # noqa: PTH207

    def _of(self, folder: Path, settings: Path) -> BaseProject:
        return BaseProject(self.path_of(folder), folder, settings)


@lru_cache(maxsize=4)
def _linked(tree: Path, top: Path) -> tuple[Path, ...]:
    """Return the folders of the base that are links in this run, or below one."""
    found: dict[Path, None] = {}
    for current, folders, _ in os.walk(tree, followlinks=True):
        around = Path(current)
        for name in sorted(folders):
            folder = around / name
            is_linked = around in found or (top / folder.relative_to(tree)).is_symlink()
            if is_linked:
                found[folder] = None
            if folder.is_symlink():  # a link there, too, which may now lead elsewhere
                leads_on = is_linked and folder.resolve().is_relative_to(tree.resolve())
                if not leads_on or around.resolve().is_relative_to(folder.resolve()):
                    folders.remove(name)
    return tuple(found)


def path_in_repository(folder: Path, top: Path) -> str | None:
    """Return the path of a folder below ``top`` as it is named: links below the top are not followed.

    ``None`` if it is not named as something below it.
    """
    named = Path(os.path.abspath(folder))  # noqa: PTH100 - links are not followed
    for above in (named, *named.parents):
        if above.resolve() == top.resolve():
            path = shown_path(named.relative_to(above))
            return "" if path == "." else path
    return None


def paired(now: Mapping[str, Path], then: Iterable[BaseProject], *, all_of_them: bool) -> dict[str, BaseProject]:
    """Return the assistant of the base that each of this run is compared with, by its path.

    Those at the same path are the same. Others were moved, if files say so; ``all_of_them``: even if none does.
    """
    left = {base_project.path: base_project for base_project in then}
    pairs = {path: left.pop(path) for path in now if path in left}
    contents = {path: _contents(folder) for path, folder in now.items() if path not in pairs}
    shared = sorted(
        (-len(contents[path] & _contents(base_project.folder)), path, base_project.path)
        for path in contents
        for base_project in left.values()
    )
    for number, path, other in shared:
        if path not in pairs and other in left and (number or all_of_them):
            pairs[path] = left.pop(other)
    return pairs


def _named_files(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in _FILES if name in values}


def _any_exists(values: Iterable[Any]) -> bool:
    named = (path for value in values if value for path in ((value,) if isinstance(value, str) else value))
    return any(file_and_case(path)[0].exists() for path in named)


def _settings_of(folder: Path) -> Mapping[str, Any] | None:
    """Return what a settings file says; ``None`` if it cannot be read."""
    try:
        return read_settings_file(folder, faulty=True).values  # a mistake may be what this change corrects
    except UserError:
        return None


def _contents(folder: Path) -> set[bytes]:
    """Return what is in the files below a folder."""
    found: set[bytes] = set()
    for current, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(current, name)
            if len(found) >= _MOST_FILES:
                return found
            if path.is_file() and not path.is_symlink() and 0 < path.stat().st_size <= _LARGEST:
                found.add(hashlib.sha256(read_regular(path, most=_LARGEST)).digest())
    return found
