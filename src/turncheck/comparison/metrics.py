"""The metrics of a report by name: names are paths in the report (``nlu.intents[greet].recall``, ``e2e.passed``).

Averages are weighted, as in Rasa's report; entities are averaged without ``no_entity``. The metric of a name is one of
four things: measured here, measurable but not measured in this report (its evaluation did not run, its intent was not
judged), about the comparison (``coverage.changed``), or unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count, nearest
from turncheck.report.model import COVERAGE_KINDS
from turncheck.report.part import Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.report.model import Report


Better = Literal["higher", "lower", "neither"]
Kind = Literal["score", "count"]
Noise = Literal["counted", "mcnemar", "bootstrap", "as it says"]
"""How a difference is judged. ``counted``: stories, cases and findings are all there are, not a sample, so that any
difference is real (unless only sentences moved it). Figures about a sample of what people write are judged on what both
sides judged: ``mcnemar`` by how many changed sides, ``bootstrap`` by drawing from them (:mod:`.significance`). ``as it
says``: as the figure itself says, which is a plugin's."""

COVERAGE_OF_CHANGES: Final = "coverage.changed"
"""Share of the changed items that a test reaches: the only metric that exists only in a comparison."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Figures with names of the same form, and all that is done with them.

    ``section``: the section of the report that holds them. ``better``: what a larger value means. ``noise``: how a
    difference is judged; there is no default. ``label``: what it is called in the table at the top, "" if it has no row
    of that name there. ``of``: what is counted besides it, so that it is shown as "7/9". ``only_if_any``: it has no row
    if there is nothing to count.
    """

    pattern: re.Pattern[str]
    section: str
    better: Better
    noise: Noise
    kind: Kind = "score"
    label: str = ""
    of: tuple[str, ...] = ()
    only_if_any: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure of a report."""

    name: str
    value: float
    better: Better
    kind: Kind
    noise: Noise


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A known metric without a value in this report, and why."""

    reason: str


def _metric(pattern: str, section: str, better: Better, noise: Noise, kind: Kind = "score", **more: Any) -> Metric:
    return Metric(re.compile(pattern, re.DOTALL), section, better, noise, kind, **more)


