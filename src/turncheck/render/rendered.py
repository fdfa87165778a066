"""What a renderer returns, and all that a publisher ever gets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rendered:
    """A file to write or to publish: its name (no folder), its media type, and its text or bytes."""

    name: str
    media_type: str
    content: str | bytes

    @property
    def encoded(self) -> bytes:
        """The content as bytes, text in UTF-8."""
        return self.content if isinstance(self.content, bytes) else self.content.encode("utf-8", "backslashreplace")
