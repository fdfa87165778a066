"""The document ``comparison.json``, its baseline, and how it is written."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

from turncheck.comparison import changes
from turncheck.comparison.metrics import MetricDelta
from turncheck.messages.finding import Location
from turncheck.report.codec import file_of
from turncheck.report.consistency import CheckedTest, InconsistentTest
from turncheck.report.evaluations import Evaluation
from turncheck.report.model import (
    BatchCase,
    CaseMessage,
    CaseResult,
    Confusion,
    Count,
    Report,
    StoryResult,
    Unread,
    Validation,
)
from turncheck.report.part import Figure, Part
from turncheck.report.quarantine import Quarantine

# What a report is compared with: another report and its origin, or the reason why there is none.

BaselineSource = Literal["artifact", "git", "tarball", "ancestor", "run", "file", "url"]


class Present(Struct, frozen=True):
    """A report to compare with.

    ``commit`` is the state that it was found for; ``run_id`` is the workflow run that stored it; ``passed_over``
    says in one line which other artifacts were looked at ("2 expired, 1 of a fork"); ``warnings`` are sentences about
    what kept a better one from being found.
    """

    report: Report
    way: BaselineSource
    commit: str | None = None
    run_id: str | None = None
    passed_over: str = ""
    warnings: tuple[str, ...] = ()
    settings_changed: tuple[changes.SettingChange, ...] = ()
    """Settings for what to compare with that the change under test alters in its own settings file."""
    gone: tuple[str, ...] = ()
    """Assistants that the base measures, too, and this run does not: their paths in the repository."""
    agreed: bool = False
    """Whether what is measured is on the branch of its base, so that nobody has to agree to its quarantine."""
    changed_lines: int | None = None
    """How many lines of the project the change added and removed since ``commit``; ``None``: not known."""
    deleted: tuple[str, ...] = ()
    """The files of the project that the change deleted since ``commit``."""
    mended: tuple[Unread, ...] = ()
    """What the base could not show, and its report shows nevertheless: it was measured with that repaired."""
    doubtful: bool = False
    """Whether a test that fails there may have passed with another repair."""


class Missing(Struct, frozen=True):
    """There is nothing to compare with; says why. ``warnings`` and ``agreed`` as for :class:`Present`.

    ``own_branch``: there should be something, and what is measured is on the branch of its base. ``settings_changed``:
    the rules that differ from those in the base's own file.
    """

    reason: str
    warnings: tuple[str, ...] = ()
    agreed: bool = False
    own_branch: bool = False
    settings_changed: tuple[changes.SettingChange, ...] = ()


class Unreachable(Missing, frozen=True):
    """There is a base, but its report is not available now: GitHub does not answer, or its commit is not in this clone.

    Unlike a base that does not exist yet, it can be obtained by another try, a permission or a deeper checkout.
    ``remedy``: the one thing to do, in a few words.
    """

    remedy: str = ""


class Unreadable(Struct, frozen=True):
    """Something was found, but it is not a report that can be trusted; says why."""

    reason: str


Baseline = Present | Missing | Unreadable


COMPARISON_SCHEMA: Final = "turncheck/comparison/v1"


class BaselineUsed(Part, frozen=True, kw_only=True):
    """What was compared with. ``reason`` says why there is nothing, if ``status`` is not ``present``.

    ``missing``: there is none yet, or none was asked for; ``unreachable``: there is a base, but its report is not
    available now; ``unreadable``: what was found is not a report that can be trusted.
    ``warnings``: what kept a better one from being found, such as a missing permission; a sentence each.
    """

    status: Literal["present", "missing", "unreachable", "unreadable"]
    """Whether there was a baseline, and if not, in which way it is missing."""
    way: BaselineSource | None = None
    """How it was found."""
    commit: str | None = None
    """The commit it measured."""
    run_id: str | None = None
    """The workflow run that measured it."""
    passed_over: str = ""
    """Reports that could not be used, counted by reason."""
    reason: str = ""
    """Why there is no baseline."""
    remedy: str = ""
    """What to do so that it can be reached, in a few words."""
    warnings: tuple[str, ...] = ()
    """What kept a better one from being found, a sentence each."""
    mended: tuple[Unread, ...] = ()
    """Where it could not be read, and was measured with that repaired as this change repairs it."""
    doubtful: bool = False
    """Whether this change has other lines around that repair, too: what fails on the base then says nothing."""
    hidden: tuple[Unread, ...] = ()
    """Where it could not be read, and this side can: what it has there is not known."""
    own_branch: bool | UnsetType = UNSET
    """Whether the run measures the branch that changes are compared with, such as a push to the default branch; left
    out if not."""
    root: str | UnsetType = UNSET
    """The project's path there, if it has another one now."""


