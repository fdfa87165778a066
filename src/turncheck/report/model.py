"""The Report: the one typed, versioned document that holds all that was measured.

Every output is made from it alone. Totals are derived from the cases; where a total stands in the document (because
others rely on the key), the codec checks on load that it agrees with the cases. Optional sections are ``None`` when the
evaluation did not run, and then :attr:`Report.skipped` says why.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from turncheck.finding import Finding
from turncheck.location import Location

SCHEMA: Final = "turncheck/report/v1"

Evaluation = Literal["validate", "nlu", "core", "e2e", "batch"]
EVALUATIONS: Final[tuple[Evaluation, ...]] = ("validate", "nlu", "core", "e2e", "batch")


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all parts: immutable, and strict about keys that nobody knows."""


# --- head ------------------------------------------------------------------------------------------------------------


class Tool(_Part, frozen=True, kw_only=True):
    """What wrote the report."""

    name: str
    version: str


class ProjectInfo(_Part, frozen=True, kw_only=True):
    """The assistant: its name, and its path in the repository ("" outside one or at its top)."""

    name: str
    root: str = ""


class Source(_Part, frozen=True, kw_only=True):
    """Which state of the repository was measured, as far as it is known."""

    repository: str | None = None
    commit: str | None = None
    ref: str | None = None
    run_id: str | None = None


class Substitution(_Part, frozen=True, kw_only=True):
    """A component of the project that the engine does not run as it is: what is used instead (``None``: left out)."""

    component: str
    used: str | None
    reason: str


class EngineInfo(_Part, frozen=True, kw_only=True):
    """The engine that understood and answered."""

    name: str
    version: str
    substitutions: tuple[Substitution, ...] = ()
    model: str | None = None
    notes: tuple[str, ...] = ()


# --- validation ------------------------------------------------------------------------------------------------------


class FindingCounts(_Part, frozen=True, kw_only=True):
    """Findings by severity."""

    error: int
    warning: int
    info: int


class Validation(_Part, frozen=True, kw_only=True):
    """All findings, sorted by path, line, column, code."""

    findings: tuple[Finding, ...]
    counts: FindingCounts


# --- language understanding ------------------------------------------------------------------------------------------


class EntitySpan(_Part, frozen=True, kw_only=True):
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


class Confusion(_Part, frozen=True, kw_only=True):
    """``count`` examples of ``expected`` were taken for ``predicted``."""

    expected: str
    predicted: str
    count: int


class Spread(_Part, frozen=True, kw_only=True):
    """Mean and standard deviation of a figure over the folds."""

    mean: float
    deviation: float


class IntentScores(_Part, frozen=True, kw_only=True):
    """Scores over intents, before the fallback. ``report`` has the keys of Rasa's ``intent_report.json``."""

    report: dict[str, Any]
    accuracy: float
    precision: float
    recall: float
    f1: float
    confusions: tuple[Confusion, ...] = ()
    folds: dict[str, Spread] = {}


class SpanScores(_Part, frozen=True, kw_only=True):
    """Strict scores: an entity counts only with its exact borders and type."""

    precision: float
    recall: float
    f1: float


class EntityScores(_Part, frozen=True, kw_only=True):
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


class ResponseScores(_Part, frozen=True, kw_only=True):
    """Scores of one response selector. ``report`` has the keys of Rasa's ``response_selection_report.json``."""

    report: dict[str, Any]
    accuracy: float
    precision: float
    recall: float
    f1: float
    confusions: tuple[Confusion, ...] = ()
    folds: dict[str, Spread] = {}


class TrainingSentence(_Part, frozen=True, kw_only=True):
    """A sentence the engine was trained on."""

    text: str
    intent: str
    location: Location


class RankedIntent(_Part, frozen=True, kw_only=True):
    """One entry of an intent ranking."""

    name: str
    confidence: float


class ExpectedParse(_Part, frozen=True, kw_only=True):
    """What the test data say. ``response`` is the full label of a retrieval intent."""

    intent: str | None
    response: str | None = None
    entities: tuple[EntitySpan, ...] = ()


class PredictedParse(_Part, frozen=True, kw_only=True):
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


class Neighbour(_Part, frozen=True, kw_only=True):
    """A near training sentence: its index in ``nlu.training``, and how near (0 to 1)."""

    training: int
    similarity: float


