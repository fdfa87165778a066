"""The settings of the gates as rules."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

from turncheck.comparison.metrics import metric_of
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.report.evaluations import EVALUATIONS

if TYPE_CHECKING:
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import GateSettings


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
    return Regression(line.strip(), match["name"], limit, bool(match["significant"]))


def _limit(match: re.Match[str]) -> float:
    return float(match["limit"]) / (100 if match["percent"] else 1)
