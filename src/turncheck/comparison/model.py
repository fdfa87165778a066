"""The documents beside the report: ``comparison.json`` and ``verdict.json``."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from turncheck.comparison.baseline import Way
from turncheck.comparison.changes import (
    Alike,
    CaseChange,
    ChangedCases,
    ChangedNames,
    Collision,
    Edit,
    FindingChange,
    MisunderstoodSentence,
    Named,
    SettingChange,
    TrainingChange,
    and_copies,
    number_of,
)
from turncheck.comparison.metrics import Better, Kind
from turncheck.messages.location import Location
from turncheck.report.codec import json_of
from turncheck.report.model import BatchCase, CaseResult, Confusion, Evaluation, StoryResult
from turncheck.report.part import Part
from turncheck.report.schemas import document_schema

__all__ = [
    "COMPARISON_SCHEMA",
    "VERDICT_SCHEMA",
    "Alike",
    "BaseTests",
    "BaselineUsed",
    "CaseChange",
    "ChangedCases",
    "ChangedItem",
    "ChangedNames",
    "Collision",
    "Comparison",
    "Edit",
    "FailedBy",
    "FindingChange",
    "GateOutcome",
    "GateResult",
    "Judgement",
    "MetricDelta",
    "MisunderstoodSentence",
    "Named",
    "OneSided",
    "Overlap",
    "Renamed",
    "Reservation",
    "SettingChange",
    "SharedDelta",
    "Significance",
    "TrainingChange",
    "Verdict",
    "and_copies",
    "encode",
    "json_schemas",
    "number_of",
]

FEWEST_CHANGES: Final = 6
"""The exact test cannot reach 5 % with fewer (2 x 0.5^5 = 6.25 %); where it does not apply, the same floor does."""
COMPARISON_SCHEMA: Final = "turncheck/comparison/v1"
VERDICT_SCHEMA: Final = "turncheck/verdict/v1"


# --- comparison ------------------------------------------------------------------------------------------------------


class BaselineUsed(Part, frozen=True, kw_only=True):
    """What was compared with. ``reason`` says why there is nothing, where ``status`` is not ``present``.

    ``missing``: there is none yet, or none was asked for; ``unreachable``: there is a base, but its report cannot be
    had now; ``unreadable``: what was found is not a report that can be trusted.
    ``warnings``: what kept a better one from being found, a missing permission say; a sentence each.
    """

    status: Literal["present", "missing", "unreachable", "unreadable"]
    """Whether there was a baseline, and if not, what kind of lack it is."""
    way: Way | None = None
    """How it was found."""
    commit: str | None = None
    """The commit it measured."""
    run_id: str | None = None
    """The workflow run that measured it."""
    passed_over: str = ""
    """Reports that could not be used, counted by the reason."""
    reason: str = ""
    """Why there is none."""
    warnings: tuple[str, ...] = ()
    """What kept a better one from being found, a sentence each."""


Judgement = Literal["better", "worse", "noise", "same", "not judged"]
"""What a difference is: ``noise`` is one that chance alone explains."""


class Significance(Part, frozen=True, kw_only=True):
    """How a difference was judged.

    ``mcnemar`` gives a p-value, ``bootstrap`` the 95 % interval of the difference, ``counted`` neither: stories, cases,
    findings are not a sample of anything, each one that changes is a change. ``changed``: how many examples count
    differently now.
    """

    method: Literal["mcnemar", "bootstrap", "counted"]
    """The test: ``mcnemar``, ``bootstrap``, or ``counted`` where each change is one."""
    p_value: float | None = None
    """How likely chance alone makes such a difference (``mcnemar``)."""
    low: float | None = None
    """The lower end of the 95 % interval of the difference (``bootstrap``)."""
    high: float | None = None
    """The upper end of the 95 % interval of the difference (``bootstrap``)."""
    changed: int | None = None
    """How many examples count differently now."""
    examples: int | None = None
    """How many examples it rests on: sentences that expect the intent, or any entity; ``None``: not known."""

    @property
    def too_few(self) -> bool:
        """Whether no change could have been told from chance, with so few examples."""
        return self.examples is not None and self.examples < FEWEST_CHANGES


class SharedDelta(Part, frozen=True, kw_only=True):
    """A metric on those examples, stories or cases alone that both sides judged."""

    base: float
    """The metric of the base on what both judged."""
    value: float
    """The metric of this side on what both judged."""
    delta: float
    """Their difference."""


class MetricDelta(Part, frozen=True, kw_only=True):
    """One metric on both sides; ``None`` where a side does not have it. ``shared`` where the two sides
    judged different examples, stories or cases: then ``judgement`` is about those."""

    name: str
    """The metric's name, as the gates use it."""
    better: Better
    """Which way is better."""
    kind: Kind
    """Whether it is a score, 0 to 1, or a count."""
    value: float | None
    """The metric of this side; ``None`` where it has none."""
    base: float | None
    """The metric of the base; ``None`` where it has none."""
    delta: float | None = None
    """Their difference; ``None`` where a side has none."""
    shared: SharedDelta | None = None
    """The same on what both sides judged, where they did not judge the same."""
    judgement: Judgement = "not judged"
    """What the difference is."""
    significance: Significance | None = None
    """How that was judged."""
    agreement: float | None = None
    """How far the stand-in agrees with the team's own model on it, where that is too little for a verdict, 0 to 1."""

    @property
    def sides(self) -> tuple[float | None, float | None]:
        """Base and value that the judgement is about: where the sides judged others, those of what both judged."""
        if self.shared is not None and self.judgement != "not judged":
            return self.shared.base, self.shared.value
        return self.base, self.value


