"""Which renderings go where; one that fails hurts no other and never the verdict.

A publisher is a name and a function; it gets renderings, never a report. What it says when it fails is a notice, and
the run goes on: the verdict stands, whoever hears of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True, slots=True)
class Publisher:
    """One way out. ``send`` raises ``UserError``, ``OSError`` or ``ValueError`` where it cannot."""

    name: str
    send: Callable[[], None]


def publish_all(publishers: Iterable[Publisher], say: Callable[[str], None]) -> list[str]:
    """Send by every publisher, in order; return the names of those that failed, each having been said."""
    failed = []
    for publisher in publishers:
        try:
            publisher.send()
        except (UserError, OSError, ValueError) as error:
            failed.append(publisher.name)
            say(f"{publisher.name}: {error}")
    return failed
