"""The numbers of a suite: from the classes of its cases and their entities. Formulas: ``docs/batch.md``."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from turncheck.project.batch.model import comparable
from turncheck.report.batch import BATCH_KINDS, BatchCounts, BatchIntent, BatchKind, BatchNumbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.batch.known import KnownNames
    from turncheck.report.batch import BatchCase

_RIGHT = frozenset({"tp", "tn"})


def numbers_of(cases: Sequence[BatchCase]) -> dict[str, Any]:
    """Return the fields of :class:`BatchNumbers` for some cases."""
    results = Counter(case.result for case in cases)
    counts = BatchCounts(tp=results["tp"], tn=results["tn"], fp=results["fp"], fn=results["fn"])
    entities = [entity for case in cases for entity in case.entities]
    of_right = [entity for case in cases if case.result in _RIGHT for entity in case.entities]
    precision = _share(counts.tp, counts.tp + counts.fp) or 0.0
    recall = _share(counts.tp, counts.tp + counts.fn) or 0.0
    right = counts.tp + counts.tn
    return {
        "counts": counts,
        "not_evaluated": results["not-evaluated"],
        "precision": precision,
        "recall": recall,
        "f1": _harmonic(precision, recall),
        "accuracy": _share(right, counts.total),
        "intent_success": _share(right, len(cases)),
        "entity_success": _share(sum(entity.passed for entity in entities), len(entities)),
        "entity_success_of_right_intents": _share(sum(entity.passed for entity in of_right), len(of_right)),
        "entities": len(entities),
        "matched_entities": sum(entity.passed for entity in entities),
        "passed": sum(case.passed for case in cases),
        "failed": sum(not case.passed for case in cases),
    }


def kinds_of(cases: Sequence[BatchCase], known: KnownNames | None = None) -> dict[str, BatchKind]:
    """Return the numbers of each kind that has cases, and of each that the project has intents of.

    Args:
        cases: the cases.
        known: the project's names; ``None`` where there is no project.
    """
    kinds: dict[str, BatchKind] = {}
    for kind in BATCH_KINDS:
        of_kind = [case for case in cases if case.kind == kind]
        there = None if known is None else known.in_total(kind)
        if not of_kind and not there:
            continue
        covered = None if there is None or known is None else len(expected_names(cases, known, kind) & there.keys())
        total = None if there is None else len(there)
        kinds[kind] = BatchKind(**numbers_of(of_kind), covered=covered, total=total)
    return kinds


def expected_names(cases: Sequence[BatchCase], known: KnownNames, kind: str) -> set[str]:
    """Return what the cases expect, as it is compared: traits, or intents of any other kind."""
    is_trait = kind == "trait"
    return {
        known.canonical(name, is_trait=is_trait)
        for case in cases
        if (case.kind == "trait") == is_trait
        for name in case.expected
    }


def intents_of(cases: Sequence[BatchCase]) -> dict[str, BatchIntent]:
    """Return the usual scores of each intent that some evaluated case expects or matches, by name.

    Of alternatives any one that is matched is right; where none is, each of them counts as missed.
    """
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    support: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for case in cases:
        if case.result == "not-evaluated":
            continue
        wanted = {comparable(name): name for name in case.expected}
        given = {comparable(name): name for name in case.matched}
        for key, name in (wanted | {key: name for key, name in given.items() if key not in wanted}).items():
            names.setdefault(key, name)
        hit = wanted.keys() & given.keys()
        found.update(hit)
        matched.update(given.keys())
        support.update(hit if hit and case.kind != "trait" else wanted.keys())
    scores = {}
    for key in sorted(names):
        precision = _share(found[key], matched[key]) or 0.0
        recall = _share(found[key], support[key]) or 0.0
        scores[names[key]] = BatchIntent(
            precision=precision, recall=recall, f1=_harmonic(precision, recall), support=support[key]
        )
    return scores


def platform_numbers(numbers: BatchNumbers) -> dict[str, Any]:
    """Return the numbers as the platform's API writes them: two decimals, half up, F1 from the rounded two."""
    precision, recall = _rounded(numbers.precision), _rounded(numbers.recall)
    counts, right = numbers.counts, numbers.counts.tp + numbers.counts.tn
    return {
        "precision": f"{precision:.2f}",
        "recall": f"{recall:.2f}",
        "f1_score": f"{_rounded(_harmonic(precision, recall)):.2f}",
        "results": {
            "TP": counts.tp,
            "TN": counts.tn,
            "FP": counts.fp,
            "FN": counts.fn,
            "success": right,
            "failure": counts.fp + counts.fn + numbers.not_evaluated,
            "totalEntitiesCount": numbers.entities,
            "matchedEntitiesCount": numbers.matched_entities,
            "failedUtteranceCount": numbers.not_evaluated,
        },
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _rounded(value: float) -> float:
    """As JavaScript's ``Math.round(x * 100) / 100``."""
    return math.floor(value * 100 + 0.5) / 100
