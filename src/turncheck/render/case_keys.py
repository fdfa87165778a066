"""Keys of judged cases: what an address behind ``#`` names, the same in every run and every output.

A key is made of what a case is (a sentence and its intent, the name of a test), never of its position, so that a link
from last week's comment leads to the same case in today's page.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_KINDS: Final = {"story": "story", "end-to-end case": "case", "batch case": "batch"}
_DIGITS: Final = 12


def key_of_sentence(text: str, intent: str) -> str:
    """Return the key of a judged sentence."""
    return "sentence-" + _digest(f"{intent}\n{text}")


def key_of_test(kind: str, name: str) -> str:
    """Return the key of a ``story``, an ``end-to-end case`` or a ``batch case``."""
    return f"{_KINDS[kind]}-{_digest(name)}"


def distinct_keys(keys: Iterable[str]) -> list[str]:
    """Number those that occur again: the second of ``story-1f`` is ``story-1f-2``."""
    seen: Counter[str] = Counter()
    parts = []
    for key in keys:
        seen[key] += 1
        parts.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return parts


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
