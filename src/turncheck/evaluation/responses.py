"""Scores of response selectors, as in ``rasa test nlu``: the full label (``faq/hours``) of the selected response."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.scores import Pairs, score_pairs, spreads
from turncheck.report.model import ResponseScores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.parse import Parse, SelectedResponse
    from turncheck.report.model import NluPrediction

DEFAULT_SELECTOR: Final = "default"
"""The selector that is not for a particular retrieval intent."""


def judged_selector(label: str, parse: Parse) -> tuple[str, SelectedResponse | None]:
    """Return the name of the selector that is responsible for this label, and what it chose.

    It is the selector of the expected retrieval intent if the pipeline has one, else the default one; ``None`` if that
    one is missing too.
    """
    retrieval_intent = label.partition("/")[0]
    name = retrieval_intent if retrieval_intent in parse.responses else DEFAULT_SELECTOR
    return name, parse.responses.get(name)


def score_selectors(
    predictions: Sequence[NluPrediction], selectors: Sequence[str]
) -> tuple[dict[str, ResponseScores], ResponseScores | None]:
    """Score each selector on the sentences it is responsible for, and all selectors together.

    Args:
        predictions: the judged sentences.
        selectors: for each of them the selector that is responsible for it ("" if no response is expected).

    Returns:
        The scores by selector and the pooled ones; empty with fewer than two different expected responses, since Rasa
        does not evaluate responses then. A sentence for which nothing was selected counts as predicted ``""``.
    """
    answered = [(prediction, name) for prediction, name in zip(predictions, selectors, strict=True) if name]
    if len({prediction.expected.response for prediction, _ in answered}) < 2:
        return {}, None
    names = sorted({name for _, name in answered})
    by_selector = {name: _score([entry for entry, own in answered if own == name]) for name in names}
    return by_selector, _score([prediction for prediction, _ in answered])


def _score(predictions: Sequence[NluPrediction]) -> ResponseScores:
    by_fold: dict[int, Pairs] = {}
    for prediction in predictions:
        pairs = by_fold.setdefault(-1 if prediction.fold is None else prediction.fold, Counter())
        pairs[prediction.expected.response or "", prediction.predicted.response or ""] += 1
    scores = score_pairs(sum(by_fold.values(), Counter()))
    return ResponseScores(
        report=scores.report,
        accuracy=scores.accuracy,
        precision=scores.precision,
        recall=scores.recall,
        f1=scores.f1,
        confusions=scores.confusions,
        folds=spreads([score_pairs(by_fold[fold]) for fold in sorted(by_fold)]),
    )
