"""Values of declared types from decoded JSON, in any number of threads."""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

Shape = TypeVar("Shape")
_LEARNING: Final = Lock()
_learnt: set[type[Any]] = set()


def typed(value: Any, shape: type[Shape]) -> Shape:
    """Return a decoded value as a value of this type.

    msgspec inspects a class when it first meets it. If two threads meet it at once, the second one sees half-finished
    information, and the process ends with a segmentation fault (seen with 0.22). So one thread inspects it before any
    converts.

    Raises: msgspec.ValidationError: it has another shape.
    """
    if shape not in _learnt:
        with _LEARNING:
            msgspec.json.Decoder(shape)
            _learnt.add(shape)
    return msgspec.convert(value, shape)
