"""The files of a project: which there are, what Rasa takes each for, and their text.

Rasa 3.x decides by a look at the lines whether it reads a file below the data paths: one line must begin (after
white space) with ``nlu:`` or ``responses:`` for NLU data, with ``stories:`` or ``rules:`` for stories. All others it
passes by in silence. :func:`kinds_of` mirrors that. The default data path is ``data``; files are taken in the order of
their absolute paths.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from turncheck.finding import Finding
from turncheck.location import Location
from turncheck.project.yaml_positions import YamlDocument, YamlMapping, parse_yaml
from turncheck.project.yaml_source import EscapeError, YamlSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_FILE_BYTES: Final = 32_000_000
"""A larger file is not read. A hundred thousand training examples take about five million bytes."""

YAML_SUFFIXES: Final = frozenset({".yml", ".yaml"})

NLU_KEYS: Final = ("nlu", "responses")
STORY_KEYS: Final = ("stories", "rules")
DATA_KEYS: Final = (*NLU_KEYS, *STORY_KEYS, "flows", "e2e_tests", "test_cases")
DOMAIN_KEYS: Final = ("slots", "forms", "actions", "entities", "intents", "responses", "e2e_actions", "session_config")

Role = Literal["domain", "data", "config", "endpoints"]


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file that belongs to the project. ``document`` is ``None`` where its text could not even be got.

    ``kinds``: which of the keys ``nlu``, ``responses``, ``stories``, ``rules`` … Rasa would see in it (data files).
    """

    path: str
    role: Role
    document: YamlDocument | None
    kinds: frozenset[str] = frozenset()

    @property
    def mapping(self) -> YamlMapping | None:
        """The top level, if it could be parsed and is a mapping."""
        root = self.document.root if self.document else None
        return root if isinstance(root, YamlMapping) else None

    @property
    def has_nlu(self) -> bool:
        """Whether Rasa reads NLU data or responses from it."""
        return self.role == "data" and not self.kinds.isdisjoint(NLU_KEYS)

    @property
    def has_stories(self) -> bool:
        """Whether Rasa reads stories or rules from it."""
        return self.role == "data" and not self.kinds.isdisjoint(STORY_KEYS)


