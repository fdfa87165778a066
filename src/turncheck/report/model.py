"""The Report: the one typed, versioned document that holds all that was measured.

Every output is made from it alone. Totals are derived from the cases; where a total is in the document (because
others rely on the key), the codec checks on load that it agrees with the cases. Optional sections are ``None`` when the
evaluation did not run, and then :attr:`Report.skipped` says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from turncheck.messages.finding import Finding, Location
from turncheck.report.batch import (
    Batch,
    BatchCase,
    BatchCounts,
    BatchEntity,
    BatchIntent,
    BatchKind,
    BatchNumbers,
    BatchOrder,
    BatchSuite,
)
from turncheck.report.causes import Causes
from turncheck.report.consistency import Consistency
from turncheck.report.conversations import (
    Alternative,
    CaseMessage,
    CaseResult,
    CaseStep,
    Core,
    EndToEnd,
    FailedRun,
    Misunderstanding,
    NearSentence,
    Outcome,
    PolicyEntities,
    StepOutcome,
    StoriesAsWritten,
    StoryOutcome,
    StoryParse,
    StoryResult,
    StoryStep,
    TurnEvent,
    TurnTrace,
    WrittenStep,
)
from turncheck.report.entities import EntitySpan
from turncheck.report.evaluations import Evaluation
from turncheck.report.measured import MeasuredRun, MeasuredTurn
from turncheck.report.part import Count, Figure, Moment, Part
from turncheck.report.plugin_figures import PluginFigure
from turncheck.report.quarantine import Quarantine, QuarantinedTest
from turncheck.report.repeats import LONGEST_BASE, MOST_ERRORS, Attempt, HowRepeated, RepeatedOutcome, Repeats
from turncheck.report.robustness import FailedVariant, NoiseGroup, Robustness, SentenceUnderNoise
from turncheck.report.strength import MutantGroup, MutantResult, Strength
from turncheck.report.trust import Trust
from turncheck.report.understanding import (
    ConfusedPair,
    Confusion,
    EntityScores,
    ExpectedParse,
    FallbackPoint,
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
    WordList,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


SCHEMA: Final = "turncheck/report/v1"


# --- head ------------------------------------------------------------------------------------------------------------


class Tool(Part, frozen=True, kw_only=True):
    """What wrote the report."""

    name: str
    """Always ``turncheck``."""
    version: str
    """Its version."""


class VersionSign(Part, frozen=True, kw_only=True):
    """What shows which version of Rasa a project is written for."""

    what: str
    """What it is, in words."""
    location: Location
    """Where it is."""


class ProjectInfo(Part, frozen=True, kw_only=True):
    """The assistant: its name, and its path in the repository ("" outside one or at its top)."""

    name: str
    """What the assistant is called: its folder, at a repository's top the repository."""
    root: str = ""
    """Its path in the repository; "" at the top, or outside of one."""
    kind: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*(?!\n)$")] = "rasa"
    """The platform that the assistant is made for: ``rasa``, ``kore``."""
    file: str | None = None
    """The file for what concerns the assistant as a whole, relative to it: its settings, else one that was read."""
    rasa_version: Annotated[str, Meta(pattern=r"^[0-3]\.x(?!\n)$")] | None = None
    """The Rasa it is written for, by the forms of its files: ``0.x`` to ``3.x``; ``None`` where it is unknown."""
    rasa_signs: tuple[VersionSign, ...] = ()
    """What that version was recognised by, the strongest signs first."""
    rasa_others: tuple[VersionSign, ...] = ()
    """What only another version accepts: the project mixes formats."""

    @property
    def has_rasa_files(self) -> bool:
        """Whether Rasa's own files are written of it."""
        return self.kind == "rasa"


class PluginInfo(Part, frozen=True, kw_only=True):
    """An installed package that took part in the run."""

    name: str
    """The name of the package."""
    version: str
    """Its version."""
    provides: tuple[str, ...] = ()
    """What it adds: ``check response-shouts``, ``engine keyword`` …"""


class Source(Part, frozen=True, kw_only=True):
    """Which state of the repository was measured, as far as it is known."""

    repository: str | None = None
    """``OWNER/NAME`` on GitHub."""
    commit: str | None = None
    """The commit that was measured."""
    ref: str | None = None
    """The branch, tag or pull request it was measured for."""
    run_id: str | None = None
    """The workflow run that measured it."""
    measured: Moment | None = None
    """When it was measured."""


