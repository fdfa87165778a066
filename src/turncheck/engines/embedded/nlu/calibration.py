"""Calibrated confidences: temperature scaling of scores, and a logistic model of the best answer's confidence."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from msgspec import Struct

from turncheck.engines.embedded.nlu.classifiers import best_columns, softmax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

UNCALIBRATED: Final = 8.0
"""The factor if there is no sentence to fit one to: about what the benchmark's corpora need."""

_PRIOR: Final = 10.0
"""The weight of that factor as a prior, in sentences: a handful of examples must not decide on their own."""

_RIDGE: Final = 3.0
"""The penalty on a squared weight of the logistic model, with inputs scaled to variance 1."""

_JUDGED: Final = 300
"""The number of sentences that a calibration is fitted to."""

_POOL_PRIOR: Final = 5.0
"""The weight of the prior that several models' scores have equal shares."""

_SHIFT_COST: Final = 10.0
"""The penalty on the square of what is added to the log-odds of confidences, in units of log loss."""

_TILT_COST: Final = 30.0
"""The same for multiplying them by more or less than 1."""

_SUREST: Final = 1e-3
"""Marginals nearer to 0 or 1 count like this: a tagger's last thousandth says nothing about whether it is right."""

_NEWTON_STEPS: Final = 20
_SMALL_STEP: Final = 1e-3

_FEWEST: Final = 100
"""The logistic model is fitted to this many judged sentences or more; with fewer it would only learn their average."""


class HeldOutScores(Struct, frozen=True):
    """The scores of models for sentences that they had not seen."""

    scores: NDArray[np.float64]
    """One row per sentence, one column per label; ``-inf`` for a label that the model did not know."""
    truth: NDArray[np.int64]
    """The column of each sentence's label."""

    @property
    def right(self) -> NDArray[np.bool_]:
        """For which sentences the true label has the highest score."""
        return np.asarray(best_columns(self.scores) == self.truth)


def fit_factor(scores: NDArray[np.float64], right: NDArray[np.bool_], typical: float = UNCALIBRATED) -> float:
    """Find the factor on scores with which the highest softmax probability best predicts whether the answer is right.

    ``scores`` has one row per sentence, ``right`` says for which the true label has the highest score; never if
    the model does not know the true label. The log loss of that prediction is minimized: temperature scaling
    (Guo et al. 2017, "On Calibration of Modern Neural Networks") for the answer given rather than for the true label,
    since labels that were never seen must lower the confidence, too. With few sentences the result is shrunk towards
    the factor that is ``typical`` of such scores. A score of ``-inf`` is a label the model did not know.
    """
    known = np.where(np.isfinite(scores), scores, -1e6)
    below = known - known.max(axis=1, keepdims=True)

    def loss(log_factor: float) -> float:
        confidence = 1 / np.exp(below * math.exp(log_factor)).sum(axis=1)  # the softmax of the highest score
        stated = np.where(right, confidence, 1 - confidence)
        away = log_factor - math.log(typical)
        return float(-np.log(stated + 1e-6).sum()) + _PRIOR * away * away

    return math.exp(_minimum(loss, -2.0, 5.0))


