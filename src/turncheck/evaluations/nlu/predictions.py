"""One judged sentence: from the annotation and the engine's parse to the report's own types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from turncheck.evaluations.nlu.scores import before_fallback, judged_selector
from turncheck.report import model
from turncheck.report.entities import Tokens, words_of, write_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent
    from turncheck.project.nlu_data import EntityAnnotation, Example


# The effect of the fallback: right, wrong, not understood; its dependence on the threshold; how far to trust it.

THRESHOLDS: Final = tuple(step / 50 for step in range(51))
"""0.00, 0.02 … 1.00"""


class Judgement(Struct, frozen=True):
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
    same_fallbacks: model.FallbackPoint | None = None,
) -> model.Understood:
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
    return model.Understood(
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


def with_fallbacks(judgements: Sequence[Judgement], share: float) -> model.FallbackPoint | None:
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
    return model.FallbackPoint(
        share=share,
        threshold=answered[0].confidence if answered else 1.0,
        right=right,
        wrong=len(answered) - right,
        not_understood=fallen,
    )


def _point(judgements: Sequence[Judgement], threshold: float, ambiguity: float | None) -> model.ThresholdPoint | None:
    """Rasa falls back *below* the threshold, and if the first two are nearer than the ambiguity threshold."""
    answered = [
        judgement.correct
        for judgement in judgements
        if judgement.confidence >= threshold
        and (ambiguity is None or judgement.margin is None or judgement.margin >= ambiguity)
    ]
    if not answered:
        return None
    return model.ThresholdPoint(
        threshold=threshold, coverage=len(answered) / len(judgements), precision=sum(answered) / len(answered)
    )


def _gain(point: model.ThresholdPoint, sentences: int) -> int:
    right, wrong = _answers(point, sentences)
    return right - wrong


def _answers(point: model.ThresholdPoint, sentences: int) -> tuple[int, int]:
    """Return right and wrong answers at a point in whole sentences, so that rounding does not decide a tie."""
    answered = round(point.coverage * sentences)
    right = round(point.precision * answered)
    return right, answered - right


RANKING_LENGTH: Final = 3
"""As much as a reader looks at; complete rankings would make up most of the report."""


class JudgedSentence(Struct, frozen=True):
    """A sentence, its parse, and the fold that judged it."""

    example: Example
    parse: Parse
    fold: int | None = None

    @property
    def correct(self) -> bool:
        """Whether the intent before the fallback is the expected one; a sentence without an intent cannot be wrong."""
        expected = self.example.base_intent
        return not expected or before_fallback(self.parse)[0].name == expected

    @property
    def tokens(self) -> Tokens:
        """The engine's tokens; words separated by white space if the engine does not return any.

        A message that names its intent itself (``/inform{"city": "Bonn"}``) skips every tokenizer and has no tokens,
        as in ``rasa test nlu``.
        """
        return words_of(self.example.text) if self.parse.tokens is None else self.parse.tokens


def shortened(parse: Parse) -> Parse:
    """Return the parse without the part of its ranking that no report shows; the first may be the fallback's intent."""
    return replace(parse, ranking=parse.ranking[: RANKING_LENGTH + 1])


def judge(
    judged: JudgedSentence, neighbours: Sequence[tuple[int, float]] = (), *, without: frozenset[str] = frozenset()
) -> model.NluPrediction:
    """Convert one sentence for the report; ``without`` names extractors whose entities are left out."""
    example, parse = judged.example, judged.parse
    intent, ranking, fallback = before_fallback(parse)
    response = example.retrieval_label
    selected = judged_selector(response, parse)[1] if response else None
    expected_entities = tuple(_annotated(entity) for entity in example.entities)
    entity_spans = tuple(span_found(entity) for entity in parse.entities if entity.extractor not in without)
    return model.NluPrediction(
        text=example.text,
        location=example.location,
        correct=judged.correct,
        expected=model.ExpectedParse(intent=example.base_intent, response=response, entities=expected_entities),
        predicted=model.PredictedParse(
            intent=intent.name,
            confidence=intent.confidence,
            ranking=ranked(ranking),
            response=selected.intent_response_key if selected else None,
            response_confidence=selected.confidence if selected else None,
            entities=entity_spans,
            fallback=fallback,
            tokens=write_tokens(judged.tokens) if expected_entities or entity_spans else "",
        ),
        neighbours=tuple(model.Neighbour(training=index, similarity=similarity) for index, similarity in neighbours),
        fold=judged.fold,
        measured=UNSET if parse.measured is None else parse.measured,
    )


