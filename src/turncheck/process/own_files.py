"""Which output folders are ours: only there files are replaced.

A folder is ours if it has a document of ours, which each run writes first; what is downloaded from a job has it, too.
In a folder without one (that of several assistants) there is a record of the names that were written.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError, remedy_of
from turncheck.process.existing import is_file, is_there
from turncheck.process.regular_file import open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RECORD: Final = ".turncheck-written"
"""Names, one in each line as JSON: several runs may add to it at the same time."""
_TITLE: Final = "# What turncheck has written here, and may replace.\n"
_MOST_BYTES: Final = 64 << 20
_DOCUMENTS: Final = ("report.json", "comparison.json", "verdict.json", "baseline.json", "shard.json")
_USUAL: Final = (
    *_DOCUMENTS,
    *("junit.xml", "report.html", "summary.md", "comment.md", "findings.sarif", "metrics.txt"),
    *("gl-annotations.json", "gl-code-quality-report.json"),
)
"""What runs write directly into their folder."""
_INNER: Final = ("rasa", "plots", "batch")
"""Folders in that of a run."""
_OUR_SCHEMA: Final = re.compile(rb'\s*\{\s*"schema":\s*"turncheck/')
_BEGINNING: Final = 200


class OwnFiles:
    """The files that are written below a folder. What was there before, and is not ours, is not replaced.

    What is written by another run at the same time is not there before; so each folder is looked at once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._theirs: dict[Path, frozenset[str]] = {}

    def claim(self, name: str) -> None:
        """Make sure that a file may be written, and that a later run may replace it.

        Raises:
            UserError: there is somebody else's file of that name, or the record cannot be written.
        """
        folder, below = self._parted(name)
        if folder not in self._theirs:
            self._theirs[folder] = _theirs(folder)
        if below in self._theirs[folder]:
            raise _refusal(folder / below)
        if below not in _DOCUMENTS and not _has_document(folder) and below not in _recorded(folder):
            _record(folder, below)

    def _parted(self, name: str) -> tuple[Path, str]:
        """Return the folder of a run (that of one assistant, say), and the name from there."""
        *folders, last = PurePosixPath(name).parts
        inner = [folders.pop()] if folders and folders[-1] in _INNER else []
        return self._folder.joinpath(*folders), "/".join([*inner, last])


def ensure_replaceable(folder: Path, names: Iterable[str] = _USUAL) -> None:
    """Make sure that none of these names in a folder belongs to somebody else's file.

    Raises:
        UserError: one does.
    """
    theirs = _theirs(folder)
    for name in names:
        if name in theirs:
            raise _refusal(folder / name)


def _refusal(path: Path) -> UserError:
    return UserError(
        f"{path} was not written by turncheck, and is not replaced",
        remedy="Name another output folder with --out, or move the file away.",
    )


def _theirs(folder: Path) -> frozenset[str]:
    """Return the files in a folder that are not ours."""
    names = {path.name for path in _files(folder)}
    names |= {f"{inner}/{path.name}" for inner in _INNER for path in _files(folder / inner)}
    # Whoever writes at the same time leaves a document or a record before other files: so these are read afterwards.
    return frozenset() if not names or _has_document(folder) else frozenset(names) - _recorded(folder)


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if _is_file(path)]
    except OSError:  # it is made when something is written
        return []


def _has_document(folder: Path) -> bool:
    return any(_is_ours(folder / name) for name in _DOCUMENTS)


def _is_ours(path: Path) -> bool:
    try:
        with open_regular(path, most=sys.maxsize) as file:
            return _OUR_SCHEMA.match(file.read(_BEGINNING)) is not None
    except OSError:
        return False


def _recorded(folder: Path) -> frozenset[str]:
    try:
        lines = read_regular(folder / RECORD, most=_MOST_BYTES, follow=False).decode("utf-8", "replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(map(_name, lines))


def _name(line: str) -> str:
    try:
        name = json.loads(line)
    except (ValueError, RecursionError):  # the title
        return ""
    return name if isinstance(name, str) else ""


def _record(folder: Path, name: str) -> None:
    path = folder / RECORD
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
        try:
            title = "" if os.fstat(descriptor).st_size else _TITLE
            os.write(descriptor, f"{title}{json.dumps(name)}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}", remedy=remedy_of(error)) from None


def _is_file(path: Path) -> bool:
    """Whether there is a file or a link that would be replaced; a device or a pipe is only written to."""
    try:
        mode = path.lstat().st_mode
        return stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and (is_file(path) or not is_there(path)))
    except (OSError, ValueError):
        return False
