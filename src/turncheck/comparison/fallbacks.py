"""Sentences that end in a fallback now and did not on the base, because of another threshold or less sure answers."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import structs

from turncheck.comparison.changes import (
    FallbackChange,
    LessUnderstood,
    SimilarSentences,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison import model
    from turncheck.comparison.metrics import MetricDelta
    from turncheck.report.model import NluPrediction, Report, Understood


_OF_FALLBACKS: Final = "nlu.understood."
_FALLBACKS: Final = f"{_OF_FALLBACKS}not_understood"
_FALLBACK_POLICY: Final = re.compile(r"(^|\.)(TwoStage)?FallbackPolicy$")
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
    thresholds = [
        (understood.threshold, understood.ambiguity_threshold) if understood else (None, None)
        for understood in (before, after)
    ]
    worse = any(metric.name == _FALLBACKS and metric.judgement == "worse" for metric in metrics)
    if thresholds[0] == thresholds[1] and not worse:
        return None
    if thresholds[0] != thresholds[1] and (_falls_back_by_policy(base) or _falls_back_by_policy(head)):
        return None
    is_raised = any((now or 0.0) > (was or 0.0) for was, now in zip(*thresholds, strict=True))
    lost: dict[str, list[SimilarSentences]] = {}
    newly_wrong = []
    for old, new in pairs:
        sentence = SimilarSentences(text=new.text, intent=new.expected.intent or "", location=new.location)
        is_lost = new.predicted.fallback and not old.predicted.fallback and old.correct and not new.unclear
        if is_lost and (is_raised or worse):  # a lower threshold takes nothing away: a few lost ones are noise
            lost.setdefault(sentence.intent, []).append(sentence)
        taken = not new.predicted.fallback and new.misclassified and new.predicted.intent
        if old.predicted.fallback and taken and not old.unclear:
            newly_wrong.append(sentence)
    if not lost and not newly_wrong:
        return None
    by_number = sorted(lost.items(), key=lambda one: (-len(one[1]), one[0]))
    return FallbackChange(
        base=thresholds[0][0],
        value=thresholds[1][0],
        base_ambiguity=thresholds[0][1],
        ambiguity=thresholds[1][1],
        lost=tuple(LessUnderstood(intent=intent, sentences=tuple(similar)) for intent, similar in by_number),
        newly_wrong=tuple(newly_wrong),
    )


def _falls_back_by_policy(report: Report) -> bool:
    """Whether a policy has the threshold, as in Rasa 1: what the pipeline leaves to it is not understood for that."""
    parts = report.engine.configured or () if report.engine else ()
    return any(part.section == "policies" and _FALLBACK_POLICY.search(part.name) for part in parts)


def is_less_understood(compared: model.Comparison) -> bool:
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
    pairs = [(old, new) for old, new in pairs if not old.unclear and not new.unclear]
    crossed = Counter(new.predicted.fallback - old.predicted.fallback for old, new in pairs)
    if abs(crossed[1] - crossed[-1]) > _SHARE_OF_A_SHIFT * len(pairs):
        return metrics
    otherwise = any(
        new.correct != old.correct and new.predicted.fallback == old.predicted.fallback for old, new in pairs
    )
    noisy = _FALLBACKS if otherwise else _OF_FALLBACKS
    return tuple(
        structs.replace(metric, judgement="noise")
        if metric.name.startswith(noisy) and metric.judgement in {"better", "worse"}
        else metric
        for metric in metrics
    )


def _thresholds(understood: Understood) -> tuple[float | None, float | None]:
    return understood.threshold, understood.ambiguity_threshold


def _understood(report: Report) -> Understood | None:
    return report.nlu.understood if report.nlu else None
