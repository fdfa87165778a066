"""A decision of all policies together, and what makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.tracker import Tracker


@dataclass(frozen=True, slots=True)
class Decision:
    """The next action, who decided it and how sure they are; ``events`` come before the action's own.

    ``alternatives``: further actions with their confidences, best first.
    """

    action: str
    policy: str | None = None
    confidence: float = 1.0
    events: Sequence[Event] = ()
    hide_rule_turn: bool = False
    is_end_to_end: bool = False
    metadata: Mapping[str, Any] | None = None
    alternatives: Sequence[tuple[str, float]] = ()


class Policies(Protocol):
    """The part of an engine that decides what to do next."""

    @property
    def domain(self) -> DialogueDomain:
        """The domain that stories are read with."""

    def next(self, tracker: Tracker) -> Decision:
        """Decide on the next action after what has happened; the tracker is left as it is."""
