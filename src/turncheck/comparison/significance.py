"""Is a difference more than chance? Tests over the same examples, judged before and after.

Accuracy: McNemar's exact test (Q. McNemar, Psychometrika 12, 1947): under chance, each of the examples that changed
sides is as likely to have gone either way, so their count follows a binomial distribution with p = 1/2.

Precision, recall, F1: a paired bootstrap (B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13):
sentences are drawn with replacement, the same ones for both sides, and the interval is the middle 95 % of the observed
differences. On few sentences it is overconfident, so the exact test on the sentences that became better or worse for
the score must agree: accuracy and F1 of the same sentences never contradict each other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct

from turncheck.comparison.mcnemar import LEVEL, mcnemar_exact
from turncheck.comparison.metrics import FEWEST_CHANGES, Significance
from turncheck.report.understanding import NO_ENTITY, calibration_bin, found_by, read_tokens, to_find, token_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.comparison.matching import Pair
    from turncheck.report.model import EntitySpan, NluPrediction, Report


RESAMPLES: Final = 1000


class Judged(Struct, frozen=True):
    """One sentence (or word) as it should be labelled, and as each side labelled it; ``None`` is "no label"."""

    expected: str | None
    before: str | None
    after: str | None


class PairedScore(Struct, frozen=True):
    """One score on the same examples before and after, and the 95 % interval of the difference."""

    before: float
    after: float
    low: float
    high: float
    changed: int
    """How many examples count differently now for this score."""
    examples: int = 0
    """How many examples it is based on: those that expect the label, or any label."""
    exact: float | None = None
    """The exact test's p-value for the examples that became better or worse; ``None`` for a calibration error."""

    @property
    def real(self) -> bool:
        """Whether the interval excludes zero and the exact test agrees."""
        enough = self.changed >= FEWEST_CHANGES if self.exact is None else self.exact < LEVEL
        return enough and (self.low > 0 or self.high < 0)


class PairedScores(Struct, frozen=True):
    """Weighted averages (``overall``) and each label's own scores, by ``precision``, ``recall``, ``f1``."""

    overall: Mapping[str, PairedScore]
    labels: Mapping[str, Mapping[str, PairedScore]]


_Row = tuple[str, int, int, int, int, int]
"""A label's counts in one sentence: right before, predicted before, right after, predicted after, expected."""


def paired_scores(sentences: Iterable[Sequence[Judged]], seed: int) -> PairedScores | None:
    """Score both sides on the same sentences, with intervals for the differences.

    Args:
        sentences: what was judged within each sentence (one :class:`Judged` for its intent, one per word for entities).
            Averages are weighted by how often a label is expected, like scikit-learn's ``weighted`` ones.
        seed: the seed of the resampling. The order of the sentences does not matter.

    Returns:
        The scores, or ``None`` if no sentence expects a label.
    """
    counts = Counter(_rows(sentence) for sentence in sentences)
    cells = sorted(counts)
    labels = sorted({row[0] for cell in cells for row in cell})
    if not any(row[5] for cell in cells for row in cell):
        return None
    sums = _resampled_sums(cells, [counts[cell] for cell in cells], labels, seed)
    scores = _scores(sums)
    support = sums[:, 4]
    share = _ratio(support, np.broadcast_to(support.sum(axis=0), support.shape))  # a resample may not expect any label
    together = _Moves()
    alone: defaultdict[str, _Moves] = defaultdict(_Moves)
    for cell in cells:
        together.add(
            [_gain(row) for row in cell], changed=any(row[1:3] != row[3:5] for row in cell), times=counts[cell]
        )
        for row in cell:
            alone[row[0]].add([_gain(row)], changed=row[1:3] != row[3:5], times=counts[cell])
    expecting = sum(counts[cell] for cell in cells if any(row[5] for row in cell))
    overall = {
        name: _paired((before * share).sum(axis=0), (after * share).sum(axis=0), together, expecting)
        for name, (before, after) in scores.items()
    }
    each = {
        label: {
            name: _paired(before[i], after[i], alone[label], int(support[i, 0]))
            for name, (before, after) in scores.items()
        }
        for i, label in enumerate(labels)
        if support[i, 0]
    }
    return PairedScores(overall, each)


class _Moves:
    """How many sentences count differently, and how many of them became better or worse."""

    def __init__(self) -> None:
        self.changed = self.better = self.worse = 0

    def add(self, gains: Iterable[int], *, changed: bool, times: int) -> None:
        gain = sum(gains)
        self.changed += times * changed
        self.better += times * (gain > 0)
        self.worse += times * (gain < 0)


def _gain(row: _Row) -> int:
    """What a sentence gained for a label: more correct ones, fewer wrongly predicted ones."""
    _, right_before, predicted_before, right_after, predicted_after, _ = row
    return 2 * (right_after - right_before) - (predicted_after - predicted_before)


def paired_calibration(
    before: Sequence[tuple[float, bool]], after: Sequence[tuple[float, bool]], seed: int
) -> PairedScore:
    """Compare the expected calibration error of both sides on the same sentences.

    Args:
        before: for each sentence, the confidence and whether it was right; at least one sentence.
        after: the same sentences in the same order.
        seed: the seed of the resampling.
    """
    total = len(before)
    random = np.random.RandomState(seed % 2**32)
    sides = [
        (np.array([calibration_bin(sure) for sure, _ in side]), np.array([right - sure for sure, right in side]))
        for side in (before, after)
    ]
    errors = np.zeros((2, RESAMPLES + 1))
    weights = np.ones(total, np.int64)
    for resample in range(RESAMPLES + 1):
        for side, (bins, gaps) in enumerate(sides):
            errors[side, resample] = np.abs(np.bincount(bins, weights=gaps * weights)).sum() / total
        weights = np.bincount(random.randint(total, size=total), minlength=total)
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    low, high = _interval(errors[0], errors[1])
    return PairedScore(float(errors[0, 0]), float(errors[1, 0]), low, high, changed, total)


