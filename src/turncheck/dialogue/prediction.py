"""What a policy predicts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event


@dataclass(frozen=True, slots=True)
class Prediction:
    """The scores (0 to 1) of a policy; an action that is not named has the score 0.

    ``events`` are to be applied even if another policy wins; ``optional_events`` only if this one does. ``uses_text``:
    it looked at the text of the message instead of its intent; ``ignores_user``: at neither (a loop continues).
    ``hide_rule_turn``: the prediction comes from a rule that is in no story. ``metadata`` goes into the action's event.
    """

    policy: str | None
    scores: Mapping[str, float] = field(default_factory=dict)
    priority: int = 1
    events: tuple[Event, ...] = ()
    optional_events: tuple[Event, ...] = ()
    uses_text: bool = False
    ignores_user: bool = False
    hide_rule_turn: bool = False
    metadata: Mapping[str, Any] | None = None

    @property
    def confidence(self) -> float:
        """The highest score."""
        return max(self.scores.values(), default=0.0)

    def action(self, domain: DialogueDomain) -> str:
        """Return the action with the highest score; of several, the first in the domain's order."""
        confidence = self.confidence
        if confidence <= 0.0:
            return domain.actions[0]
        best = [action for action, score in self.scores.items() if score == confidence]
        return best[0] if len(best) == 1 else min(best, key=domain.action_number)

    def without(self, action: str) -> Prediction:
        """Return the prediction with this action's score at 0."""
        if action not in self.scores:
            return self
        return replace(self, scores={name: score for name, score in self.scores.items() if name != action})

    def ranked(self, domain: DialogueDomain, limit: int) -> list[tuple[str, float]]:
        """Return the actions with the highest scores above 0, best first."""
        above = [(action, score) for action, score in self.scores.items() if score > 0.0]
        return sorted(above, key=lambda pair: (-pair[1], domain.action_number(pair[0])))[:limit]
