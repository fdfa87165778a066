"""A second classifier that few sentences are shown to: logistic regression on plain counts of words and characters.

It has the features and the problem of Rasa's LogisticRegressionClassifier behind its two default featurizers. What is
short, and how short, shows in counts and not in tf-idf; where each intent has a dozen sentences, that helps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from turncheck.engines.embedded.nlu.calibration import UNCALIBRATED, Judged, fit_factor
from turncheck.engines.embedded.nlu.classifiers import softmax
from turncheck.engines.embedded.nlu.linear import LinearModel
from turncheck.engines.embedded.nlu.ngrams import SparseRows, all_terms, count_known, count_terms
from turncheck.engines.embedded.nlu.small_logistic import fit_small_logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter

MOST_SENTENCES: Final = 500
"""Of more sentences than so many the first classifier alone knows as much, by the benchmark, and costs less."""


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Blends its confidences with those of the first classifier, in equal parts."""

    columns: dict[str, int]
    linear: LinearModel
    factor: float = 1.0
    """How much surer the blend is than the mean of the two: a power, which leaves ranks as they are."""

    def blended(self, confidences: NDArray[np.float64], texts: Sequence[str]) -> NDArray[np.float64]:
        """Take the first classifier's confidences, shape (texts, intents), and return the blend."""
        own = softmax(self.linear.scores(count_known(texts, all_terms, self.columns)).astype(np.float64))
        return softmax(_logarithms(confidences, own) * self.factor)

    def calibrated(self, confidences: NDArray[np.float64], own: Judged) -> SecondOpinion:
        """Fit the factor: both classifiers have judged sentences that they had not seen, the first so confidently."""
        logarithms = _logarithms(confidences, softmax(np.maximum(own.scores, -1e6)))
        judged = Judged(logarithms / UNCALIBRATED, own.truth)
        return replace(self, factor=fit_factor(judged.scores, judged.right) / UNCALIBRATED)

    def save(self, members: MemberWriter) -> None:
        """Write terms, weights and factor."""
        members.json("terms", {"terms": list(self.columns), "factor": self.factor})
        self.linear.save(members)

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`."""
        head = members.json("terms")
        columns = {term: column for column, term in enumerate(head["terms"])}
        return cls(columns, LinearModel.load(members), head["factor"])


def fit_linear(rows: SparseRows, labels: Sequence[str]) -> LinearModel:
    """Fit the logistic regression to counts."""
    names = tuple(sorted(set(labels)))
    column = {name: index for index, name in enumerate(names)}
    return LinearModel(names, *fit_small_logistic(rows, np.array([column[label] for label in labels]), len(names)))


def count(texts: Sequence[str]) -> tuple[dict[str, int], SparseRows]:
    """Learn the terms of texts; return their columns with the counts."""
    return count_terms(texts, all_terms, 1)


def _logarithms(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log((first + second) / 2 + 1e-12)
