"""RulePolicy: predicts what the rules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turncheck.dialogue.policy_states import RuleOnly
from turncheck.dialogue.rule_table import RuleTable
from turncheck.dialogue.rules import POLICY, RuleBook, RuleSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.prediction import Prediction
    from turncheck.dialogue.tracker import Tracker


@dataclass(frozen=True, slots=True)
class RulePolicy:
    """Predicts what the rule book says."""

    book: RuleBook

    @property
    def name(self) -> str:
        """The name of its Rasa class."""
        return POLICY

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:  # noqa: ARG002 - rules see all there is
        """Predict what the rules say."""
        return self.book.predict(tracker)

    def to_json(self) -> dict[str, Any]:
        """Return the tables of the rule book."""
        return {
            "rules": dict(self.book.rules.outcomes),
            "detours": dict(self.book.detours.outcomes),
            "rule_only_slots": sorted(self.book.rule_only.slots),
            "rule_only_loops": sorted(self.book.rule_only.loops),
            "not_in_stories": sorted(self.book.not_in_stories),
        }

    @classmethod
    def from_json(cls, shape: Mapping[str, Any], domain: DialogueDomain, settings: RuleSettings) -> RulePolicy:
        """Read what :meth:`to_json` wrote."""
        return cls(
            RuleBook(
                domain,
                settings,
                RuleTable(shape["rules"]),
                RuleTable(shape["detours"]),
                RuleOnly(frozenset(shape["rule_only_slots"]), frozenset(shape["rule_only_loops"])),
            ).learnt(frozenset(shape["not_in_stories"]))
        )