class Renamed(Part, frozen=True, kw_only=True):
    """A thing of the project that has another name now."""

    kind: str
    """What it is: ``intents``, ``responses`` …"""
    old: str
    """Its name on the base."""
    new: str
    """Its name now."""
    location: Location
    """Where it is now."""


class ChangedItem(Part, frozen=True, kw_only=True):
    """A thing of the project that is new or whose content changed, and whether a test reaches it."""

    kind: str
    """What it is: an intent, a response …"""
    name: str
    """What it is called."""
    location: Location
    """Where it is."""
    change: Literal["added", "changed"]
    """Whether it is new, or its content changed."""
    covered: bool
    """Whether a test reaches it."""


class OneSided(Part, frozen=True, kw_only=True):
    """An evaluation that one side has results of and the other has not, or not of all: why not.

    ``cases``: how many cases the other side lacks; ``None`` where it lacks all. ``files``: where they were, if not all
    of the evaluation are meant.
    """

    evaluation: Evaluation
    """The evaluation."""
    reason: str
    """Why the other side has no results of it."""
    cases: int | None = None
    """How many cases the other side lacks; ``None``: all."""
    files: tuple[str, ...] = ()
    """Where they were, if not all of the evaluation are meant."""


class Overlap(Part, frozen=True, kw_only=True):
    """How many of the judged sentences of the base were trained on."""

    on_training_sentences: int
    """How many with the same intent."""
    under_other_intents: int
    """How many with another intent."""


class BaseTests(Part, frozen=True, kw_only=True):
    """The base's results of tests that changed sides or were edited, as its report has them."""

    stories: tuple[StoryResult, ...] = ()
    """Test stories."""
    e2e: tuple[CaseResult, ...] = ()
    """End-to-end cases."""
    batch: tuple[BatchCase, ...] = ()
    """Utterances of batch suites."""