class Substitution(Part, frozen=True, kw_only=True):
    """A component of the project that the engine does not run as it is: what is used instead (``None``: left out)."""

    component: str
    """The component as the pipeline or the policies name it."""
    used: str | None
    """What runs instead; ``None`` where nothing does."""
    reason: str
    """Why it does not run as it is."""


class IgnoredParameter(Part, frozen=True, kw_only=True):
    """A parameter that the engine does not read."""

    value: str
    """Its value, as JSON; the end of a long one is replaced by a digest."""
    location: Location
    """Where it is."""


class ConfiguredComponent(Part, frozen=True, kw_only=True):
    """A component of the pipeline, a policy, an importer or a recipe, and what the engine does with it."""

    section: Literal["recipe", "pipeline", "policies", "importers"]
    """Which section of the configuration it is in."""
    name: str
    """The component as the configuration names it."""
    location: Location
    """Where it is."""
    runs: str | None
    """A digest of what the engine runs for it, with the parameters that it reads; ``None``: nothing."""
    ignored: dict[str, IgnoredParameter] = {}
    """The parameters that the engine does not read."""


class EngineInfo(Part, frozen=True, kw_only=True):
    """The engine that understood and answered."""

    name: str
    """``embedded``, ``rasa``, ``kore`` or ``http``."""
    version: str
    """Its version."""
    substitutions: tuple[Substitution, ...] = ()
    """What it runs in place of the project's components."""
    model: str | None = None
    """The model that was tested, where it was trained before."""
    notes: tuple[str, ...] = ()
    """What else a reader must know about it, a sentence each."""
    configured: tuple[ConfiguredComponent, ...] | None = None
    """What it does with each component of the configuration; ``None``: it runs all of it, or that is not known."""


# --- validation ------------------------------------------------------------------------------------------------------


class FindingCounts(Part, frozen=True, kw_only=True):
    """Findings by severity."""

    error: Count
    """How many errors."""
    warning: Count
    """How many warnings."""
    info: Count
    """How many notes."""


class Validation(Part, frozen=True, kw_only=True):
    """All findings, sorted by path, line, column, code."""

    findings: tuple[Finding, ...]
    """What was found in the data."""
    counts: FindingCounts
    """How many of each severity."""
    suppressed: tuple[Finding, ...] | None = None
    """Errors and warnings that a comment or the setting ``ignore`` suppresses; ``None``: an older report."""


class Unread(Part, frozen=True, kw_only=True):
    """A place of the project at which something cannot be read: what it holds is not checked, and may be anything."""

    location: Location
    """Where."""
    code: str
    """The code of the finding that says why."""
    part: str
    """What it is a part of: ``domain``, ``nlu``, ``responses``, ``stories``, ``sentences`` (of stories), ``flows``,
    ``config``, ``pipeline``, ``endpoints``, ``tests``."""


# --- coverage --------------------------------------------------------------------------------------------------------

PLACES: Final = "places-"
"""What a digest of places begins with: where flows run an action whose code is not found."""
COVERAGE_KINDS: Final = (
    *("intents", "entities", "actions", "responses", "slots", "forms", "flows", "flow_steps", "stories", "rules"),
)


class StepDigest(Part, frozen=True, kw_only=True):
    """A step or condition of a rule or story."""

    line: int
    """Where it is, in the file of the rule or story."""
    digest: str
    """A digest of its content."""


