"""The nearest training sentences of a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from turncheck.engines.embedded.nlu.ngrams import NgramFeatures, SparseRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A training sentence, by its index among the engine's training examples, and how near it is (0 to 1)."""

    index: int
    text: str
    similarity: float


@dataclass(slots=True)
class TrainingSentences:
    """The training sentences, indexed by their n-grams on first use."""

    texts: tuple[str, ...]
    _index: tuple[NgramFeatures, _Postings] | None = field(default=None, repr=False, compare=False)

    def nearest(self, texts: Sequence[str], k: int) -> list[tuple[Neighbour, ...]]:
        """Return for each text the ``k`` nearest, nearest first, then by text; only those that share something."""
        if not self.texts or not texts:
            return [() for _ in texts]
        if self._index is None:
            features, rows = NgramFeatures.fit(self.texts)
            self._index = features, _Postings.of(rows)
        features, postings = self._index
        queries = features.transform(texts)
        return [self._nearest(queries, row, postings, k) for row in range(len(queries))]

    def _nearest(self, queries: SparseRows, row: int, postings: _Postings, k: int) -> tuple[Neighbour, ...]:
        own = slice(queries.starts[row], queries.starts[row + 1])
        # each of the two parts has length 1, so the cosine of whole vectors is half their product
        similarity = postings.products(queries.columns[own], queries.values[own], len(self.texts)) / 2
        count = min(k, len(self.texts))
        threshold = np.partition(similarity, len(similarity) - count)[len(similarity) - count]
        near = np.flatnonzero((similarity >= threshold - _NEAR) & (similarity > 0))
        found = [Neighbour(index, self.texts[index], _rounded(similarity[index])) for index in near.tolist()]
        found.sort(key=lambda one: (-one.similarity, one.text, one.index))
        return tuple(found[:k])


_DECIMALS: Final = 6
_NEAR: Final = 2.0 * 10**-_DECIMALS
"""What differs less than this may be equal once it is rounded."""


def _rounded(similarity: float) -> float:
    return round(min(1.0, float(similarity)), _DECIMALS)


@dataclass(frozen=True, slots=True)
class _Postings:
    """The training matrix column by column: which sentences have a term."""

    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def of(cls, matrix: SparseRows) -> _Postings:
        row = np.repeat(np.arange(len(matrix), dtype=np.int32), np.diff(matrix.starts))
        order = np.argsort(matrix.columns, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(matrix.columns, minlength=matrix.width))]).astype(np.int64)
        return cls(starts, row[order], matrix.values[order])

    def products(self, columns: NDArray[np.int32], values: NDArray[np.float32], count: int) -> NDArray[np.float64]:
        if not len(columns):
            return np.zeros(count)
        parts = [slice(self.starts[column], self.starts[column + 1]) for column in columns]
        rows = np.concatenate([self.rows[part] for part in parts])
        weights = np.concatenate([self.values[part] * value for part, value in zip(parts, values, strict=True)])
        products: NDArray[np.float64] = np.bincount(rows, weights=weights, minlength=count).astype(np.float64)
        return products
