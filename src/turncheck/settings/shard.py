"""Which part of a run is measured if a run is spread over several jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

MOST_SHARDS: Final = 1000


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """The ``number``-th of ``count`` parts, counted from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        """As it is written: ``2/8``."""
        return f"{self.number}/{self.count}"

    def holds(self, unit: str) -> bool:
        """Whether a unit of answers belongs to this part: folds in turn, all others by a hash of their name.

        A unit stays in its part when others are added or removed.
        """
        return part_of(unit, self.count) == self.number


def part_of(unit: str, count: int) -> int:
    """Return the number of the part that a unit of answers belongs to, from 1 to ``count``."""
    kind, _, name = unit.partition(":")
    is_fold = kind == "fold" and name.isdecimal() and name.isascii()
    number = int(name) if is_fold else int.from_bytes(_digest(unit))
    return number % count + 1


def parse_shard(value: Any) -> Shard:
    """Read ``2/8``.

    Raises:
        ValueError: it is not such a string.
    """
    found = re.fullmatch(r"\s*([0-9]{1,4})\s*/\s*([0-9]{1,4})\s*", value) if isinstance(value, str) else None
    if found is None or not 1 <= int(found[1]) <= int(found[2]) <= MOST_SHARDS:
        raise ValueError(f"expected a part and the number of parts, such as 2/8 (at most {MOST_SHARDS})")
    return Shard(int(found[1]), int(found[2]))


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
