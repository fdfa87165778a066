"""Answers that an earlier run got to the same questions about the same data."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turncheck.evaluation.written_answers import UnreadableError, UnwritableError, read_answer, write_answer
from turncheck.process.cache import MOST_BYTES
from turncheck.process.unpack import gunzip

if TYPE_CHECKING:
    from turncheck.evaluation.answers import Answers
    from turncheck.process.cache import Cache


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """The answers of ``others`` and, if they have none, those of earlier runs.

    ``expected``: the type of each. ``key``: the digest of all that the answers depend on, besides their unit's name.
    """

    others: Answers
    expected: type
    cache: Cache
    key: str

    def known(self, unit: str) -> Any | None:
        """Return the answer to a unit; a cached one is passed to the others, too."""
        known = self.others.known(unit)
        if known is not None or not self.others.is_asked(unit):
            return known
        key, kind = self._key(unit), unit.partition(":")[0]
        if (content := self.cache.get(key, kind)) is None:
            return None
        try:
            answer = read_answer(gunzip(content, MOST_BYTES).decode())
        except Exception:  # noqa: BLE001 - what somebody put there may go wrong in any way, and is only ignored
            answer = None
        if not isinstance(answer, self.expected):
            self.cache.mark_damaged(key, kind)
            return None
        self.others.keep(unit, answer)
        return answer

    def is_asked(self, unit: str) -> bool:
        """As in the others."""
        return self.others.is_asked(unit)

    def keep(self, unit: str, answer: Any) -> None:
        """Keep an answer if reading it back gives an equal one."""
        self.others.keep(unit, answer)
        try:
            text = write_answer(answer)
            if write_answer(read_answer(text)) != text:
                return
        except (UnwritableError, UnreadableError):
            return
        self.cache.put(self._key(unit), unit.partition(":")[0], gzip.compress(text.encode(), 6, mtime=0))

    def _key(self, unit: str) -> str:
        return hashlib.sha256(f"{self.key}\0{unit}".encode("utf-8", "surrogatepass")).hexdigest()
