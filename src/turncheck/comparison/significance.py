"""Is a difference more than chance? Tests over the same examples, judged before and after.

Accuracy: McNemar's exact test (Q. McNemar, Psychometrika 12, 1947): under chance, each of the examples that changed
sides is as likely to have gone either way, so their count follows a binomial distribution with p = 1/2.

Precision, recall, F1: a paired bootstrap (B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13):
sentences are drawn with replacement, the same ones for both sides, and the middle 95 % of the differences seen are the
interval.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

LEVEL: Final = 0.05
"""A difference is real if chance alone would show one at least as large in fewer than 5 of 100 cases."""
FEWEST_CHANGES: Final = 6
"""The exact test cannot reach 5 % with fewer (2 x 0.5^5 = 6.25 %). The bootstrap, which has no such floor of its own
and is too sure of itself on few examples, is held to the same."""
RESAMPLES: Final = 1000


def mcnemar_exact(became_wrong: int, became_right: int) -> float:
    """Two-sided p-value of McNemar's exact test for the examples that changed sides; 1.0 where none did.

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


@dataclass(frozen=True, slots=True)
class Judged:
    """One sentence (or word) as it should be labelled, and as each side labelled it; ``None`` is "no label"."""

    expected: str | None
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class PairedScore:
    """One score on the same examples before and after, and the 95 % interval of the difference."""

    before: float
    after: float
    low: float
    high: float
    changed: int
    """How many examples count differently now for this score."""

    @property
    def real(self) -> bool:
        """Whether the interval leaves out zero, with enough examples behind it."""
        return self.changed >= FEWEST_CHANGES and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class PairedScores:
    """Weighted averages (``overall``) and each label's own scores, by ``precision``, ``recall``, ``f1``."""

    overall: Mapping[str, PairedScore]
    labels: Mapping[str, Mapping[str, PairedScore]]


_Row = tuple[str, int, int, int, int, int]
"""A label's counts in one sentence: right before, predicted before, right after, predicted after, expected."""


def paired_scores(sentences: Iterable[Sequence[Judged]], seed: int) -> PairedScores | None:
    """Score both sides on the same sentences, with intervals for the differences.

    Args:
        sentences: what was judged within each sentence (one :class:`Judged` for its intent, one a word for entities).
            Averages are weighted by how often a label is expected, as scikit-learn's ``weighted`` ones.
        seed: of the resampling. The order of the sentences does not matter.

    Returns:
        The scores, or ``None`` where no sentence expects a label.
    """
    counts = Counter(_rows(sentence) for sentence in sentences)
    cells = sorted(counts)
    labels = sorted({row[0] for cell in cells for row in cell})
    if not any(row[5] for cell in cells for row in cell):
        return None
    sums, changed = _resampled_sums(cells, [counts[cell] for cell in cells], labels, seed)
    scores = _scores(sums)
    support = sums[:, 4]
    share = _ratio(support, np.broadcast_to(support.sum(axis=0), support.shape))  # a resample may expect no label
    moved = sum(counts[cell] for cell in cells if any(row[1:3] != row[3:5] for row in cell))
    overall = {
        name: _paired((before * share).sum(axis=0), (after * share).sum(axis=0), moved)
        for name, (before, after) in scores.items()
    }
    each = {
        label: {name: _paired(before[i], after[i], changed[i]) for name, (before, after) in scores.items()}
        for i, label in enumerate(labels)
        if support[i, 0]
    }
    return PairedScores(overall, each)


def _rows(sentence: Sequence[Judged]) -> tuple[_Row, ...]:
    """Counts by label; equal sentences have equal rows, so that each kind is resampled once, with its number."""
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
) -> tuple[NDArray[np.float64], list[int]]:
    """Sums by label, column and resample, the first of these being the data as they are; changed examples by label."""
    total = sum(counts)
    # RandomState, not Generator: its stream is frozen, so the same reports give the same bytes with every numpy.
    drawn = np.random.RandomState(seed % 2**32).multinomial(total, np.array(counts) / total, size=RESAMPLES)
    weights = np.concatenate([np.array([counts]), drawn]).T.astype(np.float64)
    index = {label: i for i, label in enumerate(labels)}
    sums = np.zeros((len(labels), 5, RESAMPLES + 1))
    changed = [0] * len(labels)
    for cell, count, weight in zip(cells, counts, weights, strict=True):
        for label, *row in cell:
            i = index[label]
            for column in range(5):
                if row[column]:
                    sums[i, column] += row[column] * weight
            changed[i] += count * (row[0:2] != row[2:4])
    return sums, changed


def _scores(sums: NDArray[np.float64]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Precision, recall, F1 before and after, by label and resample; undefined ones are 0, as scikit-learn has it."""
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


def _paired(before: NDArray[np.float64], after: NDArray[np.float64], changed: int) -> PairedScore:
    low, high = np.quantile((after - before)[1:], [LEVEL / 2, 1 - LEVEL / 2])
    return PairedScore(float(before[0]), float(after[0]), float(low), float(high), changed)
