"""The part of the report about language understanding: scores, predictions, labels, training sentences."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from turncheck.messages.finding import Location
from turncheck.report.entities import WRITTEN_TOKENS, EntitySpan
from turncheck.report.measured import MeasuredTurn
from turncheck.report.part import Count, Figure, Part, Whole
from turncheck.report.repeats import Attempt, HowRepeated, Repeats, refuse_other_result

# The part of the report about what of a Kore.ai assistant is tested, in the figures of the platform's health page.


class CoveredKind(Part, frozen=True, kw_only=True):
    """The intents of one kind, or the entities."""

    covered: Count
    """Those that are tested."""
    total: Count
    """All of them; dialogs without utterances are left out."""


class CoveredIntents(Part, frozen=True, kw_only=True):
    """How much of the project is tested, over the kinds that it has, computed in two ways."""

    pooled: Figure | None
    """All tested dialogs, FAQs and small talk among all of them; ``None`` where there are none."""
    mean: Figure
    """The plain mean of the shares of all kinds: dialogs, FAQs, small talk, traits, entities."""
    kinds: dict[str, CoveredKind] = {}
    """Each kind that the project has."""
    without: tuple[str, ...] = ()
    """The kinds that the project does not have: they are left out of the mean."""
    uncovered: tuple[str, ...] = ()
    """The intents that nothing tests, sorted."""


class Confusion(Part, frozen=True, kw_only=True):
    """Of ``count`` examples ``expected`` was expected and ``predicted`` predicted."""

    expected: str
    """The label of the test data."""
    predicted: str
    """The label that was predicted instead."""
    count: Count
    """How often."""


class Spread(Part, frozen=True, kw_only=True):
    """Mean and standard deviation of a figure over the folds."""

    mean: Figure
    """The mean over the folds."""
    deviation: Figure
    """The standard deviation over the folds."""


class IntentScores(Part, frozen=True, kw_only=True):
    """Scores over intents, before the fallback. ``report`` has the keys of Rasa's ``intent_report.json``."""

    report: dict[str, Any]
    """The figures of each intent and their averages, with the keys of Rasa's ``intent_report.json``."""
    accuracy: Figure
    """The share of sentences whose intent is right."""
    precision: Figure
    """Precision, averaged over the labels by their support."""
    recall: Figure
    """Recall, averaged over the labels by their support."""
    f1: Figure
    """F1, averaged over the labels by their support."""
    confusions: tuple[Confusion, ...] = ()
    """The intents that were predicted as others."""
    folds: dict[str, Spread] = {}
    """Mean and standard deviation over the folds, by the figure's name; empty for held-out sentences."""


class SpanScores(Part, frozen=True, kw_only=True):
    """Strict scores: an entity counts only with its exact borders and type."""

    precision: Figure
    """Of what was predicted, the share that is right: 0 to 1."""
    recall: Figure
    """Of what was expected, the share that was found: 0 to 1."""
    f1: Figure
    """The harmonic mean of precision and recall."""


class EntityScores(Part, frozen=True, kw_only=True):
    """Scores of one extractor, by Rasa's tag scheme, averaged without ``no_entity``.

    ``tokens`` is how many tokens were judged; ``confusions`` counts tokens, ``no_entity`` among the labels.
    """

    report: dict[str, Any]
    """The figures of each label and their averages, with the keys of Rasa's ``EXTRACTOR_report.json``."""
    precision: Figure | None
    """Precision, averaged over the labels by their support; ``None`` where nothing was to be found, and nothing was."""
    recall: Figure | None
    """Recall, averaged over the labels by their support; ``None`` as for precision."""
    f1: Figure | None
    """F1, averaged over the labels by their support; ``None`` as for precision."""
    spans: SpanScores | None
    """Strict scores of whole entities; ``None`` as for precision, and if they cannot be known: imported files of
    ``rasa test`` may lack sentences."""
    tokens: Count = 0
    """How many tokens were judged."""
    confusions: tuple[Confusion, ...] = ()
    """The labels of tokens that were predicted as others, ``no_entity`` among them."""
    folds: dict[str, Spread] = {}
    """Mean and standard deviation over the folds with something to find, by the figure's name; empty without folds."""
    calibration_error: Figure | None = None
    """How far confidences and the share of right entities (exact borders and type) are apart, as for intents.

    Of the entities that were found with a confidence; ``None`` without any.
    """

    @property
    def says_nothing(self) -> bool:
        """Whether there was nothing to find and nothing was found: older reports have zeros for that."""
        return not (self.report or self.confusions or self.f1)