def fit_factors(judged: Sequence[HeldOutScores], typical: Sequence[float]) -> list[float]:
    """Find factors on the scores of several models with which the softmax of their sum best predicts what is right.

    All have judged the same sentences. First the factors are weighted against each other by the log loss of the true
    labels, convex in them (a logarithmic opinion pool, Genest and Zidek 1986), and shrunk towards equal shares of what
    is ``typical`` of each model's scores; none is negative. Then the sum is calibrated by :func:`fit_factor`.
    """
    truth, count, models = judged[0].truth, len(judged[0].truth), len(judged)
    each = np.arange(count)
    scores = np.array([one.scores * factor for one, factor in zip(judged, typical, strict=True)])
    shares = np.full(models, 1 / models)
    for _ in range(_NEWTON_STEPS if models > 1 else 0):
        stated = softmax(np.tensordot(shares, scores, 1))
        means = (scores * stated).sum(axis=2)
        slope = (means - scores[:, each, truth]).sum(axis=1) + _POOL_PRIOR * models * (models * shares - 1)
        spread = np.einsum("kij,ij,lij->kl", scores, stated, scores, optimize=True) - means @ means.T
        step = np.linalg.solve(spread + _POOL_PRIOR * models**2 * np.eye(models), slope)
        shares = np.maximum(shares - step, 0.0)
        if np.abs(step).max() < _SMALL_STEP:
            break
    if not shares.any():
        shares = np.full(models, 1 / models)
    pooled = np.tensordot(shares, scores, 1)
    factor = fit_factor(pooled, best_columns(pooled) == truth, typical=1.0)
    return [float(factor * share * one) for share, one in zip(shares, typical, strict=True)]