class ProjectFolder:
    """The folder of a project: names its files as findings and reports do, and never reads outside of it.

    A path given by a flag may lie elsewhere; then it is its own fence.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._absolute = Path(os.path.abspath(root))  # noqa: PTH100 - unlike resolve(), it follows no symbolic link
        self.findings: list[Finding] = []

    def name(self, path: Path) -> str:
        """Return the path relative to the project with forward slashes, or as given if it lies outside."""
        absolute = Path(os.path.abspath(path))  # noqa: PTH100 - see above
        if absolute.is_relative_to(self._absolute):
            return absolute.relative_to(self._absolute).as_posix()
        return path.as_posix()

    def read(self, path: Path, *, fence: Path | None = None) -> YamlSource | None:
        """Return the text of a file, or ``None`` after noting the finding that says why not."""
        content = self.read_bytes(path, fence=fence)
        if content is None:
            return None
        name = self.name(path)
        try:
            return YamlSource(name, content.decode("utf-8").removeprefix("\ufeff"))
        except UnicodeDecodeError as error:
            self._note_encoding(name, content, error)
        except EscapeError as error:
            place = YamlSource(name, "")
            text = content.decode("utf-8").removeprefix("\ufeff")
            line = text.count("\n", 0, error.offset) + 1
            column = error.offset - text.rfind("\n", 0, error.offset)
            self._note(
                "yaml-syntax",
                Location(place.path, line, column),
                "A backslash and 'u' must be followed by four hexadecimal digits, 'U' by eight; Rasa decodes them "
                "everywhere in a file of plain ASCII.",
                "Write the backslash twice if it is meant as such.",
            )
        return None

    def read_bytes(self, path: Path, *, fence: Path | None = None) -> bytes | None:
        """Return the bytes of a regular file inside the project, or ``None`` after noting the finding."""
        name = self.name(path)
        if not self._is_inside(path, fence):
            self._note(
                "file-outside-project",
                Location(name),
                f"'{name}' is a symbolic link out of the project and is not read.",
                "Put the file itself into the project.",
            )
            return None
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
                self._note("file-unreadable", Location(name), f"'{name}' should be a file, but it is {kind}.")
                return None
            if status.st_size > MAX_FILE_BYTES:
                self._note_size(name, status.st_size)
                return None
            with path.open("rb") as file:
                return file.read(MAX_FILE_BYTES)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self._note("file-unreadable", Location(name), f"'{name}' cannot be read: {reason}.")
            return None

    def yaml_files(
        self, paths: Iterable[Path], *, skip: Callable[[Path], bool] | None = None
    ) -> list[tuple[Path, Path]]:
        """Return the YAML files at and below the paths, each with its fence, in the order in which Rasa merges them.

        Folders for which ``skip`` says so are left out.
        """
        found: dict[str, tuple[Path, Path]] = {}
        for path in paths:
            fence = self._fence(path)
            for file in self._walk(path, fence, skip) if path.is_dir() else (path,):
                if file.suffix in YAML_SUFFIXES:
                    found.setdefault(os.path.abspath(file), (file, fence))  # noqa: PTH100 - see above
        return [found[key] for key in sorted(found)]

    def _walk(self, folder: Path, fence: Path, skip: Callable[[Path], bool] | None) -> Iterator[Path]:
        """Yield all files below a folder; symbolic links are followed inside the fence, each folder once."""
        seen: set[str] = set()
        stack = [folder]
        while stack:
            current = stack.pop()
            real = os.path.realpath(current)
            if real in seen:
                continue
            seen.add(real)
            if not self._is_inside(current, fence):
                name = self.name(current)
                self._note(
                    "file-outside-project", Location(name), f"'{name}' leads out of the project; it is not read."
                )
                continue
            for entry in self._entries(current):
                if entry.is_dir():
                    if skip is not None and skip(entry):
                        continue
                    stack.append(entry)
                    if entry.suffix in YAML_SUFFIXES:
                        self._note_folder(entry)
                else:
                    yield entry

    def _entries(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.iterdir())
        except OSError as error:
            name = self.name(folder)
            self._note("file-unreadable", Location(name), f"'{name}' cannot be read: {error.strerror}.")
            return []

    def _note_folder(self, path: Path) -> None:
        name = self.name(path)
        message = f"'{name}' is named like a file, but it is a folder; what lies in it is read."
        self.findings.append(Finding("file-is-folder", "warning", message, Location(name), "Rename the folder."))

    def _fence(self, path: Path) -> Path:
        absolute = Path(os.path.abspath(path))  # noqa: PTH100 - see above
        return self._absolute if absolute.is_relative_to(self._absolute) else absolute

    def _is_inside(self, path: Path, fence: Path | None) -> bool:
        border = os.path.realpath(fence or self._fence(path))
        return Path(os.path.realpath(path)).is_relative_to(border)

    def _note(self, code: str, location: Location, message: str, hint: str = "") -> None:
        self.findings.append(Finding(code, "error", message, location, hint))

    def _note_size(self, name: str, size: int) -> None:
        self._note(
            "file-too-large",
            Location(name),
            f"'{name}' has {size:,} bytes; files up to {MAX_FILE_BYTES:,} bytes are read.",
            "Split it into several files.",
        )

    def _note_encoding(self, name: str, content: bytes, error: UnicodeDecodeError) -> None:
        line = content.count(b"\n", 0, error.start) + 1
        begin = content.rfind(b"\n", 0, error.start) + 1
        column = len(content[begin : error.start].decode("utf-8", "replace")) + 1
        self._note(
            "file-not-utf8",
            Location(name, line, column),
            f"'{name}' is not UTF-8: byte {content[error.start]:#04x} cannot be decoded.",
            "Save the file in the encoding UTF-8.",
        )


_KEY_LINE: Final = re.compile(rf"^\s*({'|'.join(DATA_KEYS)}):", re.MULTILINE)


def has_key_line(text: str, keys: Iterable[str]) -> bool:
    """Whether a line of the text begins with one of the keys."""
    return any(key in keys for key in _KEY_LINE.findall(text))


def kinds_of(document: YamlDocument) -> frozenset[str]:
    """Return the data keys that begin a line of the file: at its top level, or anywhere if it could not be parsed."""
    text = document.source.text
    if not isinstance(document.root, YamlMapping):
        return frozenset(_KEY_LINE.findall(text))
    starts = {key: node.start for key, node in document.root.keys.items() if key in DATA_KEYS}
    return frozenset(key for key, start in starts.items() if _KEY_LINE.match(text, text.rfind("\n", 0, start) + 1))


def parse_file(folder: ProjectFolder, path: Path, role: Role, *, fence: Path | None = None) -> ProjectFile:
    """Read and parse one file of the project whatever its kind; what is wrong with it is noted in the folder."""
    source = folder.read(path, fence=fence)
    if source is None:
        return ProjectFile(folder.name(path), role, None)
    document = parse_yaml(source)
    folder.findings.extend(document.findings)
    return ProjectFile(source.path, role, document)


def data_files(folder: ProjectFolder, paths: Iterable[Path]) -> list[ProjectFile]:
    """Read the files below the data paths that hold what Rasa reads; the others are not even parsed."""
    files = []
    for path, fence in folder.yaml_files(paths):
        source = folder.read(path, fence=fence)
        if source is None:
            files.append(ProjectFile(folder.name(path), "data", None, frozenset((*NLU_KEYS, *STORY_KEYS))))
            continue
        if _KEY_LINE.search(source.text) is None:
            folder.findings.append(_without_data(source))
            continue
        document = parse_yaml(source)
        folder.findings.extend(document.findings)
        files.append(ProjectFile(source.path, "data", document, kinds_of(document)))
    return files


def _without_data(source: YamlSource) -> Finding:
    return Finding(
        "file-without-data",
        "info",
        f"'{source.path}' holds none of the keys nlu, responses, stories and rules; Rasa passes it by.",
        Location(source.path),
        "Check the spelling of its keys, or move the file out of the data folder.",
    )