class ResponseScores(Part, frozen=True, kw_only=True):
    """Scores of one response selector. ``report`` has the keys of Rasa's ``response_selection_report.json``."""

    report: dict[str, Any]
    """The figures of each response and their averages, with the keys of Rasa's ``response_selection_report.json``."""
    accuracy: Figure
    """The share of sentences whose response is right."""
    precision: Figure
    """Precision, averaged over the labels by their support."""
    recall: Figure
    """Recall, averaged over the labels by their support."""
    f1: Figure
    """F1, averaged over the labels by their support."""
    confusions: tuple[Confusion, ...] = ()
    """The responses that were predicted as others."""
    folds: dict[str, Spread] = {}
    """Mean and standard deviation over the folds, by the figure's name; empty for held-out sentences."""


class TrainingSentence(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A sentence the engine was trained on."""

    text: str
    """The sentence."""
    intent: str
    """Its intent; of a retrieval intent with its response."""
    location: Location
    """Where it is."""
    entities: tuple[str, ...] = ()
    """The types of the entities that are annotated in it, in their order; omitted if there are none."""


class WordList(Part, frozen=True, kw_only=True):
    """A synonym, lookup table or pattern of the training data: no sentence shows that it is gone."""

    kind: Literal["synonyms", "lookups", "regexes"]
    """What it is."""
    name: str
    """What it is called; of a synonym, the value that its words stand for."""
    location: Location
    """Where it is."""
    entries: Count
    """How many words or patterns it has."""
    digest: str
    """Changes with any of them."""


class RankedIntent(Part, frozen=True, kw_only=True):
    """One entry of an intent ranking."""

    name: str
    """The intent."""
    confidence: Figure
    """How sure the classifier is of it, 0 to 1."""


class ExpectedParse(Part, frozen=True, kw_only=True):
    """What the test data say. ``response`` is the full label of a retrieval intent."""

    intent: str | None
    """The intent; ``None`` where none is given."""
    response: str | None = None
    """The full label of a retrieval intent (``faq/hours``)."""
    entities: tuple[EntitySpan, ...] = ()
    """The entities that are annotated."""


class PredictedParse(Part, frozen=True, kw_only=True):
    """What the engine understood. ``intent`` is judged before the fallback; ``fallback`` says that one would follow."""

    intent: str | None
    """The intent before a fallback; ``None`` where none was found."""
    confidence: Figure
    """How sure the classifier is of the intent, 0 to 1."""
    ranking: tuple[RankedIntent, ...] = ()
    """The most likely intents, the best first."""
    response: str | None = None
    """The response that was selected (``faq/hours``)."""
    response_confidence: Figure | None = None
    """How sure the response selector is, 0 to 1."""
    entities: tuple[EntitySpan, ...] = ()
    """The entities that were found."""
    fallback: bool = False
    """Whether the pipeline would fall back instead of taking the intent."""
    tokens: Annotated[str, Meta(pattern=WRITTEN_TOKENS)] = ""
    """Where entities are expected or found: the tokens they are scored by, ``"0-5 6-11"``."""


class Neighbour(Part, frozen=True, kw_only=True):
    """A near training sentence: its index in ``nlu.training``, and how near (0 to 1)."""

    training: Count
    """The index of the sentence in ``nlu.training``."""
    similarity: Figure
    """How near it is, 0 to 1."""


class NluPrediction(Part, frozen=True, kw_only=True):
    """One judged sentence. ``correct`` is about the intent; ``fold`` is the fold that judged it."""

    text: str
    """The sentence."""
    location: Location
    """Where it is."""
    correct: bool
    """Whether the intent is right."""
    expected: ExpectedParse
    """What the test data say."""
    predicted: PredictedParse
    """What the engine understood."""
    neighbours: tuple[Neighbour, ...] = ()
    """The training sentences that are nearest, the nearest first; of wrong ones only."""
    fold: Count | None = None
    """The fold that judged it, in cross-validation."""
    repeats: Repeats | UnsetType = UNSET
    """Its runs, if the assistant's answers vary: a run passes if its intent is right."""
    attempts: Attempt | UnsetType = UNSET
    """Its runs, if it was asked a number of times (``test nlu --repeat``): it is correct if all were."""
    measured: MeasuredTurn | UnsetType = UNSET
    """What its first run took, of a bot over HTTP."""

    def __post_init__(self) -> None:
        """Refuse a result that its runs contradict.

        Raises:
            ValueError: it does not follow from them.
        """
        refuse_other_result(self.repeats, passed=self.correct)

    @property
    def unclear(self) -> bool:
        """Whether its runs do not say how it fares."""
        return not isinstance(self.repeats, UnsetType) and self.repeats.outcome == "unclear" and not self.unanswered

    @property
    def is_judged(self) -> bool:
        """Whether it has an intent to be judged by, and its runs say how it fares."""
        return bool(self.expected.intent) and not self.unclear

    @property
    def misclassified(self) -> bool:
        """Whether its intent is wrong, and not only unclear."""
        return not self.correct and not self.unclear

    @property
    def unanswered(self) -> bool:
        """Whether the engine cannot answer it, time and again, though it answers others."""
        return not isinstance(self.repeats, UnsetType) and self.repeats.is_unanswered


class UnjudgedIntent(Part, frozen=True, kw_only=True):
    """An intent with fewer examples than folds: kept in training, never judged."""

    intent: str
    """The intent."""
    examples: Count
    """How many examples it has."""


class ThresholdPoint(Part, frozen=True, kw_only=True):
    """At this fallback threshold: the share of sentences answered, and the share of those that are right."""

    threshold: Figure
    """The fallback threshold."""
    coverage: Figure
    """The share of sentences that are answered at it."""
    precision: Figure
    """Of those that are answered, the share that is right."""


class FallbackPoint(Part, frozen=True, kw_only=True):
    """What follows where a given share of the sentences, those that the engine is least sure of, is fallen back on."""

    share: Figure
    """The share of the sentences that the team's own model fell back on."""
    threshold: Figure
    """The threshold, on the engine's own confidences, that gives that share here."""
    right: Count
    """Sentences whose intent is right and that no fallback follows."""
    wrong: Count
    """Sentences whose intent is wrong and that no fallback follows."""
    not_understood: Count
    """Sentences that a fallback follows."""


class Understood(Part, frozen=True, kw_only=True):
    """The verdict after the pipeline's fallback, and its curve over the threshold."""

    right: Count
    """Sentences whose intent is right and that no fallback follows."""
    wrong: Count
    """Sentences whose intent is wrong and that no fallback follows."""
    not_understood: Count
    """Sentences that a fallback follows."""
    threshold: Figure | None = None
    """The fallback's threshold, where the pipeline has one."""
    ambiguity_threshold: Figure | None = None
    """The fallback's ambiguity threshold, where the pipeline has one."""
    curve: tuple[ThresholdPoint, ...] = ()
    """Coverage and precision over the threshold, from 0 to 1."""
    same_fallbacks: FallbackPoint | None = None
    """The figures with as many fallbacks as the team's own model had; ``None`` where that is not known."""
    suggested: ThresholdPoint | None = None
    """The lowest threshold with the most right minus wrong answers."""
    wrong_avoided: Whole = 0
    """Wrong answers of today that would not be given at the suggested threshold (negative: more of them)."""
    right_lost: Whole = 0
    """Right answers of today that would not be given at the suggested threshold (negative: more of them)."""


class ConfusedPair(Part, frozen=True, kw_only=True):
    """Two intents that are confused: how often each way, and the sentences (indexes in ``predictions``)."""

    first: str
    """The one intent."""
    second: str
    """The other intent."""
    first_as_second: Count
    """How many sentences of the first were predicted as the second."""
    second_as_first: Count
    """How many sentences of the second were predicted as the first."""
    sentences: tuple[Count, ...]
    """The indexes of these sentences in ``nlu.predictions``."""


class IntentHarm(Part, frozen=True, kw_only=True):
    """What an intent costs: its own sentences that were missed, and the others' that it took."""

    intent: str
    """The intent."""
    missed: Count
    """How many of its own sentences were predicted as others."""
    taken: Count
    """How many sentences of others were predicted as it."""
    examples: Count
    """How many sentences of its own were judged."""


class Insights(Part, frozen=True, kw_only=True):
    """What a designer looks at first. Sentences are named by their index in ``nlu.predictions``, worst first."""

    confused: tuple[ConfusedPair, ...] = ()
    """Pairs of intents that are confused, the most often confused first."""
    mislabelled: tuple[Count, ...] = ()
    """Judged wrong with high confidence: perhaps it is the label that is wrong."""
    harmful: tuple[IntentHarm, ...] = ()
    """Intents by what they cost."""
    least_sure: tuple[Count, ...] = ()
    """The sentences the engine is least sure of."""
    overlapping: tuple[Count, ...] = ()
    """Two extractors found different entities that share a part of the sentence."""


class Nlu(Part, frozen=True, kw_only=True):
    """The evaluation of language understanding."""

    mode: Literal["held-out", "cross-validation"]
    """Whether test sentences were held out, or the training data cross-validated."""
    folds: Count | None
    """How many folds, in cross-validation."""
    examples: Count
    """How many sentences were judged."""
    intents: IntentScores | None
    """The scores of the intents; ``None`` where there are too few to judge."""
    entities: dict[str, EntityScores] = {}
    """The scores of each extractor, by its name."""
    entity_spans: SpanScores | None = None
    """All extractors together: the same span and type found by several counts once."""
    responses: dict[str, ResponseScores] = {}
    """The scores of each response selector, by its retrieval intent."""
    response_selection: ResponseScores | None = None
    """All response selectors together, as Rasa writes them into one ``response_selection_report.json``."""
    understood: Understood | None = None
    """What follows from the fallback."""
    unjudged: tuple[UnjudgedIntent, ...] = ()
    """Intents with too few examples for the folds."""
    on_training_sentences: Count = 0
    """How many of the judged sentences are training sentences of the same intent, too (ignoring case and
    punctuation): they make the figures look better than they are.

    In cross-validation: of which a copy was in the folds that their engine was trained on.
    """
    under_other_intents: Count = 0
    """How many of them were trained on with another intent: both labels cannot be met."""
    training: tuple[TrainingSentence, ...] = ()
    """The sentences the engine was trained on."""
    predictions: tuple[NluPrediction, ...] = ()
    """The judged sentences."""
    calibration_error: Figure | None = None
    """How far confidence and the share of right intents are apart (ECE, 15 bins)."""
    coverage: CoveredIntents | None = None
    """Of a Kore.ai assistant: the intents of which a sentence was judged; ``None`` for other projects."""
    unlisted: Whole = 0
    """How many sentences were judged whose intent ``predictions`` lack, since the imported files do not list them."""
    insights: Insights = Insights()
    """What a designer looks at first."""
    remarks: tuple[str, ...] = ()
    """What a reader must know about how it was measured, a sentence each."""
    repeats: HowRepeated | UnsetType = UNSET
    """How the sentences were repeated, if the assistant's answers vary."""


# The bins in which confidences are compared with how often they are right.

CALIBRATION_BINS: Final = 15
"""Bins of equal width, as in Guo et al., *On Calibration of Modern Neural Networks*, 2017."""


def calibration_bin(confidence: float) -> int:
    """Return the bin of a confidence, 0 to 14; anything outside 0 to 1 is in the outermost one.

    >>> calibration_bin(0.5), calibration_bin(1.0)
    (7, 14)
    """
    return max(0, min(int(confidence * CALIBRATION_BINS), CALIBRATION_BINS - 1))
