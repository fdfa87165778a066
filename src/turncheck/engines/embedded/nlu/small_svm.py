"""Crammer and Singer's multi-class SVM for few sentences, solved in the dual over their Gram matrix.

The problem is that of scikit-learn's ``LinearSVC(multi_class="crammer_singer")``, and the solution is equal up to the
tolerance. For a project of some hundred sentences importing scikit-learn would take many times as long as solving it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ROWS: Final = 800
"""Up to this many sentences this is faster; the Gram matrix grows with the square."""

_MAX_SWEEPS: Final = 1000


def fit_small(
    products: NDArray[np.float64], truth: NDArray[np.int64], labels: int, penalty: float, tolerance: float = 0.1
) -> NDArray[np.float64]:
    """Return the weights of rows, shape (rows, labels), that sum up to the weights of features.

    ``products`` are those of each row with each, ``truth`` the rows' labels; a label's intercept is the sum of its
    weights. ``penalty`` is the SVM's C; ``tolerance`` the largest remaining violation of the optimality conditions.
    """
    return _solve(products + 1.0, truth, labels, penalty, tolerance)  # the intercept is one more feature, always 1


def _solve(
    gram: NDArray[np.float64], truth: NDArray[np.int64], labels: int, penalty: float, tolerance: float
) -> NDArray[np.float64]:
    """Coordinate descent, one sentence at a time (Keerthi et al. 2008, "A sequential dual method").

    Minimizes ``½ Σ_m αᵐ·K·αᵐ + Σ_i Σ_{m≠y_i} α_iᵐ`` where each row of α sums to 0, ``α_iᵐ ≤ 0`` for wrong labels and
    ``≤ C`` for the right one. A sweep visits the sentences that violate optimality when it begins, the worst first.
    """
    count = len(truth)
    duals = np.zeros((count, labels))
    limits = np.zeros((count, labels))
    limits[np.arange(count), truth] = penalty
    gradients = np.ascontiguousarray(1.0 - (limits.T > 0))  # one row per label: a step changes few labels
    ranks = np.arange(1, labels + 1)
    for _ in range(_MAX_SWEEPS):
        violations = gradients.max(axis=0) - np.where(duals < limits, gradients.T, np.inf).min(axis=1)
        order = np.argsort(-violations, kind="stable")[: np.count_nonzero(violations > tolerance)]
        if not len(order):
            break
        for row in order.tolist():
            own, limit, curvature = duals[row], limits[row], gram[row, row]
            linear = gradients[:, row] - curvature * own
            bounds = np.sort(linear + curvature * limit)[::-1]
            levels = (bounds.cumsum() - curvature * penalty) / ranks
            level = levels[np.count_nonzero(levels < bounds) - 1]
            new = np.minimum(limit, (level - linear) / curvature)
            changed = np.flatnonzero(new != own)
            gradients[changed] += (new - own)[changed, None] * gram[row]
            duals[row] = new
    return duals
