"""What a renderer returns, and the only thing that a publisher gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

Pieces = Callable[[], Iterator[bytes]]
"""Makes the content of a large file piece by piece, anew each time: it is never in memory as a whole."""


class Rendered(Struct, frozen=True):
    """A file to write or to publish: its name (without a folder), its media type, and its text, bytes or pieces."""

    name: str
    media_type: str
    content: str | bytes | Pieces

    @property
    def pieces(self) -> Iterator[bytes]:
        """The content as bytes, piece by piece; text in UTF-8."""
        match self.content:
            case bytes():
                yield self.content
            case str():
                yield self.content.encode("utf-8", "backslashreplace")
            case make:
                yield from make()

    @property
    def encoded(self) -> bytes:
        """The content as bytes, text in UTF-8."""
        return b"".join(self.pieces)
