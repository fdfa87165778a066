"""A linear model over the recent history: the stand-in for Rasa's transformer policies.

Multinomial logistic regression over one feature for each thing seen in each of the last states, older states counting
less; fitted by Adam (Kingma & Ba, 2015) on all distinct examples at once, from zero, so that the same stories give the
same model.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

from turncheck.dialogue import states as s
from turncheck.engines.embedded.model_archive import as_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.dialogue.states import State

Features = dict[str, float]

DEFAULT_HISTORY: Final = 8
"""How many states count if the configuration has no ``max_history``."""
_FADING: Final = 0.6
"""The factor on a feature's weight for each state further back."""
_ROUNDS: Final = 120
_RATE: Final = 0.3
_DECAY: Final = 1e-4
_DENSE_CELLS: Final = 8_000_000
_DIGITS: Final = 5
_NAMES: Final[dict[tuple[str, int], tuple[str, ...]]] = {}
_NAMES_AT_MOST: Final = 50_000


def features_of(states: Sequence[State], max_history: int) -> Features:
    """Return the features of the last states, each with its weight; the vector has length 1 or less per kind."""
    features: Features = {}
    weight = 1.0
    for back, state in enumerate(reversed(states[-max_history:])):
        features.update(dict.fromkeys(_names(state, back), weight))
        weight *= _FADING
    return features


def _names(state: State, back: int) -> tuple[str, ...]:
    """Return the features of a state this far back; dialogues consist of few different states."""
    key = (state.text, back)
    names = _NAMES.get(key)
    if names is None:
        if len(_NAMES) >= _NAMES_AT_MOST:
            _NAMES.clear()
        names = _NAMES[key] = tuple(f"{back}|{name}" for name in _seen(state))
    return names


def _seen(state: State) -> Iterable[str]:
    user = state.get(s.USER, s.NO_PART)
    if user.get(s.INTENT):
        yield f"intent={user[s.INTENT]}"
    for entity in user.get(s.ENTITIES, ()):
        yield f"entity={entity}"
    for word in str(user.get(s.TEXT) or "").lower().split():
        yield f"word={word}"
    for name, features in state.get(s.SLOTS, s.NO_PART).items():
        yield f"slot={name}:{features}"
    for name in state.get(s.PREVIOUS_ACTION, s.NO_PART).values():
        yield f"action={name}"
    for name in state.get(s.ACTIVE_LOOP, s.NO_PART).values():
        yield f"loop={name}"


class _Learnt(TypedDict):
    features: list[str]
    labels: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    weights: list[list[float]]


@dataclass(frozen=True, slots=True)
class HistoryModel:
    """Trained weights: a row for each feature and a last one for the bias, a column for each label."""

    features: Mapping[str, int]
    labels: tuple[str, ...]
    weights: NDArray[np.float64]

    @classmethod
    def fit(cls, examples: Iterable[tuple[Features, str]]) -> HistoryModel | None:
        """Learn which label comes with which features; ``None`` if there is nothing to learn from."""
        counts = Counter((tuple(sorted(features.items())), label) for features, label in examples)
        if not counts:
            return None
        rows = sorted(counts)
        names = {name: None for features, _ in rows for name, _ in features}
        index = {name: number for number, name in enumerate(sorted(names))}
        labels = tuple(sorted({label for _, label in rows}))
        places = {label: number for number, label in enumerate(labels)}
        targets = np.array([places[label] for _, label in rows])
        share = np.array([math.sqrt(counts[row]) for row in rows])
        matrix = _matrix([[(index[name], value) for name, value in features] for features, _ in rows], len(index))
        # Several threads would cost more than such small matrices, and sums would depend on their number.
        with threadpool_limits(limits=1, user_api="blas"):
            weights = _descend(matrix, targets, share / share.sum(), len(labels))
        return cls(index, labels, np.round(weights, _DIGITS))

    def log_probabilities(self, features: Features) -> dict[str, float]:
        """Return the natural logarithm of each label's probability."""
        total = self.weights[-1].copy()
        for name, value in features.items():
            row = self.features.get(name)
            if row is not None:
                total += value * self.weights[row]
        total -= total.max()
        total -= math.log(float(np.exp(total).sum()))
        return {label: round(float(value), _DIGITS) for label, value in zip(self.labels, total, strict=True)}

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        return {"features": list(self.features), "labels": list(self.labels), "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, shape: Mapping[str, Any]) -> HistoryModel:
        """Read what :meth:`to_json` wrote."""
        shape = as_shape(shape, _Learnt)
        return cls(
            {name: number for number, name in enumerate(shape["features"])},
            shape["labels"],
            np.array(shape["weights"], dtype=np.float64).reshape(len(shape["features"]) + 1, len(shape["labels"])),
        )


def _matrix(rows: Sequence[Sequence[tuple[int, float]]], columns: int) -> Any:
    """Return the examples as a matrix with a last column of ones; sparse if it would be large."""
    if len(rows) * (columns + 1) <= _DENSE_CELLS:
        dense = np.zeros((len(rows), columns + 1))
        dense[:, -1] = 1.0
        for number, row in enumerate(rows):
            for column, value in row:
                dense[number, column] = value
        return dense
    from scipy.sparse import csr_matrix  # only imported if there are very many stories

    lengths = np.array([len(row) + 1 for row in rows])
    cells = [cell for row in rows for cell in (*row, (columns, 1.0))]
    return csr_matrix(
        ([value for _, value in cells], [column for column, _ in cells], np.concatenate(([0], lengths.cumsum()))),
        shape=(len(rows), columns + 1),
    )


def _descend(matrix: Any, targets: NDArray[np.int64], share: NDArray[np.float64], labels: int) -> NDArray[np.float64]:
    weights = np.zeros((matrix.shape[1], labels))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    everyone = np.arange(len(targets))
    for number in range(1, _ROUNDS + 1):
        scores = matrix @ weights
        scores -= scores.max(axis=1, keepdims=True)
        probabilities = np.exp(scores)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        probabilities[everyone, targets] -= 1.0
        gradient = matrix.T @ (probabilities * share[:, None]) + _DECAY * weights
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        step = (first / (1 - 0.9**number)) / (np.sqrt(second / (1 - 0.99**number)) + 1e-8)
        weights -= _RATE * step
    return weights
