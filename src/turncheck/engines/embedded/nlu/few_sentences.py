"""The intent classifiers for few sentences: several over Gram matrices, whose scores are added.

If an intent has only a handful of sentences, its name is added as one. One classifier is the support vector machine
used for many sentences, over all features. Besides it there are logistic regressions: over tf-idf, and over plain
counts of words and characters, as in Rasa's LogisticRegressionClassifier after its default featurizers (what is short,
and how short, shows in counts and not in tf-idf); with sentence vectors, only over those. The weight of each is fitted
to the project's own sentences, judged by models that have not seen them; so is the reliability of the sum.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np
from msgspec import Struct

from turncheck.engines.embedded.nlu.calibration import UNCALIBRATED, HeldOutScores, Reliability, fit_factors, shuffled
from turncheck.engines.embedded.nlu.classifiers import best_columns, softmax, union, without
from turncheck.engines.embedded.nlu.linear import FeatureRows, LinearModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

# Multinomial logistic regression for few sentences, solved over their Gram matrix.
#
# The problem is that of scikit-learn's ``LogisticRegression(class_weight="balanced")``, and the solution is equal up
# to the tolerance. Importing scikit-learn would take longer than solving it.

_STEPS: Final = 100
_MEMORY: Final = 6
_HALVINGS: Final = 30
_TYPICAL_CURVATURE: Final = 0.01
"""An estimate of the second derivative of a sentence's loss, times the number of labels: it only affects the speed."""

_CURVATURE_OF_NGRAMS: Final = 0.1
"""The same for tf-idf, whose rows are of one length: half the steps to the same confidences."""

Objective: TypeAlias = "tuple[float, Floats]"
"""A value and its gradient."""


