"""CRFsuite's model file: whether it can be opened without harm, and the same one with other weights.

Layout (CRFsuite 0.12, ``crf1d_model.c`` and ``cqdb.c``), little-endian: a header with the number of labels and of
attributes and the offset of each part. The features are a chunk ``FEAT``: for each three 32-bit integers (kind,
source, target) and its weight, a double. The names of labels and of attributes are each a hash table (``CQDB``), whose
offsets count from its own beginning. For each label (``LFRF``) and attribute (``AFRF``) there is a list of features.
"""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import pycrfsuite
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


_HEADER: Final = struct.Struct("<4sI4s9I")
_VERSION: Final = 100
_CHUNK: Final = struct.Struct("<4sII")
_FEATURE: Final = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_NAMES: Final = struct.Struct("<4s5I")
_TABLES: Final = 256
_BYTE_ORDER: Final = 0x62445371
_BUCKET: Final = 8
_RECORD: Final = 8
"""Bytes before a name: its number and its length."""
_MOST_LABELS: Final = 1 << 14
"""CRFsuite takes memory for each pair of labels."""
_LARGEST_WEIGHT: Final = 1e100
"""Sums of larger weights may be infinite, and then no sequence of labels is the best."""


class _Header(Struct, frozen=True):
    labels: int
    attributes: int
    at_features: int
    at_labels: int
    at_attributes: int
    at_features_of_labels: int
    at_features_of_attributes: int


def ensure_sound(content: bytes) -> None:
    """Make sure that CRFsuite can open and use this file: it trusts every offset and every number in there.

    Raises:
        ValueError: CRFsuite would read outside of the file, never end, or find no label.
    """
    data = np.frombuffer(content, np.uint8)
    head = _header(content)
    if not 1 <= head.labels <= _MOST_LABELS:
        raise ValueError(f"a CRF with {head.labels:,} labels")
    features = _features(content, head)
    if features.size and int(features["target"].max()) >= head.labels:
        raise ValueError("a feature is for a label that does not exist")
    if not bool((np.abs(features["weight"]) <= _LARGEST_WEIGHT).all()):  # false for what is not a number
        raise ValueError("a weight is not a finite number")
    labels = _Names.of(data, head.at_labels)
    labels.check(head.labels)
    labels.check_texts(head.labels)
    _Names.of(data, head.at_attributes).check(head.attributes)
    _check_lists(data, b"LFRF", head.at_features_of_labels, head.labels, len(features))
    _check_lists(data, b"AFRF", head.at_features_of_attributes, head.attributes, len(features))


def with_weights_times(factor: float, content: bytes) -> bytes:
    """Return the file of a CRF whose weights are those of ``content`` times ``factor``.

    The best sequence of tags stays, its probability does not.

    Raises:
        ValueError: this is not a file of CRFsuite's.
    """
    written = bytearray(content)
    features = _features(written, _header(content))
    features["weight"] *= factor
    return bytes(written)


def _header(content: bytes) -> _Header:
    if len(content) < _HEADER.size:
        raise ValueError("not a CRFsuite model")
    magic, size, kind, version, _, *numbers = _HEADER.unpack_from(content)
    if (magic, kind, version) != (b"lCRF", b"FOMC", _VERSION):
        raise ValueError("not a CRFsuite model")
    if size != len(content):
        raise ValueError(f"CRFsuite's model has {len(content):,} bytes instead of {size:,}")
    return _Header(*numbers)


def _features(content: bytes | bytearray, head: _Header) -> NDArray[Any]:
    """Return the features, which share their memory with ``content``."""
    offset = head.at_features
    _ensure_within(offset, _CHUNK.size, len(content))
    name, _, number = _CHUNK.unpack_from(content, offset)
    if name != b"FEAT":
        raise ValueError("CRFsuite's model has no features where its header says")
    _ensure_within(offset + _CHUNK.size, number * _FEATURE.itemsize, len(content))
    return np.ndarray((number,), _FEATURE, content, offset + _CHUNK.size)


