"""Crammer and Singer's multi-class SVM for hundreds of labels, solved in the dual with few labels per sentence.

The problem is that of scikit-learn's ``LinearSVC(multi_class="crammer_singer")``, and the solution is equal up to the
tolerance. LIBLINEAR visits every label of every sentence several times, though of thousands of labels a sentence
competes with some twenty: only those whose scores come near. Here a sentence has a set of such labels, which grows by
those that violate its margin (as in Tsochantaridis et al. 2005, "Large Margin Methods for Structured and Interdependent
Output Variables"). The sets are found for many sentences at a time, and so are the steps:

- Sentences of a block, all of different labels, step at once as if the others stood still (coordinate descent, Keerthi
  et al. 2008, "A sequential dual method"). They share few terms, so they hardly hinder each other.
- All sentences share the intercept. It stands still while all of them step; then it is moved by Newton's method, with
  what the sentences would do if they only saw the intercept.

No order of rows, no random number and no BLAS has a part in the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

FEWEST_LABELS: Final = 300
"""From this many labels on, this is faster than LIBLINEAR, if they have few sentences."""

MOST_EACH: Final = 20
"""With more sentences than this for each label on average, too many of them hinder each other."""

_FIRST: Final = 24
"""The number of labels that a sentence competes with at first: those whose sentences are most like it."""

_MORE: Final = 8
"""The most labels added to a sentence's set at a time."""

_BLOCK: Final = 128
_SMALLEST_BLOCK: Final = 8
_SCORED_AT_ONCE: Final = 64

_ROUNDS: Final = 20
_TRIED: Final = 5
_HOPELESS: Final = 10.0
"""The violation, as a multiple of the tolerance, that is given up after so many rounds."""

_SWEEPS: Final = 8
_SHARES: Final = (8.0, 3.0, 0.7)
"""The violation that ends a round of sweeps, as a multiple of the tolerance: later rounds are more exact."""

_SETTLED: Final = 0.3
"""A sentence that violates optimality by less than this share of the tolerance stands still for a round."""

_EARLY_SWEEPS: Final = 5
_LONGER_STEP: Final = 1.4
"""Newton's steps of the intercepts, after the first sweeps: the sentences see more than the intercept, and do less."""

_LONGEST_STEP: Final = 0.1
"""Where none sees the intercept yet, many would if it went far."""


def fit_many(matrix: Any, truth: Integers, labels: int, penalty: float, tolerance: float) -> Any | None:
    """Return the weights of rows, a SciPy CSR matrix of shape (rows, labels), that sum up to the weights of features.

    ``matrix`` is a SciPy CSR matrix of one row per sentence, ``truth`` the rows' labels; a label's intercept is the sum
    of its weights. ``penalty`` is the SVM's C; ``tolerance`` the largest remaining violation of the optimality
    conditions. Returns ``None`` if the conditions are not met in the end: where many sentences are alike, their steps
    together may be too long.
    """
    order = _without_order(matrix, truth)
    problem = _Problem.of(matrix[order], truth[order], labels, penalty)
    with np.errstate(over="ignore", invalid="ignore"):
        duals = _Search(problem, tolerance).run()
    if duals is None:
        return None
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return duals[back]


def _without_order(matrix: Any, truth: Integers) -> Integers:
    """Return the rows in an order that does not depend on how they are ordered: by label and columns."""
    rows = np.repeat(np.arange(len(truth)), np.diff(matrix.indptr))
    columns = matrix.indices.astype(np.float64)
    keys = [np.bincount(rows, weights=weights, minlength=len(truth)) for weights in (columns**2, columns, matrix.data)]
    return np.lexsort((*keys, truth)).astype(np.int64)