def _rows(sentence: Sequence[Judged]) -> tuple[_Row, ...]:
    """Counts by label; equal sentences have equal rows, so that each distinct row is resampled once, with its count."""
    table: dict[str, list[int]] = {}
    for judged in sentence:
        for label, column in ((judged.before, 1), (judged.after, 3), (judged.expected, 4)):
            if label is not None:
                table.setdefault(label, [0] * 5)[column] += 1
        if judged.expected is not None:
            table[judged.expected][0] += judged.before == judged.expected
            table[judged.expected][2] += judged.after == judged.expected
    return tuple((label, *row) for label, row in sorted(table.items()))  # type: ignore[misc]  # five columns each


def _resampled_sums(
    cells: Sequence[tuple[_Row, ...]], counts: Sequence[int], labels: Sequence[str], seed: int
) -> NDArray[np.float64]:
    """Sums by label, column and resample; the first resample is the data themselves."""
    total = sum(counts)
    # RandomState, not Generator: its stream is frozen, so the same reports give the same bytes with any NumPy version.
    drawn = np.random.RandomState(seed % 2**32).multinomial(total, np.array(counts) / total, size=RESAMPLES)
    weights = np.concatenate([np.array([counts]), drawn]).T.astype(np.float64)
    index = {label: i for i, label in enumerate(labels)}
    sums = np.zeros((len(labels), 5, RESAMPLES + 1))
    for cell, weight in zip(cells, weights, strict=True):
        for label, *row in cell:
            i = index[label]
            for column in range(5):
                if row[column]:
                    sums[i, column] += row[column] * weight
    return sums


def _scores(sums: NDArray[np.float64]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Precision, recall and F1 before and after, by label and resample; undefined ones are 0, as in scikit-learn."""
    right_before, predicted_before, right_after, predicted_after, expected = (sums[:, column] for column in range(5))
    return {
        "precision": (_ratio(right_before, predicted_before), _ratio(right_after, predicted_after)),
        "recall": (_ratio(right_before, expected), _ratio(right_after, expected)),
        "f1": (
            _ratio(2 * right_before, predicted_before + expected),
            _ratio(2 * right_after, predicted_after + expected),
        ),
    }


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _paired(before: NDArray[np.float64], after: NDArray[np.float64], moves: _Moves, examples: int) -> PairedScore:
    low, high = _interval(before, after)
    exact = mcnemar_exact(moves.worse, moves.better)
    return PairedScore(float(before[0]), float(after[0]), low, high, moves.changed, examples, exact)


def _interval(before: NDArray[np.float64], after: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile((after - before)[1:], [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)


# Figures about a sample of sentences, compared on the sentences that both sides judged.

_MOST_TESTED: Final = 30
"""No pipeline has more extractors or selectors; a report from anywhere may, each at the cost of one pass over all."""
_NOTHING: Final = Judged(None, None, None)
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
    tested: dict[str, Tested] = {}
    if same:
        judged = [(Judged(p.head.expected, p.base.actual or None, p.head.actual or None),) for p in same]
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


def _add_accuracy(tested: dict[str, Tested], name: str, judged: Sequence[Judged]) -> None:
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


def _responses(pairs: Iterable[tuple[NluPrediction, NluPrediction]], selector: str) -> Iterable[Judged]:
    for old, new in pairs:
        label = new.expected.response
        if label and "/" in label and (selector in {"default", "all"} or label.startswith(f"{selector}/")):
            yield Judged(label, old.predicted.response, new.predicted.response)


def _words(old: NluPrediction, new: NluPrediction, extractor: str, scored: Iterable[str]) -> list[Judged]:
    """The tokens of a sentence with their labels, as entities are scored."""
    tokens = (
        read_tokens(new.predicted.tokens)
        or read_tokens(old.predicted.tokens)
        or tuple(word.span() for word in re.finditer(r"\S+", new.text))
    )
    sides = (
        to_find(extractor, new.expected.entities, scored),
        found_by(extractor, old.predicted.entities),
        found_by(extractor, new.predicted.entities),
    )
    labelled = zip(*(token_labels(tokens, spans) for spans in sides), strict=True)
    judged = [Judged(*(None if label == NO_ENTITY else label for label in labels)) for labels in labelled]
    return [one for one in judged if one != _NOTHING]


def _spans(old: NluPrediction, new: NluPrediction, extractor: str, scored: Iterable[str]) -> list[Judged]:
    """The spans of a sentence, each of which is correct only with its exact borders and type."""

    def places(spans: Iterable[EntitySpan]) -> set[tuple[int, int, str]]:
        return {(span.start, span.end, span.entity) for span in spans}

    expected = places(to_find(extractor, new.expected.entities, scored))
    before, after = (places(found_by(extractor, side.predicted.entities)) for side in (old, new))

    def label(place: tuple[int, int, str], side: set[tuple[int, int, str]]) -> str | None:
        return place[2] if place in side else None

    return [
        Judged(label(place, expected), label(place, before), label(place, after))
        for place in sorted(expected | before | after)
    ]
