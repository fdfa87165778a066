"""The documents beside the report: ``comparison.json`` and ``verdict.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from turncheck.comparison.baseline import Way
from turncheck.comparison.metrics import Better, Kind
from turncheck.messages.location import Location
from turncheck.messages.plurals import count
from turncheck.report.codec import json_of
from turncheck.report.model import Evaluation, Misunderstanding
from turncheck.report.schemas import document_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPARISON_SCHEMA: Final = "turncheck/comparison/v1"
VERDICT_SCHEMA: Final = "turncheck/verdict/v1"


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all parts: immutable, and strict about keys that nobody knows."""


# --- comparison ------------------------------------------------------------------------------------------------------


class BaselineUsed(_Part, frozen=True, kw_only=True):
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


class Significance(_Part, frozen=True, kw_only=True):
    """How a difference was judged.

    ``mcnemar`` gives a p-value, ``bootstrap`` the 95 % interval of the difference, ``counted`` neither: stories, cases,
    findings are no sample of anything, each one that changes is a change. ``changed``: how many examples count
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


class SharedDelta(_Part, frozen=True, kw_only=True):
    """A metric on those examples, stories or cases alone that both sides judged."""

    base: float
    """The metric of the base on what both judged."""
    value: float
    """The metric of this side on what both judged."""
    delta: float
    """Their difference."""


class MetricDelta(_Part, frozen=True, kw_only=True):
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

    @property
    def sides(self) -> tuple[float | None, float | None]:
        """Base and value that the judgement is about: where the sides judged others, those of what both judged."""
        if self.shared is not None and self.judgement != "not judged":
            return self.shared.base, self.shared.value
        return self.base, self.value


Edit = Literal["edited", "renamed", "moved"]


class TrainingChange(_Part, frozen=True, kw_only=True):
    """A training sentence that the change added, removed, or gave another intent (``was``).

    ``unchanged`` ones explain a test sentence that is new itself: that is what it looks like.
    """

    change: Literal["added", "removed", "relabelled", "unchanged"]
    """What happened to the sentence."""
    text: str
    """The sentence."""
    intent: str
    """Its intent now; of a removed one, the intent that it had."""
    location: Location
    """Where it is, or was."""
    was: str | None = None
    """The intent it had before."""
    similarity: float = 0.0
    """How near it is to the case it explains, 0 to 1."""


class CaseChange(_Part, frozen=True, kw_only=True):
    """A case on both sides, or on one (then the other side's fields are ``None``).

    ``edits`` says how the case itself differs: ``edited`` (its text or expectation), ``renamed``, ``moved`` (to another
    file). ``because`` lists the training sentences of this change that explain it best, ``remark`` says how the engine
    came to it (policy, next best actions), ``copies`` counts further cases that are the same and fared the same.

    ``misunderstood``: it did not pass, but only because of its ``sentences``, which were understood otherwise than
    written (a story) or than on the base (an end-to-end case); those of one that fails anyhow are listed as well.
    """

    name: str
    """The case: a sentence, or the name of a story or a case."""
    location: Location | None
    """Where it is; ``None`` where it is gone."""
    base_location: Location | None
    """Where it was; ``None`` where it is new."""
    passed: bool | None
    """Whether it passes now."""
    base_passed: bool | None
    """Whether it passed before."""
    expected: str = ""
    """What is expected."""
    actual: str = ""
    """What came instead, now."""
    base_actual: str = ""
    """What came instead, before."""
    confidence: float | None = None
    """How sure the engine is now, 0 to 1."""
    remark: str = ""
    """How the engine came to it: the policy, the next best actions."""
    edits: tuple[Edit, ...] = ()
    """How the case itself differs from before."""
    because: tuple[TrainingChange, ...] = ()
    """The training sentences of this change that explain it best."""
    copies: int = 0
    """How many further cases are the same and fared the same."""
    misunderstood: bool = False
    """Whether it fails now only because of how its sentences are understood."""
    base_misunderstood: bool = False
    """Whether it failed before only because of that."""
    sentences: tuple[Misunderstanding, ...] = ()
    """The sentences that are understood otherwise than written, or than on the base."""
    again: str = ""
    """What is known of an end-to-end case if its messages are understood as on the base."""
    said: str = ""
    """What the user said last before an end-to-end case failed."""
    understood: str = ""
    """What that was understood as: intent and entities."""
    base_understood: str = ""
    """What that was understood as on the base."""

    @property
    def number(self) -> int:
        """How many cases this one stands for."""
        return 1 + self.copies

    @property
    def failed(self) -> bool:
        """Whether it fails by itself now: not passed, and not only misunderstood."""
        return not self.passed and not self.misunderstood

    @property
    def base_failed(self) -> bool:
        """Whether it failed by itself on the base."""
        return self.base_passed is False and not self.base_misunderstood

    @property
    def newly_misunderstood(self) -> bool:
        """Whether it is misunderstood now, and passed on the base or was not there."""
        return self.misunderstood and (self.base_passed is None or self.base_passed)


def and_copies(case: CaseChange) -> str:
    """Say behind a case how many copies of it there are."""
    return f" and {count(case.copies, 'copy', 'copies')}" if case.copies else ""


def number_of(cases: Iterable[CaseChange]) -> int:
    """Count cases, each with its copies."""
    return sum(case.number for case in cases)


class ChangedCases(_Part, frozen=True, kw_only=True):
    """Cases of one kind, matched by what they are. ``worse`` and ``better`` are the same cases on both sides.

    A story that is only misunderstood stands between passed and failed: ``worse`` are those that fail by themselves
    now, ``better`` those that pass now, or whose dialogue does; ``misunderstood`` are the same and the new stories that
    are newly so.

    ``edited`` holds the pairs that were edited or renamed, whatever their results; ``added_failing`` the ones that fail
    and that the base did not judge (new ones, and those that it has but did not run); ``gone`` the tests that only the
    base has (of sentences only their number is told); ``not_run`` those that the base judged and that are still there,
    but were not run on this side. Worst first. The numbers count all cases, also those that nothing happened to: on
    both sides, thereof in another file, only now, only before.
    """

    worse: tuple[CaseChange, ...] = ()
    """The same cases that passed before and fail by themselves now."""
    better: tuple[CaseChange, ...] = ()
    """The same cases that failed before and pass now, or whose dialogue does."""
    edited: tuple[CaseChange, ...] = ()
    """Cases that were edited or renamed, whatever their results."""
    added_failing: tuple[CaseChange, ...] = ()
    """Cases that fail and that the base did not judge."""
    misunderstood: tuple[CaseChange, ...] = ()
    """Tests that newly fail only because of how their sentences are understood."""
    gone: tuple[CaseChange, ...] = ()
    """Cases that only the base has."""
    not_run: tuple[CaseChange, ...] = ()
    """Cases that the base has results of and this side has not."""
    shared: int = 0
    """How many cases both sides have."""
    moved: int = 0
    """How many of those are in another file now."""
    added: int = 0
    """How many cases only this side has."""
    removed: int = 0
    """How many cases only the base has."""

    @property
    def became_wrong(self) -> tuple[CaseChange, ...]:
        """Those of both sides that fail now and did not before: the same ones, and the edited."""
        return (*self.worse, *(case for case in self.edited if case.failed and not case.base_failed))

    @property
    def newly_failing(self) -> tuple[CaseChange, ...]:
        """All that fail now and did not before: those of both sides, and the new ones."""
        return (*self.became_wrong, *self.added_failing)

    @property
    def newly_misunderstood(self) -> tuple[CaseChange, ...]:
        """All that are misunderstood now and were not before, the edited and the new ones included."""
        return (*self.misunderstood, *(case for case in self.edited if case.newly_misunderstood))


class FindingChange(_Part, frozen=True, kw_only=True):
    """A finding that is new or gone; ``hint`` says what to do."""

    code: str
    """What kind of finding it is."""
    severity: Literal["error", "warning", "info"]
    """How bad it is."""
    message: str
    """One sentence that names what it is about."""
    location: Location
    """Where it is, or was."""
    hint: str = ""
    """What to do about it."""
    others: tuple[Location, ...] = ()
    """The places that it disagrees with or repeats."""
    told: str = ""
    """The message, and what a name in it that this change replaced is called now; empty where there is none."""


class Named(_Part, frozen=True, kw_only=True):
    """An intent or entity, and where it is (for a removed one: where it was)."""

    name: str
    """What it is called."""
    location: Location | None = None
    """Where it is; of a removed one, where it was."""


class MisunderstoodSentence(_Part, frozen=True, kw_only=True):
    """A sentence of one or more tests that is newly misunderstood: the one cause of what is wrong with them.

    The tests are stories or end-to-end cases. ``because``: the training sentences that drew it away, those of this
    change first; ``copies``: how many more stories are copies of ``stories``.
    """

    text: str
    """The sentence."""
    location: Location
    """Where it is."""
    expected: str
    """What the stories say, or what was understood on the base."""
    predicted: str
    """What was understood."""
    confidence: float | None = None
    """How sure the engine is of it, 0 to 1."""
    because: tuple[TrainingChange, ...] = ()
    """The training sentences that drew it away, those of this change first."""
    stories: tuple[Named, ...] = ()
    """The stories or end-to-end cases that it keeps from passing."""
    copies: int = 0
    """How many more stories are copies of these."""

    @property
    def number(self) -> int:
        """How many stories it keeps from passing."""
        return len(self.stories) + self.copies


class ChangedNames(_Part, frozen=True, kw_only=True):
    """What is there now and was not, and the other way round."""

    added: tuple[Named, ...] = ()
    """Those that are new."""
    removed: tuple[Named, ...] = ()
    """Those that are gone."""


class Alike(_Part, frozen=True, kw_only=True):
    """A sentence that others look like."""

    text: str
    """The sentence."""
    intent: str
    """Its intent."""
    location: Location | None
    """Where it is."""


class Collision(_Part, frozen=True, kw_only=True):
    """Two intents that are now taken for each other more often.

    ``sentences`` are training sentences of this change, ``like`` what they look like: test sentences that are newly
    wrong, or, where the new sentences are the wrong ones themselves, training sentences of the other intent.
    """

    intents: tuple[str, str]
    """The two intents."""
    newly_wrong: int
    """How many sentences are newly taken for the other."""
    sentences: tuple[TrainingChange, ...] = ()
    """The training sentences of this change that explain it."""
    like: tuple[Alike, ...] = ()
    """What those look like."""


class Renamed(_Part, frozen=True, kw_only=True):
    """A thing of the project that has another name now."""

    kind: str
    """What it is: ``intents``, ``responses`` …"""
    old: str
    """Its name on the base."""
    new: str
    """Its name now."""
    location: Location
    """Where it is now."""


class ChangedItem(_Part, frozen=True, kw_only=True):
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


class SettingChange(_Part, frozen=True, kw_only=True):
    """A gate setting that differs from the baseline's."""

    name: str
    """The setting."""
    base: str
    """Its value in the baseline."""
    value: str
    """Its value now."""


class OneSided(_Part, frozen=True, kw_only=True):
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


class Comparison(_Part, frozen=True, kw_only=True):
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
    intents: ChangedNames = ChangedNames()
    """Intents that are new or gone."""
    entity_types: ChangedNames = ChangedNames()
    """Entity types that are new or gone."""
    collisions: tuple[Collision, ...] = ()
    """Pairs of intents that began to collide."""
    misunderstood: tuple[MisunderstoodSentence, ...] = ()
    """The sentences of the stories that are newly misunderstood."""
    misunderstood_in_cases: tuple[MisunderstoodSentence, ...] = ()
    """The sentences of the end-to-end cases that are newly misunderstood: understood otherwise than on the base."""
    changed_items: tuple[ChangedItem, ...] = ()
    """Things of the project that are new or changed, and whether a test reaches them."""
    renamed: tuple[Renamed, ...] = ()
    """Things of the project that have another name now."""

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


class FailedBy(_Part, frozen=True, kw_only=True):
    """One thing that made a gate fail."""

    what: str
    """What it is, in a few words."""
    location: Location | None = None
    """Where it is."""


class GateResult(_Part, frozen=True, kw_only=True):
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
        return None if named or not self.failed_by else self.failed_by[0]

    @property
    def told(self) -> str:
        """The reason with the first cause: ``2 stories failed: story 'a' (tests/a.yml:3) and 1 more``."""
        first = self.first_cause
        if first is None:
            return self.reason
        place = f" ({first.location})" if first.location is not None else ""
        return f"{self.reason}: {first.what}{place}{self.and_more}"

    @property
    def and_more(self) -> str:
        """How many causes there are beside the first; empty where there are none."""
        return f" and {len(self.failed_by) - 1:,} more" if len(self.failed_by) > 1 else ""


Reservation = Literal[
    "",
    "old failures only",
    "although tests fail",
    "intents collide",
    "an intent is worse",
    "a story is misunderstood",
    "an end-to-end case is misunderstood",
    "not all tests were run",
    "not all gates were judged",
]
"""What a reader of "passed" has to know; the summary says more of it. Empty: nothing."""


class Verdict(_Part, frozen=True, kw_only=True):
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
    def told(self) -> str:
        """The outcome in words: ``passed``, or ``passed, but not all tests were run``."""
        link = {"": "", "old failures only": " with ", "although tests fail": " "}.get(self.reservation, ", but ")
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
