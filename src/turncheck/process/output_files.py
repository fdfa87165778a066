"""Files that turncheck writes: temporary ones, removed with their process, and results, which replace only its own.

Their process locks them while it runs; the system releases the lock when the process ends, however it ends. A folder
with our name that is not locked was left behind, and the next process of ours removes it. The lock is that of
``flock(2)``, which holds across containers that share a disk, where a process's number would mean nothing.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final

from turncheck.messages.errors import UserError, hint_of
from turncheck.process import system
from turncheck.process.places import ensure_inside
from turncheck.process.regular_file import is_file, is_there, open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_FOLDER: Final = re.compile(r"turncheck-[a-z]+-[a-z0-9_]{8}\.tmp")
_PARTIAL: Final = ".partial"
_LONGEST_NAME: Final = 40


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """Yield a new folder for the block; ``purpose`` is a word in its name.

    Raises:
        UserError: there is nowhere to make one.
    """
    import tempfile  # only where something is kept for a while

    try:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=f"turncheck-{purpose}-", suffix=".tmp"))
            with suppress(FileNotFoundError):  # another process took it for a leftover before it was locked
                lock = _opened(folder) if system.OPENS_FOLDERS else None
                if lock is None or _is_locked(lock, folder, wait=True):
                    break
                os.close(lock)
    except OSError as error:
        raise UserError(
            f"no temporary folder can be made: {error.strerror or error}",
            hint="Let the environment variable TMPDIR name a folder with room that may be written to.",
        ) from None
    try:
        yield folder
    finally:
        remove(folder)
        if lock is not None:
            os.close(lock)


def clear_leftovers() -> None:
    """Remove our folders whose process is gone; those of other programs and of running processes stay."""
    root = next((root for name in ("TMPDIR", "TEMP", "TMP") if (root := os.environ.get(name))), "/tmp")  # noqa: S108 - as tempfile
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if _FOLDER.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                _remove_if_left(Path(entry.path))


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that becomes ``path`` in one step when the block succeeds: nobody ever sees half of it.

    A device that is at ``path`` is written to, not replaced; so is a pipe that somebody reads.

    Raises:
        UserError: it cannot be written, or a link of a checkout leads to it from there.
    """
    try:
        if path.exists() and not path.is_file():
            ensure_inside(path)
            with _device(path) as device:
                yield device
            return
        ensure_inside(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear_partials(path)
        partial, file = _partial_file(path)
        try:
            with file:
                yield file
                # It was created for the owner only; results are readable for everyone, as `open` would create them.
                partial.chmod(0o666 & ~_umask())
                file.flush()
                if system.REPLACES_OPEN_FILES:
                    partial.replace(path)
            if not system.REPLACES_OPEN_FILES:
                partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        why = "it is a pipe that nobody reads" if error.errno == errno.ENXIO else error.strerror or error
        raise UserError(f"cannot write {path}: {why}", hint=hint_of(error)) from None


def write_new(path: Path, text: str) -> None:
    """Write a file that must not be there yet.

    Raises:
        UserError: it is there, it cannot be written, or a link of a checkout leads out to it.
    """
    ensure_inside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}", hint=hint_of(error)) from None


def _device(path: Path) -> BinaryIO:
    """Open a device or a pipe. A pipe that nobody reads is an error, instead of waiting for a reader."""
    descriptor = os.open(path, os.O_WRONLY | system.open_flags("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"))
    if hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "wb")


def _partial_file(path: Path) -> tuple[Path, BinaryIO]:
    import tempfile  # only where something is written

    while True:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:_LONGEST_NAME]}.", suffix=_PARTIAL)
        if _is_locked(descriptor, Path(name), wait=True):
            return Path(name), os.fdopen(descriptor, "wb")
        os.close(descriptor)


_LEFT: Final = re.compile(rf"[a-z0-9_]{{8}}{re.escape(_PARTIAL)}")


def _clear_partials(path: Path) -> None:
    begin = f".{path.name[:_LONGEST_NAME]}."
    for other in path.parent.iterdir():
        if other.name.startswith(begin) and _LEFT.fullmatch(other.name, len(begin)):
            _remove_if_left(other)


def _remove_if_left(path: Path) -> None:
    """Remove a folder or file of this user that is not locked."""
    with suppress(OSError):
        if not system.OPENS_FOLDERS or not system.owner_is_this_user(path):
            return
        lock = _opened(path)
        try:
            if not _is_locked(lock, path, wait=False):
                return
            remove(path)
        finally:
            os.close(lock)


def remove(path: Path) -> None:
    """Remove a file, a pipe, a link (not what it leads to), or a folder with its content.

    ``shutil.rmtree`` would recurse as deep as the folders are nested.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    folders = [path]
    for folder in folders:  # it grows meanwhile
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    with suppress(OSError):
                        os.unlink(entry.path)  # noqa: PTH108 - an entry has no other
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | system.open_flags("O_NOFOLLOW", "O_NONBLOCK"))


def _is_locked(descriptor: int, path: Path, *, wait: bool) -> bool:
    """Lock an open file; ``False`` if another process holds it, or has removed it meanwhile.

    On a file system without locks (an old network disk) leftovers cannot be distinguished from what is in use: there
    nothing is locked, and nothing is removed.
    """
    if not system.lock(descriptor, wait=wait):
        return wait
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Which output folders are ours: only there files are replaced.
#
# A folder is ours if it has a document of ours, which each run writes first; what is downloaded from a job has it,
# too. In a folder without one (that of several assistants) there is a record of the names that were written.

RECORD: Final = ".turncheck-written"
"""Names, one in each line as JSON: several runs may add to it at the same time."""
_TITLE: Final = "# What turncheck has written here, and may replace.\n"
_MOST_BYTES: Final = 64 << 20
_DOCUMENTS: Final = ("report.json", "comparison.json", "verdict.json", "baseline.json", "shard.json")
_USUAL: Final = (
    *_DOCUMENTS,
    *("junit.xml", "report.html", "summary.md", "comment.md", "findings.sarif", "metrics.txt"),
    *("gl-annotations.json", "gl-code-quality-report.json", "badge.json", "badge.svg"),
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
    """Make sure that none of these names in a folder belongs to somebody else's file, and that no link leads out of it.

    Raises:
        UserError: one does.
    """
    for place in (folder, *(folder / inner for inner in _INNER)):
        ensure_inside(place)
    theirs = _theirs(folder)
    for name in names:
        if name in theirs:
            raise _refusal(folder / name)


def _refusal(path: Path) -> UserError:
    return UserError(
        f"{path} was not written by turncheck, and is not replaced",
        hint="Name another output folder with --out, or move the file away.",
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
    ensure_inside(folder)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | system.open_flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
        try:
            title = "" if os.fstat(descriptor).st_size else _TITLE
            os.write(descriptor, f"{title}{json.dumps(name)}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}", hint=hint_of(error)) from None


def _is_file(path: Path) -> bool:
    """Whether there is a file or a link that would be replaced; a device or a pipe is only written to."""
    try:
        mode = path.lstat().st_mode
        return stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and (is_file(path) or not is_there(path)))
    except (OSError, ValueError):
        return False
