"""What of a Kore.ai assistant is tested, in plain lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.covered_intents import CoveredIntents

KIND_NAMES: Final = {"dialog": "dialogs", "faq": "FAQs", "small_talk": "small talk", "trait": "traits"}


def covered_lines(covered: CoveredIntents | None) -> Iterator[str]:
    """Yield a line with what is covered of each kind and the two totals; nothing where it was not measured."""
    if covered is None:
        return
    shares = (f"{one.covered} of {one.total} {KIND_NAMES.get(kind, kind)}" for kind, one in covered.kinds.items())
    yield f"covered: {', '.join(shares)} (pooled {covered.pooled:.1%}, mean of the kinds {covered.mean:.1%})"
