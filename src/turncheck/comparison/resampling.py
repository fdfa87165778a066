"""Intervals for the differences of scores: sentences are drawn with replacement, the same ones for both sides.

The paired bootstrap (B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13): the interval is the
middle 95 % of the observed differences.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from turncheck.comparison.paired import LEVEL, PairedScore, PairedScores, mcnemar_exact
from turncheck.report.understanding import calibration_bin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from turncheck.comparison.paired import PairedLabel

RESAMPLES: Final = 1000
_AT_ONCE: Final = 2**15
"""How many drawn sentences are in memory together: as many as a processor's cache holds."""

_Row = tuple[str, int, int, int, int, int]
"""A label's counts in one sentence: right before, predicted before, right after, predicted after, expected."""


def paired_scores(sentences: Iterable[Sequence[PairedLabel]], seed: int) -> PairedScores | None:
    """Score both sides on the same sentences, with intervals for the differences.

    Args:
        sentences: what was judged within each sentence (one :class:`PairedLabel` for its intent, one per word for
            entities). Averages are weighted by how often a label is expected, like scikit-learn's ``weighted`` ones.
        seed: the seed of the resampling. The order of the sentences does not matter.

    Returns:
        The scores, or ``None`` if no sentence expects a label.
    """
    return _scored(tuple(sorted(Counter(_rows(sentence) for sentence in sentences).items())), seed)


@lru_cache(maxsize=32)
def _scored(counted: tuple[tuple[tuple[_Row, ...], int], ...], seed: int) -> PairedScores | None:
    """Score distinct sentences and how often each occurs; a run compares twice, the second time to be judged."""
    counts = dict(counted)
    cells = list(counts)
    labels = sorted({row[0] for cell in cells for row in cell})
    if not any(row[5] for cell in cells for row in cell):
        return None
    sums = _resampled_sums(cells, list(counts.values()), labels, seed)
    scores = _scores(sums)
    support = sums[:, 4]
    share = _ratio(support, np.broadcast_to(support.sum(axis=0), support.shape))  # a resample may not expect any label
    together = _Moves()
    alone: defaultdict[str, _Moves] = defaultdict(_Moves)
    for cell in cells:
        together.add(
            [_gain(row) for row in cell], changed=any(row[1:3] != row[3:5] for row in cell), times=counts[cell]
        )
        for row in cell:
            alone[row[0]].add([_gain(row)], changed=row[1:3] != row[3:5], times=counts[cell])
    expecting = sum(counts[cell] for cell in cells if any(row[5] for row in cell))
    overall = {
        name: _paired((before * share).sum(axis=0), (after * share).sum(axis=0), together, expecting)
        for name, (before, after) in scores.items()
    }
    each = {
        label: {
            name: _paired(before[i], after[i], alone[label], int(support[i, 0]))
            for name, (before, after) in scores.items()
        }
        for i, label in enumerate(labels)
        if support[i, 0]
    }
    return PairedScores(overall, each)


class _Moves:
    """How many sentences count differently, and how many of them became better or worse."""

    def __init__(self) -> None:
        self.changed = self.better = self.worse = 0

    def add(self, gains: Iterable[int], *, changed: bool, times: int) -> None:
        gain = sum(gains)
        self.changed += times * changed
        self.better += times * (gain > 0)
        self.worse += times * (gain < 0)


def _gain(row: _Row) -> int:
    """What a sentence gained for a label: more correct ones, fewer wrongly predicted ones."""
    _, right_before, predicted_before, right_after, predicted_after, _ = row
    return 2 * (right_after - right_before) - (predicted_after - predicted_before)


