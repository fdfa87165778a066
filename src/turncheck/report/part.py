"""What all parts of the report have in common."""

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Base of all parts: immutable, and strict about keys that nobody knows.

    They hold no cycles, so that the collector of cycles need not go through the millions of them.
    """