def fit_small_logistic(
    products: NDArray[np.float64],
    truth: NDArray[np.int64],
    labels: int,
    *,
    tolerance: float = 0.5,
    curvature: float = _TYPICAL_CURVATURE,
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
    curvature /= labels
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


MOST_SENTENCES: Final = 1600
"""With more sentences than this the machine by itself is as good, and the cubic cost would be too high."""

_JUDGED: Final = 150
"""The least number of sentences that factors are fitted to, if there are so many."""

_MOST_JUDGED: Final = 300

_FEWEST_OF_INTENT: Final = 2
"""For intents with fewer sentences on average, the names would have as much weight as the sentences."""

_FEWEST_FOR_SECOND: Final = 4
"""With fewer sentences per intent on average the second classifier adds little, and hundreds of intents take long."""

_MOST_PRODUCTS: Final = 60_000_000
"""The most products of sentences, sentences and intents that each step of a regression takes."""

_VARIATION: Final = 0.01
"""The share of all variation within intents that is ignored."""

_COST_OF_VECTORS: Final = 5.0
"""The cost of an error relative to the squared weights: scikit-learn's C."""

_COST_OF_NGRAMS: Final = 10.0
"""The same for tf-idf."""

_WORD_BORDERS: Final = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")

Pieces: TypeAlias = "list[NDArray[np.int64]]"
Solver: TypeAlias = "Callable[[Floats, NDArray[np.int64], int], tuple[Floats, Floats]]"
"""Products of rows, the rows' labels, their number → weights of rows (rows, labels), and intercepts."""


class View(Protocol):
    """Sentences, and after them the names of intents, as a classifier sees them."""

    @property
    def typical(self) -> float:
        """The typical factor on its scores for confidences."""

    def learnt(
        self, truth: NDArray[np.int64], names: tuple[str, ...], pieces: Pieces
    ) -> tuple[LinearModel, HeldOutScores]:
        """Learn from all rows, and judge each piece of the sentences by what is learnt from the others and names."""


class Machine(Struct, frozen=True):
    """The support vector machine."""

    rows: FeatureRows
    seed: int
    typical: float = UNCALIBRATED

    def learnt(
        self, truth: NDArray[np.int64], names: tuple[str, ...], pieces: Pieces
    ) -> tuple[LinearModel, HeldOutScores]:
        """Learn from all rows, and from all without each piece."""
        scores = []
        for piece in pieces:
            kept = np.delete(np.arange(len(truth)), piece)
            scores.append(self._model(kept, truth, names).scores(self.rows.take(piece)).astype(np.float64))
        judged = HeldOutScores(np.concatenate(scores), truth[np.concatenate(pieces)])
        return self._model(np.arange(len(truth)), truth, names), judged

    def _model(self, rows: NDArray[np.int64], truth: NDArray[np.int64], names: tuple[str, ...]) -> LinearModel:
        return LinearModel.fit(self.rows.take(rows), [names[label] for label in truth[rows].tolist()], self.seed)


class Regression(Struct, frozen=True):
    """A logistic regression."""

    rows: FeatureRows
    solve: Solver
    seen: NDArray[np.int64] | None = None
    """The rows that it learns from, names among them; ``None`` for all."""
    typical: float = 1.0

    def learnt(
        self, truth: NDArray[np.int64], names: tuple[str, ...], pieces: Pieces
    ) -> tuple[LinearModel, HeldOutScores]:
        """Learn from the rows that it sees, and from these without each piece."""
        seen = np.arange(len(truth)) if self.seen is None else self.seen
        needed = union(seen, *pieces)
        rows = self.rows.take(needed)
        products = rows.products()
        scores = []
        for piece in pieces:
            kept = without(seen, piece)
            at, of_piece = np.searchsorted(needed, kept), np.searchsorted(needed, piece)
            weights, intercepts = self.solve(products[np.ix_(at, at)], truth[kept], len(names))
            scores.append(products[np.ix_(of_piece, at)] @ weights + intercepts)
        at = np.searchsorted(needed, seen)
        weights = np.zeros((len(needed), len(names)))
        weights[at], intercepts = self.solve(products[np.ix_(at, at)], truth[seen], len(names))
        model = LinearModel(names, rows.weighted_sums(weights), intercepts.astype(np.float32))
        return model, HeldOutScores(np.concatenate(scores), truth[np.concatenate(pieces)])


def suits(labels: Sequence[str]) -> bool:
    """Whether there are few sentences, but several of each intent."""
    intents = len(set(labels))
    return intents > 1 and _FEWEST_OF_INTENT * intents <= len(labels) <= MOST_SENTENCES


def wants_second(labels: Sequence[str]) -> bool:
    """Whether there are enough sentences of each intent for a second classifier, and it sees at least one of each."""
    intents = len(set(labels))
    return len(labels) >= _FEWEST_FOR_SECOND * intents and MOST_SENTENCES - len(labels) >= intents


def seen_by_regressions(texts: Sequence[str], labels: Sequence[str], seed: int) -> NDArray[np.int64]:
    """Choose the sentences that logistic regressions learn from, and all names: the fewer, the more there are.

    Up to half of :data:`MOST_SENTENCES` all of them, then the number missing to that limit, so that training takes no
    longer and finally only uses the machine: a regression costs the cube of its sentences. Of hundreds of intents fewer
    are chosen, since each costs the square. Equally many of each intent are chosen, as far as it has them.
    """
    count, intents = len(labels), len(set(labels))
    names = np.arange(count, count + intents)
    most = max(min(MOST_SENTENCES - count, math.isqrt(_MOST_PRODUCTS // intents) - intents), intents)
    if count <= most:
        return np.append(np.arange(count), names)
    rows = shuffled(texts, seed)
    turn: Counter[str] = Counter()
    place = np.empty(count, dtype=np.int64)
    for row in rows.tolist():
        place[row] = turn[labels[row]]
        turn[labels[row]] += 1
    chosen = rows[np.argsort(place[rows], kind="stable")[:most]]
    return np.append(np.sort(chosen), names)


def in_words(intent: str) -> str:
    """``order pizza`` of ``order_pizza`` and of ``OrderPizza``."""
    return " ".join(_WORD_BORDERS.sub(" ", intent).split()).lower()


def regression_of_ngrams(rows: FeatureRows, seen: NDArray[np.int64]) -> Regression:
    """See tf-idf, of the rows that are ``seen``, as the logistic regression does."""
    return _regression(rows, seen, _COST_OF_NGRAMS, _CURVATURE_OF_NGRAMS)


def regression_of_counts(rows: FeatureRows, seen: NDArray[np.int64]) -> Regression:
    """The same for counts."""
    return _regression(rows, seen, 1.0, _TYPICAL_CURVATURE)


def _regression(rows: FeatureRows, seen: NDArray[np.int64], cost: float, curvature: float) -> Regression:
    """With equal weights of intents, however many sentences they have; ``cost`` is scikit-learn's C."""

    def solve(products: Floats, truth: NDArray[np.int64], labels: int) -> tuple[Floats, Floats]:
        weights, intercepts = fit_small_logistic(cost * products, truth, labels, curvature=curvature)
        return cost * weights, intercepts.astype(np.float64)

    return Regression(rows, solve, seen)


def regression_of_varied(rows: FeatureRows) -> Regression:
    """See vectors as the logistic regression does.

    Directions along which sentences of one and the same intent differ count less: within-class covariance
    normalization (Hatch et al. 2006), here of the Gram matrix, so that it costs the cube of the sentences.
    """

    def solve(products: Floats, truth: NDArray[np.int64], labels: int) -> tuple[Floats, Floats]:
        less, to_rows = _less_varied(products, truth, labels)
        weights, intercepts = fit_small_logistic(_COST_OF_VECTORS * less, truth, labels)
        return to_rows @ (_COST_OF_VECTORS * weights), intercepts.astype(np.float64)

    return Regression(rows, solve)


class Learnt(Struct, frozen=True):
    """What was learnt from each view, and its weight."""

    models: tuple[LinearModel, ...]
    factors: tuple[float, ...]
    """What each model's scores are multiplied by before they are added."""
    reliability: Reliability
    """That of the sum's softmax."""


def learn(views: Sequence[View], texts: Sequence[str], labels: Sequence[str], seed: int) -> Learnt:
    """Learn from each view of the sentences and the names of their intents."""
    names = tuple(sorted(set(labels)))
    column = {name: index for index, name in enumerate(names)}
    truth = np.array([column[label] for label in [*labels, *names]])
    pieces = _pieces(texts, seed)
    learnt = [view.learnt(truth, names, pieces) for view in views]
    judged = [one for _, one in learnt]
    factors = fit_factors(judged, [view.typical for view in views])
    pooled = sum((factor * one.scores for factor, one in zip(factors, judged, strict=True)), np.zeros(1))
    right = best_columns(pooled) == judged[0].truth
    reliability = Reliability.fit(softmax(pooled).max(axis=1), right)
    return Learnt(tuple(model for model, _ in learnt), tuple(factors), reliability)


def _pieces(texts: Sequence[str], seed: int) -> Pieces:
    """As many thirds of the sentences as it takes to judge :data:`_JUDGED` of them; of many only this many."""
    thirds = [piece for piece in np.array_split(shuffled(texts, seed), 3) if len(piece)]
    return [piece[:_MOST_JUDGED] for piece in thirds[: -(-3 * _JUDGED // len(texts))]]


def _less_varied(products: Floats, truth: NDArray[np.int64], labels: int) -> tuple[Floats, Floats]:
    """Return the products of rows transformed to vary less within a label, and how to transform weights back.

    With C the rows less their label's mean, the metric is ``(I + CᵀC / λ)⁻¹``, λ a share of all that C varies; by
    Woodbury's identity it needs products of rows only. The products' mean diagonal stays.
    """
    count = len(truth)
    of_label = np.eye(labels)[truth]
    to_means = (of_label / of_label.sum(axis=0)).T

    def less_means(matrix: Floats) -> Floats:
        less: Floats = matrix - of_label @ (to_means @ matrix)
        return less

    apart = less_means(products)
    varied = less_means(apart.T)
    limit = max(_VARIATION * float(np.trace(varied)), 1e-9)
    taken = less_means(np.linalg.solve(limit * np.eye(count) + varied, apart).astype(np.float64))
    less = products - products @ taken
    scale = float(np.trace(products)) / max(float(np.trace(less)), 1e-9)
    return scale * (less + less.T) / 2, scale * (np.eye(count) - taken)