class _Names(Struct, frozen=True):
    """A table of names; ``data`` are its own bytes."""

    data: NDArray[np.uint8]
    backward: int
    """Where the places of the names are, by their numbers; 0 if they are not stored."""
    listed: int

    @classmethod
    def of(cls, data: NDArray[np.uint8], begin: int) -> _Names:
        _ensure_within(begin, _NAMES.size + _TABLES * _BUCKET, len(data))
        name, size, _, order, listed, backward = _NAMES.unpack(data[begin : begin + _NAMES.size].tobytes())
        if name != b"CQDB" or order != _BYTE_ORDER:
            raise ValueError("CRFsuite's model has no names where its header says")
        _ensure_within(begin, size, len(data))
        _ensure_within(_NAMES.size + _TABLES * _BUCKET, 0, size)
        backward = backward if listed else 0
        # The list is as long as the memory that it had in training: CRFsuite reads beyond its end.
        _ensure_within(begin + backward, 4 * listed if backward else 0, len(data))
        return cls(data[begin : begin + size], backward, listed)

    def check(self, number: int) -> None:
        """Make sure that every search in the tables ends, and gives a number below ``number`` if it finds a name."""
        tables = _integers(self.data, _NAMES.size, 2 * _TABLES).reshape(_TABLES, 2)
        offsets, buckets = tables[tables.any(axis=1)].T
        if not bool(offsets.all() and buckets.all()):
            raise ValueError("a table of names has no place, or no size")
        if int(buckets.sum()) * _BUCKET > len(self.data):
            raise ValueError("tables of names overlap")
        firsts = np.cumsum(buckets) - buckets
        # All buckets of all tables, one after the other: the second number of each is the place of a name, or 0.
        at = np.repeat(offsets - firsts * _BUCKET, buckets) + np.arange(int(buckets.sum())) * _BUCKET + 4
        places = _integers_at(self.data, at)
        if buckets.size and not bool(np.logical_or.reduceat(places == 0, firsts).all()):
            raise ValueError("a table of names has no end")
        if bool((self._numbers_at(places[places != 0]) >= number).any()):
            raise ValueError("a name has a number that does not exist")

    def check_texts(self, number: int) -> None:
        """Make sure that each number has a name."""
        if not self.backward or self.listed < number:
            raise ValueError("labels have no names")
        places = _integers(self.data, self.backward, number)
        if not bool(places.all()):
            raise ValueError("a label has no name")
        self._numbers_at(places)
        for place in places.tolist():
            begin = place + _RECORD
            self.data[begin : begin + _integer(self.data, place + 4) - 1].tobytes().decode("utf-8")

    def _numbers_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the names at these places; each name ends where its length says."""
        numbers, lengths = _integers_at(self.data, places), _integers_at(self.data, places + 4)
        ends = places + _RECORD + lengths
        if bool(((lengths < 1) | (ends > len(self.data))).any()) or bool(self.data[ends - 1].any()):
            raise ValueError("a name does not end")
        return numbers


def _check_lists(data: NDArray[np.uint8], name: bytes, begin: int, number: int, features: int) -> None:
    """Make sure that the first ``number`` lists of features are within the file, and name features that exist."""
    _ensure_within(begin, _CHUNK.size, len(data))
    found, _, listed = _CHUNK.unpack(data[begin : begin + _CHUNK.size].tobytes())
    if found != name or listed < number:
        raise ValueError("CRFsuite's model has no lists of features where its header says")
    places = _integers(data, begin + _CHUNK.size, number)
    lengths = _integers_at(data, places)
    if int(lengths.sum()) * 4 > len(data) or bool((places + 4 + 4 * lengths > len(data)).any()):
        raise ValueError("a list of features does not end")
    firsts = np.repeat(places + 4 - 4 * (np.cumsum(lengths) - lengths), lengths)
    if bool((_integers_at(data, firsts + 4 * np.arange(len(firsts))) >= features).any()):
        raise ValueError("a list names a feature that does not exist")


def _integers(data: NDArray[np.uint8], offset: int, number: int) -> NDArray[np.int64]:
    """Return so many 32-bit integers from one place on."""
    _ensure_within(offset, 4 * number, len(data))
    return data[offset : offset + 4 * number].view("<u4").astype(np.int64)


def _integers_at(data: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the 32-bit integers at these places."""
    if places.size and int(places.max()) + 4 > len(data):
        raise ValueError("an offset in CRFsuite's model leads out of it")
    return sum((data[places + byte].astype(np.int64) << 8 * byte for byte in range(4)), np.zeros_like(places))


def _integer(data: NDArray[np.uint8], place: int) -> int:
    return int.from_bytes(data[place : place + 4].tobytes(), "little")


def _ensure_within(offset: int, size: int, whole: int) -> None:
    if offset + size > whole:
        raise ValueError("an offset in CRFsuite's model leads out of it")


# Training by CRFsuite, so that an interrupt stops it at once without harm.

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