def judgement_of(judged: JudgedSentence) -> Judgement:
    """Return what the fallback's figures need. A sentence that was not understood at all counts as a fallback."""
    intent, ranking, fallback = before_fallback(judged.parse)
    margin = ranking[0].confidence - ranking[1].confidence if len(ranking) > 1 else None
    return Judgement(judged.correct, intent.confidence, margin, fallback or intent.name is None)


def _annotated(entity: EntityAnnotation) -> model.EntitySpan:
    return model.EntitySpan(
        start=entity.start,
        end=entity.end,
        entity=entity.entity,
        value=entity.value,
        role=entity.role,
        group=entity.group,
    )


def ranked(ranking: Sequence[PredictedIntent]) -> tuple[model.RankedIntent, ...]:
    """Return the top of a ranking in the report's type."""
    return tuple(
        model.RankedIntent(name=intent.name or "", confidence=intent.confidence) for intent in ranking[:RANKING_LENGTH]
    )


def span_found(entity: PredictedEntity) -> model.EntitySpan:
    """Return an entity that an extractor found in the report's type."""
    extra: dict[str, Any] | None = dict(entity.extra) or None
    return model.EntitySpan(
        start=entity.start,
        end=entity.end,
        entity=entity.entity,
        value=entity.value,
        role=entity.role,
        group=entity.group,
        extractor=entity.extractor,
        confidence=entity.confidence,
        extra=extra,
    )


# The nearest training sentences of misclassified sentences, which often explain the error.

NEIGHBOURS: Final = 3
"""How many are shown for a wrong sentence."""

Neighbours = tuple[tuple[int, float], ...]
"""Indexes into the project's examples, and similarities (0 to 1), the nearest first."""


def find_neighbours(
    examples: Sequence[Example], wrong: Mapping[int, str], may_be: Callable[[int, int], bool]
) -> dict[int, Neighbours]:
    """Return the neighbours of wrong sentences by their key, by the cosine similarity of word and character n-grams.

    The comparison does not depend on the engine: one index serves all folds. Of equal sentences the one is named whose
    intent sorts first.

    Args:
        examples: the project's training examples.
        wrong: the wrong sentences by a key of the caller's choice.
        may_be: whether the engine that judged ``key`` was trained on the example with this index.
    """
    if not wrong or not examples:
        return {}
    from turncheck.engines.ngrams import TrainingSentences  # imports numpy

    place: dict[str, list[int]] = {}
    for index, example in sorted(enumerate(examples), key=lambda pair: pair[1].place_in_order):
        place.setdefault(example.text, []).append(index)
    sentences = TrainingSentences(tuple(place))
    found: dict[int, Neighbours] = {}
    missing = dict(wrong)
    count = 4 * NEIGHBOURS
    while missing:
        cut_off: dict[int, str] = {}
        for key, near in zip(missing, sentences.nearest(list(missing.values()), count), strict=True):
            trained = (
                (next((index for index in place[neighbour.text] if may_be(key, index)), None), neighbour.similarity)
                for neighbour in near
            )
            found[key] = tuple((index, similarity) for index, similarity in trained if index is not None)[:NEIGHBOURS]
            if len(found[key]) < NEIGHBOURS and len(near) == count:
                cut_off[key] = missing[key]
        # These have too many neighbours in their own fold, on which their engine was not trained: ask for more.
        missing = cut_off
        count *= 8
    return found