class Renamed(Part, frozen=True, kw_only=True):
    """An item of the project that has another name now."""

    kind: str
    """What it is: ``intents``, ``responses`` …"""
    old: str
    """Its name on the base."""
    new: str
    """Its name now."""
    location: Location
    """Where it is now."""


class ChangedItem(Part, frozen=True, kw_only=True):
    """An item of the project that is new or whose content changed, and whether a test reaches it."""

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
    code: Literal["found", "lost"] | None = None
    """Of a custom action whose code was found on one side only: on which; it may be there, and not readable."""


class OneSided(Part, frozen=True, kw_only=True):
    """An evaluation that one side has results for and the other does not, or not for all cases; says why not.

    ``cases``: how many cases the other side lacks; ``None`` if it lacks all. ``files``: where they were, if not all
    cases of the evaluation are meant.
    """

    evaluation: Evaluation
    """The evaluation."""
    reason: str
    """Why the other side has no results for it."""
    cases: int | None = None
    """How many cases the other side lacks; ``None``: all."""
    files: tuple[str, ...] = ()
    """Where they were, if not all cases of the evaluation are meant."""
    fault: str = ""
    """The fault that kept the base from running it, without its place; empty: the reason says it."""


class Overlap(Part, frozen=True, kw_only=True):
    """How many of the base's judged sentences were also trained on."""

    on_training_sentences: int
    """How many with the same intent."""
    under_other_intents: int
    """How many with another intent."""


class CaseMessages(Part, frozen=True, kw_only=True):
    """The messages of an end-to-end case, with what they were understood as on the base."""

    case: Count
    """Its index in the report."""
    messages: tuple[CaseMessage, ...]
    """All of its messages."""


class ManyLosses(Part, frozen=True, kw_only=True):
    """The runs of all tests of a kind that both sides ran several times: many small losses add up.

    Those in turn with the base; else those that every test gets.
    """

    kind: Evaluation = "e2e"
    """Of which tests."""
    failed: Count
    """How many runs failed."""
    runs: Count
    """How many there are."""
    base_failed: Count
    """How many failed on the base."""
    base_runs: Count
    """How many the base has."""
    p_value: Figure
    """How likely it is by chance at most that so many fail here, if each case fails as often as on the base."""
    real: bool
    """Whether that is too unlikely to be chance."""
    tests: Count = 0
    """Of how many tests they are."""
    losing: Count = 0
    """How many of these fail more often than on the base."""
    widespread: bool = False
    """Whether it is too unlikely to be chance, too, that so many runs of those fail that did not fail by themselves."""


class BaseTests(Part, frozen=True, kw_only=True):
    """The base's results of tests that changed sides or were edited, as its report has them."""

    stories: tuple[StoryResult, ...] = ()
    """Test stories."""
    e2e: tuple[CaseResult, ...] = ()
    """End-to-end cases."""
    batch: tuple[BatchCase, ...] = ()
    """Utterances of batch suites."""


class EditedTest(Part, frozen=True, kw_only=True):
    """A test that a change edits."""

    name: str
    """Its name."""
    location: Location
    """Where it begins."""
    edited_in: tuple[str, ...] = ()
    """The files in which it was edited that are not its own."""


