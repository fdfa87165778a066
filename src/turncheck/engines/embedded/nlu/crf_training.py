"""Training by CRFsuite, so that an interrupt stops it at once without harm."""

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
"""CRFsuite's group number for all groups."""

_TRAINING: Final = Lock()
"""One training at a time in a process: they would share the same random number generator."""


class StoppableTrainer(pycrfsuite.BaseTrainer):  # type: ignore[misc]  # it has no types
    """Trains in its own thread, while the calling one waits and can be interrupted.

    CRFsuite reports its progress to :meth:`message`. An exception there unwinds through its C code, which ends in a
    segmentation fault now and then; and in the main thread any signal raises one. Other threads do not raise any.
    CRFsuite cannot be stopped: a training that is no longer waited for is blocked forever at its next report.
    """

    def __init__(self, algorithm: str, parameters: Mapping[str, float | int | bool]) -> None:
        super().__init__(algorithm, dict(parameters), verbose=False)
        self._begun, self._abandoned, self._still = Event(), Event(), Event()
        self._error: Exception | None = None

    def message(self, message: str) -> None:  # noqa: ARG002 - CRFsuite's words
        """Block if nobody is waiting any more."""
        if self._abandoned.is_set():
            self._still.set()
            Event().wait()

    def trained(self, without: int = NO_GROUP) -> bytes:
        """Train on what was appended, except the group ``without``, and return CRFsuite's file.

        It can be called again, for another group. CRFsuite's online algorithms shuffle by the C library's ``rand()``,
        which is therefore reset before.

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
        """Wait for the training to block: Python must not exit while C code in a thread still calls back."""
        self._abandoned.set()
        while self._begun.is_set() and not self._still.is_set():
            with suppress(KeyboardInterrupt):  # an exception is already being raised
                self._still.wait()


def _file_without_a_name() -> IO[bytes]:
    """CRFsuite only writes to a path. This file does not remain, however the process ends."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("crfsuite"), "w+b")
    return tempfile.TemporaryFile()
