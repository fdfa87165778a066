"""Precision, recall and F1 of labels, in the shape of the reports that ``rasa test`` writes.

Definitions (van Rijsbergen, *Information Retrieval*, 1979; as in scikit-learn's ``classification_report``):
precision = right among predicted, recall = right among expected, F1 = their harmonic mean. Division by zero gives 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import fsum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.report import model
from turncheck.report.entities import NO_ENTITY, Tokens, found_by, label_of, to_find, token_labels
from turncheck.report.understanding import calibration_bin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.engines.conversation import Parse, PredictedIntent, SelectedResponse


Pairs = Counter[tuple[str, str]]
"""How often each ``(expected label, predicted label)`` occurs."""

_CONFUSED_WITH_AT_MOST: Final = 3
"""Rasa looks at the three largest cells in a row of the confusion matrix, including the label's own."""


class LabelScores(Struct, frozen=True):
    """The scores of a set of labelled items. The averages are weighted by support."""

    report: dict[str, Any]
    accuracy: float
    precision: float
    recall: float
    f1: float
    confusions: tuple[model.Confusion, ...]

    @property
    def says_nothing(self) -> bool:
        """Whether there was nothing to find and nothing was found: the zeros are no figures."""
        return not (self.report or self.confusions)

    @property
    def summary(self) -> dict[str, float]:
        """The four main figures by name."""
        return {"accuracy": self.accuracy, "precision": self.precision, "recall": self.recall, "f1": self.f1}


