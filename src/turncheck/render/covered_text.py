"""How much of a Kore.ai assistant is tested, in plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.covered_intents import CoveredIntents

KIND_NAMES: Final = {
    "dialog": "dialogs",
    "faq": "FAQs",
    "small_talk": "small talk",
    "trait": "traits",
    "entity": "entities",
}
POOLED: Final = "dialogs, FAQs and small talk pooled"
MEAN: Final = "mean of the kinds"


def covered_lines(covered: CoveredIntents | None) -> Iterator[str]:
    """Yield what is covered of each kind, and the two totals; nothing if it was not measured."""
    if covered is None:
        return
    shares = (f"{one.covered} of {one.total} {KIND_NAMES.get(kind, kind)}" for kind, one in covered.kinds.items())
    yield f"covered: {', '.join(shares)}"
    pooled = () if covered.pooled is None else (f"{POOLED} {covered.pooled:.1%}",)
    none_there = ", ".join(KIND_NAMES.get(kind, kind) for kind in covered.without)
    left_out = f" (none there: {none_there})" if none_there else ""
    yield f"total coverage: {', '.join((*pooled, f'{MEAN} {covered.mean:.1%}{left_out}'))}"
