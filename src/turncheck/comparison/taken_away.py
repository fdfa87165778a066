"""What a change took away from the training data, as clauses of the verdict's summary: it leads, whatever passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import SINGULAR
from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from turncheck.comparison.changes import FallbackChange
    from turncheck.comparison.model import Comparison

_MANY_MOVED: Final = 3
"""One or two sentences that moved to another intent are usually a correction."""


def taken_away_in_words(compared: Comparison) -> list[str]:
    """Return what is no longer judged or understood, and what was removed or moved, the worst first."""
    clauses = [_cut(compared)] if compared.cut_intents else []
    less = compared.fallback if compared.fallback is not None and compared.fallback.number else None
    changed = threshold_in_words(less) if less else ""
    if less and changed:
        clauses.append(f"{count(less.number, 'sentence')} no longer understood ({changed})")
    if removed := sum(one.annotations for one in compared.stripped):
        first, others = compared.stripped[0], len(compared.stripped) - 1
        more = f" and {count(others, 'more intent')}" if others else ""
        clauses.append(f"{count(removed, 'annotation')} removed from intent '{first.intent}'{more}")
    components = [one for one in compared.changed_components if one.change == "removed"]
    if components:
        more = f" and {count(len(components) - 1, 'more')}" if len(components) > 1 else ""
        clauses.append(f"{SINGULAR[components[0].kind]} '{components[0].name}'{more} removed")
    moved = sum(one.change == "relabelled" for one in compared.relabelled)
    if moved >= _MANY_MOVED:
        explains = any(one.base - one.now <= moved and not one.unjudged for one in compared.cut_intents[:1])
        clauses.insert(0 if explains else len(clauses), f"{count(moved, 'training sentence')} moved to another intent")
    if less and not changed:  # a consequence of what is named before it
        clauses.append(f"{count(less.number, 'sentence')} no longer understood")
    return clauses


def _cut(compared: Comparison) -> str:
    first, others = compared.cut_intents[0], len(compared.cut_intents) - 1
    judged = " and no longer judged" if first.unjudged else ""
    more = f" ({count(others, 'more intent')})" if others else ""
    return f"intent '{first.intent}' cut from {first.base:,} to {count(first.now, 'sentence')}{judged}{more}"


def threshold_in_words(change: FallbackChange) -> str:
    """``threshold from 0.3 to 0.95``; empty if no threshold was changed."""
    sides = (
        ("threshold", change.base, change.value),
        ("ambiguity threshold", change.base_ambiguity, change.ambiguity),
    )
    return ", ".join(f"{name} from {_shown(before)} to {_shown(now)}" for name, before, now in sides if before != now)


def _shown(threshold: float | None) -> str:
    return "none" if threshold is None else f"{threshold:g}"
