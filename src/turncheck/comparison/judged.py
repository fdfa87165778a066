"""What a gate found, as facts: which rule it is, how it ended and why, and what made it fail.

The rules are read from the settings of the gates. ``render/wording`` says in words what was found, which is what
``verdict.json`` and every document show.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

from msgspec import UNSET, Struct, UnsetType

from turncheck.comparison.metrics import Measured, MetricDelta, known_metric, metric_of
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Finding, Location, Severity
from turncheck.report.evaluations import EVALUATIONS, Evaluation

if TYPE_CHECKING:
    from turncheck.comparison.changes import CaseChange, FindingChange
    from turncheck.comparison.model import ManyLosses, OneSided
    from turncheck.report.model import GateSettings, Misunderstanding, Repeats, Skipped


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
    is_new: bool = field(default=False, compare=False)
    """Whether the base does not have it."""
    reason: str = field(default="", compare=False)
    """Why its runs ended in an error, as its report says."""


@dataclass(frozen=True, slots=True)
class NotRunTest(_Placed):
    """A test that exists and was not run, or whose runs are unclear, and why, as its report says."""

    evaluation: Evaluation
    name: str
    reason: str
    is_unclear: bool = field(default=False, kw_only=True)


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
    """Why evaluations did not run; ``skipped``: those that were not run for another reason than a fault.

    ``named``: the reason of the gate is this cause.
    """

    reason: str
    skipped: tuple[Evaluation, ...] = ()
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

Why = Literal[
    "", "no base", "nothing to judge", "stopped", "faults", "failed", "newly failed", "no tests", "tests not run",
    "nothing new", "passed", "gone", "base faults", "ancestor", "accepted", "all there", "not asked for tests",
    "nothing tested", "left out", "not run", "ran", "suppressions not known", "suppressed", "none suppressed",
    "no findings", "new not known", "base has no such metric", "only on base", "files unread", "agreement",
    "no shared example", "no pairs", "unclear", "all in quarantine", "hidden on base",
    "consistent", "inconsistent", "tests gone", "files checked",
]  # fmt: skip
"""Why a gate ended as it did; empty: its facts say it."""


class Judged(Struct, frozen=True):
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


GateOutcome = Literal["passed", "failed", "not judged"]

# The gate settings as rules: ``nlu.intents.f1 >= 0.85``, ``nlu.intents.f1: 0.01 significant``.

Operator = Literal[">=", "<=", "==", ">", "<"]

_HOLDS: Final[dict[Operator, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}

_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LONGEST: Final = 500
"""A rule may come with a report from anywhere; a longer line is not a rule, and is rejected without parsing."""
_THRESHOLD: Final = re.compile(
    rf"(?P<name>.+?)(?<![=<>])\s*(?P<operator>>=|<=|==|>|<)\s*(?P<limit>{_NUMBER})\s*(?P<percent>%?)"
)
_REGRESSION: Final = re.compile(
    rf"(?P<name>.+?)\s*:\s*(?P<limit>{_NUMBER})?\s*(?P<percent>%?)\s*[,;]?\s*(?P<significant>significant)?"
)
_FAIL_ON: Final = (
    *("errors", "new-errors", "test-failures", "new-failures", "gone-tests", "new-suppressions"),
    *("auto", "none"),
)


class Threshold(Struct, frozen=True):
    """A metric must be on the right side of a limit."""

    text: str
    name: str
    operator: Operator
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return _HOLDS[self.operator](value, self.limit)


class Regression(Struct, frozen=True):
    """A metric must not become worse by more than ``limit``; with ``significant`` only a real drop counts.

    ``relative``: the limit is a part of the base's value, as a percentage is of what is not a share itself.
    """

    text: str
    name: str
    limit: float
    significant: bool
    relative: bool = False

    def largest(self, base: float) -> float:
        """Return by how much a metric may become worse that has this value on the base."""
        return self.limit * base if self.relative else self.limit

    @property
    def limit_in_words(self) -> str:
        """Return the limit as it is written."""
        return f"{self.limit * 100:g} %" if self.relative else f"{self.limit:g}"


class GateRules(Struct, frozen=True):
    """All gates of a run, parsed and checked."""

    fail_on: tuple[str, ...]
    fail_on_warnings: bool
    require: tuple[Evaluation, ...]
    accept_gone: tuple[str, ...]
    thresholds: tuple[Threshold, ...]
    regressions: tuple[Regression, ...]


Places = Mapping[str, Location]
"""Where gates are set in ``turncheck.yml``: their settings by name (``fail-on``), and their lines by text."""
_NOWHERE: Final[Places] = MappingProxyType({})

_Rule = TypeVar("_Rule")


def read_rules(settings: GateSettings, places: Places = _NOWHERE) -> GateRules:
    """Parse the gate settings. Needs no report, so that a mistake is found before anything is trained.

    Raises:
        UserError: a word, line or metric that is not known.
    """
    for word in settings.fail_on:
        if word not in _FAIL_ON:
            raise UserError(f"fail-on: unknown word '{word[:80]}'", hint=f"Known are: {', '.join(_FAIL_ON)}.")
    for evaluation in settings.require:
        if evaluation not in EVALUATIONS:
            raise UserError(
                f"require: unknown evaluation '{evaluation[:80]}'", hint=f"Known are: {', '.join(EVALUATIONS)}."
            )
    return GateRules(
        fail_on=settings.fail_on,
        fail_on_warnings=settings.fail_on_warnings,
        require=tuple(evaluation for evaluation in EVALUATIONS if evaluation in settings.require),
        accept_gone=settings.accept_gone,
        thresholds=tuple(at_its_place(line, places, partial(read_threshold, line)) for line in settings.thresholds),
        regressions=tuple(at_its_place(line, places, partial(_regression, line)) for line in settings.max_regression),
    )


def place_of_gate(name: str, places: Places) -> Location | None:
    """Return where a gate is set, by the name in its result; ``None`` if the file does not set it."""
    line = name.removeprefix("max-regression: ").removeprefix("threshold: ")
    if line in places:
        return places[line]
    return places.get("fail-on" if name in _FAIL_ON else name.partition(":")[0])


def at_its_place(text: str, places: Places, do: Callable[[], _Rule]) -> _Rule:
    """Do something with a line; errors are raised with the line's place.

    Raises:
        UserError: as ``do``.
    """
    try:
        return do()
    except UserError as error:
        raise UserError(error.message, location=places.get(text), hint=error.hint) from None


def read_threshold(line: str, ensure_known: Callable[[str], object] = metric_of) -> Threshold:
    """Read ``metric >= limit``; ``ensure_known`` is called with the metric's name, and raises if there is none.

    Raises:
        UserError: it cannot be read, or as ``ensure_known``.
    """
    match = _THRESHOLD.fullmatch(line.strip()) if len(line) <= _LONGEST else None
    if match is None:
        raise UserError(
            f"thresholds: cannot read '{line[:200]}'",
            hint="This is a largest drop: it belongs in max-regression."
            if _REGRESSION.fullmatch(line[:_LONGEST].strip())
            else "Write a metric, one of >= <= > < ==, and a number: nlu.intents.f1 >= 0.85",
        )
    ensure_known(match["name"])
    _ensure_within(match)
    sign = next(known for known in get_args(Operator) if known == match["operator"])
    return Threshold(line.strip(), match["name"], sign, _limit(match))


def _regression(line: str) -> Regression:
    match = _REGRESSION.fullmatch(line.strip()) if len(line) <= _LONGEST else None
    if match is None or not (match["limit"] or match["significant"]):
        raise UserError(
            f"max-regression: cannot read '{line[:200]}'",
            hint="This is a limit for the metric itself: it belongs in thresholds."
            if _THRESHOLD.fullmatch(line[:_LONGEST].strip())
            else "Write a metric, a colon and the largest drop: nlu.intents.f1: 0.01 (add 'significant' to fail on a"
            " real drop only)",
        )
    metric = metric_of(match["name"])
    if metric.better == "neither" and metric.noise != "as it says":
        raise UserError(f"max-regression: '{match['name'][:200]}' cannot become worse, it is only a number")
    limit = _limit(match) if match["limit"] else 0.0
    if limit < 0:
        raise UserError(
            f"max-regression: the drop in '{line[:200]}' is negative", hint="Write it as 0.01, for example."
        )
    is_amount = metric.kind == "amount"
    return Regression(
        line.strip(),
        match["name"],
        limit,
        is_amount or bool(match["significant"]),
        relative=is_amount and bool(match["percent"]),
    )


def _ensure_within(match: re.Match[str]) -> None:
    """Refuse a limit above 1 for a share, which is always reached or never.

    Raises:
        UserError: the hint has the share that is probably meant.
    """
    limit = _limit(match)
    if match["percent"] and (metric := known_metric(match["name"])) is not None and metric.kind == "amount":
        raise UserError(
            f"thresholds: {match['name'][:200]} is no share, so that '{match['limit']}%' of it is nothing",
            hint="Write a number. By how many percent it may rise is said in max-regression.",
        )
    if limit <= 1 or _is_count(match["name"]):
        return
    raise UserError(
        f"thresholds: {match['name'][:200]} is a share, and '{match['limit']}{match['percent']}' is above 1",
        hint=f"Write {limit / 100:g} or {limit:g}%." if limit <= 100 else "Write it as 0.85 or 85%.",
    )


def _is_count(name: str) -> bool:
    """Whether a figure is anything else than a share; a plugin's may be."""
    try:
        metric = metric_of(name)
    except UserError:
        return True
    return metric.kind != "score" or metric.section not in EVALUATIONS or metric.noise == "as it says"


def _limit(match: re.Match[str]) -> float:
    return float(match["limit"]) / (100 if match["percent"] else 1)
