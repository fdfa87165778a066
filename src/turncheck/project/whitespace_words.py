"""Words as Rasa's WhitespaceTokenizer splits them, for training on sentences and for checking them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_SEPARATORS: Final = (
    # before white space or the end
    r"[^\w#@&]+(?=\s|$)"
    # after white space or at the start, if neither a digit nor white space follows
    r"|(?:\s|^)[^\w#@&]+(?=[^0-9\s])"
    # within a word, characters that do not occur in a number, address or URL
    r"|(?<=[^0-9\s])[^\w._~:/?#\[\]()@!$&*+,;=-]+(?=[^0-9\s])"
)
"""What separates words in Rasa's WhitespaceTokenizer (a fact of its behaviour, tested against it)."""

_ASCII_SEPARATORS: Final = re.compile(_SEPARATORS)

_EMOJI: Final = (
    "[\U0001f600-\U0001f64f\U0001f300-\U0001f5ff\U0001f680-\U0001f6ff\U0001f1e0-\U0001f1ff"
    "\u2702-\u27b0\u24c2-\U0001f251\u200d\u200c]+"
)
"""The characters that Rasa treats as emoji; one of its ranges also holds Chinese, Japanese and Korean script.
Not compiled here: that takes milliseconds, and is needed only for texts beyond ASCII."""


@lru_cache(maxsize=1)
def _unicode_separators() -> Any:
    """``\\w`` of the third-party ``regex`` counts combining marks as word characters, ``re`` does not; Rasa uses it."""
    import regex  # only for texts beyond ASCII

    return regex.compile(_SEPARATORS)


def whitespace_words(text: str) -> list[str]:
    """Split ``text`` into words as Rasa's WhitespaceTokenizer does, before its ``token_pattern``."""
    plain = text.isascii() and text.isprintable()  # both engines agree then, and `re` is faster
    separators = _ASCII_SEPARATORS if plain else _unicode_separators()
    words: list[str] = separators.sub(" ", text).split()
    if not plain:
        words = [word for word in words if not re.fullmatch(_EMOJI, word)]
    return words or [text]


def word_borders(words: Iterable[str], text: str) -> list[tuple[int, int]]:
    """Return the start and end of each word in ``text``, searching from the end of the previous one."""
    borders = []
    offset = 0
    for word in words:
        start = text.index(word, offset)
        offset = start + len(word)
        borders.append((start, offset))
    return borders
