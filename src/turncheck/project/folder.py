"""The folder of a project: finds its files and reads their bytes, never outside the project.

In a pull request every file may be written by a stranger: a symbolic link may point anywhere, a file may be a pipe or
of any size. A file that is refused or cannot be read becomes a finding. A path set by a flag may be outside the
project; it is then its own fence.

In a repository with several assistants, those below a folder that is not one itself are found.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from turncheck.messages.finding import Finding, Location, Severity, shown_path
from turncheck.platforms.registry import PLATFORMS
from turncheck.process import regular_file
from turncheck.process.environment import FileVariables, remember_guessed
from turncheck.process.foreign_content import foreign_content
from turncheck.yaml_tree.source import EscapeError, Source, YamlSource
from turncheck.yaml_tree.tree import parse_yaml
from turncheck.yaml_tree.unquoted import expand_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from turncheck.project.project_file import ProjectFile
    from turncheck.yaml_tree.tree import YamlDocument

TOO_LARGE: Final = "file-too-large"
MAX_FILE_BYTES: Final = 32_000_000
"""A larger file is not read. A hundred thousand training examples take about six million bytes."""

MAX_DEPTH: Final = 100
"""The maximum depth of nested folders; deeper ones are not searched. Nobody keeps an assistant there."""
_PARTS_OF_DEEP: Final = 3

_PARTS_IN_COMMON: Final = 3
"""The root itself, a top-level folder, and one more."""

YAML_SUFFIXES: Final = frozenset({".yml", ".yaml"})


class ProjectFolder:
    """Names a project's files as findings and reports do, and reads them.

    ``findings`` collects what went wrong, ``closed`` the names of folders that could not be searched, ``misspelt`` the
    data files that are not read because a key is misspelt, with the intended key, ``contents_read`` the files that
    were read, by their names, ``expanded`` what ``${NAME}`` in them stood for; ``variables`` says that, by default
    the environment of the process.
    """

    def __init__(self, root: Path, variables: FileVariables | None = None) -> None:
        self.root = root
        self.variables = FileVariables(environment=os.environ) if variables is None else variables
        self.expanded: set[str] = set()
        self.findings: list[Finding] = []
        self.closed: list[str] = []
        self.misnamed_files: dict[str, str] = {}
        self.contents_read: dict[str, Path] = {}
        self._absolute = _absolute(root)
        self._real_folders: dict[str, str] = {}

    def parse_expanded(self, source: YamlSource) -> YamlDocument:
        """Parse a file, with the variables in it expanded. Their values are kept out of every output from now on."""
        document = parse_yaml(source)
        values = expand_variables(document, self.variables.find)
        for value in values:
            remember_guessed(value)
        self.expanded |= values
        return document

    def name(self, path: Path) -> str:
        """Return the path relative to the project with forward slashes: ``../shared/nlu.yml`` for a sibling folder.

        A path that has no more than a top-level folder in common with the project is returned as an absolute one: a
        file so far away is not in the same repository.
        """
        absolute = _absolute(path)
        if len(Path(os.path.commonpath([absolute, self._absolute])).parts) < _PARTS_IN_COMMON:
            return shown_path(absolute)
        return shown_path(os.path.relpath(absolute, self._absolute))

    def contains(self, path: Path) -> bool:
        """Whether a path leads to something inside the project's own folder, symbolic links followed."""
        try:
            return self._leads_into(path, self._absolute)
        except (OSError, ValueError):  # not a path at all: far too long, or with a null character in it
            return False

    def named_file(self, written: str) -> Path | None:
        """Return the project's file that a string in one of its files names; ``None`` if there is none.

        Rasa reads it from where it is started: in the project's folder, or in one above it (``bots/a/names.txt``).
        """
        paths = (self.root / path for path in (written, *self._below_folders_above(written)))
        try:
            return next((path for path in paths if self.contains(path) and regular_file.is_file(path)), None)
        except (OSError, ValueError):
            return None

    def _below_folders_above(self, written: str) -> Iterator[str]:
        """A path of a folder above the project's as one of the project's, if it leads through that."""
        parts, folders = PurePosixPath(written).parts, self.root.resolve().parts
        for number in range(1, min(len(parts), len(folders))):
            if parts[:number] == folders[-number:]:
                yield "/".join(parts[number:])

    def yaml_files(
        self, paths: Iterable[Path], *, skip: Callable[[Path], bool] | None = None, as_listed: bool = False
    ) -> list[tuple[Path, Path]]:
        """Return the YAML files at and below the paths, each with its fence, sorted by their absolute paths.

        ``as_listed``: in the order in which the file system lists them instead, like ``os.walk``. Folders for which
        ``skip`` is true are left out. A path to any other file is noted.
        """
        found: dict[str, tuple[Path, Path]] = {}
        for file, fence, is_given in self.files(paths, skip=skip, as_listed=as_listed):
            if file.suffix in YAML_SUFFIXES:
                found.setdefault(absolute_name(file), (file, fence))
            elif is_given:
                self.note_unread(file)
        return [found[key] for key in (found if as_listed else sorted(found))]

    def files(
        self, paths: Iterable[Path], *, skip: Callable[[Path], bool] | None = None, as_listed: bool = False
    ) -> Iterator[tuple[Path, Path, bool]]:
        """Yield all files at and below the paths, each with its fence and whether it is itself one of the paths."""
        for path in paths:
            fence = self._fence(path)
            for file in self._walk(path, fence, skip, as_listed=as_listed) if regular_file.is_folder(path) else [path]:
                yield file, fence, file == path

    def is_passed_by(self, file: Path, fence: Path, *, is_given: bool) -> bool:
        """Whether Rasa skips an entry among the training data because it is not a file; this is noted.

        A path that was asked for is read.
        """
        if (
            (is_given and file.suffix in YAML_SUFFIXES)
            or regular_file.is_file(file)
            or not self._leads_into(file, fence)
        ):
            return False
        name = self.name(file)
        what = "a symbolic link that leads nowhere" if regular_file.is_link(file) else "not a regular file"
        hint = "Put a file there, or remove it."
        self._note("file-not-regular", _whole(name), f"'{name}' is not read: it is {what}.", hint, severity="warning")
        return True

    def note_unread(self, file: Path) -> None:
        """Note that a file is not in any format that is read."""
        name = self.name(file)
        message = f"'{name}' is not read: it is neither YAML (.yml or .yaml) nor NLU data in Rasa's JSON."
        hint = "Convert it to Rasa's YAML format, or remove it."
        self._note("format-not-read", _whole(name), message, hint, severity="warning")

    def content(self, file: Path, fence: Path | None = None) -> bytes:
        """Return the bytes of a file for inspection, empty if it does not exist or is too large.

        Those of a file that is something else than its name says, too.
        """
        if not regular_file.is_file(file) or not self._leads_into(file, fence or self._fence(file)):
            return b""
        if file.stat().st_size > MAX_FILE_BYTES:
            return b""
        return self._bytes(file, fence or self._fence(file)) or b""

    def is_foreign(self, file: Path, fence: Path | None = None) -> bool:
        """Whether a file is something else than its name says, so that nobody knows what it should hold."""
        return foreign_content(self.name(file), self.content(file, fence)) is not None

    def read(self, path: Path, *, fence: Path | None = None) -> YamlSource | None:
        """Return the text of a file as YAML source, or ``None`` after noting the finding that says why not."""
        content = self.read_bytes(path, fence=fence)
        if content is None or (source := self.decode(self.name(path), content)) is None:
            return None
        try:
            return YamlSource.of(source)
        except EscapeError as error:
            self.findings.append(error.finding(source))
        return None

    def read_bytes(self, path: Path, *, fence: Path | None = None) -> bytes | None:
        """Return the bytes of a regular file inside the fence, or ``None`` after noting the finding."""
        content = self._bytes(path, fence or self._fence(path))
        if content is None or (foreign := foreign_content(self.name(path), content)) is None:
            return content
        self.findings.append(foreign)
        return None

    def _bytes(self, path: Path, fence: Path) -> bytes | None:
        name = self.name(path)
        location = _whole(name)
        if not self._leads_into(path, fence):
            message = f"'{name}' is a symbolic link out of the project and is not read."
            self._note("file-outside-project", location, message, "Put the file itself into the project.")
            return None
        self.contents_read[name] = path
        try:
            return regular_file.read_regular(path, most=MAX_FILE_BYTES)
        except (IsADirectoryError, regular_file.NotRegularError) as error:
            kind = "a folder" if isinstance(error, IsADirectoryError) else "not a regular file"
            message = f"'{name}' should be a file, but it is {kind}."
            self._note("file-unreadable", location, message, "Put a file there, or remove it.")
        except regular_file.TooLargeError:
            message = f"'{name}' has {_size(path)} bytes; files up to {MAX_FILE_BYTES:,} bytes are read."
            self._note(TOO_LARGE, location, message, "Split it into several files.")
        except OSError as error:
            self._note_refusal(name, error)
        return None

    def decode(self, name: str, content: bytes) -> Source | None:
        """Decode the bytes of the file of this name; return ``None`` after noting why that is not possible."""
        try:
            return Source(name, content.decode("utf-8"))
        except UnicodeDecodeError as error:
            before = content[: error.start]
            byte = content[error.start]
            message = f"'{name}' is not UTF-8: byte {byte:#04x} cannot be decoded."
            self._note("file-not-utf8", _end_of(name, before), message, "Save the file in the encoding UTF-8.")
        return None

    def note_folder_named_like_file(self, path: Path) -> None:
        """Note that a folder has the name of a YAML file; Rasa reads what is in it."""
        name = self.name(path)
        message = f"'{name}' is named like a file, but it is a folder; the files in it are read."
        self._note("file-is-folder", _whole(name), message, "Rename the folder.", severity="warning")

    def _walk(
        self, folder: Path, fence: Path, skip: Callable[[Path], bool] | None, *, as_listed: bool
    ) -> Iterator[Path]:
        """Yield all files below a folder; symbolic links are followed inside the fence, each folder once."""
        seen: set[str] = set()
        stack = [(folder, 0)]
        while stack:
            current, depth = stack.pop()
            real = self._real_folder(str(current))
            if real in seen:
                continue
            seen.add(real)
            if depth > MAX_DEPTH:
                self._note_too_deep(current)
                continue
            folders = []
            for entry in self._entries(current, fence, as_listed=as_listed):
                if not regular_file.is_folder(entry):
                    yield entry
                elif skip is None or not skip(entry):
                    folders.append((entry, depth + 1))
            stack += reversed(folders)
            if current.suffix in YAML_SUFFIXES:
                self.note_folder_named_like_file(current)

    def _note_too_deep(self, folder: Path) -> None:
        top = "/".join(self.name(folder).split("/")[:_PARTS_OF_DEEP])
        message = f"'{top}' cannot be searched completely: folders are nested more than {MAX_DEPTH} deep there."
        self._note("file-unreadable", _whole(top), message, "Move the files up, or remove the folders.")
        self.closed.append(top)

    def _entries(self, folder: Path, fence: Path, *, as_listed: bool) -> list[Path]:
        name = self.name(folder)
        if not self._leads_into(folder, fence):
            message = f"'{name}' leads out of the project; nothing is read from it."
            hint = "Put the files themselves into the project, or name their folder with --data."
            self._note("file-outside-project", _whole(name), message, hint)
        else:
            try:
                return listed(folder, as_listed=as_listed)
            except OSError as error:
                self._note_refusal(name, error)
        self.closed.append(name)
        return []

    def _leads_into(self, path: Path, fence: Path) -> bool:
        return Path(self._real(path)).is_relative_to(self._real_folder(str(fence)))

    def _real(self, path: Path) -> str:
        """Where a path leads to; links among the folders above it are followed once, not for each of their files."""
        folder, name = os.path.split(path)
        if name in {"", ".."} or regular_file.is_link(path):
            return os.path.realpath(path)
        return os.path.join(self._real_folder(folder), name)  # noqa: PTH118 - as os.path.realpath does

    def _real_folder(self, folder: str) -> str:
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return self._real_folders[folder]

    def _fence(self, path: Path) -> Path:
        absolute = _absolute(path)
        return self._absolute if absolute.is_relative_to(self._absolute) else absolute

    def _note_refusal(self, name: str, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        hint = "Check that it exists and may be read."
        self._note("file-unreadable", _whole(name), f"'{name}' cannot be read: {reason}.", hint)

    def _note(self, code: str, location: Location, message: str, hint: str, *, severity: Severity = "error") -> None:
        self.findings.append(Finding(code, severity, message, location, hint))


def listed(folder: Path, *, as_listed: bool = False) -> list[Path]:
    """Return what is in a folder, by name, or as the file system lists it.

    Raises:
        OSError: that cannot be read, or nothing but names can.
    """
    with regular_file.whatever_the_machine_allows():
        entries = list(folder.iterdir()) if as_listed else sorted(folder.iterdir())
        for entry in entries[:1]:
            entry.lstat()
        return entries


def _size(path: Path) -> str:
    try:
        return f"{path.stat().st_size:,}"
    except OSError:  # it has gone meanwhile
        return "too many"


def _whole(name: str) -> Location:
    """The location for findings about a complete file."""
    return Location(name, 1, 1)


def absolute_name(path: Path) -> str:
    """Return the absolute path by which files are sorted, as in Rasa."""
    return str(_absolute(path))


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - unlike resolve(), it follows no symbolic link


def _end_of(name: str, content: bytes) -> Location:
    """Return the place after these bytes of a file."""
    line = content.count(b"\n") + 1
    last_line = content.rpartition(b"\n")[2].removeprefix(b"\xef\xbb\xbf" if line == 1 else b"")
    return Location(name, line, len(last_line.decode("utf-8", "replace")) + 1)


# The folders of a project that may hold something of its own: no hidden ones, none of installed packages.

_PACKAGES: Final = frozenset({"node_modules", "__pycache__", "site-packages"})


class ListedFolder(NamedTuple):
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
        inner = [
            path
            for path in entries
            if regular_file.is_folder(path) and not regular_file.is_link(path) and not _is_of_packages(path)
        ]
        waiting += [(path, depth + 1) for path in reversed(inner) if depth < MAX_DEPTH]
        yield ListedFolder(folder, entries)


def is_foreign(folder: Path) -> bool:
    """Whether a folder among tests is hidden, or of installed packages."""
    return folder.name.startswith(".") or folder.name == "node_modules" or _is_environment(folder)


def _is_of_packages(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _PACKAGES or _is_environment(folder)


def _is_environment(folder: Path) -> bool:
    return regular_file.is_there(folder / "pyvenv.cfg")


_DEEPEST: Final = 4
_MOST_FOLDERS: Final = 3_000
_MOST_FOUND: Final = 20
_MOST_SHOWN: Final = 5
_EXPORTS: Final = frozenset(name for platform in PLATFORMS.values() for name in platform.export_names)
_ABSENT: Final = frozenset({"domain-not-found", "config-not-found"})
_PARTS: Final = ("config.yml", "domain.yml", "domain", "data")
_SETTINGS: Final = "turncheck.yml"
_FOREIGN: Final = frozenset({"node_modules", "venv", "env", "site-packages", "__pycache__", "models", "results"})


def assistants_below(root: Path, is_one: Callable[[Path], bool] | None = None) -> list[Path]:
    """Return the folders of assistants below ``root``, sorted: at most 20, four levels deep, links not followed.

    A Rasa assistant has a ``config.yml`` or training data next to its domain (``domain.yml`` or a folder ``domain``),
    one of another platform its export; ``is_one`` tells others instead. Anything below an assistant belongs to it.
    """
    paths: list[Path] = []
    for seen, (current, folders, files) in enumerate(os.walk(root)):
        if seen >= _MOST_FOLDERS or len(paths) >= _MOST_FOUND:
            break
        folder = Path(current)
        depth = len(folder.relative_to(root).parts)
        if depth and (_is_assistant(folders, files) if is_one is None else is_one(folder)):
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
    if not regular_file.is_folder(path):
        return path.suffix == ".json"
    return has_part(path) or regular_file.is_there(path / _SETTINGS)


def has_part(folder: Path) -> bool:
    """Whether a folder holds a part of an assistant, not only settings that may name another folder."""
    return any(regular_file.is_there(folder / name) for name in (*_PARTS, *_EXPORTS))


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
    """Add the assistants below to the findings about a missing domain or configuration, whose parts these are."""
    for finding in findings:
        if below and finding.code in _ABSENT:
            message = f"{finding.statement} There are assistants below: {assistants_in_words(below)}."
            hint = f"Name one of them: --project {below[0].as_posix()}."
            yield replace(finding, message=message, suggestion="", hint=hint)
        else:
            yield finding
