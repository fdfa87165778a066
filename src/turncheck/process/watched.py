"""The work in a child of this process, where memory is limited (``ulimit -v``).

A library that gets no memory may use what it did not get: CRFsuite does. The system then ends the process (SIGSEGV)
without a word, so somebody must be left who says why.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from turncheck.process import interrupts, little_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

_NOT_DONE: Final = 2
_BY_SIGNAL: Final = 128
"""What a shell adds to the number of the signal that ended a program."""
_FOR_WANT_OF_MEMORY: Final = ("SIGSEGV", "SIGABRT", "SIGBUS")
_PASSED_ON: Final = frozenset({signal.SIGINT, signal.SIGTERM})
_END_WITH_PARENT: Final = 1
"""``PR_SET_PDEATHSIG`` (prctl(2))."""


def watched(work: Callable[[], int], say: Callable[[str], object]) -> int:
    """Do some work in a child process, and return its exit code: 2, with words, if the system ended it.

    Where the system has no such children (macOS and Windows, which limit no memory this way), it is done here.
    """
    if sys.platform in {"win32", "darwin"}:
        return work()
    heard = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*heard, signal.SIGUSR1})
    try:
        child = os.fork()
    except OSError:  # no process may be started (ulimit -u)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return work()
    if child == 0:
        _work(work, before)
    try:
        return _code_of(_status_of(child, heard), say)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(work: Callable[[], int], mask: AbstractSet[int]) -> NoReturn:
    """The child, which ends as soon as nobody waits for its exit code any more."""
    if sys.platform == "win32":  # for the types: no child is made there
        raise NotImplementedError
    code = _NOT_DONE
    try:
        with suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        interrupts.also_by(signal.SIGUSR1)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        code = work()
    finally:
        little_memory.end(code)


def _status_of(child: int, heard: AbstractSet[signal.Signals]) -> int:
    """Wait for the child. It hears the terminal by itself; what another process sends to this one is passed on."""
    if sys.platform == "win32":
        raise NotImplementedError
    while True:
        if signal.sigwaitinfo(heard).si_signo in _PASSED_ON:
            os.kill(child, signal.SIGUSR1)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status


def _code_of(status: int, say: Callable[[str], object]) -> int:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    name = signal.Signals(-code).name
    if name not in _FOR_WANT_OF_MEMORY:
        return _BY_SIGNAL - code
    say(
        f"error: there is not enough memory: a library could get none, and the system ended it ({name})\n"
        "Give this process more (ulimit -v), or measure in shards."
    )
    return _NOT_DONE