class CoverageItem(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A thing of the project, a digest of its content, and whether any test reaches it."""

    name: str
    """What the domain or the data call it."""
    location: Location
    """Where it is defined."""
    digest: str
    """A digest of its content, which changes with it."""
    covered: bool
    """Whether a test reaches it."""
    content: str = ""
    """A digest of its content without its name: the same if it was only renamed. Empty if it has no content.

    Of a custom action whose code is not found, "places-" and a digest of where flows run it, if they do.
    """
    names: tuple[str, ...] = ()
    """Of a rule or story: the intents, actions and forms of its steps; of a slot: the entities that fill it."""
    steps: tuple[StepDigest, ...] = ()
    """Of a rule or story: its conditions and steps in their order; omitted for anything else."""


class KindCoverage(Part, frozen=True, kw_only=True):
    """All items of one kind; ``share`` is the part that is covered, 0 to 1 (``None`` where there are no items, or no
    tests)."""

    items: tuple[CoverageItem, ...]
    """All things of this kind."""
    share: Figure | None
    """The part of them that is covered, 0 to 1; ``None`` where there are no items, or no tests that reach any."""


# --- the whole -------------------------------------------------------------------------------------------------------


class Skipped(Part, frozen=True, kw_only=True):
    """An evaluation that did not run, and why. ``no_tests``: because nothing is there to test.

    ``part``: it did run, but without this part of its tests.
    ``fault``: because something must be fixed first, where it can be said at ``location``: a file that cannot be read,
    a pipeline that cannot be trained. For gates it counts as a failure.
    """

    evaluation: Evaluation
    """The evaluation."""
    reason: str
    """Why it did not run."""
    no_tests: bool = False
    """Whether that is because there is nothing to test."""
    part: bool = False
    """Whether only a part of its tests was left out."""
    fault: bool = False
    """Whether something must be fixed first: a file that cannot be read, a pipeline that cannot be trained."""
    location: Location | None = None
    """Where that can be fixed, as far as it is known."""
    cause: str = ""
    """What must be fixed, in short and without its place; empty: the reason says it."""
    without_place: str = ""
    """The reason without the place that it names; empty: it names none."""
    tests: tuple[str, ...] | None = None
    """The names of the tests that were read and not run; ``None`` where they are not known."""


class GateSettings(Part, frozen=True, kw_only=True):
    """The gates as they were set for this run, what chooses the tests that they judge, and how these are measured.

    Paths are those that were named, relative to the project; empty: the usual places. ``None``: an older report, which
    does not say.
    """

    fail_on: tuple[str, ...] = ("errors", "test-failures")
    """What fails the run: ``errors``, ``test-failures``, ``new-failures`` …"""
    fail_on_warnings: bool = False
    """Whether warnings in the data fail the run."""
    thresholds: tuple[str, ...] = ()
    """Floors that figures must not be below: ``nlu.intents.f1 >= 0.85``."""
    max_regression: tuple[str, ...] = ()
    """The largest drops against the baseline: ``nlu.intents.f1: 0.01``."""
    require: tuple[str, ...] = ()
    """Evaluations that must not be skipped."""
    not_judged: Literal["auto", "pass", "fail"] = "auto"
    """What a gate counts as that could not be judged."""
    accept_gone: tuple[str, ...] = ()
    """Names or files of tests, or evaluations, that may go away."""
    misunderstood: Literal["warn", "fail"] = "warn"
    """What a story counts as that fails only because a sentence is understood differently than written."""
    batch_failures: Literal["auto", "fail"] = "auto"
    """How a failed batch case counts: ``auto`` fails no run where a stand-in judged it."""
    strict: bool = False
    """Whether findings that Rasa does not have are shown at their true severity."""
    evaluations: tuple[str, ...] = ()
    """Those that were asked for; empty: all that the project has files for."""
    data: tuple[str, ...] | None = None
    """The paths of the training data that were named; empty: the usual places."""
    nlu: tuple[str, ...] | None = None
    """The paths of the test sentences that were named; empty: the usual places."""
    stories: tuple[str, ...] | None = None
    """The paths of the test stories that were named; empty: the usual places."""
    e2e: tuple[str, ...] | None = None
    """The paths of the end-to-end cases that were named; empty: the usual places."""
    batch: tuple[str, ...] | None = None
    """The paths of the batch suites that were named; empty: the usual places."""
    ignore: tuple[str, ...] | None = None
    """Codes of findings that are left out."""
    projects: tuple[str, ...] | None = None
    """The folders of several assistants that ``turncheck.yml`` names, relative to that file; empty: none."""
    config: tuple[str, ...] | None = None
    """The path of pipeline and policies that was named; empty: the usual place."""
    domain: tuple[str, ...] | None = None
    """The path of the domain that was named; empty: the usual places."""
    language: str | None = None
    """The language of a Kore.ai assistant that was named; empty: its default."""
    engine: str | None = None
    """The engine that was chosen."""
    folds: int | None = None
    """The number of folds of a cross-validation."""
    seed: int | None = None
    """The seed of everything random."""
    slot_order: Literal["strict", "any"] | None = None
    """Whether consecutive ``slot_was_set`` steps are judged in their order."""
    vectors: str | None = None
    """Whether sentence vectors are used (``true``, ``false``), or the folder that they come from."""
    today: str | None = None
    """The date that relative dates count from."""
    strength: str | None = None
    """Which mutants the tests are tried on: ``off``, ``changed`` or ``all``."""
    strength_budget: int | None = None
    """The time limit for that, in seconds."""
    robustness: bool | None = None
    """Whether the test sentences are varied."""
    kore_version: str | None = None
    """The version of the Kore.ai assistant that is tested."""
    bot: tuple[str, ...] | None = None
    """How a bot over HTTP is asked, and where its answers have what: ``replies: $.messages[*].text`` …"""
    artifact_name: str | None = None
    """The name of the artifact, which reports of earlier runs are looked for by."""
    repeats: str | UnsetType = UNSET
    """How often cases are run: ``off``, ``auto``, or rules; not there: ``auto``."""
    repeats_given: bool | UnsetType = UNSET
    """Whether a flag or an input says that, which is no rule of the files; not there: it does not."""


class Report(Part, frozen=True, kw_only=True):
    """All that was measured in one run."""

    schema: Literal["turncheck/report/v1"] = SCHEMA
    """Which document this is, and in which version."""
    tool: Tool
    """What wrote it."""
    project: ProjectInfo
    """The assistant that was measured."""
    source: Source = Source()
    """Which state of it was measured."""
    seed: Count
    """The seed of everything random."""
    engine: EngineInfo | None = None
    """What understood and answered; ``None`` where nothing had to."""
    validation: Validation | None = None
    """What was found in the data."""
    nlu: Nlu | None = None
    """Language understanding: test sentences, or cross-validation."""
    core: Core | None = None
    """Dialogue: the test stories."""
    e2e: EndToEnd | None = None
    """The end-to-end test cases."""
    batch: Batch | None = None
    """The batch suites."""
    strength: Strength | None = None
    """How many small faults the tests would notice; ``None`` where nobody asked."""
    robustness: Robustness | None = None
    """How language understanding copes with the noise of real users; ``None`` if not requested."""
    coverage: dict[str, KindCoverage] = {}
    """What of the project its tests reach, by kind (``intents``, ``responses`` …)."""
    training: tuple[TrainingSentence, ...] = ()
    """The training sentences, where tests were run without the section ``nlu``, which lists them otherwise."""
    word_lists: tuple[WordList, ...] = ()
    """The synonyms, lookup tables and patterns of the training data."""
    settings: GateSettings = GateSettings()
    """The gates as they were set."""
    trust: Trust | None = None
    """How far the engine agrees with the team's own model; ``None`` where the two were never compared."""
    skipped: tuple[Skipped, ...] = ()
    """Evaluations that did not run, or not all of them, and why."""
    unread: tuple[Unread, ...] = ()
    """Where something cannot be read; omitted if all can."""
    unchecked: tuple[str, ...] = ()
    """The codes of findings that are not reported, since they may depend on what cannot be read; omitted if all are."""
    consistency: Consistency | UnsetType = UNSET
    """Files that were checked against each other, for an assistant of flows; left out for others."""
    quarantine: Quarantine | UnsetType = UNSET
    """The tests that are in quarantine; left out if there is no such file."""
    causes: Causes | UnsetType = UNSET
    """Which changed parts make tests end otherwise than on the base; left out if nothing was tried."""
    stopped: str | None = None
    """Why the measuring ended before its end (a server that is gone): sections hold what was finished until then."""
    plugins: tuple[PluginInfo, ...] = ()
    """The installed packages that took part, by name; omitted if there were none."""
    metrics: dict[str, PluginFigure] = {}
    """What metrics and evaluations of plugins measured, by name; omitted if there were none."""
    timings: dict[str, Figure] = {}
    """Seconds by step; of a story or an end-to-end case by its index in its section (``core[0]``, ``e2e[12]``)."""

    OMITTED_IF_EMPTY: ClassVar = ("unread", "unchecked", "plugins", "metrics")
    """The fields that a report only has if there is something in them."""

    @property
    def has_stand_in(self) -> bool:
        """Whether an engine stood in for the team's Rasa, which it may be compared with."""
        return self.engine is not None and self.engine.name == "embedded" and self.project.kind == "rasa"

    @property
    def tolerates_batch_failures(self) -> bool:
        """Whether failed batch cases by themselves fail no run: a stand-in judged them, and nobody asked for more."""
        return self.batch is not None and self.batch.by_stand_in and self.settings.batch_failures != "fail"

    @property
    def training_sentences(self) -> tuple[TrainingSentence, ...]:
        """The training sentences, wherever they are listed."""
        return self.nlu.training if self.nlu is not None and self.nlu.training else self.training

    @property
    def skipped_to_report(self) -> tuple[Skipped, ...]:
        """What did not run, but for batch suites that nobody asked for and that are not there."""
        asked = self.settings.evaluations
        return tuple(
            skipped
            for skipped in self.skipped
            if skipped.evaluation != "batch" or not skipped.no_tests or "batch" in asked
        )
