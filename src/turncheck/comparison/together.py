"""Do all tests together fail more often than on the base? Many small losses add up, of which none is one by itself.

Where the base is asked in turn: of pairs of runs that differ, half should be worse here if nothing changed, whatever
the rates of the tests, and however a model drifts, which hits both runs of a pair alike. Which test is run next may
depend on all that was seen before. The evidence is a betting martingale (J. Ville, 1939; G. Shafer, Testing by
betting, 2021): the mean of the likelihood ratios of all shares of worse pairs above one half, each against one half.
That it ever exceeds 1 / a is no likelier than a, so that it may be looked at after each run.

Else the base's report has its runs: a permutation test, stratified by test, over the runs that every test got. It is
looked at a few times, which share the false alarms; half of the probability of what was seen counts (mid-p), since such
counts are few, and the test would else raise far fewer alarms than it may.
"""

from __future__ import annotations

from math import comb, lgamma, log
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEAST_PAIRS: Final = 30
_LEAST_ROUNDS: Final = 4
"""After so many pairs, or rounds of all tests, it is asked whether a loss like theirs would be found if it went on."""
_OF_LAST_LOOK: Final = 0.6
"""The part of the false alarms that is kept for the last look."""
_UNLIKELY: Final = (0.25, 0.15, 0.05, 0.02)
"""At the looks: how likely more failures must be by chance that it is not worth to look again."""


EVEN_CHANCE: Final = 0.5


def allowed(false_alarms: float, kinds: int) -> float:
    """Return how often all tests of one kind may raise a false alarm together.

    It is half of what is allowed: the other half is for each test by itself, whose bound is rarely reached.
    """
    return false_alarms / 2 / max(1, kinds)


# The runs of a test.


class Stratum(Struct, frozen=True):
    """The runs of one case on both sides, of which some failed."""

    failed: int
    runs: int
    base_failed: int
    base_runs: int


def loses(case: Stratum) -> bool:
    """Whether a case fails more often than on the base, be it by chance.

    >>> loses(Stratum(1, 4, 0, 4)), loses(Stratum(1, 4, 2, 8))
    (True, False)
    """
    return case.failed * case.base_runs > case.base_failed * case.runs


def stratum_of(runs: str, base: str, in_turn: str = "") -> Stratum:
    """Return the runs of a case that were made whatever others said: capital letters, or those in turn with the base.

    Args:
        runs: its runs.
        base: the runs of the base.
        in_turn: of each pair of runs in turn, a letter for this side and one for the base.
    """
    if in_turn:
        runs, base = in_turn[::2], in_turn[1::2]
    return Stratum(
        runs.count("F"), runs.count("F") + runs.count("P"), base.count("F"), base.count("F") + base.count("P")
    )


# In turn with the base.


def pairs_of(tests: Iterable[str]) -> tuple[int, int, int]:
    """Return in how many pairs of runs only this side failed, in how many only the base, and how many there are.

    >>> pairs_of(["FPPP", "PFFF"])
    (1, 1, 4)
    """
    lost = gained = pairs = 0
    for runs in tests:
        both = list(zip(runs[::2], runs[1::2], strict=True))
        lost, gained, pairs = lost + both.count(("F", "P")), gained + both.count(("P", "F")), pairs + len(both)
    return lost, gained, pairs


def alarm(level: float) -> float:
    """Return the evidence of pairs that is found so often at most if nothing changed."""
    return -log(level)


def evidence_of_pairs(lost: float, gained: float) -> float:
    """Return how strongly pairs that differ speak for a loss, as a logarithm.

    Args:
        lost: in how many only this side failed.
        gained: in how many only the base failed.

    >>> round(evidence_of_pairs(3, 0), 4)  # the mean of (2 s)^3 for s from 1/2 to 1: 15/4
    1.3218
    """
    from scipy.special import betainc  # only where tests are run several times

    above_half = float(betainc(gained + 1, lost + 1, 0.5))
    pairs = lost + gained
    return (pairs + 1) * log(2) + lgamma(lost + 1) + lgamma(gained + 1) - lgamma(pairs + 2) + log(above_half or 1e-300)


def are_enough(pairs: int, tests: int) -> bool:
    """Whether so many pairs of so many tests say how things stand."""
    return pairs >= max(1, min(_LEAST_PAIRS, _LEAST_ROUNDS * tests))


def may_still_show(lost: int, gained: int, more: float, level: float) -> bool:
    """Whether a loss like that of the pairs so far would be found in so many times as many."""
    return evidence_of_pairs(lost * more, gained * more) >= alarm(level)


# Against the report of the base.


def looks(first: int, most: int) -> list[int]:
    """Return after how many runs of each test it is looked at: the first runs, twice as many …, the most.

    >>> looks(2, 30)
    [2, 4, 8, 16, 30]
    """
    found = []
    while first < most:
        found.append(first)
        first *= 2
    return [*found, most]


def level_at(runs: int, first: int, most: int, false_alarms: float) -> float:
    """Return how unlikely losses must be by chance, if each test was run so often.

    >>> round(level_at(30, 2, 30, 0.005), 6), round(level_at(4, 2, 30, 0.005), 6)
    (0.003, 0.0005)
    """
    early = len(looks(first, most)) - 1
    if not early:
        return false_alarms
    return false_alarms * (_OF_LAST_LOOK if runs >= most else (1 - _OF_LAST_LOOK) / early)


def is_worth_another_look(p_value: float, runs: int, first: int, most: int) -> bool:
    """Whether losses are unlikely enough by chance, after so many runs of each test, to run each again."""
    number = sum(look <= runs for look in looks(first, most)) - 1
    return runs < most and p_value <= _UNLIKELY[min(max(0, number), len(_UNLIKELY) - 1)]


def would_be_shown(cases: Sequence[Stratum], runs: int, most: int, level: float) -> bool:
    """Whether losses like those so far, if they went on, would be found with the most runs that each test may have."""
    later = [
        Stratum(round(case.failed * most / runs), most, case.base_failed, case.base_runs) for case in cases if case.runs
    ]
    return p_value_of_losses(later, middle=True) <= level * _OF_LAST_LOOK


def p_value_of_losses(cases: Iterable[Stratum], *, middle: bool = False) -> float:
    """Return how likely so many runs fail here, or more, if each case fails as often as on the base.

    It is chance then which of a case's runs fail here and which on the base; the number of those here is the sum of
    independent hypergeometric numbers, so that the test is exact, whatever the number of cases. ``middle``: exactly as
    many count half.

    >>> round(p_value_of_losses([Stratum(2, 2, 0, 2)]), 4)  # one of the six ways to draw two of four
    0.1667
    """
    import numpy as np  # a run without repeats needs none of this

    distribution, failed = np.ones(1), 0
    for case in cases:
        in_all = case.failed + case.base_failed
        failed += case.failed
        if in_all:
            distribution = np.convolve(distribution, _ways(case.runs, case.base_runs, in_all))
    exactly = float(distribution[failed]) if failed < len(distribution) else 0.0
    return min(1.0, float(distribution[failed + 1 :].sum()) + (exactly / 2 if middle else exactly))


def _ways(runs: int, base_runs: int, failed: int) -> Sequence[float]:
    """Return how likely each number of these failures is among the runs of this side."""
    ways = [comb(runs, one) * comb(base_runs, failed - one) for one in range(min(runs, failed) + 1)]
    total = sum(ways)
    return [way / total for way in ways]
