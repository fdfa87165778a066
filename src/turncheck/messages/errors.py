"""Errors: what a user can fix, what ends an engine's answers, and the exit codes of every command."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from turncheck.messages.finding import Location


EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
"""A gate failed, a test failed, the data are invalid: the command did its work and the answer is no."""
EXIT_NOT_DONE: Final = 2
"""Bad usage, a missing file, an unreachable engine: there is no result."""
EXIT_INTERRUPTED: Final = 130


class UserError(Exception):
    """Something the user can fix: what is wrong, where, and what to do about it.

    Shown as text without a traceback; the command ends with :data:`EXIT_NOT_DONE` unless it says otherwise.
    """

    def __init__(self, message: str, *, location: Location | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.hint = hint
        self.headline = message
        """What is wrong in short, without the list that ``message`` may end with."""

    def for_repository(self, project: str) -> str:
        """The same text for a reader outside the project's folder: the path leads there from here."""
        if self.location is None:
            return str(self)
        return str(UserError(self.message, location=self.location.below(project), hint=self.hint))

    def __str__(self) -> str:
        """``path:line:column: what is wrong`` and, on a line of its own, the hint."""
        place = f"{self.location}: " if self.location else ""
        hint = f"\n{self.hint}" if self.hint else ""
        return f"{place}{self.message}{hint}"


class NoAssistantError(UserError):
    """There is no assistant in a folder, nor any part of one."""


class TrainingRefusedError(UserError):
    """The files can be read, but Rasa refuses to train on them: ``train`` ends with :data:`EXIT_FAILED`."""


class BeyondLimitError(UserError):
    """More than turncheck can measure. It is a limit of its own: nothing is wrong with the files for that reason."""


_NO_ROOM: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file grew larger than this process may write",
    errno.EROFS: "the file system is read-only",
}
_HINTS: Final = {
    errno.ENOSPC: "Make room, or name another disk with --out (temporary files: TMPDIR).",
    errno.EDQUOT: "Make room, or name another disk with --out (temporary files: TMPDIR).",
    errno.EFBIG: "Allow larger files (ulimit -f), or write fewer.",
    errno.EROFS: "Name a folder that may be written to with --out (temporary files: TMPDIR).",
    errno.EACCES: "This user has no permission there: change the permissions, or name another folder.",
    errno.EPERM: "This user has no permission there: change the permissions, or name another folder.",
    errno.ENOENT: "Is the path right? A folder on the way to it does not exist.",
    errno.ENOTDIR: "Is the path right? What should be a folder on the way to it is a file.",
    errno.EISDIR: "Is the path right? There is a folder in the place of the file.",
    errno.EEXIST: "Is the path right? What should be a folder on the way to it is a file.",
    errno.ELOOP: "Is the path right? A symbolic link on the way to it leads back to itself.",
    errno.ENAMETOOLONG: "Name a shorter path.",
    errno.ENXIO: "Nobody reads from the other end of that pipe: start the reader first, or name a file.",
    errno.EMFILE: "Allow more open files (ulimit -n).",
    errno.ENFILE: "Too many files are open on this machine.",
    errno.ENOMEM: "Give this process more memory (ulimit -v).",
    errno.EIO: "The disk or the network behind it fails: run it again, or elsewhere.",
    errno.ESTALE: "The disk or the network behind it fails: run it again, or elsewhere.",
}
_MOST_SHOWN: Final = 200


def hint_of(error: OSError) -> str:
    """Return what to do about a file or folder that the system refuses."""
    return _HINTS.get(error.errno or 0, "Is the path right?")


def user_error_from_os(error: BaseException) -> UserError | None:
    """Return what to report if a file or folder could not be accessed, ``None`` if the cause is another one.

    Readers and writers report it themselves; this is for unexpected places: a full disk, a name that is too long, a
    parent folder without permission.
    """
    if not isinstance(error, OSError):
        return None
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    place = f"{name[:_MOST_SHOWN]}…" if len(name) > _MOST_SHOWN else name
    if error.errno in _NO_ROOM:
        what = f"{_NO_ROOM[error.errno]} ({place})" if place else _NO_ROOM[error.errno]
        return UserError(what, hint=hint_of(error))
    if place:
        return UserError(f"{place}: {error.strerror or type(error).__name__}", hint=hint_of(error))
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        return UserError("the current folder does not exist any more", hint="Change to one that does.")
    return None


def _is_nowhere() -> bool:
    """Whether the folder that this process works in was deleted."""
    try:
        os.getcwd()  # noqa: PTH109 - only whether there is one
    except FileNotFoundError:
        return True
    return False


# What an engine raises when it can no longer answer.

INTERRUPTED: Final = "interrupted"
"""Why something was not finished, if a person or a cancelled job ended it."""


class EngineError(UserError):
    """The engine can no longer answer (a server that is gone or refuses): the rest of a run is skipped."""


class MachineError(EngineError):
    """The machine refuses more memory, files or room: this says nothing of the project, and nothing more is run."""


OF_THE_MACHINE: Final = frozenset(
    {
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EAGAIN, errno.EIO, errno.ESTALE),
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    }
)
"""What the system says if a file cannot be opened, read or written, whatever is in it."""


def refuse_limit_of_machine(error: OSError) -> None:
    """Do nothing about what is wrong with a file.

    Raises:
        MachineError: it is not the file: the machine refuses to open or to read any more.
    """
    if error.errno in OF_THE_MACHINE:
        name = f"{os.fsdecode(error.filename)[:_MOST_SHOWN]}: " if isinstance(error.filename, str | bytes) else ""
        raise MachineError(f"{name}{error.strerror or type(error).__name__}", hint=hint_of(error)) from error


class TransientError(EngineError):
    """The problem may be temporary: a conversation that is started again may succeed."""


class UnansweredError(TransientError):
    """One conversation went wrong, as another need not: if it does so again, only that one has no result."""


class IncompleteError(EngineError):
    """An engine stopped answering in the middle of something, or it was interrupted.

    ``finished``: what was done before, in the shape of the result that would have been returned, or ``None``. Missing
    answers among several are ``None``. ``interrupted``: a person or a cancelled job ended it. ``passing``: the problem
    may be temporary. ``unanswered``: it is about one question alone, which was asked again already.
    """

    def __init__(self, cause: UserError | KeyboardInterrupt, finished: Any = None) -> None:
        if isinstance(cause, KeyboardInterrupt):
            super().__init__(INTERRUPTED)
        else:
            super().__init__(cause.message, location=cause.location, hint=cause.hint)
        self.interrupted = isinstance(cause, KeyboardInterrupt) or getattr(cause, "interrupted", False)
        self.passing = isinstance(cause, TransientError)
        self.unanswered = isinstance(cause, UnansweredError)
        self.finished = finished

    def __reduce__(self) -> Any:
        """It is also sent back from other processes."""
        cause = UserError(self.message, location=self.location, hint=self.hint)
        return IncompleteError, (KeyboardInterrupt() if self.interrupted else cause, self.finished)
