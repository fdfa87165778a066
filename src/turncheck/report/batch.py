"""The part of the report about batch suites: the platform's own numbers, and the usual ones beside them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import UNSET, UnsetType

from turncheck.messages.finding import Location
from turncheck.report.measured import MeasuredTurn
from turncheck.report.part import Count, Figure, Part
from turncheck.report.repeats import Attempt, HowRepeated, Repeats, refuse_other_result
from turncheck.report.understanding import CoveredIntents

if TYPE_CHECKING:
    from collections.abc import Sequence


BatchKindName = Literal["dialog", "faq", "small_talk", "trait"]
BATCH_KINDS: tuple[BatchKindName, ...] = ("dialog", "faq", "small_talk", "trait")

BatchResult = Literal["tp", "tn", "fp", "fn", "not-evaluated"]
BatchOutcome = Literal["success", "success with warning", "failed", "cancelled"]
MatchWay = Literal["equal", "pattern", "items in another order", "components in another order"]


class BatchCounts(Part, frozen=True, kw_only=True):
    """True and false positives and negatives, counted as the platform counts assertions."""

    tp: Count
    """True positives."""
    tn: Count
    """True negatives."""
    fp: Count
    """False positives."""
    fn: Count
    """False negatives."""

    @property
    def total(self) -> int:
        """All assertions that were evaluated."""
        return self.tp + self.tn + self.fp + self.fn


class BatchNumbers(Part, frozen=True, kw_only=True):
    """The numbers of some cases. Shares are between 0 and 1; ``None`` where there is nothing to take a share of."""

    counts: BatchCounts
    """The cases by class, one each."""
    not_evaluated: Count = 0
    """The cases that the engine could not answer."""
    precision: Figure
    """TP / (TP + FP), 0 where there are none."""
    recall: Figure
    """TP / (TP + FN), 0 where there are none."""
    f1: Figure
    """The harmonic mean of precision and recall."""
    accuracy: Figure | None
    """The share of evaluated cases that are TP or TN."""
    intent_success: Figure | None
    """The share of all cases that are TP or TN."""
    entity_success: Figure | None
    """The share of expected entities that were found; those of a case with a wrong intent count as not found."""
    entity_success_of_right_intents: Figure | None = None
    """The same share, only of the cases that are TP or TN."""
    entities: Count = 0
    """The entities that are expected."""
    matched_entities: Count = 0
    """How many of the expected entities were found."""
    passed: Count
    """The cases that passed: TP or TN, with every entity."""
    failed: Count
    """The cases that failed, including those that could not be evaluated."""


class BatchKind(BatchNumbers, frozen=True, kw_only=True):
    """The numbers of the cases of one kind, and how many of the project's intents of this kind some case expects.

    A case that accepts intents of several kinds is a case of each of them.
    """

    covered: Count | None = None
    """The intents of this kind that some case expects; ``None`` without a project."""
    total: Count | None = None
    """The project's intents of this kind; ``None`` without a project."""


class BatchIntent(Part, frozen=True, kw_only=True):
    """An intent's scores as usual elsewhere.

    A wrong match is a false positive of one intent and a false negative of the other. They differ from the platform's,
    which count each case once.
    """

    precision: Figure
    """Of the cases in which it was matched, the share that expects it."""
    recall: Figure
    """Of the cases that expect it, the share in which it was matched."""
    f1: Figure
    """The harmonic mean of both."""
    support: Count
    """The cases that expect it."""


class BatchEntity(Part, frozen=True, kw_only=True):
    """An entity that a case expects."""

    name: str
    """Its name."""
    expected: tuple[str, ...]
    """Its value as written, or alternatives."""
    matched: str | None
    """The value that was found, flattened to a string; ``None`` where none was."""
    passed: bool
    """Whether it counts as found: the value fits, and the case's intent is right."""
    way: MatchWay | None = None
    """How the value fits, if it does."""


class BatchOrder(Part, frozen=True, kw_only=True):
    """The order of a case's entities. It decides nothing."""

    expected: tuple[str, ...]
    """The order as given."""
    actual: tuple[str, ...]
    """That of the engine; if it gives none, the platform's rule: the expected one, then what is learnt or found by a
    pattern, then the rest."""
    assumed: bool
    """Whether the engine gave none."""