_SCORES: Final = "(?:precision|recall|f1)"
METRICS: Final = (
    _metric(r"validation\.errors", "validate", "lower", "counted", "count", label="Errors in the data"),
    _metric(
        r"validation\.warnings",
        "validate",
        "lower",
        "counted",
        "count",
        label="Warnings in the data",
        only_if_any=True,
    ),
    _metric(r"validation\.infos", "validate", "neither", "counted", "count"),
    _metric(r"nlu\.examples", "nlu", "neither", "counted", "count"),
    _metric(r"nlu\.intents\.f1", "nlu", "higher", "bootstrap", label="Intents, F1"),
    _metric(r"nlu\.intents\.accuracy", "nlu", "higher", "mcnemar", label="Intents, accuracy"),
    _metric(r"nlu\.intents\.(?:precision|recall)", "nlu", "higher", "bootstrap"),
    _metric(rf"nlu\.intents\[.*\]\.{_SCORES}", "nlu", "higher", "bootstrap", label="F1 of intent"),
    _metric(rf"nlu\.entities\..+\.{_SCORES}", "nlu", "higher", "bootstrap", label="Entities, F1"),
    _metric(rf"nlu\.responses\..+\.{_SCORES}", "nlu", "higher", "bootstrap", label="Responses, F1"),
    _metric(r"nlu\.responses\..+\.accuracy", "nlu", "higher", "mcnemar"),
    _metric(r"nlu\.understood\.right", "nlu", "higher", "mcnemar", "count"),
    _metric(r"nlu\.understood\.(?:wrong|not_understood)", "nlu", "lower", "mcnemar", "count"),
    _metric(r"nlu\.calibration_error", "nlu", "lower", "bootstrap"),
    _metric(r"nlu\.coverage\.(?:pooled|mean)", "nlu", "higher", "counted"),
    _metric(rf"core\.(?:conversation_accuracy|accuracy|{_SCORES})", "core", "higher", "counted"),
    _metric(
        r"core\.passed",
        "core",
        "higher",
        "counted",
        "count",
        label="Stories passed",
        of=("core.failed", "core.misunderstood"),
        only_if_any=True,
    ),
    _metric(
        r"core\.as_written\.passed",
        "core",
        "higher",
        "counted",
        "count",
        label="Stories passed as written",
        of=("core.as_written.failed",),
    ),
    _metric(r"core\.(?:misunderstood|failed|as_written\.failed|warned)", "core", "lower", "counted", "count"),
    _metric(
        r"e2e\.passed",
        "e2e",
        "higher",
        "counted",
        "count",
        label="End-to-end cases passed",
        of=("e2e.failed", "e2e.misunderstood"),
        only_if_any=True,
    ),
    _metric(r"e2e\.(?:misunderstood|failed|skipped)", "e2e", "lower", "counted", "count"),
    _metric(
        r"batch\.passed",
        "batch",
        "higher",
        "counted",
        "count",
        label="Batch cases passed",
        of=("batch.failed",),
        only_if_any=True,
    ),
    _metric(r"batch\.failed", "batch", "lower", "counted", "count"),
    _metric(r"batch\[.*\]\.passed", "batch", "higher", "counted", "count"),
    _metric(r"batch\[.*\]\.failed", "batch", "lower", "counted", "count"),
    _metric(r"batch\.intent_success", "batch", "higher", "mcnemar", label="Batch suites, intents right"),
    _metric(r"batch\.f1", "batch", "higher", "mcnemar", label="Batch suites, F1"),
    _metric(r"batch\.entity_success", "batch", "higher", "mcnemar", label="Batch suites, entities right"),
    _metric(rf"batch(?:\[.*\])?\.(?:accuracy|intent_success|entity_success|{_SCORES})", "batch", "higher", "mcnemar"),
    _metric(r"batch\.coverage\.(?:pooled|mean)", "batch", "higher", "counted"),
    _metric(r"robustness\.failure_rate", "robustness", "lower", "counted", label="Misunderstood under noise"),
    _metric(r"robustness\.entities\.failure_rate", "robustness", "lower", "counted"),
    _metric(r"robustness\[.*\]\.failure_rate", "robustness", "lower", "counted"),
    _metric(r"robustness\.failed", "robustness", "lower", "counted", "count"),
    _metric(r"robustness\.variants", "robustness", "neither", "counted", "count"),
    _metric(r"strength\.score", "strength", "higher", "counted", label="Planted faults noticed"),
    _metric(r"strength\.by_tests", "strength", "higher", "counted"),
    _metric(r"strength\.by_kind\[.*\]\.(?:score|by_tests)", "strength", "higher", "counted"),
    _metric(r"strength\.killed", "strength", "higher", "counted", "count"),
    _metric(r"strength\.survived", "strength", "lower", "counted", "count"),
    _metric(r"strength\.(?:equivalent|not_tried)", "strength", "neither", "counted", "count"),
    _metric(rf"coverage\.(?:{'|'.join(COVERAGE_KINDS)})", "coverage", "higher", "counted"),
    _metric(r"coverage\.changed", "coverage", "higher", "counted", label="Changed parts under test"),
    _metric(r"plugin\..+", "plugin", "neither", "as it says"),
)
"""All metrics; the first whose pattern fits a name has it."""

BATCH_FIGURES: Final = (
    "intent_success", "f1", "precision", "recall", "accuracy", "entity_success", "passed", "failed",
)  # fmt: skip
"""The figures of batch suites, of each and of all together."""

_PLAIN_NAMES: Final = (
    "validation.errors", "validation.warnings",
    "nlu.intents.accuracy", "nlu.intents.precision", "nlu.intents.recall", "nlu.intents.f1", "nlu.intents[INTENT].f1",
    "nlu.entities.EXTRACTOR.f1", "nlu.entities.EXTRACTOR.spans.f1", "nlu.responses.SELECTOR.f1",
    "core.conversation_accuracy", "core.accuracy", "core.f1", "core.failed", "core.misunderstood",
    "core.as_written.passed", "e2e.passed", "e2e.failed",
    "batch.intent_success", "batch.f1", "batch.entity_success", "batch.passed", "batch[SUITE].f1",
    "strength.score", "strength.by_tests", "strength.survived",
    "robustness.failure_rate", "robustness[typo].failure_rate",
    *(f"coverage.{kind}" for kind in COVERAGE_KINDS), COVERAGE_OF_CHANGES,
)  # fmt: skip
_OF_INTENT: Final = re.compile(rf"nlu\.intents\[(.*)\]\.{_SCORES}", re.DOTALL)
FEW_INTENTS: Final = "the judged sentences have fewer than two different intents"
_LARGEST: Final = 10**15
"""Larger values are left out; a report from anywhere may hold infinity, or numbers that do not fit a float."""
_AVERAGES: Final = frozenset({"accuracy", "micro avg", "macro avg", "weighted avg", "no_entity"})
_SECTIONS: Final = {
    "validate": "the data were not validated",
    "nlu": "language understanding was not evaluated",
    "core": "no stories were tested",
    "e2e": "no end-to-end cases were run",
    "batch": "no batch suites were run",
    "strength": "the strength of the tests was not measured",
    "robustness": "robustness was not measured",
    "coverage": "coverage was not measured",
}


