"""What not every system has: Windows lacks flags of ``open``, users by number, process groups and locks of ``flock``.

Elsewhere a thing is asked for by what it does, and not by the system's name; so a run can be tested without it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Ends a process at once; on Windows any signal does."""


OPENS_FOLDERS = hasattr(os, "O_DIRECTORY")
"""Whether a folder can be opened, as a file can; only then can it be locked."""
REPLACES_OPEN_FILES = OPENS_FOLDERS
"""Whether a file can get another name while it is open."""


def open_flags(*names: str) -> int:
    """Return these flags of ``os.open``, as far as there are such.

    Windows would translate line ends if nobody said that a file is binary.
    """
    found = getattr(os, "O_BINARY", 0)
    for name in names:
        found |= getattr(os, name, 0)
    return found


def owner_is_this_user(path: Path) -> bool:
    """Whether a file or folder (a link itself, not where it leads) belongs to the user of this process.

    Windows has no such number: what is in a user's own folders counts as theirs.
    """
    return not hasattr(os, "getuid") or path.lstat().st_uid == os.getuid()


def home_folder() -> str:
    """Return where this user is at home, whatever the environment says; on Windows, what it says."""
    try:
        import pwd

        return str(pwd.getpwuid(os.getuid()).pw_dir)  # type: ignore[attr-defined,unused-ignore] # on Windows
    except KeyError:
        return "/"
    except ImportError:
        return os.path.expanduser("~")  # noqa: PTH111 - every command starts with this module, few need pathlib


def signal_group(pid: int, number: int) -> None:
    """Send a signal to a process that leads a group, and to those in it. On Windows all below the process are ended.

    Raises:
        ProcessLookupError: there is no such process.
    """
    if hasattr(os, "killpg"):
        os.killpg(pid, number)
        return
    import subprocess

    taskkill = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")  # noqa: PTH118
    with suppress(OSError):
        subprocess.run([taskkill, "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)  # noqa: S603


def read_at(descriptor: int, size: int, place: int) -> bytes:
    """Read from a place in an open file that another process appends to."""
    if hasattr(os, "pread"):
        return bytes(os.pread(descriptor, size, place))
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, place, os.SEEK_SET)
    try:
        return os.read(descriptor, size)
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


def own_group() -> None:
    """Leave the group of the parent process, so that what a terminal sends does not arrive twice."""
    if hasattr(os, "setsid"):
        with suppress(OSError):
            os.setsid()


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file until this process closes it or ends: whether that was possible.

    An old network disk has no locks, and Windows none of this kind.
    """
    try:
        import fcntl  # many commands write nothing, and find nothing that was left

        how = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)  # type: ignore[attr-defined,unused-ignore] # on Windows
        fcntl.flock(descriptor, how)  # type: ignore[attr-defined,unused-ignore] # on Windows
    except (ImportError, OSError):
        return False
    return True


def memory_is_limited() -> bool:
    """Whether this process may have only so much memory (``ulimit -v``), whatever the machine has."""
    try:
        import resource
    except ImportError:
        return False
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)  # type: ignore[attr-defined,unused-ignore] # on Windows
    return any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in limits)  # type: ignore[attr-defined,unused-ignore]


def program(name: str) -> str:
    """Return how a program on the path is called.

    Windows would look in the current folder first, which is the change's: there its full path is returned.
    """
    if sys.platform != "win32":
        return name
    from pathlib import Path

    folders = (Path(one) for one in os.environ.get("PATH", "").split(os.pathsep))
    found = (folder / f"{name}.exe" for folder in folders if folder.is_absolute())
    return next((str(one) for one in found if one.is_file()), str(Path(sys.prefix, f"no {name}")))
