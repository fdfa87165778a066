"""The stand-in's intent classifier: a linear multi-class SVM (Crammer and Singer) with calibrated confidences."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from turncheck.engines.embedded.nlu.classifiers import softmax
from turncheck.engines.embedded.nlu.ngrams import NgramFeatures, SparseRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter

_C: Final = 0.5
_TOLERANCE: Final = 0.03
_HELD_OUT: Final = 10
"""One in this many examples is held out to fit the temperature."""


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Linear scores of labels: ``features @ weights + intercepts``."""

    names: tuple[str, ...]
    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]

    @classmethod
    def fit(cls, features: SparseRows, labels: Sequence[str], seed: int) -> Self:
        """Fit Crammer and Singer's multi-class SVM. With one label there is nothing to learn: it scores 0."""
        names = tuple(sorted(set(labels)))
        if len(names) == 1:
            return cls(names, np.zeros((features.width, 1), np.float32), np.zeros(1, np.float32))
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC

        model = LinearSVC(multi_class="crammer_singer", C=_C, tol=_TOLERANCE, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(features.to_scipy(), labels)
        weights = model.coef_.T.astype(np.float32)
        intercepts = np.asarray(model.intercept_, dtype=np.float32)
        if len(names) == 2 and weights.shape[1] == 1:  # scikit-learn keeps the difference only
            weights, intercepts = (
                np.hstack([-weights / 2, weights / 2]),
                np.array([-intercepts[0] / 2, intercepts[0] / 2]),
            )
        return cls(names, np.ascontiguousarray(weights), intercepts)

    def scores(self, features: SparseRows) -> NDArray[np.float32]:
        """Scores, shape (rows, labels)."""
        return features.times(self.weights) + self.intercepts


def fit_temperature(scores: NDArray[np.float32], truth: NDArray[np.int64]) -> float:
    """Find the factor on scores with which their softmax has the lowest log loss on labels ``truth`` (columns).

    Temperature scaling (Guo et al. 2017, "On Calibration of Modern Neural Networks"), by golden-section search over the
    logarithm of the factor.
    """
    rows = np.arange(len(truth))

    def loss(log_factor: float) -> float:
        probabilities = softmax(scores.astype(np.float64) * math.exp(log_factor))[rows, truth]
        return float(-np.log(probabilities + 1e-12).mean())

    low, high = -2.0, 5.0
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    left_loss, right_loss = loss(left), loss(right)
    while high - low > 0.01:
        if left_loss < right_loss:
            high, right, right_loss = right, left, left_loss
            left = high - golden * (high - low)
            left_loss = loss(left)
        else:
            low, left, left_loss = left, right, right_loss
            right = low + golden * (high - low)
            right_loss = loss(right)
    return math.exp((low + high) / 2)


@dataclass(frozen=True, slots=True)
class IntentModel:
    """Sentence → confidence of each intent."""

    features: NgramFeatures
    linear: LinearModel
    factor: float
    """What scores are multiplied by before the softmax: the inverse of the temperature."""

    @property
    def names(self) -> tuple[str, ...]:
        """The intents, in the order of the columns."""
        return self.linear.names

    @classmethod
    def train(cls, texts: Sequence[str], labels: Sequence[str], seed: int) -> Self:
        """Fit features and SVM on all sentences, the temperature on sentences held out for it."""
        features, rows = NgramFeatures.fit(texts)
        linear = LinearModel.fit(rows, labels, seed)
        return cls(features, linear, _held_out_factor(rows, labels, seed))

    def confidences(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Confidences, shape (texts, intents)."""
        return self.confidences_of(self.features.transform(texts))

    def confidences_of(self, rows: SparseRows) -> NDArray[np.float64]:
        """The same for sentences whose features are known."""
        return softmax(self.linear.scores(rows).astype(np.float64) * self.factor)

    def save(self, members: MemberWriter) -> None:
        """Write vocabulary, names, weights and factor."""
        self.features.save(members)
        members.json("intents", {"names": self.names, "factor": self.factor})
        members.arrays("weights", {"weights": self.linear.weights, "intercepts": self.linear.intercepts})

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`."""
        head, arrays = members.json("intents"), members.arrays("weights")
        linear = LinearModel(tuple(head["names"]), arrays["weights"], arrays["intercepts"])
        return cls(NgramFeatures.load(members), linear, head["factor"])


_UNCALIBRATED: Final = 8.0
"""The factor where too few sentences are there to fit one: what the corpora in the benchmark need, about."""


def _held_out_factor(rows: SparseRows, labels: Sequence[str], seed: int) -> float:
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    held_out, kept = np.array_split(shuffled, [len(labels) // _HELD_OUT])
    kept_labels = [labels[int(row)] for row in kept]
    column = {name: index for index, name in enumerate(sorted(set(kept_labels)))}
    judged = np.array([row for row in held_out if labels[row] in column], dtype=np.int64)
    if len(column) < 2 or not len(judged):
        return _UNCALIBRATED
    scores = LinearModel.fit(rows.take(kept), kept_labels, seed).scores(rows.take(judged))
    return fit_temperature(scores, np.array([column[labels[row]] for row in judged]))


def out_of_fold_labels(features: NgramFeatures, texts: Sequence[str], labels: Sequence[str], seed: int) -> list[str]:
    """Predict each sentence's intent by a model that was trained without it (two folds).

    What learns from predicted intents must see them as wrong in training as they will be later. The vocabulary is the
    one of all sentences, which tells nothing of the labels.
    """
    rows = features.transform(texts)
    halves = np.random.default_rng(seed).permutation(len(labels)) % 2
    predicted = [""] * len(labels)
    for half in (0, 1):
        learned, judged = np.flatnonzero(halves != half), np.flatnonzero(halves == half)
        if not len(learned) or not len(judged):
            return list(labels)
        model = LinearModel.fit(rows.take(learned), [labels[int(row)] for row in learned], seed)
        for row, column in zip(judged, model.scores(rows.take(judged)).argmax(axis=1), strict=True):
            predicted[row] = model.names[column]
    return predicted
