"""Multinomial logistic regression for few sentences, solved over their Gram matrix.

The problem is that of scikit-learn's ``LogisticRegression(class_weight="balanced")``, and the solution is equal up to
the tolerance. As with :mod:`.small_svm`, importing scikit-learn would take longer than solving it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from turncheck.engines.embedded.nlu.classifiers import softmax

if TYPE_CHECKING:
    from collections.abc import Callable

_STEPS: Final = 100
_MEMORY: Final = 6
_HALVINGS: Final = 30
_TYPICAL_CURVATURE: Final = 0.01
"""An estimate of the second derivative of a sentence's loss, times the number of labels: it only affects the speed."""

Floats = NDArray[np.float64]
Objective = tuple[float, Floats]
"""A value and its gradient."""


def fit_small_logistic(
    products: NDArray[np.float64], truth: NDArray[np.int64], labels: int, tolerance: float = 0.5
) -> tuple[NDArray[np.float64], Floats]:
    """Return the weights of rows, shape (rows, labels), that sum up to the weights of features, and the intercepts.

    ``products`` are those of each row with each, ``truth`` the rows' labels.

    Each label must occur. Sentences of rare labels weigh more; the penalty on the squared weights is
    scikit-learn's ``C=1``; ``tolerance`` is the remaining slope in the shortened directions: its length, which does
    not depend on how directions of equal spread are chosen.

    The sentences are rotated to their principal directions, of which there are no more than sentences, and each
    direction is shortened until the loss is about as curved along it as along the others: a third of the steps.
    """
    count = len(truth)
    spread, directions = np.linalg.eigh(products)
    kept = spread > spread[-1] * 1e-6
    spread, directions = spread[kept], directions[:, kept]
    curvature = _TYPICAL_CURVATURE / labels
    paces = np.append(np.sqrt(1 + curvature * spread), np.sqrt(curvature * count))
    inputs = np.column_stack([directions * np.sqrt(spread), np.ones(count)]) / paces
    costs = (1 / paces**2)[:, None]
    costs[-1] = 0  # the intercepts are not penalized
    of_sentence = (count / labels / np.bincount(truth, minlength=labels))[truth]
    each = np.arange(count)

    def objective(flat: Floats) -> Objective:
        weights = flat.reshape(-1, labels)
        stated = softmax(inputs @ weights)
        loss = -of_sentence @ np.log(stated[each, truth] + 1e-30)
        stated[each, truth] -= 1
        stated *= of_sentence[:, None]
        costly = weights * costs
        slope: Floats = (inputs.T @ stated + costly).ravel()
        return float(loss) + 0.5 * float(flat @ costly.ravel()), slope

    found = _minimum(objective, np.zeros(inputs.shape[1] * labels), tolerance).reshape(-1, labels)
    found /= paces[:, None]
    return (directions / np.sqrt(spread)) @ found[:-1], found[-1]


def _minimum(objective: Callable[[Floats], Objective], at: Floats, tolerance: float) -> Floats:
    """Minimize a convex function by L-BFGS (Liu and Nocedal 1989), steps halved until they go down enough."""
    value, slope = objective(at)
    past: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        if np.linalg.norm(slope) <= tolerance:
            break
        step = -_uphill(slope, past)
        down = float(step @ slope)
        for halving in range(_HALVINGS):
            share = 0.5**halving
            new_value, new_slope = objective(at + share * step)
            if new_value <= value + 1e-4 * share * down:
                break
        else:
            break
        moved, changed = share * step, new_slope - slope
        if (curvature := float(moved @ changed)) > 0:
            past.append((moved, changed, curvature))
        at, value, slope = at + moved, new_value, new_slope
    return at


def _uphill(slope: Floats, past: deque[tuple[Floats, Floats, float]]) -> Floats:
    """The slope times an estimate of the inverse curvature from past steps (the two loops of L-BFGS)."""
    if not past:
        first: Floats = slope / max(1.0, float(np.linalg.norm(slope)))
        return first
    uphill = slope.copy()
    shares = []
    for moved, changed, curvature in reversed(past):
        shares.append(float(moved @ uphill) / curvature)
        uphill -= shares[-1] * changed
    _, changed, curvature = past[-1]
    uphill *= curvature / float(changed @ changed)
    for (moved, changed, curvature), share in zip(past, reversed(shares), strict=True):
        uphill += (share - float(changed @ uphill) / curvature) * moved
    return uphill
