"""The metrics of a report by name: names are paths in the report (``nlu.intents[greet].recall``, ``e2e.passed``).

Averages are weighted, as in Rasa's report; entities are averaged without ``no_entity``. The metric of a name is one of
four things: measured here, measurable but not measured in this report (its evaluation did not run, its intent was not
judged), about the comparison (``coverage.changed``), or unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.messages.errors import UserError
from turncheck.messages.plurals import count
from turncheck.messages.suggestions import nearest
from turncheck.report.model import COVERAGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.report.model import Report

Better = Literal["higher", "lower", "neither"]
Kind = Literal["score", "count"]

COVERAGE_OF_CHANGES: Final = "coverage.changed"
"""Share of the changed items that a test reaches: the only metric that exists only in a comparison."""


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics with names of the same form: which section of the report holds them, and what a larger value means."""

    pattern: re.Pattern[str]
    section: str
    better: Better
    kind: Kind


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a report."""

    name: str
    value: float
    better: Better
    kind: Kind


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A known metric without a value in this report, and why."""

    reason: str


def _family(pattern: str, section: str, better: Better, kind: Kind = "score") -> Family:
    return Family(re.compile(pattern, re.DOTALL), section, better, kind)


_SCORES: Final = "(?:precision|recall|f1)"
FAMILIES: Final = (
    _family(r"validation\.(?:errors|warnings)", "validate", "lower", "count"),
    _family(r"validation\.infos", "validate", "neither", "count"),
    _family(r"nlu\.examples", "nlu", "neither", "count"),
    _family(rf"nlu\.intents\.(?:accuracy|{_SCORES})", "nlu", "higher"),
    _family(rf"nlu\.intents\[.*\]\.{_SCORES}", "nlu", "higher"),
    _family(rf"nlu\.entities\..+\.{_SCORES}", "nlu", "higher"),
    _family(rf"nlu\.responses\..+\.(?:accuracy|{_SCORES})", "nlu", "higher"),
    _family(r"nlu\.understood\.right", "nlu", "higher", "count"),
    _family(r"nlu\.understood\.(?:wrong|not_understood)", "nlu", "lower", "count"),
    _family(r"nlu\.calibration_error", "nlu", "lower"),
    _family(r"nlu\.coverage\.(?:pooled|mean)", "nlu", "higher"),
    _family(rf"core\.(?:conversation_accuracy|accuracy|{_SCORES})", "core", "higher"),
    _family(r"core\.(?:as_written\.)?passed", "core", "higher", "count"),
    _family(r"core\.(?:misunderstood|failed|as_written\.failed|warned)", "core", "lower", "count"),
    _family(r"e2e\.passed", "e2e", "higher", "count"),
    _family(r"e2e\.(?:misunderstood|failed|skipped)", "e2e", "lower", "count"),
    _family(r"batch\.passed", "batch", "higher", "count"),
    _family(r"batch\.failed", "batch", "lower", "count"),
    _family(r"batch\[.*\]\.passed", "batch", "higher", "count"),
    _family(r"batch\[.*\]\.failed", "batch", "lower", "count"),
    _family(rf"batch(?:\[.*\])?\.(?:accuracy|intent_success|entity_success|{_SCORES})", "batch", "higher"),
    _family(r"batch\.coverage\.(?:pooled|mean)", "batch", "higher"),
    _family(r"robustness\.(?:entities\.)?failure_rate", "robustness", "lower"),
    _family(r"robustness\[.*\]\.failure_rate", "robustness", "lower"),
    _family(r"robustness\.failed", "robustness", "lower", "count"),
    _family(r"robustness\.variants", "robustness", "neither", "count"),
    _family(r"strength\.(?:score|by_tests)", "strength", "higher"),
    _family(r"strength\.by_kind\[.*\]\.(?:score|by_tests)", "strength", "higher"),
    _family(r"strength\.killed", "strength", "higher", "count"),
    _family(r"strength\.survived", "strength", "lower", "count"),
    _family(r"strength\.(?:equivalent|not_tried)", "strength", "neither", "count"),
    _family(rf"coverage\.(?:{'|'.join(COVERAGE_KINDS)}|changed)", "coverage", "higher"),
)

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


def family_of(name: str) -> Family:
    """Return what a metric's name means, whether or not it was measured.

    Raises:
        UserError: there is no such metric; the remedy lists similar names.
    """
    for family in FAMILIES:
        if family.pattern.fullmatch(name):
            return family
    raise _unknown(name, _PLAIN_NAMES)


def metrics_of(report: Report) -> dict[str, Metric]:
    """Return all metrics of a report, the main ones of each section first."""
    metrics = {}
    for name, value in _figures(report):
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST:
            family = family_of(name)
            metrics[name] = Metric(name, float(value), family.better, family.kind)
    return metrics


def find_metric(report: Report, metrics: Mapping[str, Metric], name: str) -> Metric | NotMeasured:
    """Look a metric up in ``metrics``, which are those of ``report``.

    Raises:
        UserError: an unknown metric, or an intent, extractor, suite … that the report does not have.
    """
    if name in metrics:
        return metrics[name]
    section = family_of(name).section
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


def _why_not_run(report: Report, section: str, metrics: Mapping[str, Metric]) -> str | None:
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
