"""The name that an unknown one is close to. Of many known names only a short list is compared."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOSE: Final = 0.75
_LONGEST: Final = 200
"""Longer names are compared with none."""
_FEW: Final = 100
"""So many known names are all compared."""
_RARE: Final = 50
"""So many names may share a part of three characters for it to tell them from the others."""
_SHORTLIST: Final = 20


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'x'?`` for a name that is close to a known one, else an empty text."""
    text = str(name)
    if not text or len(text) > _LONGEST:
        return ""
    near = _nearest(text, known if isinstance(known, frozenset) else frozenset(map(str, known)))
    return f"Did you mean '{near}'?" if near else ""


@lru_cache(maxsize=4096)
def _nearest(name: str, known: frozenset[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only where something was found

    return next(iter(get_close_matches(name, _names(known).like(name), n=1, cutoff=_CLOSE)), "")


class _Names:
    """Known names, found by parts of three characters that few of them share."""

    def __init__(self, names: Iterable[str]) -> None:
        self._all = sorted(name for name in map(str, names) if len(name) <= _LONGEST)
        self._by_part: dict[str, list[str]] = {}
        for name in self._all if len(self._all) > _FEW else ():
            for part in _parts(name):
                self._by_part.setdefault(part, []).append(name)

    def like(self, name: str) -> list[str]:
        """The names worth comparing with this one."""
        if not self._by_part:
            return self._all
        shared = Counter(
            known
            for part in sorted(_parts(name))
            if len(self._by_part.get(part, ())) <= _RARE
            for known in self._by_part.get(part, ())
        )
        return [known for known, _ in shared.most_common(_SHORTLIST)]


@lru_cache(maxsize=16)
def _names(known: frozenset[str]) -> _Names:
    return _Names(known)


def _parts(name: str) -> set[str]:
    padded = f"\n{name.casefold()}\n"
    return {padded[start : start + 3] for start in range(len(padded) - 2)}