class ConsistencyChange(Part, frozen=True, kw_only=True):
    """What a change did to tests that are only checked against the files of the project."""

    gone: tuple[CheckedTest, ...] = ()
    """Tests that only the base has; not those that were renamed, or of which a new one expects the same."""
    newly: tuple[InconsistentTest, ...] = ()
    """Tests that can never pass, and that the base does not have so."""
    edited: tuple[EditedTest, ...] = ()
    """Tests whose content differs, and which no engine ran here."""


class Comparison(Part, frozen=True, kw_only=True):
    """A report compared with its baseline. Without one, only ``metrics`` is filled, with the values of this side."""

    schema: Literal["turncheck/comparison/v1"] = COMPARISON_SCHEMA
    """Which document this is, and in which version."""
    baseline: BaselineUsed
    """What was compared with."""
    warnings: tuple[str, ...] = ()
    """What makes the two sides less comparable, such as another engine, mode or seed; a sentence each."""
    settings_changed: tuple[changes.SettingChange, ...] = ()
    """Gate settings that differ."""
    metrics: tuple[MetricDelta, ...] = ()
    """Every metric, on both sides."""
    examples: changes.ChangedCases = changes.ChangedCases()
    """Test sentences, judged by their intent."""
    entities: changes.ChangedCases = changes.ChangedCases()
    """Test sentences, judged by their entities."""
    responses: changes.ChangedCases = changes.ChangedCases()
    """Test sentences, judged by the response that was selected."""
    stories: changes.ChangedCases = changes.ChangedCases()
    """Test stories."""
    e2e: changes.ChangedCases = changes.ChangedCases()
    """End-to-end cases."""
    batch: changes.ChangedCases = changes.ChangedCases()
    """Utterances of batch suites."""
    new_findings: tuple[changes.FindingChange, ...] = ()
    """Findings that only this side has."""
    consistency: ConsistencyChange | UnsetType = UNSET
    """What became of tests that are only checked against the files; left out where there are none."""
    unknown_findings: tuple[changes.FindingChange, ...] = ()
    """Findings of this side that the base may have had, where it could not be read."""
    gone_findings: tuple[changes.FindingChange, ...] = ()
    """Findings that only the base has."""
    new_suppressions: tuple[changes.FindingChange, ...] = ()
    """Errors that this side suppresses and the base does not; warnings as well, where they fail the run."""
    suppressions_known: bool = True
    """Whether the base's report says what it suppresses; one of an older version does not."""
    unseen_changes: tuple[changes.UnseenChange, ...] = ()
    """Changes of the configuration that the engine cannot judge, since it does not read what they change."""
    base_lacks: tuple[OneSided, ...] = ()
    """What this side judged and the base did not: all its failures count as new."""
    base_faults: tuple[OneSided, ...] = ()
    """What the base could not run because of a fault: which tests it has is not known."""
    gone_assistants: tuple[str, ...] = ()
    """Assistants that the base measures, too, and this run does not: their paths in the repository."""
    lost: tuple[OneSided, ...] = ()
    """What the base judged and this side did not: evaluations that did not run, held-out sentences that are gone."""
    unlisted: bool = False
    """Whether one side does not list all sentences that it judged: figures are then compared as they are."""
    other_mode: bool = False
    """Whether one side judged held-out sentences, the other its training data: no sentence is then shared by both."""
    intents: changes.ChangedNames = changes.ChangedNames()
    """Intents that are new or gone."""
    entity_types: changes.ChangedNames = changes.ChangedNames()
    """Entity types that are new or gone."""
    newly_judged: tuple[changes.NewlyJudged, ...] = ()
    """What only this side judges, and how many of its sentences are right; first what is mostly wrong."""
    base_confusions: tuple[Confusion, ...] = ()
    """The intents that were confused on the base, as they are called now, and how often."""
    base_overlap: Overlap | None = None
    """How many of the base's judged sentences were also trained on; ``None`` if it was judged in another mode."""
    base_notes: tuple[str, ...] = ()
    """What the engine noted on the base."""
    base_unjudged: tuple[str, ...] = ()
    """The intents that the base could not judge, having too few examples of them."""
    collisions: tuple[changes.Collision, ...] = ()
    """Pairs of intents that began to collide."""
    relabelled: tuple[changes.TrainingChange, ...] = ()
    """Training sentences that moved to another intent, or were copied or nearly copied to another one."""
    misunderstood: tuple[changes.MisunderstoodSentence, ...] = ()
    """The sentences of the stories that are newly misunderstood."""
    misunderstood_in_cases: tuple[changes.MisunderstoodSentence, ...] = ()
    """The sentences of the end-to-end cases that are newly misunderstood: understood differently than on the base."""
    training_known: bool = False
    """Whether both sides list their training sentences, so that it is known which of them this change touched."""
    changed_items: tuple[ChangedItem, ...] = ()
    """Items of the project that are new or changed, and whether a test reaches them."""
    removed_items: tuple[changes.ChangedPart, ...] = ()
    """Rules, stories, responses, actions, slots and forms that are gone and have no new name, and synonyms, lookup
    tables and patterns that lost any of their words."""
    changed_components: tuple[changes.ChangedPart, ...] = ()
    """Components of the pipeline and policies that the engine runs otherwise than on the base."""
    deleted_files: tuple[changes.DeletedFile, ...] = ()
    """Data files that the change deleted, if something that they had is nowhere else."""
    cut_intents: tuple[changes.CutIntent, ...] = ()
    """Intents that lost most of their training sentences; those that are no longer judged first."""
    stripped: tuple[changes.StrippedIntent, ...] = ()
    """Intents whose sentences lost annotations, the one with most of them first."""
    fallback: changes.FallbackChange | None = None
    """What is no longer understood because of another threshold; ``None`` if nothing is."""
    renamed: tuple[Renamed, ...] = ()
    """Items of the project that have another name now."""
    validation: Validation | UnsetType = UNSET
    """The findings beside the base: a name that the change removed and that is still used is one error; left out if
    they are those of the report."""
    messages: tuple[CaseMessages, ...] | UnsetType = UNSET
    """Messages of failed end-to-end cases that are understood otherwise than on the base, if the report has no trace of
    it."""
    quarantine: Quarantine | UnsetType = UNSET
    """The entries of the quarantine that count; left out if there is no such file."""
    base_tests: BaseTests = BaseTests()
    """The base's results of the tests that changed, step by step."""
    changed_lines: Count | UnsetType = UNSET
    """How many lines of the project the change added and removed, as git counts; left out if that is not known."""
    many_losses: ManyLosses | UnsetType = UNSET
    """Whether more runs fail over all end-to-end cases, if these were run several times on both sides."""

    @property
    def judged(self) -> bool:
        """Whether there was a baseline."""
        return self.baseline.status == "present"

    @property
    def changed(self) -> bool:
        """Whether there is anything to report; always so without a baseline, since what changed is then unknown."""
        cases = (self.examples, self.entities, self.responses, self.stories, self.e2e, self.batch)
        names = (self.intents, self.entity_types)
        return (
            not self.judged
            or bool(
                self.new_suppressions
                or self.unseen_changes
                or self.settings_changed
                or self.new_findings
                or self.gone_findings
                or self.changed_items
            )
            or any(kind.worse or kind.better or kind.edited or kind.added or kind.removed for kind in cases)
            or any(kind.misunderstood for kind in cases)
            or bool(self.removed_items or self.changed_components or self.stripped or self.cut_intents or self.renamed)
            or any(kind.added or kind.removed for kind in names)
            or any(metric.judgement in {"better", "worse"} for metric in self.metrics)
        )

    @property
    def understands_otherwise(self) -> bool:
        """Whether the change altered what understands sentences, beside the training sentences."""
        words = {"synonyms", "lookups", "regexes"}
        kinds = {*(item.kind for item in self.removed_items), *(rename.kind for rename in self.renamed)}
        return any(component.kind == "pipeline" for component in self.changed_components) or bool(words & kinds)

    def metric(self, name: str) -> MetricDelta | None:
        """Return the metric of this name."""
        return next((metric for metric in self.metrics if metric.name == name), None)


def encode(document: Part) -> bytes:
    """Write a document: UTF-8 JSON, keys in the order of the types, a line break at the end."""
    return b"".join(file_of(document))
