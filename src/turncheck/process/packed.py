"""Unpacking what somebody else may have packed: never more than a bound."""

from __future__ import annotations

import gzip
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO


class UnpacksToTooMuchError(ValueError):
    """What is packed is larger than expected of its kind."""


class BoundedGzip(gzip.GzipFile):
    """A packed stream that unpacks to at most so many bytes, the headers of an archive in it included."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._left = most

    def read(self, size: int | None = -1) -> bytes:
        """Read as usual.

        Raises:
            UnpacksToTooMuchError: there is more than the bound.
        """
        wanted = self._left + 1 if size is None or size < 0 else min(size, self._left + 1)
        content = super().read(wanted)
        self._left -= len(content)
        if self._left < 0:
            raise UnpacksToTooMuchError("it unpacks to more than is read of its kind")
        return content


def gunzip(content: bytes, most: int) -> bytes:
    """Return the unpacked content.

    Raises:
        OSError, EOFError, zlib.error: it is damaged.
        UnpacksToTooMuchError: it has more than ``most`` bytes.
    """
    with BoundedGzip(io.BytesIO(content), most) as file:
        return file.read()
