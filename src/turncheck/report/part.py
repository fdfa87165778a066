"""What all parts of the report have in common."""

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all parts: immutable, and strict about keys that nobody knows."""