def metric_of(name: str) -> Metric:
    """Return what a metric's name means, whether or not it was measured.

    Raises:
        UserError: there is no such metric; the remedy lists similar names.
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
        raise UserError(f"no plugin in use measures '{name[:200]}'", remedy=_plugin_metrics(report))
    if name == COVERAGE_OF_CHANGES:
        return NotMeasured("what changed is known only against a baseline")
    if reason := _why_not_run(report, section, metrics):
        return NotMeasured(reason)
    for intent in report.nlu.unjudged if report.nlu else ():
        if name.startswith(f"nlu.intents[{intent.intent}]."):
            return NotMeasured(f"the intent has {count(intent.examples, 'example')}, fewer than there are folds")
    if reason := _why_without_value(report, name):
        return NotMeasured(reason)
    prefix = tuple(re.split(r"[.\[]", name, maxsplit=1)[0] + sign for sign in ".[")
    raise _unknown(name, tuple(known for known in metrics if known.startswith(prefix)))


def _plugin_metrics(report: Report) -> str:
    known = ", ".join(report.metrics)
    return f"Known are: {known}." if known else "Name the package that has it with --plugins, or the input `plugins`."


def _why_not_run(report: Report, section: str, metrics: Mapping[str, Measured]) -> str | None:
    prefix = {"validate": "validation"}.get(section, section) + "."
    if any(name.startswith(prefix) for name in metrics):
        return None
    reasons = [skipped.reason for skipped in report.skipped if skipped.evaluation == section]
    return reasons[0] if reasons else _SECTIONS[section]


def _why_without_value(report: Report, name: str) -> str:
    """Say why a figure has no value although its evaluation ran; "" if it is about an unknown name."""
    of_intent = _OF_INTENT.fullmatch(name)
    if of_intent is not None:
        defined = report.coverage["intents"].items if "intents" in report.coverage else ()
        known = {item.name for item in defined} | {one.intent for one in (report.nlu.training if report.nlu else ())}
        return "no judged sentence has this intent" if of_intent[1] in known else ""
    if name.startswith("nlu.intents."):
        return FEW_INTENTS
    if report.nlu is not None and name.startswith("nlu.entities."):
        return "" if report.nlu.entities else "no entities were judged"
    if report.nlu is not None and name.startswith("nlu.responses."):
        return "" if report.nlu.responses else "the judged sentences have fewer than two different responses"
    return "" if "[" in name else "there was nothing to measure it on"


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.validation:
        counts = report.validation.counts
        yield from (("validation.errors", counts.error), ("validation.warnings", counts.warning))
        yield "validation.infos", counts.info
    yield from _nlu_figures(report)
    if report.core:
        for field in ("conversation_accuracy", "accuracy", "precision", "recall", "f1"):
            yield f"core.{field}", getattr(report.core, field)
        outcomes = Counter(story.outcome for story in report.core.stories)
        yield from ((f"core.{outcome}", outcomes[outcome]) for outcome in ("passed", "failed", "misunderstood"))
        if as_written := report.core.as_written:
            yield from (("core.as_written.passed", as_written.passed), ("core.as_written.failed", as_written.failed))
        yield "core.warned", sum(story.warned for story in report.core.stories)
    if report.e2e:
        yield from (
            (f"e2e.{field}", getattr(report.e2e, field)) for field in ("passed", "misunderstood", "failed", "skipped")
        )
    if report.batch:
        yield from ((f"batch.{field}", getattr(report.batch, field)) for field in BATCH_FIGURES)
        for suite in report.batch.suites:
            yield from ((f"batch[{suite.name}].{field}", getattr(suite, field)) for field in BATCH_FIGURES)
        if report.batch.coverage is not None:
            if report.batch.coverage.pooled is not None:
                yield "batch.coverage.pooled", report.batch.coverage.pooled
            yield "batch.coverage.mean", report.batch.coverage.mean
    yield from _figures_of_mutants(report)
    if report.robustness:
        yield "robustness.failure_rate", report.robustness.failure_rate
        yield "robustness.entities.failure_rate", report.robustness.entities.failure_rate
        yield from ((f"robustness[{one.name}].failure_rate", one.failure_rate) for one in report.robustness.by_family)
        yield "robustness.variants", report.robustness.variants
        yield "robustness.failed", report.robustness.failed
    for kind in COVERAGE_KINDS:
        if kind in report.coverage:
            yield f"coverage.{kind}", report.coverage[kind].share


def _figures_of_mutants(report: Report) -> Iterator[tuple[str, Any]]:
    if report.strength:
        figures = ("score", "by_tests", "killed", "survived", "equivalent", "not_tried")
        yield from ((f"strength.{field}", getattr(report.strength, field)) for field in figures)
        for group in report.strength.by_kind:
            yield f"strength.by_kind[{group.name}].score", group.score
            yield f"strength.by_kind[{group.name}].by_tests", group.by_tests


def _nlu_figures(report: Report) -> Iterator[tuple[str, Any]]:
    nlu = report.nlu
    if nlu is None:
        return
    yield "nlu.examples", nlu.examples
    if nlu.coverage is not None:
        if nlu.coverage.pooled is not None:
            yield "nlu.coverage.pooled", nlu.coverage.pooled
        yield "nlu.coverage.mean", nlu.coverage.mean
    if nlu.intents:
        for field in ("f1", "precision", "recall", "accuracy"):
            yield f"nlu.intents.{field}", getattr(nlu.intents, field)
        yield from _label_figures("nlu.intents", nlu.intents.report)
    for extractor, scores in nlu.entities.items():
        for field in ("f1", "precision", "recall"):
            yield f"nlu.entities.{extractor}.{field}", getattr(scores, field)
            if scores.spans is not None:
                yield f"nlu.entities.{extractor}.spans.{field}", getattr(scores.spans, field)
        yield from _label_figures(f"nlu.entities.{extractor}", scores.report)
    for selector, responses in nlu.responses.items():
        for field in ("f1", "precision", "recall", "accuracy"):
            yield f"nlu.responses.{selector}.{field}", getattr(responses, field)
        yield from _label_figures(f"nlu.responses.{selector}", responses.report)
    if nlu.understood:
        for field in ("right", "wrong", "not_understood"):
            yield f"nlu.understood.{field}", getattr(nlu.understood, field)
    yield "nlu.calibration_error", nlu.calibration_error


def _label_figures(prefix: str, report: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scores of each label in a report of Rasa's shape, which is scikit-learn's."""
    for label, scores in report.items():
        if label not in _AVERAGES and isinstance(scores, dict):
            for field, key in (("f1", "f1-score"), ("precision", "precision"), ("recall", "recall")):
                yield f"{prefix}[{label}].{field}", scores.get(key)