class BatchCase(Part, frozen=True, kw_only=True):
    """One utterance of a batch suite. Names are as the suite and as the engine have them, traits without prefix."""

    text: str
    """What is said."""
    location: Location
    """Where it is."""
    kind: BatchKindName
    """What is expected: a dialog, an FAQ, small talk or traits."""
    expected: tuple[str, ...]
    """The intents of which one must match, or the traits that must all be found; empty: nothing may match."""
    matched: tuple[str, ...]
    """What was matched."""
    bots: tuple[str, ...] = ()
    """For a universal bot, the bot of each expected intent."""
    matched_bots: tuple[str, ...] = ()
    """The bot of each matched intent, if bots are expected; empty where that is not known."""
    state: str = ""
    """The platform's state of the matched task (``Configured``, ``Published``); empty where it is not known."""
    parent: tuple[str, ...] = ()
    """The intents in whose context it is said, topmost first."""
    result: BatchResult
    """Its class."""
    passed: bool
    """Whether it passed: TP or TN, with every entity."""
    entities: tuple[BatchEntity, ...] = ()
    """The entities that are expected."""
    order: BatchOrder | None = None
    """The order of its entities; ``None`` if it has none."""
    scores: dict[str, Figure] = {}
    """What the engine gave to the intents, by their names."""
    tags: tuple[str, ...] = ()
    """What the platform calls such a failure."""
    reason: str | None = None
    """Why it was not evaluated, or what makes it wrong, if that is not obvious."""
    repeats: Repeats | UnsetType = UNSET
    """Its runs, if the assistant's answers vary."""
    attempts: Attempt | UnsetType = UNSET
    """Its runs, if it was asked a number of times (``test batch --repeat``): it passed if all did."""
    measured: MeasuredTurn | UnsetType = UNSET
    """What its first run took, of a bot over HTTP."""
    resolved: str | UnsetType = UNSET
    """A digest of all that is expected, with the other names that the assistant has for it."""
    own: str | UnsetType = UNSET
    """A digest of what its own file adds to that."""
    shared: dict[str, str] | UnsetType = UNSET
    """What other files add to that, a digest each, by their paths."""

    def __post_init__(self) -> None:
        """Refuse a result that its runs contradict.

        Raises:
            ValueError: it does not follow from them.
        """
        refuse_other_result(self.repeats, passed=self.passed)

    @property
    def unclear(self) -> bool:
        """Whether its runs do not say how it fares, though it was answered."""
        if isinstance(self.repeats, UnsetType):
            return False
        return self.repeats.outcome == "unclear" and not self.repeats.is_unanswered


class BatchSetting(Part, frozen=True, kw_only=True):
    """What the platform's CSV says of the assistant that was tested, as far as it is known."""

    bot: str = ""
    """Its name there."""
    language: str = ""
    """The language that was tested."""
    thresholds: tuple[dict[str, str], ...] = ()
    """The settings of each engine of the platform (``mode``): the embedded engine does not use them."""
    tested: str = ""
    """When, as the platform wrote it; empty where it was not the platform."""


class BatchSuite(BatchNumbers, frozen=True, kw_only=True):
    """One batch suite and its outcome in the platform's own words."""

    name: str
    """The suite's name."""
    description: str = ""
    """What it is for."""
    notes: str = ""
    """Notes on this run."""
    version: str | None = None
    """The version of the assistant: ``in-development`` or ``published``; ``None`` where the engine knows none."""
    path: str | None = None
    """The file, relative to the project; ``None`` where it is on the platform."""
    setting: BatchSetting | None = None
    """What is known of the assistant that was tested."""
    outcome: BatchOutcome
    """The platform's word for how the run ended: with a warning where some case could not be evaluated."""
    kinds: dict[str, BatchKind] = {}
    """The same numbers for the cases of each kind."""
    intents: dict[str, BatchIntent] = {}
    """The usual scores of each intent."""
    cases: tuple[BatchCase, ...] = ()
    """Its utterances."""


class Batch(BatchNumbers, frozen=True, kw_only=True):
    """The batch suites, and the numbers of all their cases."""

    suites: tuple[BatchSuite, ...]
    """The suites."""
    kinds: dict[str, BatchKind] = {}
    """The numbers for the cases of each kind, over all suites."""
    coverage: CoveredIntents | None = None
    """How much of the project the suites reach; ``None`` without a project."""
    by_stand_in: bool = False
    """Whether the engine stands in for the assistant's own, so that failed cases by themselves fail no run."""
    on_training: Count = 0
    """The utterances that are training sentences too: their results are optimistic."""
    repeats: HowRepeated | UnsetType = UNSET
    """How the utterances were repeated, if the assistant's answers vary."""

    @property
    def cases(self) -> tuple[BatchCase, ...]:
        """All utterances."""
        return tuple(case for suite in self.suites for case in suite.cases)


# The numbers of a suite: from the classes of its cases and their entities. Formulas: ``docs/kore.md``.

_RIGHT: Final = frozenset({"tp", "tn"})


def numbers_of(cases: Sequence[BatchCase]) -> dict[str, Any]:
    """Return the fields of :class:`BatchNumbers` for some cases."""
    results = Counter(case.result for case in cases)
    counts = BatchCounts(tp=results["tp"], tn=results["tn"], fp=results["fp"], fn=results["fn"])
    entities = [entity for case in cases for entity in case.entities]
    of_right = [entity for case in cases if case.result in _RIGHT for entity in case.entities]
    precision = share(counts.tp, counts.tp + counts.fp) or 0.0
    recall = share(counts.tp, counts.tp + counts.fn) or 0.0
    right = counts.tp + counts.tn
    return {
        "counts": counts,
        "not_evaluated": results["not-evaluated"],
        "precision": precision,
        "recall": recall,
        "f1": harmonic(precision, recall),
        "accuracy": share(right, counts.total),
        "intent_success": share(right, len(cases)),
        "entity_success": share(sum(entity.passed for entity in entities), len(entities)),
        "entity_success_of_right_intents": share(sum(entity.passed for entity in of_right), len(of_right)),
        "entities": len(entities),
        "matched_entities": sum(entity.passed for entity in entities),
        "passed": sum(case.passed for case in cases),
        "failed": sum(not case.passed for case in cases),
    }


def share(part: int, whole: int) -> float | None:
    """Return a share, ``None`` if there is nothing to take it of."""
    return part / whole if whole else None


def harmonic(precision: float, recall: float) -> float:
    """Return F1, 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
