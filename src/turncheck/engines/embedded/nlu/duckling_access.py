"""How Duckling may be reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turncheck.web.network import Network

if TYPE_CHECKING:
    from collections.abc import Collection


REFERENCE_TIME: Final = 1_735_732_800_000
"""2025-01-01 12:00 UTC in milliseconds: "tomorrow" must mean the same in every run that is compared."""


@dataclass(frozen=True, slots=True)
class DucklingAccess:
    """Where the server is, if not where the pipeline says, and which hosts the pipeline may name.

    ``allowed_hosts``: loopback and these, ``None``: any. ``reference_time`` is in milliseconds since 1970.
    """

    url: str | None = None
    allowed_hosts: Collection[str] | None = None
    reference_time: int = REFERENCE_TIME
    network: Network = field(default=Network(), repr=False)
