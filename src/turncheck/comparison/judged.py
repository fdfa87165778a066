"""What a gate found, as facts: which rule it is, how it ended and why, and what made it fail.

``render/wording`` says it in words, which is what ``verdict.json`` and every document show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from turncheck.comparison.changes import CaseChange, FindingChange
    from turncheck.comparison.gate_rules import GateOutcome, Regression, Threshold
    from turncheck.comparison.metrics import Measured, MetricDelta
    from turncheck.comparison.model import ManyLosses, OneSided
    from turncheck.messages.finding import Finding, Location, Severity
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Misunderstanding, Repeats, Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """What made a gate fail is the same thing wherever a gate places it: a test begins here and fails there."""

    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class FailedTest(_Placed):
    """A test that failed, or that only its sentences keep from passing (``misunderstood``)."""

    evaluation: Evaluation
    name: str
    misunderstood: tuple[Misunderstanding, ...] | None = field(default=None, compare=False)
    copies: int = 0
    repeats: Repeats | UnsetType = field(default=UNSET, compare=False)
    """Its runs, if it was run several times."""
    passes: bool = False
    """Whether it passes although its quarantine says that it fails."""


@dataclass(frozen=True, slots=True)
class NotRunTest(_Placed):
    """A test that exists and was not run, and why, as its report says."""

    evaluation: Evaluation
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class GoneTest(_Placed):
    """A test that only the base has, at this commit."""

    evaluation: Evaluation
    name: str
    case: CaseChange = field(compare=False)
    commit: str | None


@dataclass(frozen=True, slots=True)
class BadFinding(_Placed):
    """A finding that fails a gate; ``message`` has the new name of what the change renamed.

    ``advises``: what to do about it is said, too.
    """

    finding: Finding | FindingChange
    message: str
    advises: bool


@dataclass(frozen=True, slots=True)
class FaultOf(_Placed):
    """Why evaluations did not run; ``skipped``: the one that was not run for another reason than a fault.

    ``named``: the reason of the gate is this cause.
    """

    reason: str
    skipped: str = ""
    named: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class WrongSentence(_Placed):
    """A sentence that is understood otherwise than expected."""

    text: str
    expected: str | None
    got: str | None


@dataclass(frozen=True, slots=True)
class Uncovered(_Placed):
    """An item of the project that no test reaches; ``kind`` is empty if the gate says it."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class NoLongerMeasured(_Placed):
    """What only the base measures: the path of an assistant, or an evaluation. The reason of the gate names it."""

    what: str | OneSided


Cause = FailedTest | NotRunTest | GoneTest | BadFinding | FaultOf | WrongSentence | Uncovered | NoLongerMeasured


# Why a gate ended as it did, where the report and the comparison alone do not say it.


@dataclass(frozen=True, slots=True)
class Value:
    """A figure and its limit; ``interval``: where a share of runs is, with a probability of 95 %."""

    rule: Threshold
    measured: Measured
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """A figure on both sides, and how much worse it may become."""

    rule: Regression
    delta: MetricDelta


@dataclass(frozen=True, slots=True)
class NoFigure:
    """A figure or an evaluation that this side lacks: why, as the report says, and what the base has, if it matters."""

    why: str
    base: MetricDelta | None = None
    short: str = ""
    """The reason in short; empty: there is no shorter one."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a severity that fail a gate, and the faults that no finding names at its place."""

    severity: Severity
    found: tuple[Finding | FindingChange, ...]
    faults: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class GoneTests:
    """Tests of an evaluation that are gone, or exist and were not run (``because`` of what the first of them says)."""

    evaluation: Evaluation
    cases: tuple[CaseChange, ...]
    run: bool
    because: str = ""
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class LostEvaluation:
    """An evaluation that the base judged; ``faulty``: a fault, which another gate names, keeps it from running."""

    lost: OneSided
    faulty: bool


@dataclass(frozen=True, slots=True)
class LossesOverall:
    """More runs fail than on the base, over all cases, although no single case need have regressed."""

    losses: ManyLosses


@dataclass(frozen=True, slots=True)
class LostAssistant:
    """An assistant that only the base measures."""

    path: str


Fact = Value | Drop | NoFigure | Findings | GoneTests | LostEvaluation | LostAssistant | LossesOverall

Why = Literal[
    "", "no base", "nothing to judge", "stopped", "faults", "failed", "newly failed", "no tests", "tests not run",
    "nothing new", "passed", "gone", "base faults", "ancestor", "accepted", "all there", "not asked for tests",
    "nothing tested", "left out", "not run", "ran", "suppressions not known", "suppressed", "none suppressed",
    "no findings", "new not known", "base has no such metric", "only on base", "files unread", "agreement",
    "no shared example", "unclear", "all in quarantine",
]  # fmt: skip
"""Why a gate ended as it did; empty: its facts say it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A gate and its outcome; ``metric`` or ``requires``: the figure, or the evaluation, that it is about."""

    name: str
    outcome: GateOutcome
    why: Why
    facts: tuple[Fact, ...] = ()
    metric: str | None = None
    requires: Evaluation | None = None
    needs_base: bool = False
    causes: tuple[Cause, ...] = ()
    fails: bool = False
    location: Location | None = None
    follows: str = ""
    """The earlier gate that names everything that made this one fail."""
