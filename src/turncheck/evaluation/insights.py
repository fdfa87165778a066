"""What a designer looks at first, derived from the judged sentences: pure functions, every list worst first."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from turncheck.report.model import ConfusedPair, Insights, IntentHarm
from turncheck.report.tags import overlapping

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from turncheck.report.model import NluPrediction

MISLABELLED_CONFIDENCE: Final = 0.8
"""An engine that contradicts a label with this confidence, without being trained on the sentence, is often right."""

LONGEST_LIST: Final = 25
"""Nobody reads further; ``predictions`` has the complete list."""


def find_insights(predictions: Sequence[NluPrediction], *, seen: Container[int]) -> Insights:
    """Collect the insights.

    Args:
        predictions: the judged sentences.
        seen: the indexes of those that the engine was trained on; a confident contradiction says something about the
            label only for the others.
    """
    return Insights(
        confused=most_confused(predictions),
        mislabelled=likely_mislabelled(predictions, seen),
        harmful=most_harmful(predictions),
        least_sure=least_sure(predictions),
        overlapping=tuple(
            index
            for index, prediction in enumerate(predictions)
            if len(prediction.predicted.entities) > 1 and overlapping(prediction.predicted.entities)
        )[:LONGEST_LIST],
    )


def most_confused(predictions: Sequence[NluPrediction]) -> tuple[ConfusedPair, ...]:
    """Return the pairs of intents that are confused most often, in either direction, with their sentences."""
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    one_way: Counter[tuple[str, str]] = Counter()
    for index, prediction in _wrong(predictions):
        expected, predicted = prediction.expected.intent, prediction.predicted.intent
        if expected and predicted:
            one_way[expected, predicted] += 1
            pairs[min(expected, predicted), max(expected, predicted)].append(index)
    ordered = sorted(pairs.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return tuple(
        ConfusedPair(
            first=first,
            second=second,
            first_as_second=one_way[first, second],
            second_as_first=one_way[second, first],
            sentences=tuple(sentences),
        )
        for (first, second), sentences in ordered[:LONGEST_LIST]
    )


def likely_mislabelled(predictions: Sequence[NluPrediction], seen: Container[int] = ()) -> tuple[int, ...]:
    """Return the sentences that were misclassified with high confidence, the highest first, without those ``seen``.

    The idea is that of confident learning (Northcutt et al., 2021) with one threshold for all intents.
    """
    sure = [
        (-prediction.predicted.confidence, prediction.text, index)
        for index, prediction in _wrong(predictions)
        if index not in seen
        and prediction.predicted.intent
        and prediction.predicted.confidence >= MISLABELLED_CONFIDENCE
    ]
    return tuple(index for *_, index in sorted(sure)[:LONGEST_LIST])


def most_harmful(predictions: Sequence[NluPrediction]) -> tuple[IntentHarm, ...]:
    """Rank intents by harm: their own sentences that were missed plus those of others that were predicted as theirs."""
    missed: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    examples = Counter(prediction.expected.intent for prediction in predictions if prediction.expected.intent)
    for _, prediction in _wrong(predictions):
        if prediction.expected.intent:
            missed[prediction.expected.intent] += 1
        if prediction.predicted.intent:
            taken[prediction.predicted.intent] += 1
    harm = missed + taken
    ranked = sorted(harm, key=lambda intent: (-harm[intent], intent))[:LONGEST_LIST]
    return tuple(
        IntentHarm(intent=intent, missed=missed[intent], taken=taken[intent], examples=examples[intent])
        for intent in ranked
    )


def least_sure(predictions: Sequence[NluPrediction]) -> tuple[int, ...]:
    """Return the sentences with the lowest confidence, right or wrong, for which to collect more examples next."""
    unsure = [
        (prediction.predicted.confidence, prediction.text, index)
        for index, prediction in enumerate(predictions)
        if prediction.expected.intent and prediction.predicted.intent
    ]
    return tuple(index for *_, index in sorted(unsure)[:LONGEST_LIST])


def _wrong(predictions: Sequence[NluPrediction]) -> list[tuple[int, NluPrediction]]:
    return [(index, entry) for index, entry in enumerate(predictions) if not entry.correct]
