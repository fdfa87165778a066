"""Training by CRFsuite, so that an interrupt stops it at once and harms nothing."""

from __future__ import annotations

import ctypes
import os
import tempfile
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import IO, TYPE_CHECKING, Final

import pycrfsuite

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_GROUP: Final = -1
"""What CRFsuite takes for the number of a group where all are meant."""

_TRAINING: Final = Lock()
"""One training at a time in a process: they would draw from the same random numbers."""


class StoppableTrainer(pycrfsuite.BaseTrainer):  # type: ignore[misc]  # it has no types
    """Trains in a thread of its own, while the one that asked for it waits and can be interrupted.

    CRFsuite reports its progress to :meth:`message`. An exception there unwinds through its C code, which ends in a
    segmentation fault now and then; and in the main thread any signal raises one. In another thread none is raised.
    CRFsuite knows no way to stop: a training that nobody waits for any more is halted at its next report, for good.
    """

    def __init__(self, algorithm: str, parameters: Mapping[str, float | int | bool]) -> None:
        super().__init__(algorithm, dict(parameters), verbose=False)
        self._begun, self._abandoned, self._still = Event(), Event(), Event()
        self._error: Exception | None = None

    def message(self, message: str) -> None:  # noqa: ARG002 - CRFsuite's words
        """Halt if nobody waits any more."""
        if self._abandoned.is_set():
            self._still.set()
            Event().wait()

    def trained(self, without: int = NO_GROUP) -> bytes:
        """Train on what was appended, but for the group ``without``, and return CRFsuite's file.

        It can be called again, for another group. CRFsuite's online algorithms shuffle by the C library's ``rand()``,
        which is therefore set back before.

        Raises:
            CRFSuiteError: CRFsuite failed.
        """
        with _TRAINING, _file_without_a_name() as file:
            self._begun.clear()
            self._still.clear()
            path = f"/dev/fd/{file.fileno()}"
            try:
                Thread(target=self._train, args=(path, without), name="crfsuite", daemon=True).start()
                self._still.wait()
            except BaseException:
                self._halt()
                raise
            if self._error is not None:
                raise self._error
            return file.read()

    def _train(self, path: str, without: int) -> None:
        self._begun.set()
        try:
            if not self._abandoned.is_set():
                ctypes.CDLL(None).srand(1)
                self.train(path, without)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            self._error = error
        finally:
            self._still.set()

    def _halt(self) -> None:
        """Wait for the training to halt: Python must not end while a thread of C code still comes back to it."""
        self._abandoned.set()
        while self._begun.is_set() and not self._still.is_set():
            with suppress(KeyboardInterrupt):  # one is on its way already
                self._still.wait()


def _file_without_a_name() -> IO[bytes]:
    """CRFsuite writes to a path only. Of this file nothing is left, however the process ends."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("crfsuite"), "w+b")
    return tempfile.TemporaryFile()