class Comparison(Part, frozen=True, kw_only=True):
    """A report against its baseline. Without one, ``metrics`` still holds the values and nothing else is filled."""

    schema: Literal["turncheck/comparison/v1"] = COMPARISON_SCHEMA
    """Which document this is, and in which version."""
    baseline: BaselineUsed
    """What was compared with."""
    warnings: tuple[str, ...] = ()
    """What makes the two sides less comparable: another engine, mode, seed; a sentence each."""
    settings_changed: tuple[SettingChange, ...] = ()
    """Gate settings that differ."""
    metrics: tuple[MetricDelta, ...] = ()
    """Every metric, on both sides."""
    examples: ChangedCases = ChangedCases()
    """Test sentences, judged by their intent."""
    entities: ChangedCases = ChangedCases()
    """Test sentences, judged by their entities."""
    responses: ChangedCases = ChangedCases()
    """Test sentences, judged by the response that was selected."""
    stories: ChangedCases = ChangedCases()
    """Test stories."""
    e2e: ChangedCases = ChangedCases()
    """End-to-end cases."""
    batch: ChangedCases = ChangedCases()
    """Utterances of batch suites."""
    new_findings: tuple[FindingChange, ...] = ()
    """Findings that only this side has."""
    gone_findings: tuple[FindingChange, ...] = ()
    """Findings that only the base has."""
    base_lacks: tuple[OneSided, ...] = ()
    """What this side judged and the base did not: all its failures count as new."""
    lost: tuple[OneSided, ...] = ()
    """What the base judged and this side did not: an evaluation that did not run, held-out sentences that are gone."""
    unlisted: bool = False
    """One side does not list all sentences that it judged: figures are compared as they stand."""
    other_mode: bool = False
    """One side judged held-out sentences, the other its training data: no sentence is the same on both."""
    intents: ChangedNames = ChangedNames()
    """Intents that are new or gone."""
    entity_types: ChangedNames = ChangedNames()
    """Entity types that are new or gone."""
    base_confusions: tuple[Confusion, ...] = ()
    """The intents that were confused on the base, and how often."""
    base_overlap: Overlap | None = None
    """How many judged sentences of the base were trained on; ``None`` where it was not judged so."""
    collisions: tuple[Collision, ...] = ()
    """Pairs of intents that began to collide."""
    relabelled: tuple[TrainingChange, ...] = ()
    """Training sentences that moved to another intent, or were copied, or nearly so, under another one."""
    misunderstood: tuple[MisunderstoodSentence, ...] = ()
    """The sentences of the stories that are newly misunderstood."""
    misunderstood_in_cases: tuple[MisunderstoodSentence, ...] = ()
    """The sentences of the end-to-end cases that are newly misunderstood: understood differently than on the base."""
    changed_items: tuple[ChangedItem, ...] = ()
    """Things of the project that are new or changed, and whether a test reaches them."""
    renamed: tuple[Renamed, ...] = ()
    """Things of the project that have another name now."""
    base_tests: BaseTests = BaseTests()
    """How the tests that changed went on the base, step by step."""

    @property
    def judged(self) -> bool:
        """Whether there was a baseline."""
        return self.baseline.status == "present"

    @property
    def changed(self) -> bool:
        """Whether there is anything to tell: without a baseline there is, since what changed is not known."""
        cases = (self.examples, self.entities, self.responses, self.stories, self.e2e, self.batch)
        names = (self.intents, self.entity_types)
        return (
            not self.judged
            or bool(self.settings_changed or self.new_findings or self.gone_findings or self.changed_items)
            or any(kind.worse or kind.better or kind.edited or kind.added or kind.removed for kind in cases)
            or any(kind.misunderstood for kind in cases)
            or any(kind.added or kind.removed for kind in names)
            or any(metric.judgement in {"better", "worse"} for metric in self.metrics)
        )

    def metric(self, name: str) -> MetricDelta | None:
        """Return a metric by its name."""
        return next((metric for metric in self.metrics if metric.name == name), None)


# --- verdict ---------------------------------------------------------------------------------------------------------

GateOutcome = Literal["passed", "failed", "not judged"]


class FailedBy(Part, frozen=True, kw_only=True):
    """One thing that made a gate fail."""

    what: str
    """What it is, in a few words."""
    location: Location | None = None
    """Where it is."""


