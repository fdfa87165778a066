"""What every policy is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from turncheck.dialogue.policy_states import RuleOnly
    from turncheck.dialogue.prediction import Prediction
    from turncheck.dialogue.tracker import Tracker


class Policy(Protocol):
    """A trained policy."""

    @property
    def name(self) -> str:
        """The name of its Rasa class."""

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:
        """Predict what comes next."""

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt, as JSON values, for the model archive."""
