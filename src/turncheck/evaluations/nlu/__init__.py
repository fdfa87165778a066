"""Language understanding: intents, entities and responses of single sentences, held out or in folds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import (
    SCORES,
    EvaluationKind,
    figures_of_report,
    metric_named,
    metrics_of_runs,
    names_of,
    why_no_figure_of_runs,
)
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.report.model import Report

FEW_INTENTS: Final = "the judged sentences have fewer than two different intents"
NOTHING_TO_FIND: Final = "the judged sentences have nothing for it to find"
_AVERAGES: Final = frozenset({"accuracy", "micro avg", "macro avg", "weighted avg", "no_entity"})
_OF_INTENT: Final = re.compile(rf"nlu\.intents\[(.*)\]\.{SCORES}", re.DOTALL)


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    nlu = report.nlu
    if nlu is None:
        return
    yield "nlu.examples", nlu.examples
    if nlu.coverage is not None:
        if nlu.coverage.pooled is not None:
            yield "nlu.coverage.pooled", nlu.coverage.pooled
        yield "nlu.coverage.mean", nlu.coverage.mean
    if nlu.intents:
        yield from names_of("nlu.intents", ("f1", "precision", "recall", "accuracy"), nlu.intents)
        yield from _of_labels("nlu.intents", nlu.intents.report)
    for extractor, scores in nlu.entities.items():
        if scores.says_nothing:
            continue
        for field in ("f1", "precision", "recall"):
            yield f"nlu.entities.{extractor}.{field}", getattr(scores, field)
            if scores.spans is not None:
                yield f"nlu.entities.{extractor}.spans.{field}", getattr(scores.spans, field)
        yield from _of_labels(f"nlu.entities.{extractor}", scores.report)
    for selector, responses in nlu.responses.items():
        yield from names_of(f"nlu.responses.{selector}", ("f1", "precision", "recall", "accuracy"), responses)
        yield from _of_labels(f"nlu.responses.{selector}", responses.report)
    if nlu.understood:
        yield from names_of("nlu.understood", ("right", "wrong", "not_understood"), nlu.understood)
    yield "nlu.calibration_error", nlu.calibration_error
    yield from figures_of_report(report, "nlu")


def _of_labels(prefix: str, report: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The scores of each label in a report of Rasa's shape, which is scikit-learn's."""
    for label, scores in report.items():
        if label not in _AVERAGES and isinstance(scores, dict):
            for field, key in (("f1", "f1-score"), ("precision", "precision"), ("recall", "recall")):
                yield f"{prefix}[{label}].{field}", scores.get(key)


def _why_no_figure(report: Report, name: str) -> str | None:
    for intent in report.nlu.unjudged if report.nlu else ():
        if name.startswith(f"nlu.intents[{intent.intent}]."):
            return f"the intent has {count(intent.examples, 'example')}, fewer than there are folds"
    if (of_intent := _OF_INTENT.fullmatch(name)) is not None:
        defined = report.coverage["intents"].items if "intents" in report.coverage else ()
        known = {item.name for item in defined} | {
            sentence.intent for sentence in (report.nlu.training if report.nlu else ())
        }
        return "no judged sentence has this intent" if of_intent[1] in known else ""
    if name.startswith("nlu.intents."):
        return FEW_INTENTS
    if report.nlu is not None and name.startswith("nlu.entities."):
        for extractor, scores in report.nlu.entities.items():
            if scores.says_nothing and name.startswith(f"nlu.entities.{extractor}."):
                return NOTHING_TO_FIND
        return "" if report.nlu.entities else "no entities were judged"
    if report.nlu is not None and name.startswith("nlu.responses."):
        return "" if report.nlu.responses else "the judged sentences have fewer than two different responses"
    return why_no_figure_of_runs(report, name, "nlu")


NLU: Final = EvaluationKind(
    name="nlu",
    capability="no_nlu",
    has_results=lambda report: report.nlu is not None and report.nlu.examples > 0,
    metrics=(
        metric_named(r"nlu\.examples", "nlu", "neither", "counted", "count"),
        metric_named(r"nlu\.intents\.f1", "nlu", "higher", "bootstrap", label="Intents, F1"),
        metric_named(r"nlu\.intents\.accuracy", "nlu", "higher", "mcnemar", label="Intents, accuracy"),
        metric_named(r"nlu\.intents\.(?:precision|recall)", "nlu", "higher", "bootstrap"),
        metric_named(rf"nlu\.intents\[.*\]\.{SCORES}", "nlu", "higher", "bootstrap", label="F1 of intent"),
        metric_named(rf"nlu\.entities\..+\.{SCORES}", "nlu", "higher", "bootstrap", label="Entities, F1"),
        metric_named(rf"nlu\.responses\..+\.{SCORES}", "nlu", "higher", "bootstrap", label="Responses, F1"),
        metric_named(r"nlu\.responses\..+\.accuracy", "nlu", "higher", "mcnemar"),
        metric_named(r"nlu\.understood\.right", "nlu", "higher", "mcnemar", "count"),
        metric_named(r"nlu\.understood\.(?:wrong|not_understood)", "nlu", "lower", "mcnemar", "count"),
        metric_named(r"nlu\.calibration_error", "nlu", "lower", "bootstrap"),
        metric_named(r"nlu\.coverage\.(?:pooled|mean)", "nlu", "higher", "counted"),
        *metrics_of_runs("nlu"),
    ),
    figures=_figures,
    examples=(
        *("nlu.intents.accuracy", "nlu.intents.precision", "nlu.intents.recall", "nlu.intents.f1"),
        *("nlu.intents[INTENT].f1", "nlu.entities.EXTRACTOR.f1", "nlu.entities.EXTRACTOR.spans.f1"),
        "nlu.responses.SELECTOR.f1",
    ),
    not_run="language understanding was not evaluated",
    lost="language understanding is no longer judged",
    refused="the NLU pipeline cannot be trained",
    in_files="the test sentences",
    nlu_only=True,
    why_no_figure=_why_no_figure,
)
