"""The numbers of a suite by kind and by intent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from turncheck.project.batch.model import comparable
from turncheck.report.batch import BATCH_KINDS, BatchIntent, BatchKind
from turncheck.report.batch_numbers import harmonic, numbers_of, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.batch.known import KnownNames
    from turncheck.report.batch import BatchCase


def kinds_of(cases: Sequence[BatchCase], known: KnownNames | None = None) -> dict[str, BatchKind]:
    """Return the numbers of each kind that has cases or of which the project has intents.

    Args:
        cases: the cases.
        known: the project's names; ``None`` if there is no project.
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
    """Return the names that the cases expect, in comparable form: traits, or intents of another kind."""
    is_trait = kind == "trait"
    return {
        known.canonical(name, is_trait=is_trait)
        for case in cases
        if (case.kind == "trait") == is_trait
        for name in case.expected
    }


def intents_of(cases: Sequence[BatchCase]) -> dict[str, BatchIntent]:
    """Return the usual scores of each intent that some evaluated case expects or matches, by name.

    Any alternative that is matched is right; if none is, each of them counts as missed.
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
        precision = share(found[key], matched[key]) or 0.0
        recall = share(found[key], support[key]) or 0.0
        scores[names[key]] = BatchIntent(
            precision=precision, recall=recall, f1=harmonic(precision, recall), support=support[key]
        )
    return scores
