"""Reading what somebody else may have put there: only regular files, of a bounded size.

In the place of a file there may be a pipe that nobody writes to, a link to a device without an end, a sparse file of
many gigabytes. Every file that is read is opened here.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import refuse_limit_of_machine
from turncheck.process.system import open_flags

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader


_PART: Final = 16 * 1024 * 1024
_FLAGS: Final = os.O_RDONLY | open_flags("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_NOFOLLOW")
_MIB: Final = 1 << 20


@contextmanager
def whatever_the_machine_allows() -> Iterator[None]:
    """Tell what is wrong with a file from a limit of the machine.

    Raises:
        MachineError: it is one.
    """
    try:
        yield
    except OSError as error:
        refuse_limit_of_machine(error)
        raise


class NotRegularError(OSError):
    """A pipe, a device or a socket, or a link that may not be followed."""


class TooLargeError(OSError):
    """A file that is larger than what is read of its kind."""


def open_regular(path: Path, *, most: int, follow: bool = True, inside: Path | None = None) -> BufferedReader:
    """Open a regular file for reading.

    Args:
        path: the file.
        most: the largest size in bytes.
        follow: whether it may be a symbolic link.
        inside: the folder that links may not lead out of.

    Raises:
        OSError: it cannot be opened; :class:`NotRegularError` or :class:`TooLargeError` as they say. ``strerror``
            completes a sentence such as "cannot be read: …".
        MachineError: the machine refuses to open any more files.
    """
    name = os.fspath(path)
    if inside is not None:
        name = _within(path, inside)
    with whatever_the_machine_allows():
        _ensure_regular(Path(name).stat(follow_symlinks=follow), name)  # opening a pipe or a device may have effects
        file = Path(name).open("rb") if follow and inside is None else os.fdopen(os.open(name, _FLAGS), "rb")  # noqa: SIM115 - returned
    try:
        status = os.fstat(file.fileno())
        _ensure_regular(status, name)
        _ensure_small(status.st_size, most, name)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, *, most: int, follow: bool = True, inside: Path | None = None) -> bytes:
    """Return the content of a regular file, opened as by :func:`open_regular`.

    Raises:
        OSError: as there.
        MachineError: as there.
    """
    with whatever_the_machine_allows(), open_regular(path, most=most, follow=follow, inside=inside) as file:
        content = bytearray()  # in parts: it may have grown, and files of the system (/proc) have the size 0
        while len(content) <= most and (part := file.read(_PART)):
            content += part
    _ensure_small(len(content), most, os.fspath(path))
    return bytes(content)


def _within(path: Path, folder: Path) -> str:
    """Return where a path leads, links followed."""
    real = os.path.realpath(path)
    if not Path(real).is_relative_to(os.path.realpath(folder)):
        raise NotRegularError(errno.ELOOP, "it is a symbolic link that leads out of its folder", os.fspath(path))
    return real


def _ensure_regular(status: os.stat_result, name: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", name)
    what = "it is a symbolic link" if stat.S_ISLNK(status.st_mode) else "it is not a file, but a pipe or a device"
    raise NotRegularError(errno.EINVAL, what, name)


def _ensure_small(size: int, most: int, name: str) -> None:
    if size > most:
        raise TooLargeError(errno.EOVERFLOW, f"it is larger than {most / _MIB:,.4g} MiB", name)


# What is at a path, as :mod:`pathlib` says; nothing where the system refuses to look (a folder of somebody else).


def is_file(path: Path) -> bool:
    """Whether there is a file that can be looked at, links followed."""
    return os.path.isfile(path)  # noqa: PTH113 - pathlib raises


def is_folder(path: Path) -> bool:
    """Whether there is a folder that can be looked at, links followed."""
    return os.path.isdir(path)  # noqa: PTH112 - as above


def is_link(path: Path) -> bool:
    """Whether there is a symbolic link."""
    return os.path.islink(path)  # noqa: PTH114 - as above


def is_there(path: Path) -> bool:
    """Whether there is anything that can be looked at, links followed."""
    return os.path.exists(path)  # noqa: PTH110 - as above


def file_and_case(named: Path | str) -> tuple[Path, str | None]:
    """Return the file of ``file::case``, and the name of the case, if one is named.

    The paths of folders may have colons as well: the longest path that exists is the file.
    """
    words = str(named).split("::")
    for length in range(len(words), 0, -1):
        if is_there(file := Path("::".join(words[:length]))):
            break
    else:
        file, length = Path(words[0]), 1
    return file, "::".join(words[length:]) if words[length:] else None