class _Problem(Struct, frozen=True):
    """Sentences by label, with what only one sentence has kept apart: it needs no weights."""

    shared: Any
    """The columns that several rows have, SciPy CSR in single precision; no row is empty."""
    own: Floats
    """The sum of squares of each row's other columns."""
    curvature: Floats
    """How much the gradient of a row changes with its weights, without the intercept."""
    truth: Integers
    labels: int
    penalty: float

    @classmethod
    def of(cls, matrix: Any, truth: Integers, labels: int, penalty: float) -> Self:
        from scipy import sparse

        rows = matrix.shape[0]
        times = np.bincount(matrix.indices, minlength=matrix.shape[1])
        row_of = np.repeat(np.arange(rows), np.diff(matrix.indptr))
        single = times[matrix.indices] == 1
        squares = np.bincount(row_of, weights=matrix.data**2, minlength=rows)
        own = np.bincount(row_of[single], weights=matrix.data[single] ** 2, minlength=rows)
        several = matrix[:, np.flatnonzero(times > 1)]
        empty = np.diff(several.indptr) == 0
        starts = np.concatenate([[0], np.cumsum(empty)])
        count = int(starts[-1])
        filler = sparse.csr_matrix((np.zeros(count), np.zeros(count, dtype=np.int32), starts), shape=(rows, 1))
        shared = sparse.hstack([several, filler], format="csr").astype(np.float32)
        return cls(shared, own.astype(np.float64), np.maximum(squares, 1.0), truth, labels, penalty)

    def limits(self, working: _Working) -> Floats:
        """The upper limit of each weight of a working set."""
        limits = np.zeros(len(working.labels))
        limits[working.starts[:-1]] = self.penalty
        return limits

    def blocks(self, rows: NDArray[np.bool_]) -> Iterator[Integers]:
        """Divide these rows, so that those of a label are in different blocks."""
        count = len(self.truth)
        largest = int(np.bincount(self.truth).max())
        number = max(-(-count // _BLOCK), min(largest, count // _SMALLEST_BLOCK))
        for first in range(number):
            block = np.arange(first, count, number)
            block = block[rows[block]]
            if len(block):
                yield block


class _Working(NamedTuple):
    """Of each row, the labels it competes with and their weights, row by row; its own label is the first."""

    starts: Integers
    labels: Integers
    weights: Floats

    @classmethod
    def of(cls, rows: Integers, labels: Integers, weights: Floats, truth: Integers) -> Self:
        order = np.lexsort((labels, labels != truth[rows], rows))
        counts = np.bincount(rows, minlength=len(truth))
        return cls(np.concatenate([[0], np.cumsum(counts)]), labels[order], weights[order])

    @property
    def rows(self) -> Integers:
        """The row of each weight."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def with_more(self, rows: Integers, labels: Integers, truth: Integers) -> _Working:
        """Add labels to rows, and drop those without weight."""
        kept = self.weights != 0
        kept[self.starts[:-1]] = True
        return _Working.of(
            np.concatenate([self.rows[kept], rows]),
            np.concatenate([self.labels[kept], labels]),
            np.concatenate([self.weights[kept], np.zeros(len(rows))]),
            truth,
        )


class _Found(NamedTuple):
    """What a look at every label of every row finds."""

    worst: Floats
    """How much each row violates optimality."""
    rows: Integers
    """Rows that violate it by labels which they do not compete with, once for each of these."""
    labels: Integers


class _Block(NamedTuple):
    """Rows that step at once, as arrays of shape (rows, most labels of a row)."""

    rows: Integers
    at: Integers
    """Which weights of the working set are theirs."""
    filled: NDArray[np.bool_]
    limits: Floats
    labels: Integers
    features: Any
    """The values of the features that the row of each weight has, SciPy CSR of shape (weights, weights of features)."""


class _Search:
    """The search for the optimum: weights of features and intercepts that go with the weights of rows."""

    def __init__(self, problem: _Problem, tolerance: float) -> None:
        self._problem, self._tolerance = problem, tolerance
        self._weights = np.zeros((problem.shared.shape[1], problem.labels), dtype=np.float32)
        self._intercepts = np.zeros(problem.labels)
        self._responses = np.zeros(problem.labels)
        self._sweeps = 0

    def run(self) -> Any | None:
        """Return the weights of rows as a SciPy CSR matrix; ``None`` if they are not found."""
        from scipy import sparse

        truth = self._problem.truth
        rows = np.arange(len(truth))
        working = _Working.of(rows, truth, np.zeros(len(rows)), truth).with_more(*self._alike(), truth)
        standing = np.zeros(len(rows), dtype=bool)
        for number in range(_ROUNDS):
            working = self._round(working, standing, _SHARES[min(number, len(_SHARES) - 1)] * self._tolerance)
            found = self._look(working)
            if found.worst.max() <= self._tolerance:
                shape = len(rows), self._problem.labels
                return sparse.csr_matrix((working.weights, working.labels, working.starts), shape=shape)
            if number + 1 >= _TRIED and not found.worst.max() <= _HOPELESS * self._tolerance:
                return None
            working = working.with_more(found.rows, found.labels, truth)
            standing = found.worst <= _SETTLED * self._tolerance
        return None

    def _alike(self) -> tuple[Integers, Integers]:
        """Rows, and for each the labels whose sentences are most like it."""
        shared, truth, labels = self._problem.shared, self._problem.truth, self._problem.labels
        features, number = shared.indices, min(_FIRST, labels - 1)
        np.add.at(self._weights, (features, np.repeat(truth, np.diff(shared.indptr))), shared.data)
        chosen = []
        for some, scores in self._scores():
            scores[np.arange(len(scores)), truth[some]] = -np.inf
            chosen.append(np.argpartition(scores, labels - number, axis=1)[:, labels - number :])
        self._weights[:] = 0
        return np.repeat(np.arange(len(truth)), number), np.concatenate(chosen).ravel()

    def _scores(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """The products of rows and weights, some rows at a time."""
        shared = self._problem.shared
        for first in range(0, shared.shape[0], _SCORED_AT_ONCE):
            some = slice(first, min(first + _SCORED_AT_ONCE, shared.shape[0]))
            yield some, shared[some] @ self._weights

    def _look(self, working: _Working) -> _Found:
        """Look at every label of every row."""
        problem, limits, rows_of = self._problem, self._problem.limits(working), working.rows
        sums = np.bincount(working.labels, weights=working.weights, minlength=problem.labels)
        plus, apart = (self._intercepts + 1).astype(np.float32), (sums - self._intercepts).astype(np.float32)
        most = min(_MORE, problem.labels)
        worst, rows, labels = np.empty(len(problem.truth)), [], []
        for some, scores in self._scores():
            first, last = working.starts[some.start], working.starts[some.stop]
            gradients = scores + plus
            gradients[np.arange(len(gradients)), problem.truth[some]] -= 1
            at = rows_of[first:last] - some.start, working.labels[first:last]
            weights, starts = working.weights[first:last], working.starts[some] - first
            free = weights < limits[first:last]
            inner = gradients[at] + problem.own[rows_of[first:last]] * weights
            gradients[at] = -np.inf
            level = np.minimum.reduceat(np.where(free, inner, np.inf), starts)
            above = np.flatnonzero(gradients.max(axis=1) > level)  # in the end of no row
            top = np.argpartition(gradients[above], problem.labels - most, axis=1)[:, problem.labels - most :]
            row, place = np.nonzero(gradients[above[:, None], top] > level[above, None])
            rows.append(above[row] + some.start)
            labels.append(top[row, place])
            final = gradients + apart  # what counts in the end are the sums
            inner += apart[at[1]]
            level = np.minimum.reduceat(np.where(free, inner, np.inf), starts)
            worst[some] = np.maximum(final.max(axis=1), np.maximum.reduceat(inner, starts)) - level
        return _Found(worst, np.concatenate(rows), np.concatenate(labels))

    def _round(self, working: _Working, standing: NDArray[np.bool_], violation: float) -> _Working:
        """Let rows step until they and the intercepts violate optimality by no more than this, within their labels."""
        blocks = [self._block(working, rows) for rows in self._problem.blocks(~standing)]
        weights = working.weights.copy()
        response = self._response(working, standing)
        for _ in range(_SWEEPS):
            responses, worst = response.copy(), 0.0
            for block in blocks:
                worst = max(worst, self._step(block, weights, responses))
            sums = np.bincount(working.labels, weights=weights, minlength=self._problem.labels)
            apart = sums - self._intercepts
            self._responses = np.maximum(responses, self._responses / 2)
            pace = _LONGER_STEP if self._sweeps >= _EARLY_SWEEPS else 1.0
            self._intercepts += np.clip(pace * apart / self._responses, -_LONGEST_STEP, _LONGEST_STEP)
            self._intercepts -= self._intercepts.mean()  # the sums' mean is 0
            self._sweeps += 1
            if max(worst, np.abs(apart).max()) <= violation:
                break
        return working._replace(weights=weights)

    def _response(self, working: _Working, standing: NDArray[np.bool_]) -> Floats:
        """How much each sum of weights would fall if its intercept rose, of these rows; with the intercept itself."""
        rows, free = working.rows, working.weights < self._problem.limits(working)
        number = np.bincount(rows, weights=free, minlength=len(standing))
        each = (1 - 1 / np.maximum(number, 1)) / self._problem.curvature
        counted = free & standing[rows]
        counts = np.bincount(working.labels[counted], weights=each[rows[counted]], minlength=self._problem.labels)
        return 1.0 + counts.astype(np.float64)  # of no row they are integers

    def _block(self, working: _Working, rows: Integers) -> _Block:
        from scipy import sparse

        problem = self._problem
        at, counts = _entries(working.starts, rows)
        filled = np.arange(counts.max()) < counts[:, None]
        limits = np.zeros(filled.shape)
        limits[:, 0] = problem.penalty
        features, of_weight = _entries(problem.shared.indptr, np.repeat(rows, counts))
        cells = problem.shared.indices[features].astype(np.int64) * problem.labels
        cells += np.repeat(working.labels[at], of_weight)
        if self._weights.size <= np.iinfo(np.int32).max:
            cells = cells.astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(of_weight)]).astype(cells.dtype)
        shape = len(of_weight), self._weights.size
        values = sparse.csr_matrix((problem.shared.data[features], cells, starts), shape=shape)
        return _Block(rows, at, filled, limits, working.labels[at], values)

    def _step(self, block: _Block, weights: Floats, responses: Floats) -> float:
        """Give each row the best weights while the others stand still; return the largest violation before."""
        problem, filled, limits = self._problem, block.filled, block.limits
        flat = self._weights.reshape(-1)
        old = np.zeros(filled.shape)
        old[filled] = weights[block.at]
        gradients = np.full(filled.shape, -1e30)
        gradients[filled] = block.features @ flat
        gradients[filled] += self._intercepts[block.labels]
        gradients += problem.own[block.rows, None] * old
        gradients[:, 1:] += 1.0
        free = np.where((old < limits) & filled, gradients, np.inf).min(axis=1)
        curvature = problem.curvature[block.rows, None]
        linear = gradients - curvature * old
        bounds = -np.sort(-(linear + curvature * limits), axis=1)
        levels = (bounds.cumsum(axis=1) - curvature * problem.penalty) / np.arange(1, filled.shape[1] + 1)
        number = np.count_nonzero(levels < bounds, axis=1)
        level = np.take_along_axis(levels, np.maximum(number - 1, 0)[:, None], axis=1)
        new = np.minimum((level - linear) / curvature, limits)
        moving = np.where(new < limits, (1 - 1 / np.maximum(number, 1))[:, None] / curvature, 0.0)
        np.add.at(responses, block.labels, moving[filled])
        change = (new - old)[filled]
        weights[block.at] += change
        each = np.repeat(change.astype(np.float32), np.diff(block.features.indptr))
        np.add.at(flat, block.features.indices, each * block.features.data)
        return float((gradients.max(axis=1) - free).max())


def _entries(starts: NDArray[Any], rows: Integers) -> tuple[Integers, Integers]:
    """Where the entries of these rows are, one row after the other, and how many each has."""
    counts = (starts[rows + 1] - starts[rows]).astype(np.int64)
    first = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts[rows] - first, counts), counts
