"""Multinomial logistic regression for few sentences, solved over their Gram matrix.

The problem is that of scikit-learn's ``LogisticRegression(class_weight="balanced")``, and so is the solution, up to the
tolerance. As with :mod:`.small_svm`, importing scikit-learn would take longer than solving it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from turncheck.engines.embedded.nlu.classifiers import softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from turncheck.engines.embedded.nlu.ngrams import SparseRows

_STEPS: Final = 100
"""Where Rasa's classifier ends as well."""
_MEMORY: Final = 10
_HALVINGS: Final = 30

Objective = tuple[float, "NDArray[np.float64]"]
"""A value and its gradient."""


def fit_small_logistic(
    rows: SparseRows, truth: NDArray[np.int64], labels: int, tolerance: float = 0.05
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return weights (width, labels) and intercepts (labels,) for rows whose labels are ``truth``.

    Each label must occur. Sentences weigh as much as their label is rare; what the weights' squares cost is
    scikit-learn's ``C=1``; ``tolerance`` is the largest slope that is left.
    """
    dense = np.zeros((rows.width, len(rows)), dtype=np.float32)
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    dense[rows.columns, row_of] = rows.values
    spread, directions = np.linalg.eigh(rows.times(dense).astype(np.float64))
    kept = spread > spread[-1] * 1e-9
    lengths, directions = np.sqrt(spread[kept]), directions[:, kept]
    inputs = np.column_stack([directions * lengths, np.ones(len(rows))])  # the sentences, turned into few coordinates
    of_sentence = (len(truth) / labels / np.bincount(truth, minlength=labels))[truth][:, None]
    wanted = np.eye(labels)[truth]

    def objective(flat: NDArray[np.float64]) -> Objective:
        weights = flat.reshape(-1, labels)
        stated = softmax(inputs @ weights)
        costs = weights.copy()
        costs[-1] = 0  # the intercepts cost nothing
        slope = inputs.T @ (of_sentence * (stated - wanted)) + costs
        loss = -(of_sentence[:, 0] * np.log(stated[np.arange(len(truth)), truth] + 1e-300)).sum()
        return float(loss + 0.5 * (costs * costs).sum()), slope.ravel()

    found = _minimum(objective, np.zeros(inputs.shape[1] * labels), tolerance).reshape(-1, labels)
    duals = (directions / lengths) @ found[:-1]
    return (dense @ duals).astype(np.float32), found[-1].astype(np.float32)


def _minimum(
    objective: Callable[[NDArray[np.float64]], Objective], at: NDArray[np.float64], tolerance: float
) -> NDArray[np.float64]:
    """Minimize a convex function by L-BFGS (Liu and Nocedal 1989), steps halved until they go down enough."""
    value, slope = objective(at)
    past: deque[tuple[NDArray[np.float64], NDArray[np.float64], float]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        if np.abs(slope).max() <= tolerance:
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


def _uphill(
    slope: NDArray[np.float64], past: deque[tuple[NDArray[np.float64], NDArray[np.float64], float]]
) -> NDArray[np.float64]:
    """The slope times an estimate of the inverse curvature from past steps (the two loops of L-BFGS)."""
    if not past:
        return slope / max(1.0, float(np.linalg.norm(slope)))
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
