"""Confidences that can be believed: temperature scaling of scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from turncheck.engines.embedded.nlu.classifiers import softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

UNCALIBRATED: Final = 8.0
"""The factor where no sentence is there to fit one: about what the benchmark's corpora need."""

_PRIOR: Final = 10.0
"""How many sentences' word the assumption of that factor is worth: a handful of examples must not decide alone."""


def fit_factor(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Find the factor on scores with which the highest softmax probability best says whether the answer is right.

    ``scores`` has a row a sentence, ``right`` says where its highest score is that of the true label; it is not where
    the model does not know the true label. What is minimized is the log loss of that statement. Temperature scaling
    (Guo et al. 2017, "On Calibration of Modern Neural Networks") for the answer given rather than for the true label,
    since labels that were never seen must lower the confidence, too. Few sentences are drawn towards
    :data:`UNCALIBRATED`. A score of ``-inf`` is a label the model did not know.
    """
    known = np.where(np.isfinite(scores), scores, -1e6)

    def loss(log_factor: float) -> float:
        confidence = softmax(known * math.exp(log_factor)).max(axis=1)
        stated = np.where(right, confidence, 1 - confidence)
        away = log_factor - math.log(UNCALIBRATED)
        return float(-np.log(stated + 1e-6).sum()) + _PRIOR * away * away

    return math.exp(_minimum(loss, -2.0, 5.0))


def _minimum(loss: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search for the minimum of a function with one valley, to a hundredth."""
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
    return (low + high) / 2
