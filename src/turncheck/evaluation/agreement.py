"""How far two reports on the same tests agree: the stand-in's and that of the team's own model."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from turncheck.report.trust import Agreement, Agreements, ConfidenceMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.report.model import EntitySpan, Nlu, NluPrediction, Report, Understood

FEWEST_FOR_MAP: Final = 20
"""A map of confidences is not made from fewer sentences: its lowest quantiles would be single sentences."""

_QUANTILES: Final = 20

Pair = tuple["NluPrediction", "NluPrediction"]
"""A sentence as the stand-in understood it, and as the team's model did."""


def compared_sentences(ours: Report, theirs: Report) -> list[Pair]:
    """Pair the sentences that both judged, by text; a repeated one is paired as often as it occurs on both sides."""
    waiting: dict[str, list[NluPrediction]] = defaultdict(list)
    for prediction in theirs.nlu.predictions if theirs.nlu else ():
        waiting[prediction.text].append(prediction)
    return [
        (prediction, waiting[prediction.text].pop(0))
        for prediction in (ours.nlu.predictions if ours.nlu else ())
        if waiting[prediction.text]
    ]


def agreements_of(ours: Report, theirs: Report) -> Agreements:
    """Count agreements of both reports, for the sentences and stories that both judged.

    Intents are those before the fallback. If a report does not list any entities, entities are not compared.
    """
    pairs = compared_sentences(ours, theirs)
    understood = [(mine.predicted.intent or "", other.predicted.intent or "") for mine, other in pairs]
    found = [(_spans(mine.predicted.entities), _spans(other.predicted.entities)) for mine, other in pairs]
    of_types = _by_name(
        (
            (entity for entity, _, _ in mine),
            (entity for entity, _, _ in other),
            (entity for entity, _, _ in mine & other),
        )
        for mine, other in found
    )
    words = _stories(ours, theirs)
    return Agreements(
        sentences=_of_all(understood),
        entities=_summed(of_types.values()),
        stories=_of_all(words),
        intents=_by_name(
            ([mine], [other], [mine] if mine == other else []) for mine, other in understood if mine or other
        ),
        entity_types=of_types,
    )


def _of_all(pairs: Sequence[tuple[object, object]]) -> Agreement | None:
    if not pairs:
        return None
    return Agreement(both=sum(mine == other for mine, other in pairs), ours=len(pairs), theirs=len(pairs))


def _by_name(
    said: Iterable[tuple[Iterable[str], Iterable[str], Iterable[str]]],
) -> dict[str, Agreement]:
    """Count names by whether the stand-in, the team's model or both predicted them for a sentence."""
    ours, theirs, both = Counter[str](), Counter[str](), Counter[str]()
    for mine, other, common in said:
        ours.update(mine)
        theirs.update(other)
        both.update(common)
    names = sorted((ours.keys() | theirs.keys()) - {""})
    return {name: Agreement(both=both[name], ours=ours[name], theirs=theirs[name]) for name in names}


def _summed(parts: Iterable[Agreement]) -> Agreement | None:
    known = list(parts)
    if not known:
        return None
    return Agreement(
        both=sum(one.both for one in known),
        ours=sum(one.ours for one in known),
        theirs=sum(one.theirs for one in known),
    )


def _spans(entities: Iterable[EntitySpan]) -> frozenset[tuple[str, int, int]]:
    """The entities that were found, by any extractor."""
    return frozenset((one.entity, one.start, one.end) for one in entities)


def _stories(ours: Report, theirs: Report) -> list[tuple[bool, bool]]:
    waiting: dict[str, list[bool]] = defaultdict(list)
    for story in theirs.core.stories if theirs.core else ():
        waiting[story.name].append(story.passed)
    return [
        (story.passed, waiting[story.name].pop(0))
        for story in (ours.core.stories if ours.core else ())
        if waiting[story.name]
    ]


# --- confidences -----------------------------------------------------------------------------------------------------


def confidence_map(pairs: Sequence[Pair], ours: Nlu | None) -> ConfidenceMap | None:
    """Map the stand-in's confidences to those of the team's model by quantiles; ``None`` for too few sentences.

    Quantiles are used instead of an isotonic regression because a threshold then keeps its share of fallbacks, while a
    regression would pull both ends to the middle. If there is a fallback in ``ours``, the stand-in's report, it is
    recorded how often the team's model falls back.
    """
    if len(pairs) < FEWEST_FOR_MAP or ours is None:
        return None
    left = sorted(_within(mine.predicted.confidence) for mine, _ in pairs)
    right = sorted(_within(other.predicted.confidence) for _, other in pairs)
    last = len(pairs) - 1
    at: dict[float, list[float]] = {}
    for step in range(_QUANTILES + 1):
        place = round(step * last / _QUANTILES)
        at.setdefault(round(left[place], 4), []).append(right[place])
    quantiles = sorted(at.items())
    return ConfidenceMap(
        ours=tuple(mine for mine, _ in quantiles),
        theirs=tuple(round(sum(others) / len(others), 4) for _, others in quantiles),
        fallbacks=_share_of_fallbacks(pairs, ours.understood.threshold) if ours.understood else None,
        thresholds=_thresholds_of(ours.understood),
        mode=ours.mode,
    )


def _thresholds_of(understood: Understood | None) -> tuple[float, float] | None:
    if understood is None or understood.threshold is None or understood.ambiguity_threshold is None:
        return None
    return understood.threshold, understood.ambiguity_threshold


def _within(confidence: float) -> float:
    return min(1.0, max(0.0, confidence))


def _share_of_fallbacks(pairs: Sequence[Pair], threshold: float | None) -> float | None:
    """The files of ``rasa test`` do not say when it fell back, only its confidence."""
    if threshold is None:
        return None
    fell = sum(other.predicted.fallback or other.predicted.confidence < threshold for _, other in pairs)
    return round(fell / len(pairs), 4)
