"""Values of declared types out of decoded JSON, in any number of threads."""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, TypeVar

import msgspec

Shape = TypeVar("Shape")
_LEARNING: Final = Lock()
_learnt: set[type[Any]] = set()


def typed(value: Any, shape: type[Shape]) -> Shape:
    """Return a decoded value as a value of this type.

    msgspec learns what a class holds when it first meets it. Of two threads that meet it at once, the second one sees
    what the first has half learnt, and the process ends with a segmentation fault (seen with 0.22). So it is learnt by
    one thread, before any converts.

    Raises:
        msgspec.ValidationError: it has another shape.
    """
    if shape not in _learnt:
        with _LEARNING:
            msgspec.json.Decoder(shape)
            _learnt.add(shape)
    return msgspec.convert(value, shape)
