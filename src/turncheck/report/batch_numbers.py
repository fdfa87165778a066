"""The numbers of a suite: from the classes of its cases and their entities. Formulas: ``docs/batch.md``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from turncheck.report.batch import BatchCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.report.batch import BatchCase

_RIGHT: Final = frozenset({"tp", "tn"})


def numbers_of(cases: Sequence[BatchCase]) -> dict[str, Any]:
    """Return the fields of :class:`BatchNumbers` for some cases."""
    results = Counter(case.result for case in cases)
    counts = BatchCounts(tp=results["tp"], tn=results["tn"], fp=results["fp"], fn=results["fn"])
    entities = [entity for case in cases for entity in case.entities]
    of_right = [entity for case in cases if case.result in _RIGHT for entity in case.entities]
    precision = share(counts.tp, counts.tp + counts.fp) or 0.0
    recall = share(counts.tp, counts.tp + counts.fn) or 0.0
    right = counts.tp + counts.tn
    return {
        "counts": counts,
        "not_evaluated": results["not-evaluated"],
        "precision": precision,
        "recall": recall,
        "f1": harmonic(precision, recall),
        "accuracy": share(right, counts.total),
        "intent_success": share(right, len(cases)),
        "entity_success": share(sum(entity.passed for entity in entities), len(entities)),
        "entity_success_of_right_intents": share(sum(entity.passed for entity in of_right), len(of_right)),
        "entities": len(entities),
        "matched_entities": sum(entity.passed for entity in entities),
        "passed": sum(case.passed for case in cases),
        "failed": sum(not case.passed for case in cases),
    }


def share(part: int, whole: int) -> float | None:
    """Return a share, ``None`` if there is nothing to take it of."""
    return part / whole if whole else None


def harmonic(precision: float, recall: float) -> float:
    """Return F1, 0 if both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
