"""The judged sentences, in columns, and the table of intents."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from msgspec import UnsetType

from turncheck.comparison.cases import entity_spans
from turncheck.render.main_metrics import change_of, is_on_shared, mark, sample_size_note
from turncheck.render.page.model import NONE, Entities, Entity, Intent, Selection, Sentences, Side, Threshold, Training
from turncheck.render.wording.newly_judged import right_in_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases, NewlyJudged
    from turncheck.comparison.metrics import MetricDelta
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Location
    from turncheck.render.page.model import Files, Labels
    from turncheck.report.model import EntitySpan, Nlu, NluPrediction

_AVERAGES: Final = frozenset({"accuracy", "micro avg", "macro avg", "weighted avg"})
_DIGITS: Final = 4
_LARGEST: Final = 1e9

Changes = dict[tuple[str, "Location | None"], tuple[Side, "CaseChange"]]
"""How each case changed sides, by name and place."""


def changes_of(cases: ChangedCases) -> Changes:
    """Return how each case of this side changed, by its name and place."""
    sides: tuple[tuple[Side, Iterable[CaseChange]], ...] = (
        ("edited", cases.edited), ("better", cases.better), ("new", cases.added_failing), ("worse", cases.became_wrong),
    )  # fmt: skip
    return {(case.name, case.location): (side, case) for side, listed in sides for case in listed}


def sentence_columns(
    nlu: Nlu | None, comparison: Comparison | None, files: Files, labels: Labels, *, keys: Sequence[str]
) -> tuple[Sentences, Training]:
    """Return every judged sentence, and the training sentences near a wrong one; each has its key."""
    judged = nlu.predictions if nlu else ()
    changed = changes_of(comparison.examples) if comparison else {}
    entities = changes_of(comparison.entities) if comparison else {}
    responses = changes_of(comparison.responses) if comparison else {}
    places = [(prediction.text, prediction.location) for prediction in judged]
    found = {number: changed[place] for number, place in enumerate(places) if place in changed}
    training, neighbours = _neighbours(nlu, files, labels)
    varying = {
        number: prediction.repeats
        for number, prediction in enumerate(judged)
        if not isinstance(prediction.repeats, UnsetType) and prediction.repeats.outcome != "passed"
    }
    columns = Sentences(
        total=len(judged),
        key=list(keys),
        text=[prediction.text for prediction in judged],
        expected=[labels.number(prediction.expected.intent) for prediction in judged],
        predicted=[labels.number(prediction.predicted.intent) for prediction in judged],
        confidence=[_rounded(prediction.predicted.confidence) for prediction in judged],
        margin=[_margin(prediction) for prediction in judged],
        fallback=[int(prediction.predicted.fallback) for prediction in judged],
        file=[files.number(prediction.location.path) for prediction in judged],
        line=[prediction.location.line or 0 for prediction in judged],
        side={number: side for number, (side, _) in found.items()},
        base={
            number: labels.number(case.base_actual)
            for number, (_, case) in found.items()
            if case.base_actual and case.base_actual != judged[number].predicted.intent
        },
        entities={
            number: made
            for number, prediction in enumerate(judged)
            if (made := _entities(prediction, entities, places[number]))
        },
        responses={
            number: selected
            for number, prediction in enumerate(judged)
            if (selected := _response(prediction, responses, places[number]))
        },
        neighbours=neighbours,
        ranking={
            number: [(labels.number(rank.name), _rounded(rank.confidence)) for rank in prediction.predicted.ranking]
            for number, prediction in enumerate(judged)
            if prediction.predicted.ranking
        },
        runs={number: repeats.runs.upper() for number, repeats in varying.items()},
        repeated={
            number: "not answered" if repeats.is_unanswered else repeats.outcome for number, repeats in varying.items()
        },
    )
    return columns, training


def _margin(nlu_prediction: NluPrediction) -> float:
    """How far the second intent is behind the first, if there is a second."""
    ranking = nlu_prediction.predicted.ranking
    return _rounded(ranking[0].confidence - ranking[1].confidence) if len(ranking) > 1 else float(NONE)


def _neighbours(nlu: Nlu | None, files: Files, labels: Labels) -> tuple[Training, dict[int, list[tuple[int, float]]]]:
    """Return the training sentences that are neighbours of a judged one, and of which."""
    training = nlu.training if nlu else ()
    used: dict[int, int] = {}
    near: dict[int, list[tuple[int, float]]] = {}
    for number, prediction in enumerate(nlu.predictions if nlu else ()):
        known = [neighbour for neighbour in prediction.neighbours if 0 <= neighbour.training < len(training)]
        if known:
            near[number] = [(used.setdefault(each.training, len(used)), _rounded(each.similarity)) for each in known]
    listed = [training[number] for number in used]
    columns = Training(
        text=[sentence.text for sentence in listed],
        intent=[labels.number(sentence.intent) for sentence in listed],
        file=[files.number(sentence.location.path) for sentence in listed],
        line=[sentence.location.line or 0 for sentence in listed],
    )
    return columns, near


def _entities(nlu_prediction: NluPrediction, changed: Changes, place: tuple[str, Location]) -> Entities | None:
    expected, found = nlu_prediction.expected.entities, nlu_prediction.predicted.entities
    if not expected and not found:
        return None
    return Entities(
        expected=[_entity(nlu_prediction.text, span) for span in expected],
        found=[_entity(nlu_prediction.text, span) for span in found],
        right=entity_spans(nlu_prediction, expected=True) == entity_spans(nlu_prediction, expected=False),
        side=changed[place][0] if place in changed else "",
    )


def _entity(text: str, span: EntitySpan) -> Entity:
    parts = [
        span.entity,
        *([f"role {span.role}"] if span.role else []),
        *([f"group {span.group}"] if span.group else []),
    ]
    stands_for = "" if span.value is None or span.value == text[max(span.start, 0) : span.end] else str(span.value)
    return Entity(start=span.start, end=span.end, label=", ".join(parts), value=stands_for, by=span.extractor or "")


def _response(nlu_prediction: NluPrediction, changed: Changes, place: tuple[str, Location]) -> Selection | None:
    expected = nlu_prediction.expected.response
    if expected is None or "/" not in expected:
        return None
    side = changed[place][0] if place in changed else ""
    return Selection(expected=expected, selected=nlu_prediction.predicted.response or "", side=side)


def intent_rows(nlu: Nlu | None, comparison: Comparison | None, labels: Labels) -> list[Intent]:
    """Return the table of intents, the weakest first; with a base also those that only the base judged."""
    scores: Mapping[str, Any] = nlu.intents.report if nlu and nlu.intents else {}
    deltas = {metric.name: metric for metric in (comparison.metrics if comparison and comparison.judged else ())}
    judged = comparison.newly_judged if comparison else ()
    new = {one.name: one for one in judged if one.kind == "intents"}
    rows = [
        _row(
            labels.number(name),
            figures,
            {one: deltas.get(f"nlu.intents[{name}].{one}") for one in ("precision", "recall", "f1")},
            comparison,
            new.get(name),
        )
        for name, figures in scores.items()
        if name not in _AVERAGES and isinstance(figures, dict)
    ]
    return sorted(rows, key=lambda row: (row.f1 if row.f1 is not None else 2.0, row.name))


def _row(
    name: int,
    figures: Mapping[str, Any],
    deltas: Mapping[str, MetricDelta | None],
    comparison: Comparison | None,
    new: NewlyJudged | None,
) -> Intent:
    """Return a row; with a base all three figures are those that are compared, so that they belong together."""
    delta = deltas["f1"]
    base = delta.sides[0] if delta else None
    now = {
        "f1": _score(figures, "f1-score"),
        **{one: _score(figures, one) for one in ("precision", "recall")},
        **{one: compared.sides[1] for one, compared in deltas.items() if delta and compared},
    }
    comparable = delta if comparison is None or not comparison.other_mode else None
    support = _score(figures, "support")
    return Intent(
        name=name,
        support=int(support) if support is not None else None,
        precision=now["precision"],
        recall=now["recall"],
        f1=now["f1"],
        base_f1=base,
        change=change_of(comparable) if comparable else "",
        worth=f"{mark(comparable)}{sample_size_note(comparable)}" if comparable else "",
        judgement=delta.judgement if delta else "",
        new=right_in_short(new) if new else "",
        shared=bool(delta) and any(one is not None and is_on_shared(one) for one in deltas.values()),
    )


def _score(figures: Mapping[str, Any], name: str) -> float | None:
    value = figures.get(name)
    return float(value) if isinstance(value, int | float) and abs(value) <= _LARGEST else None  # imported from anywhere


def confusions(nlu: Nlu | None, labels: Labels) -> list[tuple[int, int, int]]:
    """Return which intents were misclassified as which, and how often."""
    scores = nlu.intents if nlu else None
    return [
        (labels.number(confusion.expected), labels.number(confusion.predicted), confusion.count)
        for confusion in (scores.confusions if scores else ())
    ]


def threshold_of(nlu: Nlu | None) -> Threshold | None:
    """Return the fallback's thresholds, if sentences were judged."""
    if nlu is None or not nlu.predictions:
        return None
    fallback = nlu.understood
    return Threshold(
        now=fallback.threshold if fallback else None,
        ambiguity=fallback.ambiguity_threshold if fallback else None,
        suggested=fallback.suggested.threshold if fallback and fallback.suggested else None,
    )


def _rounded(value: float) -> float:
    """Truncate to four digits: rounding up could lift a confidence over a threshold."""
    if not math.isfinite(value) or abs(value) > _LARGEST:
        return 0.0
    near = round(value, _DIGITS)
    return near if near <= value else round(near - 10.0**-_DIGITS, _DIGITS)
