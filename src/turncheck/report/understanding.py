"""The part of the report about language understanding: scores, predictions, what they were learnt from."""

from __future__ import annotations

from typing import Any, Literal

from turncheck.location import Location
from turncheck.report.part import Part


class EntitySpan(Part, frozen=True, kw_only=True):
    """An entity in a sentence; ``extractor`` and ``confidence`` only where it was predicted."""

    start: int
    end: int
    entity: str
    value: Any
    role: str | None = None
    group: str | None = None
    extractor: str | None = None
    confidence: float | None = None
    extra: dict[str, Any] | None = None
    """Further keys of Rasa's entity dictionary (``confidence_role``, ``processors`` …) as the engine gave them."""


class Confusion(Part, frozen=True, kw_only=True):
    """Of ``count`` examples ``expected`` was expected and ``predicted`` predicted."""

    expected: str
    predicted: str
    count: int


class Spread(Part, frozen=True, kw_only=True):
    """Mean and standard deviation of a figure over the folds."""

    mean: float
    deviation: float


class IntentScores(Part, frozen=True, kw_only=True):
    """Scores over intents, before the fallback. ``report`` has the keys of Rasa's ``intent_report.json``."""

    report: dict[str, Any]
    accuracy: float
    precision: float
    recall: float
    f1: float
    confusions: tuple[Confusion, ...] = ()
    folds: dict[str, Spread] = {}


class SpanScores(Part, frozen=True, kw_only=True):
    """Strict scores: an entity counts only with its exact borders and type."""

    precision: float
    recall: float
    f1: float


class EntityScores(Part, frozen=True, kw_only=True):
    """Scores of one extractor, by Rasa's tag scheme, averaged without ``no_entity``.

    ``tokens`` is how many tokens were judged; ``confusions`` counts tokens, ``no_entity`` among the labels.
    """

    report: dict[str, Any]
    precision: float
    recall: float
    f1: float
    spans: SpanScores | None
    """``None`` where they cannot be known: files of ``rasa test`` that were imported may not hold all sentences."""
    tokens: int = 0
    confusions: tuple[Confusion, ...] = ()
    folds: dict[str, Spread] = {}


class ResponseScores(Part, frozen=True, kw_only=True):
    """Scores of one response selector. ``report`` has the keys of Rasa's ``response_selection_report.json``."""

    report: dict[str, Any]
    accuracy: float
    precision: float
    recall: float
    f1: float
    confusions: tuple[Confusion, ...] = ()
    folds: dict[str, Spread] = {}


class TrainingSentence(Part, frozen=True, kw_only=True):
    """A sentence the engine was trained on."""

    text: str
    intent: str
    location: Location


class RankedIntent(Part, frozen=True, kw_only=True):
    """One entry of an intent ranking."""

    name: str
    confidence: float


class ExpectedParse(Part, frozen=True, kw_only=True):
    """What the test data say. ``response`` is the full label of a retrieval intent."""

    intent: str | None
    response: str | None = None
    entities: tuple[EntitySpan, ...] = ()


class PredictedParse(Part, frozen=True, kw_only=True):
    """What the engine understood. ``intent`` is judged before the fallback; ``fallback`` says that one would follow."""

    intent: str | None
    confidence: float
    ranking: tuple[RankedIntent, ...] = ()
    response: str | None = None
    response_confidence: float | None = None
    entities: tuple[EntitySpan, ...] = ()
    fallback: bool = False
    tokens: str = ""
    """Where entities are expected or found: the tokens they are scored by, ``"0-5 6-11"`` (:mod:`report.tags`)."""


class Neighbour(Part, frozen=True, kw_only=True):
    """A near training sentence: its index in ``nlu.training``, and how near (0 to 1)."""

    training: int
    similarity: float


class NluPrediction(Part, frozen=True, kw_only=True):
    """One judged sentence. ``correct`` is about the intent; ``fold`` is the fold that judged it."""

    text: str
    location: Location
    correct: bool
    expected: ExpectedParse
    predicted: PredictedParse
    neighbours: tuple[Neighbour, ...] = ()
    fold: int | None = None


class UnjudgedIntent(Part, frozen=True, kw_only=True):
    """An intent with fewer examples than folds: kept in training, never judged."""

    intent: str
    examples: int


class ThresholdPoint(Part, frozen=True, kw_only=True):
    """At this fallback threshold: the share of sentences answered, and the share of those that are right."""

    threshold: float
    coverage: float
    precision: float


class Understood(Part, frozen=True, kw_only=True):
    """The verdict after the pipeline's fallback, and its curve over the threshold."""

    right: int
    wrong: int
    not_understood: int
    threshold: float | None = None
    ambiguity_threshold: float | None = None
    curve: tuple[ThresholdPoint, ...] = ()
    suggested: ThresholdPoint | None = None
    wrong_avoided: int = 0
    """Wrong answers of today that would not be given at the suggested threshold (negative: more of them)."""
    right_lost: int = 0
    """Right answers of today that would not be given at the suggested threshold (negative: more of them)."""


class ConfusedPair(Part, frozen=True, kw_only=True):
    """Two intents that are confused: how often each way, and the sentences (indexes in ``predictions``)."""

    first: str
    second: str
    first_as_second: int
    second_as_first: int
    sentences: tuple[int, ...]


class IntentHarm(Part, frozen=True, kw_only=True):
    """What an intent costs: its own sentences that were missed, and the others' that it took."""

    intent: str
    missed: int
    taken: int
    examples: int


class Insights(Part, frozen=True, kw_only=True):
    """What a designer looks at first. Sentences are named by their index in ``nlu.predictions``, worst first."""

    confused: tuple[ConfusedPair, ...] = ()
    mislabelled: tuple[int, ...] = ()
    """Judged wrong with high confidence: perhaps it is the label that is wrong."""
    harmful: tuple[IntentHarm, ...] = ()
    least_sure: tuple[int, ...] = ()
    overlapping: tuple[int, ...] = ()
    """Two extractors found different entities that share a part of the sentence."""


class Nlu(Part, frozen=True, kw_only=True):
    """The evaluation of language understanding."""

    mode: Literal["held-out", "cross-validation"]
    folds: int | None
    examples: int
    intents: IntentScores | None
    entities: dict[str, EntityScores] = {}
    entity_spans: SpanScores | None = None
    """All extractors together: the same span and type found by several counts once."""
    responses: dict[str, ResponseScores] = {}
    response_selection: ResponseScores | None = None
    """All response selectors together, as Rasa writes them into one ``response_selection_report.json``."""
    understood: Understood | None = None
    unjudged: tuple[UnjudgedIntent, ...] = ()
    on_training_sentences: int = 0
    """How many of the judged sentences were trained on with the same intent, case and punctuation aside: they flatter.

    In cross-validation: of which a copy was in the folds that their engine was trained on.
    """
    under_other_intents: int = 0
    """How many of them were trained on with another intent: both labels cannot be met."""
    training: tuple[TrainingSentence, ...] = ()
    predictions: tuple[NluPrediction, ...] = ()
    calibration_error: float | None = None
    unlisted: int = 0
    """How many sentences were judged whose intent ``predictions`` lack, since the imported files do not list them."""
    insights: Insights = Insights()
    remarks: tuple[str, ...] = ()
    """What a reader must know about how it was measured, a sentence each."""
