"""How Duckling may be reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from turncheck.web.network import Network

if TYPE_CHECKING:
    from collections.abc import Collection


REFERENCE_TIME: Final = 1_735_732_800_000
"""2025-01-01 12:00 UTC in milliseconds: "tomorrow" must mean the same in every run that is compared."""


def noon_of(day: str) -> int:
    """Return noon (UTC) of a day written as ``2025-01-01``, in milliseconds since 1970."""
    return int(datetime.fromisoformat(f"{day}T12:00:00+00:00").timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class DucklingAccess:
    """The server's address, if not the pipeline's, and which hosts the pipeline may name.

    ``allowed_hosts``: loopback and these, ``None``: any. ``reference_time`` is in milliseconds since 1970.
    """

    url: str | None = None
    allowed_hosts: Collection[str] | None = None
    reference_time: int = REFERENCE_TIME
    network: Network = field(default=Network(), repr=False)
