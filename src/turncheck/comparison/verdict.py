"""The document ``verdict.json``: every gate and its outcome; and the rules that gates are made of."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

from msgspec import UNSET, UnsetType

from turncheck.comparison.metrics import metric_of
from turncheck.messages.errors import UserError
from turncheck.messages.location import Location
from turncheck.report.evaluations import EVALUATIONS
from turncheck.report.part import Part

if TYPE_CHECKING:
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import GateSettings


VERDICT_SCHEMA: Final = "turncheck/verdict/v1"

GateOutcome = Literal["passed", "failed", "not judged"]


class FailedBy(Part, frozen=True, kw_only=True):
    """One thing that made a gate fail."""

    what: str
    """What it is, in a few words."""
    location: Location | None = None
    """Where it is."""
    message: str = ""
    """The message of a finding alone, without its code and hint; empty for anything else."""
    named: bool | UnsetType = UNSET
    """Whether the reason of the gate names it; left out if it does not."""


class GateResult(Part, frozen=True, kw_only=True):
    """A gate, its outcome and the reason. ``metric`` names the figure it is about, if it is about one.

    ``fails``: whether it fails the run, as a failed gate does, and one that could not be judged if the setting
    ``not-judged`` says so. ``needs_base``: it judges a change, so that it cannot be judged without a baseline.
    """

    name: str
    """The gate as it is written in the settings."""
    outcome: GateOutcome
    """Its outcome."""
    reason: str
    """Why."""
    without_base: str | UnsetType = UNSET
    """The same without why there is no baseline; left out if it does not say that."""
    metric: str | None = None
    """The metric it is about, if it is about one."""
    fails: bool = False
    """Whether it fails the run."""
    needs_base: bool = False
    """Whether it judges a change, so that it needs a baseline."""
    location: Location | None = None
    """Where it is set in the project's settings; ``None`` if it is not set there."""
    failed_by: tuple[FailedBy, ...] = ()
    """What made it fail."""
    follows: str = ""
    """The earlier gate that names everything that made this one fail; empty if this one has a reason of its own."""

    @property
    def first_cause(self) -> FailedBy | None:
        """The first thing that made it fail, which its line names.

        ``None`` if the reason already names it, and for a figure, since the cases are then only examples.
        """
        named = self.metric is not None or self.name.startswith("require") or not self.fails
        return None if named else next(iter(self.unnamed), None)

    @property
    def unnamed(self) -> tuple[FailedBy, ...]:
        """What made it fail and is not already named in the reason."""
        return tuple(cause for cause in self.failed_by if cause.named is not True)

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
        """How many more unnamed causes there are after the first; empty if there are none."""
        return f" and {len(self.unnamed) - 1:,} more" if len(self.unnamed) > 1 else ""


Reservation = Literal[
    "",
    "old failures only",
    "although tests fail",
    "although tests are gone",
    "an error is newly suppressed",
    "errors are newly suppressed",
    "a warning is newly suppressed",
    "warnings are newly suppressed",
    "less is judged",
    "most of an intent is gone",
    "annotations are gone",
    "annotations have another entity",
    "less is understood",
    "intents collide",
    "a change cannot be judged",
    "changes cannot be judged",
    "an intent is worse",
    "a story is misunderstood",
    "stories are misunderstood",
    "an end-to-end case is misunderstood",
    "end-to-end cases are misunderstood",
    "not all tests were run",
    "not all gates were judged",
    "not compared with the base",
]
"""What a reader of "passed" has to know; the summary says more about it. Empty: nothing."""


_LINKS: Final = {
    "": "",
    "old failures only": " with ",
    "although tests fail": " ",
    "although tests are gone": " ",
}
"""What joins some of them to the outcome."""


class Verdict(Part, frozen=True, kw_only=True):
    """The outcome of all gates. ``summary`` says it in one line, without the outcome itself.

    ``reservation``: why "passed" alone would be misleading.
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
    """How gates that could not be judged counted."""
    reservation: Reservation = ""
    """What a reader of ``passed`` has to know; empty: nothing."""

    @property
    def passed(self) -> bool:
        """Whether the run may go on."""
        return self.outcome == "passed"

    @property
    def in_words(self) -> str:
        """The outcome in words: ``passed``, or ``passed, but not all tests were run``."""
        return f"{self.outcome}{_LINKS.get(self.reservation, ', but ')}{self.reservation}"


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
_FAIL_ON: Final = ("errors", "new-errors", "test-failures", "new-failures", "gone-tests", "new-suppressions", "none")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A metric must be on the right side of a limit."""

    text: str
    name: str
    operator: Operator
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value is on the right side."""
        return _HOLDS[self.operator](value, self.limit)


@dataclass(frozen=True, slots=True)
class Regression:
    """A metric must not become worse by more than ``limit``; with ``significant`` only a real drop counts."""

    text: str
    name: str
    limit: float
    significant: bool


@dataclass(frozen=True, slots=True)
class GateRules:
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
            raise UserError(f"fail-on: unknown word '{word[:80]}'", remedy=f"Known are: {', '.join(_FAIL_ON)}.")
    for evaluation in settings.require:
        if evaluation not in EVALUATIONS:
            raise UserError(
                f"require: unknown evaluation '{evaluation[:80]}'", remedy=f"Known are: {', '.join(EVALUATIONS)}."
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
        raise UserError(error.what, location=places.get(text), remedy=error.remedy) from None


def read_threshold(line: str, ensure_known: Callable[[str], object] = metric_of) -> Threshold:
    """Read ``metric >= limit``; ``ensure_known`` is called with the metric's name, and raises if there is none.

    Raises:
        UserError: it cannot be read, or as ``ensure_known``.
    """
    found = _THRESHOLD.fullmatch(line.strip()) if len(line) <= _LONGEST else None
    if found is None:
        raise UserError(
            f"thresholds: cannot read '{line[:200]}'",
            remedy="This is a largest drop: it belongs in max-regression."
            if _REGRESSION.fullmatch(line[:_LONGEST].strip())
            else "Write a metric, one of >= <= > < ==, and a number: nlu.intents.f1 >= 0.85",
        )
    ensure_known(found["name"])
    sign = next(known for known in get_args(Operator) if known == found["operator"])
    return Threshold(line.strip(), found["name"], sign, _limit(found))


def _regression(line: str) -> Regression:
    found = _REGRESSION.fullmatch(line.strip()) if len(line) <= _LONGEST else None
    if found is None or not (found["limit"] or found["significant"]):
        raise UserError(
            f"max-regression: cannot read '{line[:200]}'",
            remedy="This is a limit for the metric itself: it belongs in thresholds."
            if _THRESHOLD.fullmatch(line[:_LONGEST].strip())
            else "Write a metric, a colon and the largest drop: nlu.intents.f1: 0.01 (add 'significant' to fail on a"
            " real drop only)",
        )
    metric = metric_of(found["name"])
    if metric.better == "neither" and metric.noise != "as it says":
        raise UserError(f"max-regression: '{found['name'][:200]}' cannot become worse, it is only a number")
    limit = _limit(found) if found["limit"] else 0.0
    if limit < 0:
        raise UserError(
            f"max-regression: the drop in '{line[:200]}' is negative", remedy="Write it as 0.01, for example."
        )
    return Regression(line.strip(), found["name"], limit, bool(found["significant"]))


def _limit(found: re.Match[str]) -> float:
    return float(found["limit"]) / (100 if found["percent"] else 1)
