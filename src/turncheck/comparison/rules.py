"""Rules about figures: ``nlu.intents.f1 >= 0.85``, ``nlu.intents.f1: 0.01 significant``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeVar, get_args

from msgspec import Struct

from turncheck.comparison.metrics import known_metric, metric_of
from turncheck.evaluations.kind import FORMER_NAMES
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.report.evaluations import EVALUATIONS

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


class Threshold(Struct, frozen=True):
    """A metric must be on the right side of a limit."""

    text: str
    name: str
    operator: Operator
    limit: float
    former: str = ""
    """What the line calls the metric, if it is called something else now."""

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
    former: str = ""
    """As for a threshold."""

    def largest(self, base: float) -> float:
        """Return by how much a metric may become worse that has this value on the base."""
        return self.limit * base if self.relative else self.limit

    @property
    def limit_in_words(self) -> str:
        """Return the limit as it is written."""
        return f"{self.limit * 100:g} %" if self.relative else f"{self.limit:g}"


Places = Mapping[str, Location]
"""Where gates are set in ``turncheck.yml``: their settings by name (``fail-on``), and their lines by text."""

_Rule = TypeVar("_Rule")


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
    name, former = _named_now(match["name"])
    ensure_known(name)
    _ensure_within(match)
    sign = next(known for known in get_args(Operator) if known == match["operator"])
    return Threshold(line.strip(), name, sign, _limit(match), former)


def read_regression(line: str) -> Regression:
    """Read ``metric: largest drop``.

    Raises:
        UserError: it cannot be read, or there is no such metric.
    """
    match = _REGRESSION.fullmatch(line.strip()) if len(line) <= _LONGEST else None
    if match is None or not (match["limit"] or match["significant"]):
        raise UserError(
            f"max-regression: cannot read '{line[:200]}'",
            hint="This is a limit for the metric itself: it belongs in thresholds."
            if _THRESHOLD.fullmatch(line[:_LONGEST].strip())
            else "Write a metric, a colon and the largest drop: nlu.intents.f1: 0.01 (add 'significant' to fail on a"
            " real drop only)",
        )
    name, former = _named_now(match["name"])
    metric = metric_of(name)
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
        name,
        limit,
        is_amount or bool(match["significant"]),
        relative=is_amount and bool(match["percent"]),
        former=former,
    )


def _named_now(name: str) -> tuple[str, str]:
    """Return what a metric is called, and what it was called, if a line still says that."""
    return (FORMER_NAMES[name], name) if name in FORMER_NAMES else (name, "")


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
        metric = metric_of(_named_now(name)[0])
    except UserError:
        return True
    return metric.kind != "score" or metric.section not in EVALUATIONS or metric.noise == "as it says"


def _limit(match: re.Match[str]) -> float:
    return float(match["limit"]) / (100 if match["percent"] else 1)
