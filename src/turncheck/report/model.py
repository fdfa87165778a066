"""The Report: the one typed, versioned document that holds all that was measured.

Every output is made from it alone. Totals are derived from the cases; where a total stands in the document (because
others rely on the key), the codec checks on load that it agrees with the cases. Optional sections are ``None`` when the
evaluation did not run, and then :attr:`Report.skipped` says why.
"""

from __future__ import annotations

from typing import Final, Literal

from turncheck.finding import Finding
from turncheck.location import Location
from turncheck.report.conversations import (
    Alternative,
    Attempt,
    Batch,
    BatchCase,
    BatchCounts,
    BatchSuite,
    CaseResult,
    CaseStep,
    Core,
    EndToEnd,
    Misunderstanding,
    NearSentence,
    Outcome,
    PolicyEntities,
    StoriesAsWritten,
    StoryOutcome,
    StoryParse,
    StoryResult,
    StoryStep,
    WrittenStep,
)
from turncheck.report.part import Part
from turncheck.report.understanding import (
    ConfusedPair,
    Confusion,
    EntityScores,
    EntitySpan,
    ExpectedParse,
    Insights,
    IntentHarm,
    IntentScores,
    Neighbour,
    Nlu,
    NluPrediction,
    PredictedParse,
    RankedIntent,
    ResponseScores,
    SpanScores,
    Spread,
    ThresholdPoint,
    TrainingSentence,
    Understood,
    UnjudgedIntent,
)

__all__ = [
    "COVERAGE_KINDS",
    "EVALUATIONS",
    "SCHEMA",
    "Alternative",
    "Attempt",
    "Batch",
    "BatchCase",
    "BatchCounts",
    "BatchSuite",
    "CaseResult",
    "CaseStep",
    "ConfusedPair",
    "Confusion",
    "Core",
    "CoverageItem",
    "EndToEnd",
    "EngineInfo",
    "EntityScores",
    "EntitySpan",
    "Evaluation",
    "ExpectedParse",
    "FindingCounts",
    "GateSettings",
    "Insights",
    "IntentHarm",
    "IntentScores",
    "KindCoverage",
    "Misunderstanding",
    "NearSentence",
    "Neighbour",
    "Nlu",
    "NluPrediction",
    "Outcome",
    "PolicyEntities",
    "PredictedParse",
    "ProjectInfo",
    "RankedIntent",
    "Report",
    "ResponseScores",
    "Skipped",
    "Source",
    "SpanScores",
    "Spread",
    "StoriesAsWritten",
    "StoryOutcome",
    "StoryParse",
    "StoryResult",
    "StoryStep",
    "Substitution",
    "ThresholdPoint",
    "Tool",
    "TrainingSentence",
    "Understood",
    "UnjudgedIntent",
    "Validation",
    "WrittenStep",
]

SCHEMA: Final = "turncheck/report/v1"

Evaluation = Literal["validate", "nlu", "core", "e2e", "batch"]
EVALUATIONS: Final[tuple[Evaluation, ...]] = ("validate", "nlu", "core", "e2e", "batch")


# --- head ------------------------------------------------------------------------------------------------------------


class Tool(Part, frozen=True, kw_only=True):
    """What wrote the report."""

    name: str
    version: str


class ProjectInfo(Part, frozen=True, kw_only=True):
    """The assistant: its name, and its path in the repository ("" outside one or at its top)."""

    name: str
    root: str = ""
    file: str | None = None
    """The file for what concerns the assistant as a whole, relative to it: its settings, else one that was read."""


class Source(Part, frozen=True, kw_only=True):
    """Which state of the repository was measured, as far as it is known."""

    repository: str | None = None
    commit: str | None = None
    ref: str | None = None
    run_id: str | None = None


class Substitution(Part, frozen=True, kw_only=True):
    """A component of the project that the engine does not run as it is: what is used instead (``None``: left out)."""

    component: str
    used: str | None
    reason: str


class EngineInfo(Part, frozen=True, kw_only=True):
    """The engine that understood and answered."""

    name: str
    version: str
    substitutions: tuple[Substitution, ...] = ()
    model: str | None = None
    notes: tuple[str, ...] = ()


# --- validation ------------------------------------------------------------------------------------------------------


class FindingCounts(Part, frozen=True, kw_only=True):
    """Findings by severity."""

    error: int
    warning: int
    info: int


class Validation(Part, frozen=True, kw_only=True):
    """All findings, sorted by path, line, column, code."""

    findings: tuple[Finding, ...]
    counts: FindingCounts


# --- coverage --------------------------------------------------------------------------------------------------------

COVERAGE_KINDS: Final = ("intents", "entities", "actions", "responses", "slots", "forms", "flows", "stories", "rules")


class CoverageItem(Part, frozen=True, kw_only=True):
    """A thing of the project, a digest of its content, and whether any test reaches it."""

    name: str
    location: Location
    digest: str
    covered: bool


class KindCoverage(Part, frozen=True, kw_only=True):
    """All items of one kind; ``share`` is the part that is covered, 0 to 1 (``None`` where there are none)."""

    items: tuple[CoverageItem, ...]
    share: float | None


# --- the whole -------------------------------------------------------------------------------------------------------


class Skipped(Part, frozen=True, kw_only=True):
    """An evaluation that did not run, and why. ``no_tests``: because nothing is there to test.

    ``part``: it did run, but without this part of its tests.
    """

    evaluation: Evaluation
    reason: str
    no_tests: bool = False
    part: bool = False


class GateSettings(Part, frozen=True, kw_only=True):
    """The gates as they were set for this run, and what chooses the tests that they judge.

    ``data``, ``nlu``, ``stories`` and ``e2e`` are the paths that were named, relative to the project; empty: the usual
    places. ``ignore``: codes of findings that are left out. ``None``: an older report, which does not tell.
    """

    fail_on: tuple[str, ...] = ("errors", "test-failures")
    fail_on_warnings: bool = False
    thresholds: tuple[str, ...] = ()
    max_regression: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    not_judged: Literal["auto", "pass", "fail"] = "auto"
    accept_gone: tuple[str, ...] = ()
    """Names or files of tests, or evaluations, that may go away."""
    misunderstood: Literal["warn", "fail"] = "warn"
    """What a story counts as that fails only because a sentence is understood otherwise than written."""
    strict: bool = False
    evaluations: tuple[str, ...] = ()
    """Those that were asked for; empty: all that there are files for."""
    data: tuple[str, ...] | None = None
    nlu: tuple[str, ...] | None = None
    stories: tuple[str, ...] | None = None
    e2e: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None


class Report(Part, frozen=True, kw_only=True):
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
    """Seconds by step; of a story or an end-to-end case by its index in its section (``core[0]``, ``e2e[12]``)."""
