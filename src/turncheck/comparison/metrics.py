"""The metrics of a report by name: names are paths in the report (``nlu.intents[greet].recall``, ``e2e.passed``).

Averages are weighted, as in Rasa's report; entities are averaged without ``no_entity``. The metric of a name is one of
four things: measured here, measurable but not measured in this report (its evaluation did not run, its intent was not
judged), about the comparison (``coverage.changed``), or unknown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from turncheck.comparison.paired import FEWEST_CHANGES
from turncheck.evaluations.kind import Better, Metric, Noise, Unit, metric_named
from turncheck.evaluations.kinds import KINDS
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import nearest
from turncheck.report.causes import Cause  # noqa: TC001 - msgspec reads it
from turncheck.report.model import COVERAGE_KINDS, Report
from turncheck.report.part import Count, Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


COVERAGE_OF_CHANGES: Final = "coverage.changed"
"""Share of the changed items that a test reaches: the only metric that exists only in a comparison."""


class Measured(Struct, frozen=True):
    """One figure of a report."""

    name: str
    value: float
    better: Better
    kind: Unit
    noise: Noise


class NotMeasured(Struct, frozen=True):
    """A known metric without a value in this report, and why."""

    reason: str


METRICS: Final = (
    *(metric for kind in KINDS.values() for metric in kind.metrics),
    metric_named(rf"coverage\.(?:{'|'.join(COVERAGE_KINDS)})", "coverage", "higher", "counted"),
    metric_named(r"coverage\.changed", "coverage", "higher", "counted", label="Changed parts under test"),
    metric_named(r"plugin\..+", "plugin", "neither", "as it says"),
)
"""All metrics; the first whose pattern fits a name has it."""

_PLAIN_NAMES: Final = (
    *(name for kind in KINDS.values() for name in kind.examples),
    *(f"coverage.{kind}" for kind in COVERAGE_KINDS),
    COVERAGE_OF_CHANGES,
)
_LARGEST: Final = 10**15
"""Larger values are left out; a report from anywhere may hold infinity, or numbers that do not fit a float."""


def metric_of(name: str) -> Metric:
    """Return what a metric's name means, whether or not it was measured.

    Raises:
        UserError: there is no such metric; the hint lists similar names.
    """
    if (metric := known_metric(name)) is None:
        raise _unknown(name, _PLAIN_NAMES)
    return metric


@lru_cache(maxsize=10_000)
def known_metric(name: str) -> Metric | None:
    """Return the same, ``None`` if there is no such metric."""
    return next((metric for metric in METRICS if metric.pattern.fullmatch(name)), None)


def metrics_of(report: Report) -> dict[str, Measured]:
    """Return all metrics of a report, the main ones of each section first."""
    metrics = {}
    for name, value in _figures(report):
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST:
            metric = metric_of(name)
            metrics[name] = Measured(name, float(value), metric.better, metric.kind, metric.noise)
    for name, figure in report.metrics.items():
        if figure.value is not None:
            noise: Noise = "counted" if figure.noise == "counted" else "mcnemar"
            metrics[name] = Measured(name, figure.value, figure.better, figure.kind, noise)
    return metrics


def has_reach(report: Report) -> bool:
    """Return whether there are tests, so that it says something how much they reach."""
    return any(kind.share is not None for kind in report.coverage.values())


def find_metric(report: Report, metrics: Mapping[str, Measured], name: str) -> Measured | NotMeasured:
    """Look a metric up in ``metrics``, which are those of ``report``.

    Raises:
        UserError: an unknown metric, or an intent, extractor, suite … that the report does not have.
    """
    if name in metrics:
        return metrics[name]
    section = metric_of(name).section
    if section == "plugin":
        if name in report.metrics:
            return NotMeasured("there was nothing to measure it on")
        raise UserError(f"no plugin in use measures '{name[:200]}'", hint=_plugin_metrics(report))
    if name == COVERAGE_OF_CHANGES:
        return NotMeasured("what changed is known only against a baseline")
    if reason := _why_not_run(report, section, metrics):
        return NotMeasured(reason)
    if reason := _why_without_value(report, section, name):
        return NotMeasured(reason)
    prefix = tuple(re.split(r"[.\[]", name, maxsplit=1)[0] + sign for sign in ".[")
    raise _unknown(name, tuple(known for known in metrics if known.startswith(prefix)))


def _plugin_metrics(report: Report) -> str:
    known = ", ".join(report.metrics)
    return f"Known are: {known}." if known else "Name the package that has it with --plugins, or the input `plugins`."


def _why_not_run(report: Report, section: str, metrics: Mapping[str, Measured]) -> str | None:
    kind = KINDS.get(section)
    if any(name.startswith(f"{kind.metric_prefix if kind else section}.") for name in metrics):
        return None
    reasons = [skipped.reason for skipped in report.skipped if skipped.evaluation == section]
    return reasons[0] if reasons else kind.not_run if kind else "coverage was not measured"


def _why_without_value(report: Report, section: str, name: str) -> str:
    """Say why a figure has no value although its evaluation ran; "" if it is about an unknown name."""
    kind = KINDS.get(section)
    reason = kind.why_no_figure(report, name) if kind else None
    if reason is not None:
        return reason
    return "" if "[" in name else "there was nothing to measure it on"


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    for kind in KINDS.values():
        yield from kind.figures(report)
    for name in COVERAGE_KINDS:
        if name in report.coverage:
            yield f"coverage.{name}", report.coverage[name].share


def _unknown(name: str, known: tuple[str, ...]) -> UserError:
    short = name[:200]
    candidates = [candidate for candidate in known if len(candidate) <= 200]
    near = nearest(short, candidates, most=3)
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    hint = f"{meant}Known metrics: {', '.join(candidates[:60])}."
    return UserError(f"unknown metric '{short}'", hint=hint)


# A metric on both sides, and what the difference means: part of ``comparison.json``.

Judgement = Literal["better", "worse", "noise", "same", "not judged"]
"""What a difference means: ``noise`` is one that chance alone explains."""


class Significance(Part, frozen=True, kw_only=True):
    """How a difference was judged.

    ``mcnemar`` and ``permutation`` give a p-value, ``bootstrap`` the 95 % interval of the difference, ``counted``
    neither: stories, cases and findings are not a sample of anything, so each one that changes matters. ``changed``:
    how many examples count differently now.
    """

    method: Literal["mcnemar", "bootstrap", "counted", "permutation"]
    """The test: ``mcnemar``, ``bootstrap``, ``permutation`` of runs, or ``counted`` if every single change matters."""
    p_value: float | None = None
    """How likely chance alone would cause such a difference (``mcnemar``, ``permutation``)."""
    low: float | None = None
    """The lower end of the 95 % interval of the difference (``bootstrap``)."""
    high: float | None = None
    """The upper end of the 95 % interval of the difference (``bootstrap``)."""
    changed: int | None = None
    """How many examples count differently now."""
    examples: int | None = None
    """How many examples it is based on: sentences that expect the intent, or any entity; ``None``: not known."""
    runs: Count | UnsetType = UNSET
    """Of a share of runs: how many there are of this side."""
    base_runs: Count | UnsetType = UNSET
    """How many there are of the base."""

    @property
    def too_few(self) -> bool:
        """Whether there are too few examples to distinguish any change from chance."""
        return self.examples is not None and self.examples < FEWEST_CHANGES


class SharedDelta(Part, frozen=True, kw_only=True):
    """A metric on only those examples, stories or cases that both sides judged."""

    base: float
    """The metric of the base on what both judged."""
    value: float
    """The metric of this side on what both judged."""
    delta: float
    """Their difference."""


class MetricDelta(Part, frozen=True, kw_only=True):
    """One metric on both sides; ``None`` if a side does not have it. If the two sides judged different examples,
    stories or cases, ``shared`` has the metric on those that both judged, and ``judgement`` is about these."""

    name: str
    """The metric's name, as the gates use it."""
    better: Better
    """Which direction is better."""
    kind: Unit
    """Whether it is a score between 0 and 1 or a count."""
    value: float | None
    """The metric of this side; ``None`` if it has none."""
    base: float | None
    """The metric of the base; ``None`` if it has none."""
    delta: float | None = None
    """Their difference; ``None`` if a side has none."""
    shared: SharedDelta | None = None
    """The same on what both sides judged, if they did not judge the same examples."""
    judgement: Judgement = "not judged"
    """What the difference means."""
    significance: Significance | None = None
    """How the difference was judged."""
    agreement: float | None = None
    """The agreement of the stand-in with the team's own model on it, 0 to 1, if that is too low for a verdict."""
    causes: tuple[Cause, ...] | UnsetType = UNSET
    """Of an intent's F1 that really dropped: the changed parts without which its sentences are understood as on the
    base; left out if they are not known."""
    by_cases: bool = False
    """Whether it is worse only by tests that changed sides, were edited, are new or gone, each of which is listed."""

    @property
    def known_causes(self) -> tuple[Cause, ...]:
        """The causes of a drop; none if they are not known."""
        return () if isinstance(self.causes, UnsetType) else self.causes

    @property
    def sides(self) -> tuple[float | None, float | None]:
        """The base and value that are judged: if the sides judged different examples, those on the shared ones."""
        if self.shared is not None and self.judgement != "not judged":
            return self.shared.base, self.shared.value
        return self.base, self.value
