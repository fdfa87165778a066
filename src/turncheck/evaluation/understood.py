"""The effect of the fallback: right, wrong, not understood; its dependence on the threshold; how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.report.model import FallbackPoint, ThresholdPoint, Understood

if TYPE_CHECKING:
    from collections.abc import Sequence

THRESHOLDS: Final = tuple(step / 50 for step in range(51))
"""0.00, 0.02 … 1.00"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One sentence: whether the intent before the fallback was right, its confidence, and whether a fallback follows.

    ``margin`` is the distance to the second intent, ``None`` if there is none.
    """

    correct: bool
    confidence: float
    margin: float | None
    fallback: bool


def score_understood(
    judgements: Sequence[Judgement],
    *,
    threshold: float | None,
    ambiguity_threshold: float | None,
    same_fallbacks: FallbackPoint | None = None,
) -> Understood:
    """Count right, wrong and not understood, and compute the curve over the threshold.

    Args:
        judgements: every sentence with an expected intent.
        threshold: the fallback threshold of the pipeline, ``None`` without a fallback.
        ambiguity_threshold: likewise; if there is one, the curve keeps it and varies only the threshold.
        same_fallbacks: the figures with as many fallbacks as the team's own model had (:func:`with_fallbacks`).

    Returns:
        The curve leaves out thresholds at which nothing is answered, since precision is undefined there. ``suggested``
        is the lowest threshold on the curve with the most *right minus wrong* answers: a wrong answer costs as much as
        a right one gains, and asking again costs nothing.
    """
    answered = [judgement for judgement in judgements if not judgement.fallback]
    right = sum(judgement.correct for judgement in answered)
    curve = tuple(
        point
        for point in (_point(judgements, candidate, ambiguity_threshold) for candidate in THRESHOLDS)
        if point is not None
    )
    suggested = max(curve, key=lambda point: (_gain(point, len(judgements)), -point.threshold), default=None)
    right_then, wrong_then = _answers(suggested, len(judgements)) if suggested else (0, 0)
    return Understood(
        right=right,
        wrong=len(answered) - right,
        not_understood=len(judgements) - len(answered),
        threshold=threshold,
        ambiguity_threshold=ambiguity_threshold,
        curve=curve,
        same_fallbacks=same_fallbacks,
        suggested=suggested,
        wrong_avoided=len(answered) - right - wrong_then if suggested else 0,
        right_lost=right - right_then if suggested else 0,
    )


def with_fallbacks(judgements: Sequence[Judgement], share: float) -> FallbackPoint | None:
    """Count with a fallback for the sentences with the lowest confidence, for a share as near to ``share`` as possible.

    Sentences with equal confidences are treated alike. ``None`` without sentences.
    """
    if not judgements:
        return None
    ordered = sorted(judgements, key=lambda judgement: judgement.confidence)
    borders = [0, *(at for at in range(1, len(ordered)) if ordered[at].confidence > ordered[at - 1].confidence)]
    fallen = min((*borders, len(ordered)), key=lambda number: (abs(number - share * len(ordered)), number))
    answered = ordered[fallen:]
    right = sum(judgement.correct for judgement in answered)
    return FallbackPoint(
        share=share,
        threshold=answered[0].confidence if answered else 1.0,
        right=right,
        wrong=len(answered) - right,
        not_understood=fallen,
    )


def _point(judgements: Sequence[Judgement], threshold: float, ambiguity: float | None) -> ThresholdPoint | None:
    """Rasa falls back *below* the threshold, and if the first two are nearer than the ambiguity threshold."""
    answered = [
        judgement.correct
        for judgement in judgements
        if judgement.confidence >= threshold
        and (ambiguity is None or judgement.margin is None or judgement.margin >= ambiguity)
    ]
    if not answered:
        return None
    return ThresholdPoint(
        threshold=threshold, coverage=len(answered) / len(judgements), precision=sum(answered) / len(answered)
    )


def _gain(point: ThresholdPoint, sentences: int) -> int:
    right, wrong = _answers(point, sentences)
    return right - wrong


def _answers(point: ThresholdPoint, sentences: int) -> tuple[int, int]:
    """Return right and wrong answers at a point in whole sentences, so that rounding does not decide a tie."""
    answered = round(point.coverage * sentences)
    right = round(point.precision * answered)
    return right, answered - right
