"""The same examples judged before and after: McNemar's exact test (without NumPy), and both sides' scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping


LEVEL: Final = 0.05
"""A difference is real if chance alone would show one at least as large in fewer than 5 of 100 cases."""
FEWEST_CHANGES: Final = 6
"""The exact test cannot reach 5 % with fewer (2 x 0.5^5 = 6.25 %); the same floor applies where that test does not."""


def mcnemar_exact(became_wrong: int, became_right: int) -> float:
    """Two-sided p-value of McNemar's exact test for the examples that changed sides; 1.0 if none did.

    Source: McNemar, Psychometrika 12, 1947.

    >>> mcnemar_exact(12, 12)
    1.0
    >>> mcnemar_exact(0, 6)
    0.03125
    """
    total = became_wrong + became_right
    tail, term = 0, 1
    for wins in range(min(became_wrong, became_right) + 1):
        tail += term
        term = term * (total - wins) // (wins + 1)
    return min(1.0, float(2 * tail / 2**total))


class PairedLabel(Struct, frozen=True):
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
