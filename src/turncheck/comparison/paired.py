"""The same sentences judged before and after, and the scores of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.comparison.mcnemar import LEVEL
from turncheck.comparison.metrics import FEWEST_CHANGES

if TYPE_CHECKING:
    from collections.abc import Mapping


class Judged(Struct, frozen=True):
    """One sentence (or word) as it should be labelled, and as each side labelled it; ``None`` is "no label"."""

    expected: str | None
    before: str | None
    after: str | None


class PairedScore(Struct, frozen=True):
    """One score on the same examples before and after, and the 95 % interval of the difference."""

    before: float
    after: float
    low: float
    high: float
    changed: int
    """How many examples count differently now for this score."""
    examples: int = 0
    """How many examples it is based on: those that expect the label, or any label."""
    exact: float | None = None
    """The exact test's p-value for the examples that became better or worse; ``None`` for a calibration error."""

    @property
    def real(self) -> bool:
        """Whether the interval excludes zero and the exact test agrees."""
        enough = self.changed >= FEWEST_CHANGES if self.exact is None else self.exact < LEVEL
        return enough and (self.low > 0 or self.high < 0)


class PairedScores(Struct, frozen=True):
    """Weighted averages (``overall``) and each label's own scores, by ``precision``, ``recall``, ``f1``."""

    overall: Mapping[str, PairedScore]
    labels: Mapping[str, Mapping[str, PairedScore]]
