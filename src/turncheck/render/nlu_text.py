"""An NLU evaluation in plain lines, for the terminal and for logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.wording import expected_got
from turncheck.messages.plurals import count
from turncheck.render.covered_text import covered_lines
from turncheck.render.engine_text import substitution_lines
from turncheck.render.overlap_text import overlap_remarks
from turncheck.render.sinks.terminal import place, text
from turncheck.render.unjudged_text import unjudged_remark
from turncheck.report.tags import overlapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.report.model import EngineInfo, Nlu, Spread

_MOST_CONFUSED = 10


def nlu_text(nlu: Nlu, engine: EngineInfo | None = None, folder: str = "", trust: str = "") -> str:
    """Describe the results: main figures, with their spread over the folds, and where to look first.

    ``folder``: the project's path from the current folder, for the places named. ``trust`` follows the substitutions:
    how reliable they are.
    """
    return "\n".join([*_head(nlu, engine, trust), *_figures(nlu), *_where_to_look(nlu, folder), ""])


def _head(nlu: Nlu, engine: EngineInfo | None, trust: str) -> Iterator[str]:
    how = f"{nlu.folds}-fold cross-validation" if nlu.mode == "cross-validation" else "held out"
    yield f"NLU: {count(nlu.examples, 'sentence')}, {how}"
    yield from (f"  {remark.in_words}" for remark in overlap_remarks(nlu))
    yield from (f"  {line}" for line in substitution_lines(engine.substitutions if engine else ()))
    if trust:
        yield f"  {trust}"
    for remark in nlu.remarks:
        yield f"  {text(remark, 400)}"
    if unjudged := unjudged_remark(nlu):
        yield f"  {text(unjudged, 1000)}"


def _figures(nlu: Nlu) -> Iterator[str]:
    if nlu.intents:
        scores = nlu.intents
        figures = {"accuracy": scores.accuracy, "precision": scores.precision, "recall": scores.recall, "f1": scores.f1}
        yield from _table("Intents", figures, scores.folds)
    for name, entities in nlu.entities.items():
        figures = {"precision": entities.precision, "recall": entities.recall, "f1": entities.f1}
        yield from _table(f"Entities by {name}, by token", figures, entities.folds)
        spans = entities.spans
        if spans is not None:
            yield f"  exact spans: precision {spans.precision:.3f}, recall {spans.recall:.3f}, f1 {spans.f1:.3f}"
    if len(nlu.entities) > 1 and nlu.entity_spans:
        spans = nlu.entity_spans
        yield "All extractors together (what several find counts once):"
        yield f"  exact spans: precision {spans.precision:.3f}, recall {spans.recall:.3f}, f1 {spans.f1:.3f}"
    for name, responses in nlu.responses.items():
        figures = {"accuracy": responses.accuracy, "f1": responses.f1}
        yield from _table(f"Responses by selector {name}", figures, responses.folds)
    yield from covered_lines(nlu.coverage)
    understood = nlu.understood
    if understood:
        yield "Understood, after the fallback:"
        yield f"  right {understood.right}, wrong {understood.wrong}, not understood {understood.not_understood}"
        if (same := understood.same_fallbacks) is not None:
            yield f"  with as many fallbacks as your Rasa ({same.share:.1%}, below {same.threshold:.2f} here):"
            yield f"    right {same.right}, wrong {same.wrong}, not understood {same.not_understood}"
        if understood.suggested:
            point = understood.suggested
            yield (
                f"  suggested threshold {point.threshold:g}: answers {point.coverage:.1%} of the sentences, "
                f"{point.precision:.1%} of them right"
            )
            wrong = _gone(understood.wrong_avoided, "wrong answers avoided", "more wrong answers")
            right = _gone(understood.right_lost, "right answers lost", "more right answers")
            yield f"  compared with today: {wrong}, {right}"


def _gone(number: int, fewer: str, more: str) -> str:
    return f"{fewer} {number}" if number >= 0 else f"{more} {-number}"


def _table(title: str, figures: Mapping[str, float], folds: Mapping[str, Spread]) -> Iterator[str]:
    yield f"{text(title)}:"
    for name, value in figures.items():
        spread = folds.get(name)
        mean = f"   mean of folds {spread.mean:.3f} ± {spread.deviation:.3f}" if spread else ""
        yield f"  {name:<10}{'pooled ' if spread else ''}{value:.3f}{mean}"


def _where_to_look(nlu: Nlu, folder: str) -> Iterator[str]:
    if nlu.insights.confused:
        yield "Most confused:"
    for pair in nlu.insights.confused[:_MOST_CONFUSED]:
        first, second = text(pair.first), text(pair.second)
        yield f"  {expected_got(first, second)}: {pair.first_as_second}; the other way round: {pair.second_as_first}"
    if nlu.insights.mislabelled:
        yield "Perhaps mislabelled (the engine disagrees with high confidence):"
    for index in nlu.insights.mislabelled[:_MOST_CONFUSED]:
        prediction = nlu.predictions[index]
        expected, predicted = text(prediction.expected.intent or ""), text(prediction.predicted.intent or "")
        yield (
            f"  {place(prediction.location, folder)}: “{text(prediction.text)}” is {expected}, "
            f"looks like {predicted} ({prediction.predicted.confidence:.2f})"
        )
    if nlu.insights.overlapping:
        yield "Entities that overlap:"
    for index in nlu.insights.overlapping[:_MOST_CONFUSED]:
        prediction = nlu.predictions[index]
        pairs = overlapping(prediction.predicted.entities)
        found = ", ".join(
            f"{text(prediction.text[one.start : one.end])} = {text(one.entity)} ({text(one.extractor or '')})"
            for one in prediction.predicted.entities
            if any(one in pair for pair in pairs)
        )
        yield f"  {place(prediction.location, folder)}: “{text(prediction.text)}”: {found}"