class BestAnswer(Struct, frozen=True):
    """The probability that the answer with the highest score is right: logistic in that score and in its lead.

    For labels that are combinations. There a softmax only knows the combinations seen in training; the lead of the best
    of them does not show that the true one was never seen, but its score does.
    """

    intercept: float
    of_score: float
    of_lead: float

    @classmethod
    def fit(cls, scores: NDArray[np.float64], right: NDArray[np.bool_]) -> Self | None:
        """Fit to judged sentences as :func:`fit_factor` does; ``None`` if they are too few or all alike."""
        if len(right) < _FEWEST or right.all() or not right.any():
            return None
        intercept, (of_score, of_lead) = _fit_logistic(_score_and_lead(scores), right)
        return cls(intercept, of_score, of_lead)

    def applied(self, confidences: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give each row's highest confidence its value, both of shape (texts, labels); no rank changes.

        If it falls, so do all others in proportion: the rest up to 1 is for combinations that were never seen.
        If it rises, the others share the rest.
        """
        inputs = _score_and_lead(scores)
        return _restated(confidences, _logistic(self.intercept + inputs @ np.array([self.of_score, self.of_lead])))


class Reliability(Struct, frozen=True):
    """The probability that the best answer is right, from its confidence: logistic in the log-odds.

    Factors on scores make all confidences more extreme or less. That cannot express that even the most confident
    answers are wrong now and then, because a message is unlike anything that was learnt, or was learnt under two
    labels.
    """

    intercept: float = 0.0
    slope: float = 1.0
    """Never negative: the order of confidences stays."""

    @classmethod
    def fit(cls, confidences: NDArray[np.float64], right: NDArray[np.bool_]) -> Self:
        """Fit it to the highest confidences of judged sentences and whether each is right.

        By log loss (Platt 1999); with few sentences the result is shrunk towards unchanged confidences.
        """
        inputs = np.column_stack([np.ones(len(right)), _log_odds(confidences)])
        costs, usual = 2 * np.array([_SHIFT_COST, _TILT_COST]), np.array([0.0, 1.0])
        weights = usual
        for _ in range(_NEWTON_STEPS):
            stated = _logistic(inputs @ weights)
            slope = inputs.T @ (stated - right) + costs * (weights - usual)
            step = np.linalg.solve((inputs.T * (stated * (1 - stated))) @ inputs + np.diag(costs), slope)
            weights = weights - step
            if np.abs(step).max() < _SMALL_STEP:
                break
        return cls(float(weights[0]), max(0.0, float(weights[1])))

    def applied(self, confidences: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give each row's highest confidence its value, shape (texts, labels), as :meth:`BestAnswer.applied` does."""
        best = confidences.max(axis=1)
        return _restated(confidences, _logistic(self.intercept + self.slope * _log_odds(best)))


class EntityConfidence(Struct, frozen=True):
    """The probability that an entity is right, from its tagger's marginal: logistic in the log-odds.

    The probabilities of a passive-aggressively trained CRF have no scale: training stops at a lead of one.
    """

    intercept: float = 0.0
    slope: float = 0.0
    """Never negative: the tagger's order stays."""

    @classmethod
    def fit(cls, marginals: Sequence[float], right: Sequence[bool]) -> Self:
        """Fit to entities found in sentences that their tagger had not seen. Without any, it is one half."""
        if not right:
            return cls()
        inputs, was_right = _log_odds(np.array(marginals), _SUREST)[:, None], np.array(right)
        intercept, (slope,) = _fit_logistic(inputs, was_right)
        if slope < 0:
            intercept, (slope,) = _fit_logistic(np.zeros_like(inputs), was_right)
        return cls(intercept, slope)

    def applied(self, marginal: float) -> float:
        """Return the confidence of an entity from the marginal probability of its tags."""
        return float(_logistic(self.intercept + self.slope * _log_odds(np.array(marginal), _SUREST)))


def _restated(confidences: NDArray[np.float64], stated: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give each row's highest confidence the specified value; the others follow, and no rank changes."""
    columns = best_columns(confidences)[:, None]
    best = np.take_along_axis(confidences, columns, axis=1)
    new = stated[:, None]
    restated = confidences * np.minimum(new / best, (1 - new) / np.maximum(1 - best, 1e-12))
    np.put_along_axis(restated, columns, new, axis=1)
    return restated


def _log_odds(probabilities: NDArray[np.float64], surest: float = 1e-9) -> NDArray[np.float64]:
    inner = np.clip(probabilities, surest, 1 - surest)
    return np.asarray(np.log(inner / (1 - inner)))


def _fit_logistic(inputs: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, list[float]]:
    """Fit intercept and weights of ``inputs``, shape (answers, inputs), to whether each answer is right.

    The targets are those of Platt 1999 ("Probabilistic Outputs for Support Vector Machines"), found by Newton's method.
    """
    count, hits = len(right), int(right.sum())
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    rows = np.column_stack([np.ones(count), (inputs - mean) / spread])
    targets = np.where(right, (hits + 1) / (hits + 2), 1 / (count - hits + 2))
    cost = np.diag([0.0, *[_RIDGE] * inputs.shape[1]])
    weights = np.zeros(1 + inputs.shape[1])
    for _ in range(30):
        stated = _logistic(rows @ weights)
        slope = rows.T @ (stated - targets) + cost @ weights
        weights = weights - np.linalg.solve((rows.T * (stated * (1 - stated))) @ rows + cost, slope)
    of_inputs = weights[1:] / spread
    return float(weights[0] - of_inputs @ mean), of_inputs.tolist()


def shuffled(texts: Sequence[str], seed: int) -> NDArray[np.int64]:
    """Return the rows of texts at random: in the order of a hash of each text.

    So what is chosen does not depend on the order of the sentences, and hardly on a sentence that is added.
    """
    key = str(seed).encode()
    digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest() for text in texts]
    return np.array(sorted(range(len(texts)), key=digests.__getitem__), dtype=np.int64)


def held_out(texts: Sequence[str], seed: int) -> list[NDArray[np.int64]]:
    """Choose, of these sentences, those that models are judged on: each piece by a model that has not seen it.

    :data:`_JUDGED` of them; a third if there are fewer than three times as many, a tenth if there are very many. If
    there are not even this many, each third in turn.
    """
    count, rows = len(texts), shuffled(texts, seed)
    if count <= _JUDGED:
        return np.array_split(rows, 3)
    return [rows[: max(count // 10, min(count // 3, _JUDGED))]]


def _score_and_lead(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The highest score of each row and how far it is ahead of the next, shape (rows, 2)."""
    ordered = np.sort(scores, axis=1)
    return np.column_stack([ordered[:, -1], ordered[:, -1] - ordered[:, -2]])


def _logistic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(values, -500, 500)))


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
