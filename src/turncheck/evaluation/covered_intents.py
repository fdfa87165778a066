"""Which parts of a Kore.ai assistant are tested, as on the platform's health page.

According to the platform's documentation, total coverage is the mean of the shares of five kinds; the page itself
showed the pooled share of dialogs, FAQs and small talk. Both are reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.batch.known import KINDS
from turncheck.report.covered_intents import CoveredIntents, CoveredKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from turncheck.project.batch.known import KnownNames

ENTITY: Final = "entity"
_ALL_KINDS: Final = (*KINDS, ENTITY)
_POOLED: Final = ("dialog", "faq", "small_talk")


def covered_intents(known: KnownNames, tested: Callable[[str], Collection[str]]) -> CoveredIntents | None:
    """Return how much of the project is tested, ``None`` if it has neither intents nor entities.

    Args:
        known: the project's names.
        tested: maps a kind to the names that are tested, in the form of :meth:`KnownNames.canonical`.
    """
    there = {kind: names for kind in _ALL_KINDS if (names := _names(known, kind))}
    if not there:
        return None
    missed = {kind: [name for key, name in names.items() if key not in tested(kind)] for kind, names in there.items()}
    kinds = {
        kind: CoveredKind(covered=len(names) - len(missed[kind]), total=len(names)) for kind, names in there.items()
    }
    pooled = [kinds[kind] for kind in _POOLED if kind in kinds]
    return CoveredIntents(
        pooled=sum(one.covered for one in pooled) / sum(one.total for one in pooled) if pooled else None,
        mean=sum(one.covered / one.total for one in kinds.values()) / len(kinds),
        kinds=kinds,
        without=tuple(kind for kind in _ALL_KINDS if kind not in there),
        uncovered=tuple(sorted(name for kind in KINDS for name in missed.get(kind, ()))),
    )


def _names(known: KnownNames, kind: str) -> dict[str, str]:
    return dict(known.entities) if kind == ENTITY else known.in_total(kind)
