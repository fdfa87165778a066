"""The documents beside the report: ``comparison.json`` and ``verdict.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from turncheck.comparison.baseline import Way
from turncheck.comparison.metrics import Better, Kind
from turncheck.location import Location
from turncheck.plurals import count
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
    way: Way | None = None
    commit: str | None = None
    run_id: str | None = None
    passed_over: str = ""
    reason: str = ""
    warnings: tuple[str, ...] = ()


Judgement = Literal["better", "worse", "noise", "same", "not judged"]
"""What a difference is: ``noise`` is one that chance alone explains."""


class Significance(_Part, frozen=True, kw_only=True):
    """How a difference was judged.

    ``mcnemar`` gives a p-value, ``bootstrap`` the 95 % interval of the difference, ``counted`` neither: stories, cases,
    findings are no sample of anything, each one that changes is a change. ``changed``: how many examples count
    differently now.
    """

    method: Literal["mcnemar", "bootstrap", "counted"]
    p_value: float | None = None
    low: float | None = None
    high: float | None = None
    changed: int | None = None


class SharedDelta(_Part, frozen=True, kw_only=True):
    """A metric on those examples, stories or cases alone that both sides judged."""

    base: float
    value: float
    delta: float


class MetricDelta(_Part, frozen=True, kw_only=True):
    """One metric on both sides; ``None`` where a side does not have it. ``shared`` where the two sides
    judged different examples, stories or cases: then ``judgement`` is about those."""

    name: str
    better: Better
    kind: Kind
    value: float | None
    base: float | None
    delta: float | None = None
    shared: SharedDelta | None = None
    judgement: Judgement = "not judged"
    significance: Significance | None = None

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
    text: str
    intent: str
    location: Location
    was: str | None = None
    similarity: float = 0.0


class CaseChange(_Part, frozen=True, kw_only=True):
    """A case on both sides, or on one (then the other side's fields are ``None``).

    ``edits`` says how the case itself differs: ``edited`` (its text or expectation), ``renamed``, ``moved`` (to another
    file). ``because`` lists the training sentences of this change that explain it best, ``remark`` says how the engine
    came to it (policy, next best actions), ``copies`` counts further cases that are the same and fared the same.

    ``misunderstood``: a story did not pass, but only because of its ``sentences``, which were understood otherwise than
    written; those of a story whose dialogue fails are listed as well.
    """

    name: str
    location: Location | None
    base_location: Location | None
    passed: bool | None
    base_passed: bool | None
    expected: str = ""
    actual: str = ""
    base_actual: str = ""
    confidence: float | None = None
    remark: str = ""
    edits: tuple[Edit, ...] = ()
    because: tuple[TrainingChange, ...] = ()
    copies: int = 0
    misunderstood: bool = False
    base_misunderstood: bool = False
    sentences: tuple[Misunderstanding, ...] = ()

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
    better: tuple[CaseChange, ...] = ()
    edited: tuple[CaseChange, ...] = ()
    added_failing: tuple[CaseChange, ...] = ()
    misunderstood: tuple[CaseChange, ...] = ()
    gone: tuple[CaseChange, ...] = ()
    not_run: tuple[CaseChange, ...] = ()
    shared: int = 0
    moved: int = 0
    added: int = 0
    removed: int = 0

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
    severity: Literal["error", "warning", "info"]
    message: str
    location: Location
    hint: str = ""


class Named(_Part, frozen=True, kw_only=True):
    """An intent or entity, and where it is (for a removed one: where it was)."""

    name: str
    location: Location | None = None


class MisunderstoodSentence(_Part, frozen=True, kw_only=True):
    """A sentence of one or more stories that is newly misunderstood: the one cause of what is wrong with them.

    ``because``: the training sentences that drew it away, those of this change first; ``copies``: how many more stories
    are copies of ``stories``.
    """

    text: str
    location: Location
    expected: str
    predicted: str
    confidence: float | None = None
    because: tuple[TrainingChange, ...] = ()
    stories: tuple[Named, ...] = ()
    copies: int = 0

    @property
    def number(self) -> int:
        """How many stories it keeps from passing."""
        return len(self.stories) + self.copies


class ChangedNames(_Part, frozen=True, kw_only=True):
    """What is there now and was not, and the other way round."""

    added: tuple[Named, ...] = ()
    removed: tuple[Named, ...] = ()


class Alike(_Part, frozen=True, kw_only=True):
    """A sentence that others look like."""

    text: str
    intent: str
    location: Location | None


class Collision(_Part, frozen=True, kw_only=True):
    """Two intents that are now taken for each other more often.

    ``sentences`` are training sentences of this change, ``like`` what they look like: test sentences that are newly
    wrong, or, where the new sentences are the wrong ones themselves, training sentences of the other intent.
    """

    intents: tuple[str, str]
    newly_wrong: int
    sentences: tuple[TrainingChange, ...] = ()
    like: tuple[Alike, ...] = ()


class ChangedItem(_Part, frozen=True, kw_only=True):
    """A thing of the project that is new or whose content changed, and whether a test reaches it."""

    kind: str
    name: str
    location: Location
    change: Literal["added", "changed"]
    covered: bool


class SettingChange(_Part, frozen=True, kw_only=True):
    """A gate setting that differs from the baseline's."""

    name: str
    base: str
    value: str


class OneSided(_Part, frozen=True, kw_only=True):
    """An evaluation that one side has results of and the other has not, or not of all: why not.

    ``cases``: how many cases the other side lacks; ``None`` where it lacks all. ``files``: where they were, if not all
    of the evaluation are meant.
    """

    evaluation: Evaluation
    reason: str
    cases: int | None = None
    files: tuple[str, ...] = ()


class Comparison(_Part, frozen=True, kw_only=True):
    """A report against its baseline. Without one, ``metrics`` still holds the values and nothing else is filled."""

    schema: Literal["turncheck/comparison/v1"] = COMPARISON_SCHEMA
    baseline: BaselineUsed
    warnings: tuple[str, ...] = ()
    """What makes the two sides less comparable: another engine, mode, seed; a sentence each."""
    settings_changed: tuple[SettingChange, ...] = ()
    metrics: tuple[MetricDelta, ...] = ()
    examples: ChangedCases = ChangedCases()
    entities: ChangedCases = ChangedCases()
    responses: ChangedCases = ChangedCases()
    stories: ChangedCases = ChangedCases()
    e2e: ChangedCases = ChangedCases()
    batch: ChangedCases = ChangedCases()
    new_findings: tuple[FindingChange, ...] = ()
    gone_findings: tuple[FindingChange, ...] = ()
    base_lacks: tuple[OneSided, ...] = ()
    """What this side judged and the base did not: all its failures count as new."""
    lost: tuple[OneSided, ...] = ()
    """What the base judged and this side did not: an evaluation that did not run, held-out sentences that are gone."""
    unlisted: bool = False
    """One side does not list all sentences that it judged: figures are compared as they stand."""
    intents: ChangedNames = ChangedNames()
    entity_types: ChangedNames = ChangedNames()
    collisions: tuple[Collision, ...] = ()
    misunderstood: tuple[MisunderstoodSentence, ...] = ()
    """The sentences of the stories that are newly misunderstood."""
    changed_items: tuple[ChangedItem, ...] = ()

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
            or bool(self.stories.misunderstood)
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
    location: Location | None = None


class GateResult(_Part, frozen=True, kw_only=True):
    """A gate, its outcome and why. ``metric`` names the figure it is about, if it is about one.

    ``fails``: whether it fails the run, as a failed one does, and one that could not be judged where the setting
    ``not-judged`` says so. ``needs_base``: it judges a change, so that nothing can be said without a baseline.
    """

    name: str
    outcome: GateOutcome
    reason: str
    metric: str | None = None
    fails: bool = False
    needs_base: bool = False
    failed_by: tuple[FailedBy, ...] = ()


Reservation = Literal[
    "",
    "old failures only",
    "although tests fail",
    "a story is misunderstood",
    "not all tests were run",
    "not all gates were judged",
]
"""What a reader of "passed" has to know; the summary says more of it. Empty: nothing."""


class Verdict(_Part, frozen=True, kw_only=True):
    """The outcome of all gates. ``summary`` says it in one line, without the outcome itself.

    ``reservation``: why "passed" is not all there is to say.
    """

    schema: Literal["turncheck/verdict/v1"] = VERDICT_SCHEMA
    outcome: Literal["passed", "failed"]
    summary: str
    gates: tuple[GateResult, ...] = ()
    not_judged: Literal["auto", "pass", "fail"] = "auto"
    reservation: Reservation = ""

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
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas of both documents, made from the types."""
    documents: dict[str, tuple[type, str]] = {
        "comparison": (Comparison, COMPARISON_SCHEMA),
        "verdict": (Verdict, VERDICT_SCHEMA),
    }
    return {
        name: document_schema(document, identifier=identifier, title=f"turncheck {name}")
        for name, (document, identifier) in documents.items()
    }
