"""Linear models over sentence features: multi-class, and for labels that are combinations of intents."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from msgspec import Struct

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter, ensure_dimensions
from turncheck.engines.embedded.nlu.liblinear import Matrix, fit_machine
from turncheck.engines.embedded.nlu.many_intents import FEWEST_LABELS, MOST_EACH, fit_many
from turncheck.engines.ngrams import SparseRows, beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


# Columns that only one row has, put together: a linear model needs one weight for all of them.
#
# What a row learns is learnt by all its features in proportion, and these features by no other row. So one feature, as
# long as they are together, gives the same products of rows, the same solution, and each weight back. Of many intents
# with few sentences, most terms are such; the weights of a multi-class model would fill gigabytes.

_AT_ONCE: Final = 512
"""The number of columns whose weights are computed at a time."""


class SingleColumns(Struct, frozen=True):
    """Which columns of a matrix only one row has."""

    width: int
    shared: NDArray[np.int64]
    """The columns that several rows have."""
    single: NDArray[np.int64]
    """The columns that one row has."""
    column_of: NDArray[np.int64]
    """Of each single column, the column that its row's single columns become."""
    share_of: NDArray[np.float64]
    """Of each single column, its share of that one."""

    @classmethod
    def merged(cls, matrix: Any) -> tuple[Self, Any]:
        """Return the columns of a SciPy CSR matrix, and the matrix with each row's single columns as one."""
        from scipy import sparse

        rows, width = matrix.shape
        times = np.bincount(matrix.indices, minlength=width)
        is_single = times[matrix.indices] == 1
        single, values = matrix.indices[is_single].astype(np.int64), matrix.data[is_single]
        row_of = np.repeat(np.arange(rows), np.diff(matrix.indptr))[is_single]
        lengths = np.sqrt(np.bincount(row_of, weights=values**2, minlength=rows))
        with_any = np.flatnonzero(lengths)
        number = np.zeros(rows, dtype=np.int64)
        number[with_any] = np.arange(len(with_any))
        shared = np.flatnonzero(times > 1)
        put_together = sparse.csr_matrix((lengths[with_any], (with_any, number[with_any])), shape=(rows, len(with_any)))
        columns = cls(width, shared, single, len(shared) + number[row_of], values / lengths[row_of])
        return columns, sparse.hstack([matrix[:, shared], put_together], format="csr")

    def expanded(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return the weights of all columns, shape (width, labels), from those of the columns put together."""
        every = np.zeros((self.width, weights.shape[1]), dtype=np.float32)
        for first in range(0, len(self.shared), _AT_ONCE):
            some = slice(first, min(first + _AT_ONCE, len(self.shared)))
            every[self.shared[some]] = weights[some]
        for first in range(0, len(self.single), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            every[self.single[some]] = weights[self.column_of[some]] * self.share_of[some, None]
        return every


PENALTY: Final = 0.5
_TOLERANCE: Final = 0.03
_TOLERANCE_OF_FEW: Final = 0.01
"""With fewer sentences than :data:`_MANY`: what is left of the violation shows in no figure as it is printed."""
_MANY: Final = 3000
_PARTS_PENALTY: Final = 2.0
_MOST_FILLED: Final = 5
"""Weights are kept as a sparse matrix if at most one of so many is not 0."""
_MANY_WEIGHTS: Final = 10_000_000
"""With more weights than this (80 MB in training, several times), columns that one row has are put together."""


class LabelSplit(Struct, frozen=True):
    """How a tokenizer splits intents (``intent_tokenization_flag``): the parts of a label."""

    symbol: str
    prefix_symbol: str | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self | None:
        """Take it from a tokenizer's parameters; ``None`` if intents are not split."""
        if not parameters["intent_tokenization_flag"] or not parameters["intent_split_symbol"]:
            return None
        return cls(str(parameters["intent_split_symbol"]), parameters["prefix_separator_symbol"])

    def parts(self, label: str) -> tuple[str, ...]:
        """``("greet", "order")`` of ``greet+order``."""
        prefix, found, rest = label.partition(self.prefix_symbol) if self.prefix_symbol else ("", "", label)
        words = [*prefix.split(self.symbol), *rest.split(self.symbol)] if found else label.split(self.symbol)
        return tuple(dict.fromkeys(word for word in words if word)) or (label,)


class LinearModel(Struct, frozen=True):
    """Linear scores of labels: ``features @ weights + intercepts``, for combinations summed over their parts."""

    names: tuple[str, ...]
    weights: Any
    """Single precision, shape (features, labels): an array or, of many labels, a SciPy CSR matrix if most are 0."""
    intercepts: NDArray[np.float32]
    composition: NDArray[np.float32] | None = None
    """Shape (parts, labels), 1 if a label has the part; ``None`` if labels are plain."""

    @classmethod
    def fit(cls, features: FeatureRows, labels: Sequence[str], seed: int, split: LabelSplit | None = None) -> Self:
        """Fit Crammer and Singer's multi-class SVM.

        With ``split``, and labels that share parts, an SVM is fitted for each part instead. The margin of a part is
        taken for its log-odds; the likeliest of the labels seen in training is then the one with the highest sum of
        margins over its parts. With a single label there is nothing to learn: it scores 0.
        """
        names = tuple(sorted(set(labels)))
        if len(names) == 1:
            return cls(names, np.zeros((features.width, 1), np.float32), np.zeros(1, np.float32))
        if split is not None and len({part for name in names for part in split.parts(name)}) < sum(
            len(split.parts(name)) for name in names
        ):
            return cls._fit_parts(features, labels, names, seed, split)
        column = {name: index for index, name in enumerate(names)}
        truth = np.array([column[label] for label in labels])
        if len(names) >= FEWEST_LABELS and len(labels) <= MOST_EACH * len(names) and features.vectors is None:
            matrix = features.to_scipy()
            duals = fit_many(matrix, truth, len(names), PENALTY, _TOLERANCE)
            if duals is not None:
                sums = (matrix.T.tocsr() @ duals).astype(np.float32)
                sums.eliminate_zeros()
                return cls(names, _compact(sums), np.asarray(duals.sum(axis=0), dtype=np.float32).reshape(-1))
        matrix, columns = Matrix.of(features.sparse()), None
        if len(names) * features.width > _MANY_WEIGHTS:
            columns, matrix = SingleColumns.merged(features.to_scipy())
        tolerance = _TOLERANCE if len(labels) >= _MANY else _TOLERANCE_OF_FEW
        weights, intercepts = fit_machine(matrix, truth, len(names), penalty=PENALTY, tolerance=tolerance, seed=seed)
        every = np.ascontiguousarray(weights, dtype=np.float32) if columns is None else columns.expanded(weights)
        return cls(names, _compact(every), intercepts.astype(np.float32))

    @classmethod
    def _fit_parts(
        cls, features: FeatureRows, labels: Sequence[str], names: tuple[str, ...], seed: int, split: LabelSplit
    ) -> Self:
        parts = sorted({part for name in names for part in split.parts(name)})
        composition = np.array([[part in split.parts(name) for name in names] for part in parts], dtype=np.float32)
        of_label = dict(zip(names, composition.T, strict=True))
        present = np.array([of_label[label] for label in labels])
        weights = np.zeros((features.width, len(parts)), np.float32)
        intercepts = np.zeros(len(parts), np.float32)
        matrix = features.to_scipy()
        for index in range(len(parts)):
            if 0 < present[:, index].sum() < len(labels):
                weights[:, index], intercepts[index] = _fit_part(matrix, present[:, index].astype(np.int64), seed)
        return cls(names, weights, intercepts, composition)

    def scores(self, features: FeatureRows) -> NDArray[np.float32]:
        """Scores, shape (rows, labels)."""
        scores = features.times(self.weights) + self.intercepts
        if self.composition is not None:
            scores = scores @ self.composition
        return scores.astype(np.float32, copy=False)

    def added(self, other: LinearModel, factors: Sequence[float]) -> LinearModel:
        """Add the scores of two models of the same features and labels, each by its factor."""
        own, its = np.float32(factors[0]), np.float32(factors[1])
        return LinearModel(
            self.names, own * self.weights + its * other.weights, own * self.intercepts + its * other.intercepts
        )

    def save(self, members: MemberWriter) -> None:
        """Write names and weights."""
        members.json("names", self.names)
        arrays = {"weights": _dense(self.weights), "intercepts": self.intercepts}
        members.arrays("weights", arrays if self.composition is None else {**arrays, "composition": self.composition})

    @classmethod
    def load(cls, members: MemberReader, width: int) -> Self:
        """Inverse of :meth:`save`, for this number of features.

        Raises:
            ValueError: it is for another number of features or labels.
        """
        names, arrays = members.json("names", tuple[str, ...]), members.arrays("weights")
        composition, outputs = arrays.get("composition"), len(names)
        if composition is not None:
            outputs = len(composition)
            ensure_dimensions(composition, outputs, len(names))
        if not names:
            raise ValueError("a model without labels")
        weights = ensure_dimensions(arrays["weights"], width, outputs)
        if composition is None:
            weights = _compact(weights)
        return cls(names, weights, ensure_dimensions(arrays["intercepts"], outputs), composition)


def _compact(weights: Any) -> Any:
    """Return weights as they are computed with: as a sparse matrix if there are many labels, and most weights are 0.

    An array of thousands of labels takes longer to fill than to train. A model that was read computes as it did when it
    was trained, to the last digit.
    """
    if weights.shape[1] < FEWEST_LABELS:
        return weights
    filled = np.count_nonzero(weights) if isinstance(weights, np.ndarray) else weights.nnz
    if _MOST_FILLED * filled > weights.shape[0] * weights.shape[1]:
        return _dense(weights)
    from scipy import sparse

    return sparse.csr_matrix(weights)


def _dense(weights: Any) -> NDArray[np.float32]:
    return weights if isinstance(weights, np.ndarray) else weights.toarray()


def _fit_part(matrix: Any, truth: NDArray[np.int64], seed: int) -> tuple[NDArray[np.float32], np.float32]:
    """Fit scikit-learn's LinearSVC to two labels: the weights of the second less those of the first, and intercept."""
    from sklearn.svm import LinearSVC

    model = LinearSVC(tol=_TOLERANCE, random_state=seed, C=_PARTS_PENALTY)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about exhausted iterations
        model.fit(matrix, truth)
    return model.coef_[0].astype(np.float32), np.float32(model.intercept_[0])


# Rows of sentence features: sparse n-grams and, if enabled, dense sentence vectors.


class FeatureRows(Struct, frozen=True):
    """One row for each sentence; the columns of the n-grams come first."""

    ngrams: SparseRows
    vectors: NDArray[np.float32] | None = None
    """Shape (rows, width of the vectors)."""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.ngrams)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.ngrams.width + (0 if self.vectors is None else self.vectors.shape[1])

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which rows are empty."""
        if self.vectors is not None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(np.diff(self.ngrams.starts) == 0)

    def take(self, rows: NDArray[np.int64]) -> FeatureRows:
        """Return these rows, in this order."""
        return FeatureRows(self.ngrams.take(rows), None if self.vectors is None else self.vectors[rows])

    def of_vectors(self) -> FeatureRows:
        """The same without n-grams: as many columns, which are empty."""
        if self.vectors is None:
            raise AssertionError("no vectors")
        return FeatureRows(self.ngrams.emptied(), self.vectors)

    def products(self) -> NDArray[np.float64]:
        """Return the products of all pairs of rows, shape (rows, rows)."""
        products = self.ngrams.products()
        return products if self.vectors is None else products + self.vectors @ self.vectors.T

    def sparse(self) -> SparseRows:
        """Return n-grams and vectors as one matrix."""
        return self.ngrams if self.vectors is None else beside(self.ngrams, SparseRows.of_dense(self.vectors))

    def times(self, weights: Any) -> NDArray[np.float32]:
        """Multiply by a matrix of shape (width, outputs), also a sparse one; returns (rows, outputs)."""
        border = self.ngrams.width
        product = self.ngrams.times(weights[:border])
        return product if self.vectors is None else product + self.vectors @ weights[border:]

    def weighted_sums(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Sum the weighted rows, for each column of ``weights`` (rows, outputs); (width, outputs)."""
        sums = self.ngrams.weighted_sums(weights)
        if self.vectors is None:
            return sums
        return np.concatenate([sums, self.vectors.T @ weights.astype(np.float32)])

    def to_scipy(self) -> Any:
        """As a SciPy CSR matrix in double precision, for scikit-learn."""
        return self.sparse().to_scipy()
