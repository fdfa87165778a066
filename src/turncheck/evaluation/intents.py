"""Scores of intents, judged before the fallback, as ``rasa test nlu`` does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.scores import Pairs, score_pairs, spreads
from turncheck.report.model import IntentScores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.parse import Parse, PredictedIntent
    from turncheck.report.model import NluPrediction

FALLBACK_INTENT: Final = "nlu_fallback"


def before_fallback(parse: Parse) -> tuple[PredictedIntent, tuple[PredictedIntent, ...], bool]:
    """Return the intent and the ranking as they were before a fallback, and whether there was one.

    A fallback is first in the ranking, and the second entry is what was understood; without a second entry the
    fallback itself is the prediction, as in Rasa. An engine without a fallback intent says that nothing was understood,
    and still has a ranking.
    """
    if parse.intent.name is None and parse.ranking:
        return parse.ranking[0], parse.ranking, True
    if parse.intent.name != FALLBACK_INTENT:
        return parse.intent, parse.ranking, False
    if len(parse.ranking) < 2:
        return parse.intent, parse.ranking, True
    return parse.ranking[1], parse.ranking[1:], True


def score_intents(predictions: Sequence[NluPrediction]) -> IntentScores | None:
    """Score the intents; sentences without an expected intent are left out, and a missing prediction counts as ``""``.

    Returns:
        ``None`` with fewer than two different expected intents: Rasa does not evaluate intents then.
    """
    by_fold: dict[int | None, Pairs] = {}
    for prediction in predictions:
        if prediction.expected.intent:
            pairs = by_fold.setdefault(prediction.fold, Counter())
            pairs[prediction.expected.intent, prediction.predicted.intent or ""] += 1
    pooled: Pairs = sum(by_fold.values(), Counter())
    if len({expected for expected, _ in pooled}) < 2:
        return None
    scores = score_pairs(pooled)
    return IntentScores(
        report=scores.report,
        accuracy=scores.accuracy,
        precision=scores.precision,
        recall=scores.recall,
        f1=scores.f1,
        confusions=scores.confusions,
        folds=spreads(
            [score_pairs(by_fold[fold]) for fold in sorted(by_fold, key=lambda fold: -1 if fold is None else fold)]
        ),
    )
