"""What of a Kore.ai assistant is tested, as on the platform's health page.

The platform's documentation has the plain mean of the kinds' shares as total coverage, its behaviour was the pooled
share: both are given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.batch.known import KINDS
from turncheck.report.covered_intents import CoveredIntents, CoveredKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from turncheck.project.batch.known import KnownNames


def covered_intents(known: KnownNames, tested: Callable[[str], Collection[str]]) -> CoveredIntents | None:
    """Return how many of the project's intents are tested, ``None`` where it has none.

    Args:
        known: the project's names.
        tested: of a kind the names that are tested, as :meth:`KnownNames.canonical` gives them.
    """
    there = {kind: names for kind in KINDS if (names := known.in_total(kind))}
    if not there:
        return None
    missed = {kind: [name for key, name in names.items() if key not in tested(kind)] for kind, names in there.items()}
    kinds = {
        kind: CoveredKind(covered=len(names) - len(missed[kind]), total=len(names)) for kind, names in there.items()
    }
    return CoveredIntents(
        pooled=sum(one.covered for one in kinds.values()) / sum(one.total for one in kinds.values()),
        mean=sum(one.covered / one.total for one in kinds.values()) / len(kinds),
        kinds=kinds,
        without=tuple(kind for kind in KINDS if kind not in there),
        uncovered=tuple(sorted(name for names in missed.values() for name in names)),
    )