def paired_calibration(
    before: Sequence[tuple[float, bool]], after: Sequence[tuple[float, bool]], seed: int
) -> PairedScore:
    """Compare the expected calibration error of both sides on the same sentences.

    Args:
        before: for each sentence, the confidence and whether it was right; at least one sentence.
        after: the same sentences in the same order.
        seed: the seed of the resampling.
    """
    total = len(before)
    random = np.random.RandomState(seed % 2**32)
    together = max(_AT_ONCE // total, 1)
    sides = [
        _Bins(
            np.array([calibration_bin(sure) for sure, _ in side]),
            np.array([right - sure for sure, right in side]),
            together,
        )
        for side in (before, after)
    ]
    errors = np.zeros((2, RESAMPLES + 1))
    for first in range(0, RESAMPLES + 1, together):
        number = min(together, RESAMPLES + 1 - first)
        weights = _drawn(random, number - (not first), total)
        if not first:
            weights = np.concatenate([np.ones((1, total), np.int64), weights])
        for side, bins in enumerate(sides):
            errors[side, first : first + number] = np.abs(bins.sums(weights)).sum(axis=1) / total
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    low, high = _interval(errors[0], errors[1])
    return PairedScore(float(errors[0, 0]), float(errors[1, 0]), low, high, changed, total)


def _drawn(random: np.random.RandomState, number: int, total: int) -> NDArray[np.int64]:
    """How often each sentence is drawn, resample by resample."""
    indices = random.randint(total, size=(number, total))
    indices += total * np.arange(number)[:, None]
    return np.bincount(indices.ravel(), minlength=number * total).reshape(number, total)


class _Bins:
    """The bin of each sentence and its gap, ready for so many resamples together."""

    def __init__(self, bins: NDArray[np.int64], gaps: NDArray[np.float64], together: int) -> None:
        self.gaps = gaps
        self.number = int(bins.max()) + 1
        self.places = (bins + self.number * np.arange(together)[:, None]).ravel()

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.float64]:
        """The sum of the gaps of each bin, resample by resample: the one of ``numpy.bincount``, to the last bit."""
        gaps = (self.gaps * weights).ravel()
        sums = np.bincount(self.places[: len(gaps)], weights=gaps, minlength=len(weights) * self.number)
        return np.asarray(sums, np.float64).reshape(len(weights), self.number)


def _rows(sentence: Sequence[PairedLabel]) -> tuple[_Row, ...]:
    """Counts by label; equal sentences have equal rows, so that each distinct row is resampled once, with its count."""
    table: dict[str, list[int]] = {}
    for judged in sentence:
        for label, column in ((judged.before, 1), (judged.after, 3), (judged.expected, 4)):
            if label is not None:
                table.setdefault(label, [0] * 5)[column] += 1
        if judged.expected is not None:
            table[judged.expected][0] += judged.before == judged.expected
            table[judged.expected][2] += judged.after == judged.expected
    return tuple((label, *row) for label, row in sorted(table.items()))  # type: ignore[misc]  # five columns each


def _resampled_sums(
    cells: Sequence[tuple[_Row, ...]], counts: Sequence[int], labels: Sequence[str], seed: int
) -> NDArray[np.float64]:
    """Sums by label, column and resample; the first resample is the data themselves."""
    total = sum(counts)
    # RandomState, not Generator: its stream is frozen, so the same reports give the same bytes with any NumPy version.
    drawn = np.random.RandomState(seed % 2**32).multinomial(total, np.array(counts) / total, size=RESAMPLES)
    weights = np.concatenate([np.array([counts]), drawn]).T.astype(np.float64)
    index = {label: i for i, label in enumerate(labels)}
    sums = np.zeros((len(labels), 5, RESAMPLES + 1))
    for cell, weight in zip(cells, weights, strict=True):
        for label, *row in cell:
            i = index[label]
            for column in range(5):
                if row[column]:
                    sums[i, column] += row[column] * weight
    return sums


def _scores(sums: NDArray[np.float64]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Precision, recall and F1 before and after, by label and resample; undefined ones are 0, as in scikit-learn."""
    right_before, predicted_before, right_after, predicted_after, expected = (sums[:, column] for column in range(5))
    return {
        "precision": (_ratio(right_before, predicted_before), _ratio(right_after, predicted_after)),
        "recall": (_ratio(right_before, expected), _ratio(right_after, expected)),
        "f1": (
            _ratio(2 * right_before, predicted_before + expected),
            _ratio(2 * right_after, predicted_after + expected),
        ),
    }


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _paired(before: NDArray[np.float64], after: NDArray[np.float64], moves: _Moves, examples: int) -> PairedScore:
    low, high = _interval(before, after)
    exact = mcnemar_exact(moves.worse, moves.better)
    return PairedScore(float(before[0]), float(after[0]), low, high, moves.changed, examples, exact)


def _interval(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float]:
    differences = np.sort((after - before)[1:])
    return quantile(differences, LEVEL / 2), quantile(differences, 1 - LEVEL / 2)


def quantile(ordered: NDArray[np.float64], share: float) -> float:
    """Return a quantile of sorted numbers, to the last digit as ``np.quantile`` does, which loads masked arrays."""
    place = share * (len(ordered) - 1)
    number = int(place)
    part = place - number
    below, above = float(ordered[number]), float(ordered[min(number + 1, len(ordered) - 1)])
    return above - (above - below) * (1 - part) if part >= 0.5 else below + (above - below) * part
