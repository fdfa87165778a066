"""Figures of batch suites on the cases that both sides judged, and whether what changed sides is more than noise."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from turncheck.comparison.cases import batch_expectation
from turncheck.comparison.sampled_figures import flipped
from turncheck.report.batch_numbers import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.comparison.sampled_figures import Tested
    from turncheck.report.model import BatchCase, Report

_OF_INTENTS: Final = ("intent_success", "accuracy", "precision", "recall", "f1")
_RIGHT: Final = frozenset({"tp", "tn"})


def tested_batch(base: Report, head: Report) -> dict[str, Tested]:
    """Judge the figures of each suite and of all of them by McNemar's test on cases or entities that changed sides."""
    pairs = _pairs(base, head)
    by_suite: dict[str, list[tuple[BatchCase, BatchCase]]] = defaultdict(list)
    for name, old, new in pairs:
        by_suite[name].append((old, new))
    tested = dict(_tested("batch", [(old, new) for _, old, new in pairs]))
    for name, of_suite in by_suite.items():
        tested |= _tested(f"batch[{name}]", of_suite)
    return tested


def _pairs(base: Report, head: Report) -> list[tuple[str, BatchCase, BatchCase]]:
    """Pair cases with equal words and expectation: first those in the suite of the same name, then in a renamed one."""
    waiting: dict[object, list[tuple[str, BatchCase]]] = defaultdict(list)
    for suite in base.batch.suites if base.batch else ():
        for case in suite.cases:
            waiting[_key(case)].append((suite.name, case))
    cases = [(suite.name, case) for suite in (head.batch.suites if head.batch else ()) for case in suite.cases]
    partners: dict[int, BatchCase] = {}
    for needs_name in (True, False):
        for number, (name, case) in enumerate(cases):
            left = waiting[_key(case)]
            found = next((one for one in left if not needs_name or one[0] == name), None)
            if number not in partners and found is not None:
                left.remove(found)
                partners[number] = found[1]
    return [(name, partners[number], case) for number, (name, case) in enumerate(cases) if number in partners]


def _key(case: BatchCase) -> object:
    return case.text, batch_expectation(case)


def _tested(prefix: str, pairs: Sequence[tuple[BatchCase, BatchCase]]) -> Iterator[tuple[str, Tested]]:
    if not pairs:
        return
    before, after = (numbers_of([pair[side] for pair in pairs]) for side in (0, 1))
    cases = [(old.result in _RIGHT, new.result in _RIGHT) for old, new in pairs]
    entities = [
        (one.passed, other.passed) for old, new in pairs for one, other in zip(old.entities, new.entities, strict=True)
    ]
    for fields, sides in ((_OF_INTENTS, cases), (("entity_success",), entities)):
        _, _, significance, real = flipped([old for old, _ in sides], [new for _, new in sides])
        for field in fields:
            if before[field] is not None and after[field] is not None:
                yield f"{prefix}.{field}", (before[field], after[field], significance, real)
