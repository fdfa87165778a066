"""The parts of the report about conversations: stories, end-to-end cases, batch suites."""

from __future__ import annotations

from typing import Any, Literal

from turncheck.location import Location
from turncheck.report.part import Part
from turncheck.report.understanding import Confusion, EntitySpan, ExpectedParse, RankedIntent

# --- dialogue --------------------------------------------------------------------------------------------------------


class Alternative(Part, frozen=True, kw_only=True):
    """Another action the policies considered."""

    action: str
    confidence: float


StoryOutcome = Literal["passed", "failed", "misunderstood"]


class StoryStep(Part, frozen=True, kw_only=True):
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

    @property
    def wanted(self) -> str:
        """What was expected, in words also where that is nothing."""
        return _or_none(self.kind, self.expected)

    @property
    def got(self) -> str:
        """What came instead, in words also where that is nothing."""
        return _or_none(self.kind, self.predicted)


def _or_none(kind: str, value: str) -> str:
    """The engine's ``None`` for "no intent" is written as a text; an empty annotation says that there is no entity."""
    if value in {"", "None"}:
        return {"intent": "no intent", "entities": "no entity"}.get(kind, value or "no action")
    return value


class WrittenStep(Part, frozen=True, kw_only=True):
    """One step of a judged story as it is written back into a story file.

    ``step`` has the shape of the YAML (``{"action": "utter_greet"}``); ``comment`` stands behind its first key, and
    each of ``entity_comments`` behind the entity with that index.
    """

    step: dict[str, Any]
    comment: str | None = None
    entity_comments: dict[str, str] = {}


class NearSentence(Part, frozen=True, kw_only=True):
    """A training sentence that looks like another one: where it is, and how near (0 to 1)."""

    text: str
    intent: str
    location: Location
    similarity: float


class StoryParse(Part, frozen=True, kw_only=True):
    """What was understood of a story's sentence. ``fallback``: too unsure, so that the fallback stood for ``intent``.

    ``confidence`` is ``None`` where imported files do not tell it.
    """

    intent: str | None
    confidence: float | None = None
    ranking: tuple[RankedIntent, ...] = ()
    response: str | None = None
    response_confidence: float | None = None
    entities: tuple[EntitySpan, ...] = ()
    fallback: bool = False


class Misunderstanding(Part, frozen=True, kw_only=True):
    """A sentence of a test story whose intent, response or entities were understood otherwise than the story says.

    ``neighbours``, the nearest first: the training sentences that drew it away. Of another intent they are those of the
    intent it was taken for; of other entities those that have the same words with other entities, or without.
    """

    text: str
    location: Location
    expected: ExpectedParse
    predicted: StoryParse
    neighbours: tuple[NearSentence, ...] = ()


class StoryResult(Part, frozen=True, kw_only=True):
    """A test story. ``duplicate``: Rasa would drop it silently, since an earlier one is the same.

    ``passed`` and ``steps`` are about the story end to end: what is understood of its texts, and every action.
    ``as_written`` is whether its dialogue passes with the intents, entities and responses that the story itself gives
    (``None``: not known). ``written`` is the story with what was predicted instead, as Rasa writes it into its story
    files. Not ``named`` are those that imported files only count.
    """

    name: str
    location: Location
    passed: bool
    warned: bool = False
    severity: float | None = None
    steps: tuple[StoryStep, ...] = ()
    written: tuple[WrittenStep, ...] = ()
    duplicate: bool = False
    named: bool = True
    as_written: bool | None = None
    misunderstood: tuple[Misunderstanding, ...] = ()
    """The sentences that were understood otherwise than written, also of a story whose dialogue fails; imported files
    do not always tell which."""

    @property
    def outcome(self) -> StoryOutcome:
        """The class of the result: ``misunderstood`` fails only because of how its sentences were understood."""
        if self.passed:
            return "passed"
        return "misunderstood" if self.as_written else "failed"


class StoriesAsWritten(Part, frozen=True, kw_only=True):
    """How many dialogues pass with the intents, entities and responses as the stories give them: no text is read."""

    passed: int
    failed: int


class PolicyEntities(Part, frozen=True, kw_only=True):
    """Entities of the annotated messages, held against what the policies found in them, token by token.

    ``report`` and ``errors`` are shaped as Rasa's ``TEDPolicy_report.json`` and ``TEDPolicy_errors.json``; ``labels``
    counts each pair of labels, the right ones as well.
    """

    report: dict[str, Any]
    errors: tuple[dict[str, Any], ...] = ()
    labels: tuple[Confusion, ...] = ()


class Core(Part, frozen=True, kw_only=True):
    """The evaluation of the dialogue. ``report`` has the keys of Rasa's ``story_report.json``."""

    stories: tuple[StoryResult, ...]
    report: dict[str, Any]
    accuracy: float
    conversation_accuracy: float
    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0
    in_training_data_fraction: float | None = None
    as_written: StoriesAsWritten | None = None
    """``None`` where of some story it is not known."""
    remarks: tuple[str, ...] = ()
    policy_entities: PolicyEntities | None = None
    """``None`` where no message has annotated entities."""


# --- end-to-end cases ------------------------------------------------------------------------------------------------

Outcome = Literal["passed", "failed", "skipped", "error"]


class CaseStep(Part, frozen=True, kw_only=True):
    """One expectation of an end-to-end case, as written, and what came of it."""

    kind: str
    expected: str
    outcome: Outcome
    actual: str | None = None
    location: Location | None = None
    reason: str | None = None


class Attempt(Part, frozen=True, kw_only=True):
    """How a case that was repeated fared."""

    passed: int
    of: int


class CaseResult(Part, frozen=True, kw_only=True):
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
    """How each custom action of the case was run: ``real``, ``stubbed``, ``assumed``, or ``missing`` where nobody was
    there to run it."""

    @property
    def warning(self) -> str | None:
        """What went wrong in a case that passed nevertheless, such as an action that failed."""
        return self.reason if self.outcome == "passed" else None


class EndToEnd(Part, frozen=True, kw_only=True):
    """The end-to-end test cases."""

    cases: tuple[CaseResult, ...]
    passed: int
    failed: int
    skipped: int = 0
    remarks: tuple[str, ...] = ()
    exercised: dict[str, tuple[str, ...]] = {}
    """What of the project the cases came by, by kind (``intents``, ``actions``, ``slots`` …), sorted."""

    @property
    def warned(self) -> tuple[CaseResult, ...]:
        """The cases that passed although something went wrong in them."""
        return tuple(case for case in self.cases if case.warning is not None)


# --- batch suites ----------------------------------------------------------------------------------------------------


class BatchCounts(Part, frozen=True, kw_only=True):
    """True and false positives and negatives, counted as the platform counts assertions."""

    tp: int
    tn: int
    fp: int
    fn: int


class BatchCase(Part, frozen=True, kw_only=True):
    """One utterance of a batch suite."""

    text: str
    location: Location
    passed: bool
    expected: dict[str, Any]
    predicted: dict[str, Any]


class BatchSuite(Part, frozen=True, kw_only=True):
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


class Batch(Part, frozen=True, kw_only=True):
    """The batch suites."""

    suites: tuple[BatchSuite, ...]
