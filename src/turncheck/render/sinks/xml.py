"""XML 1.0 text. The writer escapes markup; this drops the characters that no XML document may contain."""

from __future__ import annotations

import re
from typing import Final

from turncheck.messages.plain_text import ELLIPSIS, one_line

_ILLEGAL: Final = re.compile(
    "[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufde0-\ufffd"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 17))
    + "]"
)
"""XML 1.0, production Char, without what it discourages (controls, non-characters); CR would come back as LF."""


def attribute(text: str, limit: int = 400) -> str:
    """Return ``text`` on one line, since readers show attributes as titles."""
    return _ILLEGAL.sub("", one_line(text, limit))


def element(text: str, limit: int = 20_000) -> str:
    """Return ``text`` with its line breaks, at most ``limit`` characters of it."""
    cut = text[:limit] + (ELLIPSIS if len(text) > limit else "")
    return _ILLEGAL.sub("", cut)
