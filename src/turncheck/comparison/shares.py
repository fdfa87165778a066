"""Shares of runs that pass: how certain they are, and how many runs it takes to show one."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from turncheck.report.repeats import Repeats

_WILSON: Final = 1.959963984540054
"""The normal deviate of a 95 % interval."""

ENOUGH_OF_A_BASE: Final = 5
"""With so many runs of each test, the report of a base shows what fails here in one run of five."""


def wilson(passed: float, runs: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share.

    >>> [round(end, 3) for end in wilson(35, 35)]
    [0.901, 1.0]
    """
    if not runs:
        return 0.0, 1.0
    share, square = passed / runs, _WILSON**2
    middle = (share + square / (2 * runs)) / (1 + square / runs)
    half = _WILSON / (1 + square / runs) * sqrt(share * (1 - share) / runs + square / (4 * runs**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def more_failures(failed: int, runs: int, base_failed: int, base_runs: int) -> tuple[float, float]:
    """Return the 95 % interval of how much more often runs fail than on the base (Newcombe's, of two Wilson intervals).

    >>> [round(end, 2) for end in more_failures(8, 30, 0, 30)]
    [0.1, 0.44]
    """
    share, base = failed / runs, base_failed / base_runs
    (low, high), (base_low, base_high) = wilson(failed, runs), wilson(base_failed, base_runs)
    least = share - base - sqrt((share - low) ** 2 + (base_high - base) ** 2)
    return least, share - base + sqrt((high - share) ** 2 + (base - base_low) ** 2)


def more_in_words(repeats: Repeats) -> str:
    """``10 to 44 more failures per 100 runs than on the base (95 % interval)``: how much more often a test fails."""
    base = len(repeats.base)
    low, high = more_failures(repeats.failed, len(repeats.runs), base - repeats.base_passed, base)
    return f"{max(0.0, low) * 100:.0f} to {high * 100:.0f} more failures per 100 runs than on the base (95 % interval)"


def runs_needed(least: float) -> int | None:
    """Return how many runs must pass, all of them, to show a share of at least this; ``None``: no number does.

    >>> runs_needed(0.9), runs_needed(1.0)
    (35, None)
    """
    if least >= 1:
        return None
    return max(1, ceil(_WILSON**2 * max(0.0, least) / (1 - least) - 1e-9))
