"""Linear models over sentence features: multi-class, and for labels that are combinations of intents."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from turncheck.engines.embedded.model_archive import ensure_dimensions
from turncheck.engines.embedded.nlu.single_columns import SingleColumns
from turncheck.engines.embedded.nlu.small_svm import MOST_ROWS, fit_small

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.feature_rows import FeatureRows

PENALTY: Final = 0.5
_TOLERANCE: Final = 0.03
_PARTS_PENALTY: Final = 2.0
_MANY_WEIGHTS: Final = 10_000_000
"""With more weights than this (80 MB in training, several times), columns that one row has are put together."""


@dataclass(frozen=True, slots=True)
class LabelSplit:
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


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Linear scores of labels: ``features @ weights + intercepts``, for combinations summed over their parts."""

    names: tuple[str, ...]
    weights: NDArray[np.float32]
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
        if len(labels) <= MOST_ROWS:
            return cls._fit_small(features.with_products(), truth, names)
        matrix, columns = features.to_scipy(), None
        if len(names) * features.width > _MANY_WEIGHTS:
            columns, matrix = SingleColumns.together(matrix)
        return cls(names, *_fit_svm(matrix, truth, seed, columns, multi_class="crammer_singer", C=PENALTY))

    @classmethod
    def _fit_small(cls, features: FeatureRows, truth: NDArray[np.int64], names: tuple[str, ...]) -> Self:
        duals = fit_small(features.known_products, truth, len(names), PENALTY)
        return cls(names, features.weighted_sums(duals), duals.sum(axis=0).astype(np.float32))

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
                of_two, at = _fit_svm(matrix, present[:, index].astype(np.int64), seed, C=_PARTS_PENALTY)
                weights[:, index], intercepts[index] = of_two[:, 1] - of_two[:, 0], at[1] - at[0]
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
        arrays = {"weights": self.weights, "intercepts": self.intercepts}
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
        return cls(names, weights, ensure_dimensions(arrays["intercepts"], outputs), composition)


def _fit_svm(
    matrix: Any, truth: NDArray[np.int64], seed: int, columns: SingleColumns | None = None, **parameters: Any
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Fit scikit-learn's LinearSVC; weights (width, labels) and intercepts, also for two labels.

    ``columns``: what the columns of the matrix are put together from.
    """
    from sklearn.svm import LinearSVC

    model = LinearSVC(tol=_TOLERANCE, random_state=seed, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about exhausted iterations, and nearly as many labels as sentences
        model.fit(matrix, truth)
    learnt: NDArray[np.float64] = model.coef_.T
    weights = learnt.astype(np.float32) if columns is None else columns.apart(learnt)
    intercepts = np.asarray(model.intercept_, dtype=np.float32)
    if weights.shape[1] == 1:  # scikit-learn only keeps the difference
        return np.hstack([-weights / 2, weights / 2]), np.concatenate([-intercepts / 2, intercepts / 2])
    return np.ascontiguousarray(weights), intercepts