def ratio(part: float, whole: float) -> float:
    """Divide; 0 / 0 is 0.

    >>> ratio(1, 4), ratio(0, 0)
    (0.25, 0.0)
    """
    return part / whole if whole else 0.0


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1 = 2·p·r / (p + r), 0 if both are 0.

    >>> harmonic_mean(0.5, 1.0)
    0.6666666666666666
    """
    return ratio(2 * precision * recall, precision + recall)


def score_pairs(pairs: Pairs, *, excluded: str | None = None) -> LabelScores:
    """Score expected against predicted labels.

    Args:
        pairs: how often each ``(expected, predicted)`` occurs.
        excluded: a label that is left out of the report and its averages (``no_entity``); predicting another label in
            its place still lowers that label's precision, and ``accuracy`` counts it.

    Returns:
        ``report`` has an entry for each expected label, sorted, with ``confused_with``, then the averages. If every
        predicted label is an expected one, scikit-learn returns ``accuracy`` and Rasa adds an equal ``micro avg``; else
        it returns ``micro avg`` and Rasa adds ``accuracy``: the order of the keys shows which. With no label to report
        on, the report is empty and every figure 0, as in Rasa.

    >>> scores = score_pairs(Counter({("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 2}))
    >>> scores.accuracy, scores.report["a"]
    (0.75, {'precision': 1.0, 'recall': 0.5, 'f1-score': 0.6666666666666666, 'support': 2, 'confused_with': {'b': 1}})
    """
    expected: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for (target, prediction), count in pairs.items():
        expected[target] += count
        predicted[prediction] += count
        if target == prediction:
            right[target] += count
    labels = sorted(label for label in expected if label != excluded)
    confusions = _confusions(pairs)
    if not labels:
        return LabelScores({}, 0.0, 0.0, 0.0, 0.0, confusions)

    rows = {label: _row(right[label], predicted[label], expected[label]) for label in labels}
    accuracy = ratio(right.total(), expected.total())
    averages = _averages(list(rows.values()))
    complete = expected.keys() | predicted.keys() == set(labels)
    micro = _row(
        sum(right[label] for label in labels),
        sum(predicted[label] for label in labels),
        sum(expected[label] for label in labels),
    )
    report: dict[str, Any] = dict(rows)
    if complete:
        micro = dict.fromkeys(("precision", "recall", "f1-score"), accuracy) | {"support": micro["support"]}
        report |= {"accuracy": accuracy, **averages, "micro avg": micro}
    else:
        report |= {"micro avg": micro, **averages, "accuracy": accuracy}
    _add_confused_with(rows, pairs, excluded)
    weighted = averages["weighted avg"]
    return LabelScores(report, accuracy, weighted["precision"], weighted["recall"], weighted["f1-score"], confusions)


def score_every_label(pairs: Pairs) -> dict[str, Any]:
    """Return a report on every label, expected or only predicted, with averages, as scikit-learn 0.20 did.

    >>> report = score_every_label(Counter({("a", "a"): 1, ("a", "b"): 1}))
    >>> report["b"]["support"], report["micro avg"]["precision"], list(report)
    (0, 0.5, ['a', 'b', 'micro avg', 'macro avg', 'weighted avg'])
    """
    expected: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    for (target, prediction), count in pairs.items():
        expected[target] += count
        predicted[prediction] += count
    labels = sorted(expected.keys() | predicted.keys())
    if not labels:
        return {}
    rows = {label: _row(pairs[label, label], predicted[label], expected[label]) for label in labels}
    right = sum(pairs[label, label] for label in labels)
    return {**rows, "micro avg": _row(right, predicted.total(), expected.total()), **_averages(list(rows.values()))}


def _row(right: int, predicted: int, expected: int) -> dict[str, Any]:
    precision, recall = ratio(right, predicted), ratio(right, expected)
    return {
        "precision": precision,
        "recall": recall,
        "f1-score": harmonic_mean(precision, recall),
        "support": expected,
    }


def _averages(rows: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """``fsum`` rounds only once, so that the order of the labels does not affect the last digit."""
    support = sum(int(row["support"]) for row in rows)
    macro: dict[str, float] = {}
    weighted: dict[str, float] = {}
    for figure in ("precision", "recall", "f1-score"):
        macro[figure] = fsum(row[figure] for row in rows) / len(rows)
        weighted[figure] = ratio(fsum(row[figure] * row["support"] for row in rows), support)
    return {"macro avg": {**macro, "support": support}, "weighted avg": {**weighted, "support": support}}


def _confusions(pairs: Pairs) -> tuple[model.Confusion, ...]:
    """All cells off the diagonal, the most frequent first."""
    wrong = [(count, pair) for pair, count in pairs.items() if pair[0] != pair[1]]
    wrong.sort(key=lambda cell: (-cell[0], cell[1]))
    return tuple(model.Confusion(expected=pair[0], predicted=pair[1], count=count) for count, pair in wrong)


def _add_confused_with(rows: dict[str, dict[str, Any]], pairs: Pairs, excluded: str | None) -> None:
    """Of equal cells Rasa lists the one that sorts last first (it reads ``argsort`` from the end)."""
    cells: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for (target, prediction), count in pairs.items():
        cells[target].append((count, prediction))
    for label, row in rows.items():
        largest = sorted(cells[label], reverse=True)[:_CONFUSED_WITH_AT_MOST]
        row["confused_with"] = {other: count for count, other in largest if other not in (label, excluded)}


def spread(figures: Iterable[float]) -> model.Spread:
    """Return the mean and the population standard deviation, as Rasa prints them for cross-validation.

    >>> spread([0.5, 0.7])
    Spread(mean=0.6, deviation=0.09999999999999998)
    """
    values = list(figures)
    mean = fsum(values) / len(values)
    return model.Spread(mean=mean, deviation=(fsum((value - mean) ** 2 for value in values) / len(values)) ** 0.5)


def spreads(folds: Sequence[LabelScores]) -> dict[str, model.Spread]:
    """Return mean and deviation of the four main figures over the folds; empty for a single fold."""
    if len(folds) < 2:
        return {}
    return {name: spread(fold.summary[name] for fold in folds) for name in folds[0].summary}


# Scores of intents, judged before the fallback, as ``rasa test nlu`` does.

FALLBACK_INTENT: Final = "nlu_fallback"


def before_fallback(parse: Parse) -> tuple[PredictedIntent, tuple[PredictedIntent, ...], bool]:
    """Return the intent and the ranking as they were before a fallback, and whether there was one.

    A fallback is first in the ranking, and the second entry is what was understood; without a second entry the
    fallback itself is the prediction, as in Rasa. An engine without a fallback intent says that nothing was understood,
    and still has a ranking.
    """
    if parse.intent.name is None and parse.ranking:
        return parse.ranking[0], parse.ranking, True
    if parse.intent.name != FALLBACK_INTENT:
        return parse.intent, parse.ranking, False
    if len(parse.ranking) < 2:
        return parse.intent, parse.ranking, True
    return parse.ranking[1], parse.ranking[1:], True


def score_intents(predictions: Sequence[model.NluPrediction]) -> model.IntentScores | None:
    """Score the intents of the sentences that are judged; a missing prediction counts as ``""``.

    Returns:
        ``None`` with fewer than two different expected intents: Rasa does not evaluate intents then.
    """
    by_fold: dict[int | None, Pairs] = {}
    for prediction in predictions:
        if prediction.expected.intent and prediction.is_judged:
            pairs = by_fold.setdefault(prediction.fold, Counter())
            pairs[prediction.expected.intent, prediction.predicted.intent or ""] += 1
    pooled: Pairs = sum(by_fold.values(), Counter())
    if len({expected for expected, _ in pooled}) < 2:
        return None
    scores = score_pairs(pooled)
    return model.IntentScores(
        report=scores.report,
        accuracy=scores.accuracy,
        precision=scores.precision,
        recall=scores.recall,
        f1=scores.f1,
        confusions=scores.confusions,
        folds=spreads(
            [score_pairs(by_fold[fold]) for fold in sorted(by_fold, key=lambda fold: -1 if fold is None else fold)]
        ),
    )


# How far confidences can be trusted.


def expected_calibration_error(answers: Iterable[tuple[float, bool]]) -> float | None:
    """Return the expected difference between confidence and share of right answers, 0 to 1.

    ECE over 15 bins of equal width (Guo et al., *On Calibration of Modern Neural Networks*, 2017): the mean over the
    bins of ``|share right - mean confidence|``, weighted by the answers in the bin. ``None`` without answers.

    Args:
        answers: for each, the confidence and whether it is right.

    >>> expected_calibration_error([(0.75, True), (0.75, False)])
    0.25
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in answers:
        bins.setdefault(calibration_bin(confidence), []).append((confidence, right))
    if not bins:
        return None
    gaps = (
        abs(sum(right for _, right in members) - fsum(confidence for confidence, _ in members))
        for _, members in sorted(bins.items())
    )
    return fsum(gaps) / sum(len(members) for members in bins.values())


# Scores of entity extractors: by Rasa's tag scheme (each token has its entity's label), and strict (exact spans).

DUCKLING_EXTRACTORS: Final = frozenset({"DucklingEntityExtractor", "DucklingHTTPExtractor"})
PRETRAINED_EXTRACTORS: Final = DUCKLING_EXTRACTORS | {"SpacyEntityExtractor"}
"""Extractors that are not trained on the project's data; Rasa leaves them out of the evaluation."""


class EntityCase(Struct, frozen=True):
    """The entities of a judged sentence; ``predicted`` holds those of all extractors."""

    tokens: Tokens
    expected: tuple[model.EntitySpan, ...]
    predicted: tuple[model.EntitySpan, ...]
    fold: int | None = None

    def predicted_by(self, extractor: str) -> list[model.EntitySpan]:
        """Return what one extractor found."""
        return found_by(extractor, self.predicted)


def score_extractors(cases: Sequence[EntityCase], extractors: Iterable[str]) -> dict[str, model.EntityScores]:
    """Score each extractor against all expected entities, as Rasa does; Duckling against those that it knows."""
    names = tuple(extractors)
    return {extractor: _score_extractor(cases, extractor, names) for extractor in names}


def _score_extractor(cases: Sequence[EntityCase], extractor: str, scored: Sequence[str]) -> model.EntityScores:
    by_fold: dict[int | None, Pairs] = {}
    cases = [replace(case, expected=tuple(to_find(extractor, case.expected, scored))) for case in cases]
    for case in cases:
        entity_spans = case.predicted_by(extractor)
        pairs = by_fold.setdefault(case.fold, Counter())
        if case.expected or entity_spans:
            pairs.update(
                zip(token_labels(case.tokens, case.expected), token_labels(case.tokens, entity_spans), strict=True)
            )
        elif case.tokens:
            pairs[NO_ENTITY, NO_ENTITY] += len(case.tokens)
    pooled = score_pairs(sum(by_fold.values(), Counter()), excluded=NO_ENTITY)
    folds = [score_pairs(by_fold[fold], excluded=NO_ENTITY) for fold in sorted(by_fold, key=_order)]
    nothing = pooled.says_nothing
    return model.EntityScores(
        report=pooled.report,
        precision=None if nothing else pooled.precision,
        recall=None if nothing else pooled.recall,
        f1=None if nothing else pooled.f1,
        spans=None if nothing else score_spans(cases, lambda case: case.predicted_by(extractor)),
        tokens=sum(len(case.tokens) for case in cases),
        confusions=pooled.confusions,
        folds=spreads([fold for fold in folds if not fold.says_nothing]),
        calibration_error=expected_calibration_error(_answers(cases, extractor)),
    )


def _answers(cases: Sequence[EntityCase], extractor: str) -> list[tuple[float, bool]]:
    """The confidence of each entity found, and whether an entity of the same type and borders is expected.

    Roles and groups do not matter: they have confidences of their own.
    """
    answers = []
    for case in cases:
        expected = {(entity.start, entity.end, entity.entity) for entity in case.expected}
        answers += [
            (entity.confidence, (entity.start, entity.end, entity.entity) in expected)
            for entity in case.predicted_by(extractor)
            if entity.confidence is not None
        ]
    return answers


def score_spans(
    cases: Sequence[EntityCase], found: Callable[[EntityCase], Iterable[model.EntitySpan]] = lambda case: case.predicted
) -> model.SpanScores:
    """Score exact spans: start, end and label (type, role and group) must be as expected.

    A span that is found twice in a sentence, by one extractor or by several, counts once. Precision is 0 if nothing is
    found, recall is 0 if nothing is expected (the convention of CoNLL-2003's ``conlleval``).
    """
    right = predicted = expected = 0
    for case in cases:
        wanted = {_strict(entity) for entity in case.expected}
        got = {_strict(entity) for entity in found(case)}
        right += len(wanted & got)
        predicted += len(got)
        expected += len(wanted)
    precision, recall = ratio(right, predicted), ratio(right, expected)
    return model.SpanScores(precision=precision, recall=recall, f1=harmonic_mean(precision, recall))


def _strict(entity: model.EntitySpan) -> tuple[int, int, str]:
    return entity.start, entity.end, label_of(entity)


def _order(fold: int | None) -> int:
    return -1 if fold is None else fold


# Scores of response selectors, as in ``rasa test nlu``: the full label (``faq/hours``) of the selected response.

DEFAULT_SELECTOR: Final = "default"
"""The selector that is not for a particular retrieval intent."""


def judged_selector(label: str, parse: Parse) -> tuple[str, SelectedResponse | None]:
    """Return the name of the selector that is responsible for this label, and what it chose.

    It is the selector of the expected retrieval intent if the pipeline has one, else the default one; ``None`` if that
    one is missing too.
    """
    retrieval_intent = label.partition("/")[0]
    name = retrieval_intent if retrieval_intent in parse.responses else DEFAULT_SELECTOR
    return name, parse.responses.get(name)


def score_selectors(
    predictions: Sequence[model.NluPrediction], selectors: Sequence[str]
) -> tuple[dict[str, model.ResponseScores], model.ResponseScores | None]:
    """Score each selector on the sentences it is responsible for, and all selectors together.

    Args:
        predictions: the judged sentences.
        selectors: for each of them the selector that is responsible for it ("" if no response is expected).

    Returns:
        The scores by selector and the pooled ones; empty with fewer than two different expected responses, since Rasa
        does not evaluate responses then. A sentence for which nothing was selected counts as predicted ``""``.
    """
    answered = [(prediction, name) for prediction, name in zip(predictions, selectors, strict=True) if name]
    if len({prediction.expected.response for prediction, _ in answered}) < 2:
        return {}, None
    names = sorted({name for _, name in answered})
    by_selector = {name: _score([entry for entry, own in answered if own == name]) for name in names}
    return by_selector, _score([prediction for prediction, _ in answered])


def _score(predictions: Sequence[model.NluPrediction]) -> model.ResponseScores:
    by_fold: dict[int, Pairs] = {}
    for prediction in predictions:
        pairs = by_fold.setdefault(-1 if prediction.fold is None else prediction.fold, Counter())
        pairs[prediction.expected.response or "", prediction.predicted.response or ""] += 1
    scores = score_pairs(sum(by_fold.values(), Counter()))
    return model.ResponseScores(
        report=scores.report,
        accuracy=scores.accuracy,
        precision=scores.precision,
        recall=scores.recall,
        f1=scores.f1,
        confusions=scores.confusions,
        folds=spreads([score_pairs(by_fold[fold]) for fold in sorted(by_fold)]),
    )
