"""McNemar's exact test (Psychometrika 12, 1947), which needs no NumPy."""

from __future__ import annotations

from typing import Final

LEVEL: Final = 0.05
"""A difference is real if chance alone would show one at least as large in fewer than 5 of 100 cases."""


def mcnemar_exact(became_wrong: int, became_right: int) -> float:
    """Two-sided p-value of McNemar's exact test for the examples that changed sides; 1.0 if none did.

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