class NluPrediction(_Part, frozen=True, kw_only=True):
    """One judged sentence. ``correct`` is about the intent; ``fold`` is the fold that judged it."""

    text: str
    location: Location
    correct: bool
    expected: ExpectedParse
    predicted: PredictedParse
    neighbours: tuple[Neighbour, ...] = ()
    fold: int | None = None


class UnjudgedIntent(_Part, frozen=True, kw_only=True):
    """An intent with fewer examples than folds: kept in training, never judged."""

    intent: str
    examples: int


class ThresholdPoint(_Part, frozen=True, kw_only=True):
    """At this fallback threshold: the share of sentences answered, and the share of those that are right."""

    threshold: float
    coverage: float
    precision: float


class Understood(_Part, frozen=True, kw_only=True):
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


class ConfusedPair(_Part, frozen=True, kw_only=True):
    """Two intents that are taken for each other: how often each way, and the sentences (indexes in ``predictions``)."""

    first: str
    second: str
    first_as_second: int
    second_as_first: int
    sentences: tuple[int, ...]


class IntentHarm(_Part, frozen=True, kw_only=True):
    """What an intent costs: its own sentences that were missed, and the others' that it took."""

    intent: str
    missed: int
    taken: int
    examples: int


class Insights(_Part, frozen=True, kw_only=True):
    """What a designer looks at first. Sentences are named by their index in ``nlu.predictions``, worst first."""

    confused: tuple[ConfusedPair, ...] = ()
    mislabelled: tuple[int, ...] = ()
    """Judged wrong with high confidence: perhaps it is the label that is wrong."""
    harmful: tuple[IntentHarm, ...] = ()
    least_sure: tuple[int, ...] = ()
    overlapping: tuple[int, ...] = ()
    """Two extractors found different entities that share a part of the sentence."""


class Nlu(_Part, frozen=True, kw_only=True):
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
    """How many of the judged sentences were trained on as well (said in the headline)."""
    training: tuple[TrainingSentence, ...] = ()
    predictions: tuple[NluPrediction, ...] = ()
    calibration_error: float | None = None
    insights: Insights = Insights()
    remarks: tuple[str, ...] = ()
    """What a reader must know about how it was measured, a sentence each."""


# --- dialogue --------------------------------------------------------------------------------------------------------


class Alternative(_Part, frozen=True, kw_only=True):
    """Another action the policies considered."""

    action: str
    confidence: float


class StoryStep(_Part, frozen=True, kw_only=True):
    """One prediction within a test story: an action, or what was understood (``kind``)."""

    kind: Literal["action", "intent", "entities"]
    expected: str
    predicted: str
    passed: bool
    policy: str | None = None
    confidence: float | None = None
    location: Location | None = None
    text: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    slots: dict[str, Any] = {}
    active_loop: str | None = None
    warning: bool = False


class WrittenStep(_Part, frozen=True, kw_only=True):
    """One step of a judged story as it is written back into a story file.

    ``step`` has the shape of the YAML (``{"action": "utter_greet"}``); ``comment`` stands behind its first key, and
    each of ``entity_comments`` behind the entity with that index.
    """

    step: dict[str, Any]
    comment: str | None = None
    entity_comments: dict[str, str] = {}


class StoryResult(_Part, frozen=True, kw_only=True):
    """A test story. ``duplicate``: Rasa would drop it silently, since an earlier one is the same.

    ``written`` is the story with what was predicted instead, as Rasa writes it into its story files.
    """

    name: str
    location: Location
    passed: bool
    warned: bool = False
    severity: float | None = None
    steps: tuple[StoryStep, ...] = ()
    written: tuple[WrittenStep, ...] = ()
    duplicate: bool = False


class Core(_Part, frozen=True, kw_only=True):
    """The evaluation of the dialogue. ``report`` has the keys of Rasa's ``story_report.json``."""

    stories: tuple[StoryResult, ...]
    report: dict[str, Any]
    accuracy: float
    conversation_accuracy: float
    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0
    in_training_data_fraction: float | None = None
    remarks: tuple[str, ...] = ()


# --- end-to-end cases ------------------------------------------------------------------------------------------------

Outcome = Literal["passed", "failed", "skipped", "error"]


