"""What a gate found, as facts: how it ended and why, and what made it fail.

``render/wording`` says in words what was found, which is what ``verdict.json`` and every document show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from turncheck.comparison.changes import CaseChange, FindingChange
    from turncheck.comparison.failures import Cause
    from turncheck.comparison.metrics import Measured, MetricDelta
    from turncheck.comparison.model import Comparison, ManyLosses, OneSided
    from turncheck.comparison.rules import Places, Regression, Threshold
    from turncheck.gates.gate import Gate
    from turncheck.gates.rules import GateRules
    from turncheck.messages.finding import Finding, Location, Severity
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report, Skipped


class Judging(Struct, frozen=True):
    """What gates are judged by: both sides, and the settings; ``places`` says where these are."""

    report: Report
    comparison: Comparison | None
    rules: GateRules
    places: Places

    @property
    def compared(self) -> Comparison | None:
        """The comparison, if there was a base."""
        return self.comparison if self.comparison is not None and self.comparison.judged else None

    def is_on(self, gate: Gate) -> bool:
        """Whether `fail-on` names a gate."""
        return gate.name in self.rules.fail_on


# Why a gate ended as it did, where the report and the comparison alone do not say it.


class Value(Struct, frozen=True):
    """A figure and its limit; ``interval``: where a share of runs, or a percentile, is, with a probability of 95 %."""

    rule: Threshold
    measured: Measured
    interval: tuple[float, float] | None = None


class Drop(Struct, frozen=True):
    """A figure on both sides, and how much worse it may become."""

    rule: Regression
    delta: MetricDelta


class NoFigure(Struct, frozen=True):
    """A figure or an evaluation that this side lacks: why, as the report says, and what the base has, if it matters."""

    why: str
    base: MetricDelta | None = None
    short: str = ""
    """The reason in short; empty: there is no shorter one."""


class Findings(Struct, frozen=True):
    """The findings of a severity that fail a gate, and the faults that no finding names at its place."""

    severity: Severity
    found: tuple[Finding | FindingChange, ...]
    faults: tuple[Skipped, ...]


class GoneTests(Struct, frozen=True):
    """Tests of an evaluation that are gone, or exist and were not run (``because`` of what the first of them says)."""

    evaluation: Evaluation
    cases: tuple[CaseChange, ...]
    run: bool
    because: str = ""
    faulty: bool = False


class LostEvaluation(Struct, frozen=True):
    """An evaluation that the base judged; ``faulty``: a fault, which another gate names, keeps it from running."""

    lost: OneSided
    faulty: bool


class LossesOverall(Struct, frozen=True):
    """More runs fail than on the base, over all cases, although no single case need have regressed."""

    losses: ManyLosses


class LostAssistant(Struct, frozen=True):
    """An assistant that only the base measures."""

    path: str


Fact = Value | Drop | NoFigure | Findings | GoneTests | LostEvaluation | LostAssistant | LossesOverall

GateOutcome = Literal["passed", "failed", "not judged"]


class JudgedGate(Struct, frozen=True):
    """A gate's result; ``rule``: the one of its rules that it is about, "" if it has none.

    ``why`` is one of the reasons that the gate's module lists (``Why``); empty: the facts say it. ``metric`` or
    ``requires``: the figure, or the evaluation, that it is about.
    """

    gate: Gate
    outcome: GateOutcome
    why: str
    facts: tuple[Fact, ...] = ()
    rule: str = ""
    metric: str | None = None
    requires: Evaluation | None = None
    needs_base: bool = False
    causes: tuple[Cause, ...] = ()
    fails: bool = False
    location: Location | None = None
    follows: str = ""
    """The earlier result that names everything that made this one fail."""

    @property
    def name(self) -> str:
        """How ``verdict.json`` calls it: ``errors``, ``require: e2e``."""
        return f"{self.gate.name}: {self.rule}" if self.rule else self.gate.name
