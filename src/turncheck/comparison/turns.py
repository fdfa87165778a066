"""Did turns become slower, longer or dearer? Paired runs on both sides, judged by a permutation test.

Where runs were made in turn with the base, each is compared with the base's run beside it, turn by turn: by the
logarithm of the ratio, since what takes twice as long takes twice as long whatever it is. If nothing changed, it is
chance which of the two is whose (E. Pitman, 1937). Milliseconds that were measured at another time, perhaps on another
machine, are not compared at all; tokens and cost are, case by case.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Final, NamedTuple, Union

from turncheck.comparison.metrics import Significance
from turncheck.evaluations.turns import LEAST_TURNS, MEANS, P50, P95, SHARES, measured_runs, percentile_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from turncheck.comparison.significance import Tested
    from turncheck.report.measured import MeasuredTurn
    from turncheck.report.model import BatchCase, CaseResult, NluPrediction

DRAWS: Final = 4999
_LEVEL: Final = 0.016
"""Two-sided: eight of 1,000 runs in which nothing changed are called slower."""
_LEVEL_OF_P95: Final = 0.004
"""The slowest turns are a second look at the same runs: two of 1,000."""
_LEAST: Final = {"ms": 0.1, "tokens_in": 1.0, "tokens_out": 1.0, "cost": 1e-9}
"""Smaller values count as these: a logarithm needs one."""
_EXACT: Final = 1_000_000
"""Logarithms are counted in millionths, as whole numbers: their sums are the same on any machine."""

Turns = tuple["MeasuredTurn", ...]
Test = Union["CaseResult", "NluPrediction", "BatchCase"]


class Runs(NamedTuple):
    """Runs of a case whose turns may be compared: of this side, and of the base."""

    here: tuple[Turns, ...]
    base: tuple[Turns, ...]


def tested_turns(pairs: Iterable[tuple[Test, Test]], seed: int) -> dict[str, Tested]:
    """Judge the figures of turns on tests of both sides, the base's first."""
    cases = list(pairs)
    in_turn = [
        Runs((run.turns,), (run.base,)) for _, now in cases for run in measured_runs(now) if run.turns and run.base
    ]
    tested: dict[str, Tested] = {}
    if in_turn:
        tested |= _tested_times(in_turn, seed)
    of_cases = [
        Runs(
            tuple(run.turns for run in measured_runs(now) if run.turns),
            tuple(run.turns for run in measured_runs(before) if run.turns),
        )
        for before, now in cases
    ]
    for name, field in MEANS.items():
        if (found := _tested_mean(in_turn or of_cases, field, seed)) is not None:
            tested[name] = found
    return tested


def _tested_times(runs: Sequence[Runs], seed: int) -> dict[str, Tested]:
    tested: dict[str, Tested] = {}
    both = [
        (turn.ms, other.ms)
        for one in runs
        for turn, other in zip(one.here[0], one.base[0], strict=False)
        if turn.ms is not None and other.ms is not None
    ]
    if not both:
        return tested
    here, there = sorted(one for one, _ in both), sorted(other for _, other in both)
    shift = _shift(runs, "ms", seed)
    if shift is not None:
        tested[P50] = shift.of(percentile_of(there, P50), percentile_of(here, P50), _LEVEL)
    if len(both) >= LEAST_TURNS[P95]:
        found = _Found(_p_value_of_p95(runs, seed), sum(one != other for one, other in both), len(both))
        tested[P95] = found.of(percentile_of(there, P95), percentile_of(here, P95), _LEVEL_OF_P95)
    return tested


def _tested_mean(runs: Sequence[Runs], field: str, seed: int) -> Tested | None:
    shift = _shift(runs, field, seed)
    if shift is None:
        return None
    sides = []
    for number in (1, 0):
        values = [
            getattr(turns[place], field) for one in runs for turns in one[number] for place in _places(one, field)
        ]
        sides.append(sum(values) / len(values))
    return shift.of(sides[0], sides[1], _LEVEL)


class _Found(NamedTuple):
    """How likely chance alone makes both sides differ as they do, in how many cases or pairs, of how many turns."""

    p_value: float
    changed: int
    turns: int

    def of(self, base: float | None, value: float | None, level: float) -> Tested:
        significance = Significance(
            method="permutation", p_value=self.p_value, changed=self.changed, examples=self.turns
        )
        return base or 0.0, value or 0.0, significance, self.p_value < level


