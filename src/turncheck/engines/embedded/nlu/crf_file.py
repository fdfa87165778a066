"""CRFsuite's model file: multiplies its weights.

Layout (CRFsuite 0.12, ``crf1d_model.c``), little-endian: a header that begins with ``lCRF`` and has the offset of the
features at byte 28; there ``FEAT``, the size of the chunk, the number of features, and for each three 32-bit integers
and its weight, a double.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

_OFFSET_AT: Final = 28
_CHUNK: Final = struct.Struct("<4sII")
_FEATURE: Final = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])


def with_weights_times(factor: float, content: bytes) -> bytes:
    """Return the file of a CRF whose weights are those of ``content`` times ``factor``.

    The best sequence of tags stays, its probability does not.

    Raises:
        ValueError: this is not a file of CRFsuite's.
    """
    if content[:4] != b"lCRF":
        raise ValueError("not a CRFsuite model")
    (offset,) = struct.unpack_from("<I", content, _OFFSET_AT)
    name, _, count = _CHUNK.unpack_from(content, offset)
    if name != b"FEAT":
        raise ValueError("CRFsuite's model has no features where its header says")
    written = bytearray(content)
    features = np.frombuffer(written, _FEATURE, count, offset + _CHUNK.size)
    features["weight"] *= factor
    return bytes(written)