class GateResult(Part, frozen=True, kw_only=True):
    """A gate, its outcome and why. ``metric`` names the figure it is about, if it is about one.

    ``fails``: whether it fails the run, as a failed one does, and one that could not be judged where the setting
    ``not-judged`` says so. ``needs_base``: it judges a change, so that nothing can be said without a baseline.
    """

    name: str
    """The gate as it is set."""
    outcome: GateOutcome
    """What came of it."""
    reason: str
    """Why."""
    metric: str | None = None
    """The metric it is about, if it is about one."""
    fails: bool = False
    """Whether it fails the run."""
    needs_base: bool = False
    """Whether it judges a change, so that it needs a baseline."""
    location: Location | None = None
    """Where it is set in the project's settings; ``None`` where it is not set there."""
    failed_by: tuple[FailedBy, ...] = ()
    """What made it fail."""
    follows: str = ""
    """The gate before it that names all that made this one fail; empty where it has a reason of its own."""

    @property
    def first_cause(self) -> FailedBy | None:
        """The first thing that made it fail, which its line names.

        ``None`` where the reason names it already, and behind a figure, where the cases are only examples.
        """
        named = self.metric is not None or self.name.startswith("require") or not self.fails
        return None if named else next(iter(self.unnamed), None)

    @property
    def unnamed(self) -> tuple[FailedBy, ...]:
        """What made it fail and the reason does not name already."""
        return tuple(cause for cause in self.failed_by if cause.what not in self.reason)

    @property
    def in_words(self) -> str:
        """The reason with the first cause: ``2 stories failed: story 'a' (tests/a.yml:3) and 1 more``."""
        first = self.first_cause
        if first is None:
            return self.reason
        place = f" ({first.location})" if first.location is not None else ""
        return f"{self.reason}: {first.what}{place}{self.and_more}"

    @property
    def and_more(self) -> str:
        """How many causes there are beside the first that the reason does not name; empty where there are none."""
        return f" and {len(self.unnamed) - 1:,} more" if len(self.unnamed) > 1 else ""


Reservation = Literal[
    "",
    "old failures only",
    "although tests fail",
    "although tests are gone",
    "intents collide",
    "an intent is worse",
    "a story is misunderstood",
    "stories are misunderstood",
    "an end-to-end case is misunderstood",
    "end-to-end cases are misunderstood",
    "not all tests were run",
    "not all gates were judged",
]
"""What a reader of "passed" has to know; the summary says more of it. Empty: nothing."""


class Verdict(Part, frozen=True, kw_only=True):
    """The outcome of all gates. ``summary`` says it in one line, without the outcome itself.

    ``reservation``: why "passed" is not all there is to say.
    """

    schema: Literal["turncheck/verdict/v1"] = VERDICT_SCHEMA
    """Which document this is, and in which version."""
    outcome: Literal["passed", "failed"]
    """Whether the run passed."""
    summary: str
    """Why, in one line."""
    gates: tuple[GateResult, ...] = ()
    """Every gate and its outcome."""
    not_judged: Literal["auto", "pass", "fail"] = "auto"
    """What a gate counted as that could not be judged."""
    reservation: Reservation = ""
    """What a reader of ``passed`` has to know; empty: nothing."""

    @property
    def passed(self) -> bool:
        """Whether the run may go on."""
        return self.outcome == "passed"

    @property
    def in_words(self) -> str:
        """The outcome in words: ``passed``, or ``passed, but not all tests were run``."""
        spaced = {"": "", "old failures only": " with "}
        link = spaced.get(self.reservation, " " if self.reservation.startswith("although") else ", but ")
        return f"{self.outcome}{link}{self.reservation}"


def encode(document: Comparison | Verdict) -> bytes:
    """Write a document: UTF-8 JSON, keys in the order of the types, a line break at the end."""
    return msgspec.json.format(json_of(document), indent=1) + b"\n"


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas of both documents, made from the types."""
    documents: dict[str, type] = {"comparison": Comparison, "verdict": Verdict}
    return {
        name: document_schema(document, name=name, title=f"turncheck {name}") for name, document in documents.items()
    }
