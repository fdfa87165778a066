"""Sentences that end in a fallback now and did not on the base, because of another threshold or less sure answers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.comparison.changes import Alike, FallbackChange, LessUnderstood

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.judgement import MetricDelta
    from turncheck.comparison.model import Comparison
    from turncheck.report.model import NluPrediction, Report, Understood

_OF_FALLBACKS: Final = "nlu.understood."
_FALLBACKS: Final = f"{_OF_FALLBACKS}not_understood"
_SHARE_OF_A_SHIFT: Final = 0.03
"""Of the sentences, at most this part crosses the threshold by a small shift of all confidences."""


def fallback_change(
    base: Report,
    head: Report,
    pairs: Sequence[tuple[NluPrediction, NluPrediction]],
    metrics: Iterable[MetricDelta],
) -> FallbackChange | None:
    """Return what is no longer understood, if a threshold was changed or fallbacks really became more frequent.

    ``pairs``: sentences that both sides judged with the same expectation.
    """
    before, after = _understood(base), _understood(head)
    if before is None and after is None:
        return None
    thresholds = [(one.threshold, one.ambiguity_threshold) if one else (None, None) for one in (before, after)]
    worse = any(one.name == _FALLBACKS and one.judgement == "worse" for one in metrics)
    if thresholds[0] == thresholds[1] and not worse:
        return None
    lost: dict[str, list[Alike]] = {}
    newly_wrong = []
    for old, new in pairs:
        sentence = Alike(text=new.text, intent=new.expected.intent or "", location=new.location)
        if new.predicted.fallback and not old.predicted.fallback and old.correct:
            lost.setdefault(sentence.intent, []).append(sentence)
        if old.predicted.fallback and not new.predicted.fallback and not new.correct:
            newly_wrong.append(sentence)
    if not lost and not newly_wrong:
        return None
    by_number = sorted(lost.items(), key=lambda one: (-len(one[1]), one[0]))
    return FallbackChange(
        base=thresholds[0][0],
        value=thresholds[1][0],
        base_ambiguity=thresholds[0][1],
        ambiguity=thresholds[1][1],
        lost=tuple(LessUnderstood(intent=intent, sentences=tuple(found)) for intent, found in by_number),
        newly_wrong=tuple(newly_wrong),
    )


def is_less_understood(compared: Comparison) -> bool:
    """Whether really more sentences end in a fallback."""
    figure = compared.metric(_FALLBACKS)
    return compared.fallback is not None and figure is not None and figure.judgement == "worse"


def without_shifts(
    base: Report,
    head: Report,
    pairs: Sequence[tuple[NluPrediction, NluPrediction]],
    metrics: tuple[MetricDelta, ...],
) -> tuple[MetricDelta, ...]:
    """Return the figures; how many sentences are understood is noise if only a few crossed an unchanged threshold.

    Confidences move together: a sentence added anywhere carries all that are near the threshold over it to one side, so
    that the exact test, for which each moves on its own, finds a difference in any edit.
    """
    before, after = _understood(base), _understood(head)
    if before is None or after is None or _thresholds(before) != _thresholds(after):
        return metrics
    crossed = Counter(new.predicted.fallback - old.predicted.fallback for old, new in pairs)
    if abs(crossed[1] - crossed[-1]) > _SHARE_OF_A_SHIFT * len(pairs):
        return metrics
    otherwise = any(
        new.correct != old.correct and new.predicted.fallback == old.predicted.fallback for old, new in pairs
    )
    noisy = _FALLBACKS if otherwise else _OF_FALLBACKS
    return tuple(
        replace(one, judgement="noise") if one.name.startswith(noisy) and one.judgement in {"better", "worse"} else one
        for one in metrics
    )


def _thresholds(understood: Understood) -> tuple[float | None, float | None]:
    return understood.threshold, understood.ambiguity_threshold


def _understood(report: Report) -> Understood | None:
    return report.nlu.understood if report.nlu else None
