"""The intent classifier of few sentences: a logistic regression over their Gram matrix.

Three things help where an intent has a handful of sentences, by the benchmark. The intent's name is one more sentence
of it. Directions along which sentences of one and the same intent differ count less: within-class covariance
normalization (Hatch et al. 2006), here of the Gram matrix, so that it costs the cube of the sentences and not of the
features. And intents weigh the same, however many sentences they have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from turncheck.engines.embedded.nlu.linear import LinearModel
from turncheck.engines.embedded.nlu.small_logistic import fit_small_logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.feature_rows import FeatureRows

MOST_SENTENCES: Final = 1600
"""Of more sentences than so many an SVM alone knows as much, and the cube would cost more."""

JUDGED_OF_FEW: Final = 700
"""Up to here each sentence is judged by a model that has not seen it: a third of them leaves calibration to chance."""

_FEWEST_OF_INTENT: Final = 2
"""Of intents with fewer sentences on average there is nothing that varies."""

_VARIATION: Final = 0.01
"""How small a share of all variation within intents still counts for nothing."""

_COST: Final = 5.0
"""What an error costs beside the squares of the weights: scikit-learn's C."""

_WORD_BORDERS: Final = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


def suits(labels: Sequence[str]) -> bool:
    """Whether there are few sentences, and still several of each intent."""
    intents = len(set(labels))
    return intents > 1 and _FEWEST_OF_INTENT * intents <= len(labels) <= MOST_SENTENCES


def in_words(intent: str) -> str:
    """``order pizza`` of ``order_pizza`` and of ``OrderPizza``."""
    return " ".join(_WORD_BORDERS.sub(" ", intent).split()).lower()


def fit_few(rows: FeatureRows, labels: Sequence[str]) -> LinearModel:
    """Fit the logistic regression to sentences and whatever else has a label."""
    names = tuple(sorted(set(labels)))
    column = {name: index for index, name in enumerate(names)}
    truth = np.array([column[label] for label in labels])
    products, to_rows = _less_varied(rows.with_products().known_products, truth, len(names))
    weights, intercepts = fit_small_logistic(_COST * products, truth, len(names))
    return LinearModel(names, rows.weighted_sums(to_rows @ (_COST * weights)), intercepts)


def _less_varied(
    products: NDArray[np.float64], truth: NDArray[np.int64], labels: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the products of rows that vary less within a label, and what makes weights of the rows of theirs.

    With C the rows less their label's mean, the metric is ``(I + CᵀC / λ)⁻¹``, λ a share of all that C varies; by
    Woodbury's identity it needs products of rows only. The products' mean diagonal stays.
    """
    count = len(truth)
    of_label = np.eye(labels)[truth]
    to_means = (of_label / of_label.sum(axis=0)).T

    def less_means(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        less: NDArray[np.float64] = matrix - of_label @ (to_means @ matrix)
        return less

    apart = less_means(products)
    varied = less_means(apart.T)
    limit = max(_VARIATION * float(np.trace(varied)), 1e-9)
    taken = less_means(np.linalg.solve(limit * np.eye(count) + varied, apart).astype(np.float64))
    less = products - products @ taken
    scale = float(np.trace(products)) / max(float(np.trace(less)), 1e-9)
    return scale * (less + less.T) / 2, scale * (np.eye(count) - taken)