class CaseStep(_Part, frozen=True, kw_only=True):
    """One expectation of an end-to-end case, as written, and what came of it."""

    kind: str
    expected: str
    outcome: Outcome
    actual: str | None = None
    location: Location | None = None
    reason: str | None = None


class Attempt(_Part, frozen=True, kw_only=True):
    """How a case that was repeated fared."""

    passed: int
    of: int


class CaseResult(_Part, frozen=True, kw_only=True):
    """An end-to-end test case. ``difference`` holds lines that begin with ``+`` expected, ``-`` actual, or a space."""

    name: str
    location: Location
    passed: bool
    outcome: Outcome
    fixtures: tuple[str, ...] = ()
    steps: tuple[CaseStep, ...] = ()
    difference: tuple[str, ...] = ()
    reason: str | None = None
    attempts: Attempt | None = None
    actions: dict[str, str] = {}
    """How each custom action of the case was run: ``real``, ``stubbed`` or ``assumed``."""


class EndToEnd(_Part, frozen=True, kw_only=True):
    """The end-to-end test cases."""

    cases: tuple[CaseResult, ...]
    passed: int
    failed: int
    skipped: int = 0
    remarks: tuple[str, ...] = ()
    exercised: dict[str, tuple[str, ...]] = {}
    """What of the project the cases came by, by kind (``intents``, ``actions``, ``slots`` …), sorted."""


# --- batch suites ----------------------------------------------------------------------------------------------------


class BatchCounts(_Part, frozen=True, kw_only=True):
    """True and false positives and negatives, counted as the platform counts assertions."""

    tp: int
    tn: int
    fp: int
    fn: int


class BatchCase(_Part, frozen=True, kw_only=True):
    """One utterance of a batch suite."""

    text: str
    location: Location
    passed: bool
    expected: dict[str, Any]
    predicted: dict[str, Any]


class BatchSuite(_Part, frozen=True, kw_only=True):
    """One batch suite and its outcome in the platform's own words."""

    name: str
    outcome: str
    counts: BatchCounts
    precision: float
    recall: float
    f1: float
    intent_success: float
    entity_success: float
    cases: tuple[BatchCase, ...] = ()


class Batch(_Part, frozen=True, kw_only=True):
    """The batch suites."""

    suites: tuple[BatchSuite, ...]


# --- coverage --------------------------------------------------------------------------------------------------------

COVERAGE_KINDS: Final = ("intents", "entities", "actions", "responses", "slots", "forms", "stories", "rules")


class CoverageItem(_Part, frozen=True, kw_only=True):
    """A thing of the project, a digest of its content, and whether any test reaches it."""

    name: str
    location: Location
    digest: str
    covered: bool


class KindCoverage(_Part, frozen=True, kw_only=True):
    """All items of one kind; ``share`` is the part that is covered, 0 to 1 (``None`` where there are none)."""

    items: tuple[CoverageItem, ...]
    share: float | None


# --- the whole -------------------------------------------------------------------------------------------------------


class Skipped(_Part, frozen=True, kw_only=True):
    """An evaluation that did not run, and why."""

    evaluation: Evaluation
    reason: str


class GateSettings(_Part, frozen=True, kw_only=True):
    """The gates as they were set for this run."""

    fail_on: tuple[str, ...] = ("errors", "test-failures")
    fail_on_warnings: bool = False
    thresholds: tuple[str, ...] = ()
    max_regression: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    not_judged: Literal["pass", "fail"] = "pass"
    strict: bool = False
    evaluations: tuple[str, ...] = ()
    """Those that were asked for; empty: all that there are files for."""


class Report(_Part, frozen=True, kw_only=True):
    """All that was measured in one run."""

    schema: Literal["turncheck/report/v1"] = SCHEMA
    tool: Tool
    project: ProjectInfo
    source: Source = Source()
    seed: int
    engine: EngineInfo | None = None
    validation: Validation | None = None
    nlu: Nlu | None = None
    core: Core | None = None
    e2e: EndToEnd | None = None
    batch: Batch | None = None
    coverage: dict[str, KindCoverage] = {}
    settings: GateSettings = GateSettings()
    skipped: tuple[Skipped, ...] = ()
    stopped: str | None = None
    """Why the measuring ended before its end (a server that is gone): sections hold what was finished until then."""
    timings: dict[str, float] = {}
