"""XML 1.0 text. The writer escapes markup; this drops the characters that no XML document may contain."""

from __future__ import annotations

import re
from typing import Final

from turncheck.messages.plain_text import ELLIPSIS, one_line

_ILLEGAL: Final = (
    "[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufde0-\ufffd"
    + "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 17))
    + "]"
)
"""XML 1.0, production Char, without what it discourages (controls, non-characters); CR would come back as LF.
Not compiled here: that takes milliseconds, and hardly any text needs it."""


def attribute(text: str, limit: int = 400) -> str:
    """Return ``text`` on one line, since readers show attributes as titles."""
    return _legal(one_line(text, limit))


def element(text: str, limit: int = 20_000) -> str:
    """Return ``text`` with its line breaks, at most ``limit`` characters of it."""
    cut = text[:limit] + (ELLIPSIS if len(text) > limit else "")
    return _legal(cut)


def _legal(text: str) -> str:
    if text.replace("\n", "").isprintable():  # nearly always: none of the characters that are left out shows
        return text
    return re.sub(_ILLEGAL, "", text)
