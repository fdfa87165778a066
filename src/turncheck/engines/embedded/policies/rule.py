"""RulePolicy: predicts what the rules say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from turncheck.dialogue.policy_states import RuleOnly
from turncheck.dialogue.rule_table import RuleTable
from turncheck.dialogue.rules import POLICY, Detour, RuleBook, RuleSettings
from turncheck.engines.embedded.model_archive import as_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.prediction import Prediction
    from turncheck.dialogue.tracker import Tracker


class _Learnt(TypedDict):
    rules: dict[str, str]
    detours: dict[str, Detour]
    rule_only_slots: frozenset[str]
    rule_only_loops: frozenset[str]
    not_in_stories: frozenset[str]


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
        learnt = as_shape(shape, _Learnt)
        return cls(
            RuleBook(
                domain,
                settings,
                RuleTable(learnt["rules"]),
                RuleTable(learnt["detours"]),
                RuleOnly(learnt["rule_only_slots"], learnt["rule_only_loops"]),
            ).learnt(learnt["not_in_stories"])
        )
