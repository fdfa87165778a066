"""The four classes of an assertion, as Kore.ai's manual defines them for each kind of intent.

A case has one class: a wrong match is only a false positive, not also a false negative. The manual's definition for
small talk is the opposite of the usual one: if small talk is matched and nothing is expected, that is a false
*negative*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.report.batch import BatchKindName, BatchResult

NOT_AN_INTENT: Final = frozenset({"", "none", "default fallback intent", "nlu fallback"})
"""What engines return if they matched nothing, in comparable form."""


def is_intent(name: str | None) -> bool:
    """Whether an engine's answer is the name of an intent, not a word for none."""
    return name is not None and comparable(name) not in NOT_AN_INTENT


def classify(kind: BatchKindName, expected: Sequence[str], matched: Iterable[str]) -> BatchResult:
    """Return the class of a case that was evaluated; names are compared by :func:`comparable`."""
    wanted, found = {comparable(name) for name in expected}, {comparable(name) for name in matched}
    if kind == "trait":
        return _of_traits(wanted, found)
    if not wanted:
        if not found:
            return "tn"
        return "fn" if kind == "small_talk" else "fp"
    if kind == "small_talk" and len(wanted) == 1:
        return "tp" if found == wanted else "fp"
    if not found:
        return "fn"
    return "tp" if found <= wanted else "fp"


def _of_traits(wanted: set[str], found: set[str]) -> BatchResult:
    if not wanted:
        return "fp" if found else "tn"
    if not found:
        return "fn"
    return "tp" if wanted <= found else "fp"
