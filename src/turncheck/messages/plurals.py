"""Numbers with their nouns: the one place that knows when a noun is plural."""

from __future__ import annotations


def count(number: int, one: str, many: str | None = None) -> str:
    """Show a number with its noun: ``1 story``, ``2 stories``, ``1,200 sentences``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
