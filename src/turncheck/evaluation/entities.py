"""Scores of entity extractors: by Rasa's tag scheme (each token has its entity's label), and strict (exact spans)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.calibration import expected_calibration_error
from turncheck.evaluation.scores import LabelScores, Pairs, harmonic_mean, ratio, score_pairs, spreads
from turncheck.report.model import EntityScores, EntitySpan, SpanScores
from turncheck.report.tags import NO_ENTITY, Tokens, label_of, token_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PRETRAINED_EXTRACTORS: Final = frozenset({"SpacyEntityExtractor", "DucklingEntityExtractor", "DucklingHTTPExtractor"})
"""Extractors that are not trained on the project's data; Rasa leaves them out of the evaluation."""


@dataclass(frozen=True, slots=True)
class EntityCase:
    """The entities of a judged sentence; ``predicted`` holds those of all extractors."""

    tokens: Tokens
    expected: tuple[EntitySpan, ...]
    predicted: tuple[EntitySpan, ...]
    fold: int | None = None

    def predicted_by(self, extractor: str) -> list[EntitySpan]:
        """Return what one extractor found."""
        return [entity for entity in self.predicted if entity.extractor == extractor]


def score_extractors(cases: Sequence[EntityCase], extractors: Iterable[str]) -> dict[str, EntityScores]:
    """Score each extractor against all expected entities, as Rasa does."""
    return {extractor: _score_extractor(cases, extractor) for extractor in extractors}


def _score_extractor(cases: Sequence[EntityCase], extractor: str) -> EntityScores:
    by_fold: dict[int | None, Pairs] = {}
    for case in cases:
        found = case.predicted_by(extractor)
        pairs = by_fold.setdefault(case.fold, Counter())
        if case.expected or found:
            pairs.update(zip(token_labels(case.tokens, case.expected), token_labels(case.tokens, found), strict=True))
        elif case.tokens:
            pairs[NO_ENTITY, NO_ENTITY] += len(case.tokens)
    pooled = score_pairs(sum(by_fold.values(), Counter()), excluded=NO_ENTITY)
    folds: list[LabelScores] = [score_pairs(by_fold[fold], excluded=NO_ENTITY) for fold in sorted(by_fold, key=_order)]
    return EntityScores(
        report=pooled.report,
        precision=pooled.precision,
        recall=pooled.recall,
        f1=pooled.f1,
        spans=score_spans(cases, lambda case: case.predicted_by(extractor)),
        tokens=sum(len(case.tokens) for case in cases),
        confusions=pooled.confusions,
        folds=spreads(folds),
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
    cases: Sequence[EntityCase], found: Callable[[EntityCase], Iterable[EntitySpan]] = lambda case: case.predicted
) -> SpanScores:
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
    return SpanScores(precision=precision, recall=recall, f1=harmonic_mean(precision, recall))


def _strict(entity: EntitySpan) -> tuple[int, int, str]:
    return entity.start, entity.end, label_of(entity)


def _order(fold: int | None) -> int:
    return -1 if fold is None else fold
