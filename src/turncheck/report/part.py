"""What all parts of the report have in common."""

from typing import Annotated, Final

import msgspec

LARGEST: Final = 2**53
"""Beyond it JSON's numbers are not exact."""
LARGEST_FIGURE: Final = 1e15

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
"""How many there are, or the index of one. A report may come from anybody: no number of it is beyond what can be
computed with."""
Whole = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
"""A whole number that may be negative."""
Figure = Annotated[float, msgspec.Meta(ge=-LARGEST_FIGURE, le=LARGEST_FIGURE)]
"""A share, a score, a confidence, seconds. An engine's own may be a little above 1, by rounding."""
Date = Annotated[str, msgspec.Meta(pattern=r"^([0-9]{4}-(0[1-9]|1[0-2])-[0-9]{2})?(?!\n)$")]
"""``2026-11-12``; empty if there is none."""

Moment = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z(?!\n)$")]
"""``2026-11-12T17:43:05Z``."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Base of all parts: immutable, and strict about keys that nobody knows.

    They hold no cycles, so that the collector of cycles need not go through the millions of them.
    """
