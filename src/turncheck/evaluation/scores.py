"""Precision, recall and F1 of labels, in the shape of the reports that ``rasa test`` writes.

Definitions (van Rijsbergen, *Information Retrieval*, 1979; as in scikit-learn's ``classification_report``):
precision = right among predicted, recall = right among expected, F1 = their harmonic mean. Division by zero gives 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any, Final

from turncheck.report.model import Confusion, Spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Pairs = Counter[tuple[str, str]]
"""How often each ``(expected label, predicted label)`` occurs."""

_CONFUSED_WITH_AT_MOST: Final = 3
"""Rasa looks at the three largest cells in a row of the confusion matrix, including the label's own."""


@dataclass(frozen=True, slots=True)
class LabelScores:
    """The scores of a set of labelled items. The averages are weighted by support."""

    report: dict[str, Any]
    accuracy: float
    precision: float
    recall: float
    f1: float
    confusions: tuple[Confusion, ...]

    @property
    def summary(self) -> dict[str, float]:
        """The four main figures by name."""
        return {"accuracy": self.accuracy, "precision": self.precision, "recall": self.recall, "f1": self.f1}


def ratio(part: float, whole: float) -> float:
    """Divide; 0 / 0 is 0.

    >>> ratio(1, 4), ratio(0, 0)
    (0.25, 0.0)
    """
    return part / whole if whole else 0.0


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1 = 2·p·r / (p + r), 0 if both are 0.

    >>> harmonic_mean(0.5, 1.0)
    0.6666666666666666
    """
    return ratio(2 * precision * recall, precision + recall)


def score_pairs(pairs: Pairs, *, excluded: str | None = None) -> LabelScores:
    """Score expected against predicted labels.

    Args:
        pairs: how often each ``(expected, predicted)`` occurs.
        excluded: a label that is left out of the report and its averages (``no_entity``); predicting another label in
            its place still lowers that label's precision, and ``accuracy`` counts it.

    Returns:
        ``report`` has an entry for each expected label, sorted, with ``confused_with``, then the averages. If every
        predicted label is an expected one, scikit-learn returns ``accuracy`` and Rasa adds an equal ``micro avg``; else
        it returns ``micro avg`` and Rasa adds ``accuracy``: the order of the keys shows which. With no label to report
        on, the report is empty and every figure 0, as in Rasa.

    >>> scores = score_pairs(Counter({("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 2}))
    >>> scores.accuracy, scores.report["a"]
    (0.75, {'precision': 1.0, 'recall': 0.5, 'f1-score': 0.6666666666666666, 'support': 2, 'confused_with': {'b': 1}})
    """
    expected: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for (target, prediction), count in pairs.items():
        expected[target] += count
        predicted[prediction] += count
        if target == prediction:
            right[target] += count
    labels = sorted(label for label in expected if label != excluded)
    confusions = _confusions(pairs)
    if not labels:
        return LabelScores({}, 0.0, 0.0, 0.0, 0.0, confusions)

    rows = {label: _row(right[label], predicted[label], expected[label]) for label in labels}
    accuracy = ratio(right.total(), expected.total())
    averages = _averages(list(rows.values()))
    complete = expected.keys() | predicted.keys() == set(labels)
    micro = _row(
        sum(right[label] for label in labels),
        sum(predicted[label] for label in labels),
        sum(expected[label] for label in labels),
    )
    report: dict[str, Any] = dict(rows)
    if complete:
        micro = dict.fromkeys(("precision", "recall", "f1-score"), accuracy) | {"support": micro["support"]}
        report |= {"accuracy": accuracy, **averages, "micro avg": micro}
    else:
        report |= {"micro avg": micro, **averages, "accuracy": accuracy}
    _add_confused_with(rows, pairs, excluded)
    weighted = averages["weighted avg"]
    return LabelScores(report, accuracy, weighted["precision"], weighted["recall"], weighted["f1-score"], confusions)


def score_every_label(pairs: Pairs) -> dict[str, Any]:
    """Return a report on every label, expected or only predicted, with averages, as scikit-learn 0.20 did.

    >>> report = score_every_label(Counter({("a", "a"): 1, ("a", "b"): 1}))
    >>> report["b"]["support"], report["micro avg"]["precision"], list(report)
    (0, 0.5, ['a', 'b', 'micro avg', 'macro avg', 'weighted avg'])
    """
    expected: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    for (target, prediction), count in pairs.items():
        expected[target] += count
        predicted[prediction] += count
    labels = sorted(expected.keys() | predicted.keys())
    if not labels:
        return {}
    rows = {label: _row(pairs[label, label], predicted[label], expected[label]) for label in labels}
    right = sum(pairs[label, label] for label in labels)
    return {**rows, "micro avg": _row(right, predicted.total(), expected.total()), **_averages(list(rows.values()))}


def _row(right: int, predicted: int, expected: int) -> dict[str, Any]:
    precision, recall = ratio(right, predicted), ratio(right, expected)
    return {
        "precision": precision,
        "recall": recall,
        "f1-score": harmonic_mean(precision, recall),
        "support": expected,
    }


def _averages(rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """``fsum`` rounds only once, so that the order of the labels does not affect the last digit."""
    support = sum(int(row["support"]) for row in rows)
    macro: dict[str, float] = {}
    weighted: dict[str, float] = {}
    for figure in ("precision", "recall", "f1-score"):
        macro[figure] = fsum(row[figure] for row in rows) / len(rows)
        weighted[figure] = ratio(fsum(row[figure] * row["support"] for row in rows), support)
    return {"macro avg": {**macro, "support": support}, "weighted avg": {**weighted, "support": support}}


def _confusions(pairs: Pairs) -> tuple[Confusion, ...]:
    """All cells off the diagonal, the most frequent first."""
    wrong = [(count, pair) for pair, count in pairs.items() if pair[0] != pair[1]]
    wrong.sort(key=lambda cell: (-cell[0], cell[1]))
    return tuple(Confusion(expected=pair[0], predicted=pair[1], count=count) for count, pair in wrong)


def _add_confused_with(rows: dict[str, dict[str, Any]], pairs: Pairs, excluded: str | None) -> None:
    """Of equal cells Rasa lists the one that sorts last first (it reads ``argsort`` from the end)."""
    cells: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for (target, prediction), count in pairs.items():
        cells[target].append((count, prediction))
    for label, row in rows.items():
        largest = sorted(cells[label], reverse=True)[:_CONFUSED_WITH_AT_MOST]
        row["confused_with"] = {other: count for count, other in largest if other not in (label, excluded)}


def spread(figures: Iterable[float]) -> Spread:
    """Return the mean and the population standard deviation, as Rasa prints them for cross-validation.

    >>> spread([0.5, 0.7])
    Spread(mean=0.6, deviation=0.09999999999999998)
    """
    values = list(figures)
    mean = fsum(values) / len(values)
    return Spread(mean=mean, deviation=(fsum((value - mean) ** 2 for value in values) / len(values)) ** 0.5)


def spreads(folds: Sequence[LabelScores]) -> dict[str, Spread]:
    """Return mean and deviation of the four main figures over the folds; empty for a single fold."""
    if len(folds) < 2:
        return {}
    return {name: spread(fold.summary[name] for fold in folds) for name in folds[0].summary}
