"""Sentences as words, for the checks that compare them."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"\w+")
_PLAIN_WORD: Final = re.compile(r"\w+(?:#+(?![\w#]))?")
"""Includes a trailing number sign, which Rasa's WhitespaceTokenizer keeps: ``C#`` is not ``C``."""
_SHOWN: Final = 200


def shown(text: str) -> str:
    """Return text as messages quote it: complete, or its first 200 characters."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def normalised(text: str) -> tuple[str, ...]:
    """Return the words of a sentence, without case and punctuation."""
    return tuple(_WORD.findall(text.casefold()))


def plain_words(text: str) -> tuple[str, ...]:
    """The words without case, punctuation and accents: ``naïve`` is ``naive``."""
    if not text.isascii():
        import unicodedata  # only for text beyond ASCII

        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return tuple(_PLAIN_WORD.findall(text.casefold()))


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """Return the words without case, each with its start and end in the text."""
    return [(match[0].casefold(), match.start(), match.end()) for match in _WORD.finditer(text)]


def splits_word(text: str, offset: int) -> bool:
    """Whether ``offset`` is between two characters of one word."""
    return 0 < offset < len(text) and _is_word(text[offset - 1]) and _is_word(text[offset])


def _is_word(character: str) -> bool:
    return _WORD.match(character) is not None