def _unknown(name: str, known: tuple[str, ...]) -> UserError:
    short = name[:200]
    candidates = [candidate for candidate in known if len(candidate) <= 200]
    near = nearest(short, candidates, most=3)
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    remedy = f"{meant}Known metrics: {', '.join(candidates[:60])}."
    return UserError(f"unknown metric '{short}'", remedy=remedy)


# A metric on both sides, and what the difference means: part of ``comparison.json``.

FEWEST_CHANGES: Final = 6
"""The exact test cannot reach 5 % with fewer (2 x 0.5^5 = 6.25 %); the same floor applies where that test does not."""

Judgement = Literal["better", "worse", "noise", "same", "not judged"]
"""What a difference means: ``noise`` is one that chance alone explains."""


class Significance(Part, frozen=True, kw_only=True):
    """How a difference was judged.

    ``mcnemar`` gives a p-value, ``bootstrap`` the 95 % interval of the difference, ``counted`` neither: stories, cases
    and findings are not a sample of anything, so each one that changes matters. ``changed``: how many examples count
    differently now.
    """

    method: Literal["mcnemar", "bootstrap", "counted"]
    """The test: ``mcnemar``, ``bootstrap``, or ``counted`` if every single change matters."""
    p_value: float | None = None
    """How likely chance alone would cause such a difference (``mcnemar``)."""
    low: float | None = None
    """The lower end of the 95 % interval of the difference (``bootstrap``)."""
    high: float | None = None
    """The upper end of the 95 % interval of the difference (``bootstrap``)."""
    changed: int | None = None
    """How many examples count differently now."""
    examples: int | None = None
    """How many examples it is based on: sentences that expect the intent, or any entity; ``None``: not known."""

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
    kind: Kind
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

    @property
    def sides(self) -> tuple[float | None, float | None]:
        """The base and value that are judged: if the sides judged different examples, those on the shared ones."""
        if self.shared is not None and self.judgement != "not judged":
            return self.shared.base, self.shared.value
        return self.base, self.value