def _places(runs: Runs, field: str) -> list[int]:
    """Return which turns all runs of both sides have, and of which all say it: only these are compared."""
    sides = (*runs.here, *runs.base)
    if not (runs.here and runs.base):
        return []
    return [
        place
        for place in range(min(map(len, sides)))
        if all(getattr(turns[place], field) is not None for turns in sides)
    ]


def _shift(runs: Sequence[Runs], field: str, seed: int) -> _Found | None:
    """Return how both sides differ in a field of their turns; ``None``: nothing can be compared."""
    strata: list[tuple[list[int], int]] = []
    turns = 0
    for one in runs:
        places = _places(one, field)
        if not places:
            continue
        values = [
            sum(round(_EXACT * log(max(getattr(side[place], field), _LEAST[field]))) for place in places)
            for side in (*one.here, *one.base)
        ]
        strata.append((values, len(one.here)))
        turns += len(places) * len(one.here)
    if not strata:
        return None
    return _Found(permuted(strata, seed), sum(len(set(values)) > 1 for values, _ in strata), turns)


def permuted(strata: Sequence[tuple[Sequence[int], int]], seed: int) -> float:
    """Return the two-sided p-value of a difference, if within each stratum it is chance what is of which side.

    Args:
        strata: the values of each, and how many of the first of them are of this side.
        seed: the seed of the draws.

    >>> permuted([([100, 0], 1)] * 12, 42) < 0.01, permuted([([100, 0], 1), ([0, 100], 1)] * 6, 42)
    (True, 1.0)
    """
    import numpy as np  # a run without measured turns needs none of this

    random = np.random.RandomState(seed % 2**32)
    observed, drawn = 0, np.zeros(DRAWS, dtype=np.int64)
    for values, ours in strata:
        number, total = len(values), sum(values)
        observed += sum(values[:ours]) * number - ours * total
        every = np.array(values, dtype=np.int64)
        if number == 2:
            chosen = every[random.randint(2, size=DRAWS)]
        else:
            order = random.random_sample((DRAWS, number)).argsort(axis=1, kind="stable")[:, :ours]
            chosen = every[order].sum(axis=1)
        drawn += chosen * number - ours * total
    return _two_sided(drawn, observed)


def _two_sided(drawn: NDArray[np.int64], observed: int) -> float:
    above, below = int((drawn >= observed).sum()), int((drawn <= observed).sum())
    return min(1.0, 2 * (1 + min(above, below)) / (DRAWS + 1))


def _p_value_of_p95(runs: Sequence[Runs], seed: int) -> float:
    """Return the two-sided p-value of the ratio of both percentiles, if the sides of pairs are exchanged by chance."""
    import numpy as np  # as above

    random = np.random.RandomState(seed % 2**32)
    pairs: list[list[tuple[float, float]]] = []
    for one in runs:
        both = zip(one.here[0], one.base[0], strict=False)
        pairs.append([(turn.ms, other.ms) for turn, other in both if turn.ms is not None and other.ms is not None])
    number_of = [len(pair) for pair in pairs]
    flat = np.rint(10 * np.array([times for pair in pairs for times in pair])).astype(np.int64)  # tenths, exact
    rank = -(-int(SHARES[P95] * 100) * len(flat) // 100) - 1

    def difference(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        ours, theirs = (np.partition(side, rank, axis=-1)[..., rank] for side in (first, second))
        found: NDArray[np.float64] = np.log(np.maximum(1, ours)) - np.log(np.maximum(1, theirs))
        return np.rint(found * _EXACT)

    observed = int(difference(flat[:, 0], flat[:, 1]))
    drawn = np.empty(DRAWS, dtype=np.int64)
    at_once = max(1, 2**20 // max(1, len(flat)))
    for begin in range(0, DRAWS, at_once):
        number = min(at_once, DRAWS - begin)
        is_exchanged = np.repeat(random.randint(2, size=(number, len(pairs))), number_of, axis=1).astype(bool)
        first = np.where(is_exchanged, flat[:, 1], flat[:, 0])
        second = np.where(is_exchanged, flat[:, 0], flat[:, 1])
        drawn[begin : begin + number] = difference(first, second)
    return _two_sided(drawn, observed)
