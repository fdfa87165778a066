"""Is a difference more than chance? Tests over the same examples, judged before and after.

Accuracy: McNemar's exact test (Q. McNemar, Psychometrika 12, 1947): under chance, each of the examples that changed
sides is as likely to have gone either way, so their count follows a binomial distribution with p = 1/2.

Precision, recall, F1: a paired bootstrap (B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13):
sentences are drawn with replacement, the same ones for both sides, and the interval is the middle 95 % of the observed
differences. On few sentences it is overconfident, so the exact test on the sentences that became better or worse for
the score must agree: accuracy and F1 of the same sentences never contradict each other.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from turncheck.comparison.metrics import Significance
from turncheck.comparison.paired import LEVEL, PairedLabel, mcnemar_exact
from turncheck.report.entities import NO_ENTITY, found_by, read_tokens, to_find, token_labels, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.matching import Pair
    from turncheck.comparison.paired import PairedScore, PairedScores
    from turncheck.report.model import EntitySpan, NluPrediction, Report

# Figures about a sample of sentences, compared on the sentences that both sides judged.

_MOST_TESTED: Final = 30
"""No pipeline has more extractors or selectors; a report from anywhere may, each at the cost of one pass over all."""
_NOTHING: Final = PairedLabel(None, None, None)
Tested = tuple[float, float, Significance, bool]
"""A metric on the shared examples before and after, how it was judged, and whether it is real."""


def tested_figures(
    base: Report, head: Report, same: Sequence[Pair], pairs: Sequence[tuple[NluPrediction, NluPrediction]]
) -> dict[str, Tested]:
    """Judge every sampled figure.

    Args:
        base: the report before.
        head: the report now.
        same: sentences with the same intent on both sides.
        pairs: sentences with the same intent, response and entities on both sides.
    """
    if not (same or pairs):
        return {}
    from turncheck.comparison.resampling import paired_scores  # imports numpy, and most runs compare no sentences

    tested: dict[str, Tested] = {}
    if same:
        judged = [(PairedLabel(p.head.expected, p.base.actual or None, p.head.actual or None),) for p in same]
        _add_scores(tested, "nlu.intents", paired_scores(judged, head.seed))
        _add_accuracy(tested, "nlu.intents.accuracy", [one for (one,) in judged])
    _add_understood(tested, [(old, new) for old, new in pairs if old.is_judged and new.is_judged], head.seed)
    scored = head.nlu.entities if head.nlu else ()
    for extractor in islice(scored, _MOST_TESTED):
        if base.nlu and extractor in base.nlu.entities:
            words = [_words(old, new, extractor, scored) for old, new in pairs]
            _add_scores(tested, f"nlu.entities.{extractor}", paired_scores(words, head.seed))
            spans = [_spans(old, new, extractor, scored) for old, new in pairs]
            _add_scores(tested, f"nlu.entities.{extractor}.spans", paired_scores(spans, head.seed))
    for selector in islice(head.nlu.responses if head.nlu else (), _MOST_TESTED):
        responses = list(_responses(pairs, selector))
        _add_scores(
            tested, f"nlu.responses.{selector}", paired_scores([(response,) for response in responses], head.seed)
        )
        _add_accuracy(tested, f"nlu.responses.{selector}.accuracy", responses)
    return tested


def _add_scores(tested: dict[str, Tested], prefix: str, scores: PairedScores | None) -> None:
    if scores is None:
        return
    for field, score in scores.overall.items():
        tested[f"{prefix}.{field}"] = _bootstrapped(score)
    for label, fields in scores.labels.items():
        for field, score in fields.items():
            tested[f"{prefix}[{label}].{field}"] = _bootstrapped(score)


def _bootstrapped(score: PairedScore) -> Tested:
    significance = Significance(
        method="bootstrap", low=score.low, high=score.high, changed=score.changed, examples=score.examples
    )
    return score.before, score.after, significance, score.real


def _add_accuracy(tested: dict[str, Tested], name: str, judged: Sequence[PairedLabel]) -> None:
    if not judged:
        return
    before = [one.before == one.expected for one in judged]
    after = [one.after == one.expected for one in judged]
    were, are, significance, real = flipped(before, after)
    tested[name] = were / len(judged), are / len(judged), significance, real


def flipped(before: Sequence[bool], after: Sequence[bool]) -> Tested:
    """How many were true before and after, judged by how many changed in either direction."""
    lost = sum(old and not new for old, new in zip(before, after, strict=True))
    won = sum(new and not old for old, new in zip(before, after, strict=True))
    p_value = mcnemar_exact(lost, won)
    significance = Significance(method="mcnemar", p_value=p_value, changed=lost + won, examples=len(before))
    return sum(before), sum(after), significance, p_value < LEVEL


def _add_understood(tested: dict[str, Tested], pairs: Sequence[tuple[NluPrediction, NluPrediction]], seed: int) -> None:
    if not pairs:
        return
    from turncheck.comparison.resampling import paired_calibration  # as above

    before, after = [_verdict(old) for old, _ in pairs], [_verdict(new) for _, new in pairs]
    for verdict in ("right", "wrong", "not_understood"):
        tested[f"nlu.understood.{verdict}"] = flipped([v == verdict for v in before], [v == verdict for v in after])
    sure_before = [(old.predicted.confidence, old.correct) for old, _ in pairs]
    sure_after = [(new.predicted.confidence, new.correct) for _, new in pairs]
    tested["nlu.calibration_error"] = _bootstrapped(paired_calibration(sure_before, sure_after, seed))


def _verdict(example: NluPrediction) -> str:
    if example.predicted.fallback:
        return "not_understood"
    return "right" if example.correct else "wrong"


def tested_plugins(base: Report, head: Report) -> dict[str, Tested]:
    """Judge the figures of plugins about sentences, on those that both sides judged."""
    tested: dict[str, Tested] = {}
    for name, now in head.metrics.items():
        was = base.metrics.get(name)
        if was is None or now.noise != "sentences" or was.noise != "sentences":
            continue
        waiting: dict[object, list[bool]] = {}
        for example, true in zip(predictions(base), was.sentences, strict=True):
            if true is not None:
                waiting.setdefault(_expectation(example), []).append(true)
        pairs = [
            (partners.pop(0), true)
            for example, true in zip(predictions(head), now.sentences, strict=True)
            if true is not None and (partners := waiting.get(_expectation(example)))
        ]
        if pairs:
            before, after, significance, real = flipped([old for old, _ in pairs], [new for _, new in pairs])
            tested[name] = before / len(pairs), after / len(pairs), significance, real
    return tested


def paired_predictions(base: Report, head: Report) -> list[tuple[NluPrediction, NluPrediction]]:
    """Sentences that both sides judged with the same expectation, including entities and response."""
    waiting: dict[object, list[NluPrediction]] = {}
    for example in predictions(base):
        waiting.setdefault(_expectation(example), []).append(example)
    return [
        (partners.pop(0), example) for example in predictions(head) if (partners := waiting.get(_expectation(example)))
    ]


def predictions(report: Report) -> Sequence[NluPrediction]:
    return report.nlu.predictions if report.nlu else ()


def _expectation(example: NluPrediction) -> object:
    spans = tuple((span.start, span.end, span.entity) for span in example.expected.entities)
    return example.text, example.expected.intent, example.expected.response, spans


def _responses(pairs: Iterable[tuple[NluPrediction, NluPrediction]], selector: str) -> Iterable[PairedLabel]:
    for old, new in pairs:
        label = new.expected.response
        if label and "/" in label and (selector in {"default", "all"} or label.startswith(f"{selector}/")):
            yield PairedLabel(label, old.predicted.response, new.predicted.response)


def _words(old: NluPrediction, new: NluPrediction, extractor: str, scored: Iterable[str]) -> list[PairedLabel]:
    """The tokens of a sentence with their labels, as entities are scored."""
    tokens = read_tokens(new.predicted.tokens) or read_tokens(old.predicted.tokens) or words_of(new.text)
    sides = (
        to_find(extractor, new.expected.entities, scored),
        found_by(extractor, old.predicted.entities),
        found_by(extractor, new.predicted.entities),
    )
    labelled = zip(*(token_labels(tokens, spans) for spans in sides), strict=True)
    judged = [PairedLabel(*(None if label == NO_ENTITY else label for label in labels)) for labels in labelled]
    return [one for one in judged if one != _NOTHING]


def _spans(old: NluPrediction, new: NluPrediction, extractor: str, scored: Iterable[str]) -> list[PairedLabel]:
    """The spans of a sentence, each of which is correct only with its exact borders and type."""

    def places(spans: Iterable[EntitySpan]) -> set[tuple[int, int, str]]:
        return {(span.start, span.end, span.entity) for span in spans}

    expected = places(to_find(extractor, new.expected.entities, scored))
    before, after = (places(found_by(extractor, side.predicted.entities)) for side in (old, new))

    def label(place: tuple[int, int, str], side: set[tuple[int, int, str]]) -> str | None:
        return place[2] if place in side else None

    return [
        PairedLabel(label(place, expected), label(place, before), label(place, after))
        for place in sorted(expected | before | after)
    ]
