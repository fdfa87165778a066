"""All policies together: which of them decides, by Rasa's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from turncheck.dialogue.domain import ACTION_LISTEN, DialogueDomain
from turncheck.dialogue.events import ActionExecuted, ActionExecutionRejected, ActiveLoop, Event, UserFeaturization
from turncheck.dialogue.policy_states import RuleOnly
from turncheck.engines.conversation import Decision
from turncheck.engines.embedded.policies.rules import FormPolicy, RulePolicy, pick_older
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.dialogue.rules import Prediction
    from turncheck.dialogue.tracker import Tracker
    from turncheck.project.model import Component
    from turncheck.report.model import Substitution


ALTERNATIVES: Final = 3
FOLLOWUP: Final = "followup_action"
"""The policy's name if an event has named the next action."""


@dataclass(frozen=True, slots=True)
class Ensemble:
    """The trained policies of an assistant, in the order of its configuration.

    ``components``: how each of them was configured, which a model stores beside what it learnt.
    """

    domain: DialogueDomain
    policies: Sequence[Policy]
    substitutions: tuple[Substitution, ...] = ()
    components: tuple[Component, ...] = ()

    @property
    def rule_only(self) -> RuleOnly:
        """What only rules know; empty without RulePolicy."""
        for policy in self.policies:
            if isinstance(policy, RulePolicy):
                return policy.book.rule_only
        return RuleOnly()

    def next(self, tracker: Tracker) -> Decision:
        """Take the follow-up action if there is one that the domain knows, else ask the policies."""
        if self.domain.is_older:
            self._resume_form(tracker)
        followup = tracker.followup_action
        if followup:
            tracker.situation.followup_action = None
            if followup in self.domain.actions:
                return Decision(followup, FOLLOWUP)
        return self.decide(tracker)

    def _resume_form(self, tracker: Tracker) -> None:
        """Undo a form's rejection if no story leaves it at such a message, as Rasa 1 does."""
        refused = tracker.active_loop_name
        if refused is None or _rejected_action(tracker) != refused:
            return
        if not any(isinstance(policy, FormPolicy) and policy.knows_detour(tracker) for policy in self.policies):
            tracker.append(ActiveLoop(refused))

    def decide(self, tracker: Tracker) -> Decision:
        """Ask all policies; an action that has just been rejected is excluded for all of them."""
        rule_only = self.rule_only
        predictions = [policy.predict(tracker, rule_only) for policy in self.policies]
        rejected = _rejected_action(tracker)
        if self.domain.is_older and not tracker.is_active_loop_rejected:
            rejected = None
        if rejected is not None:
            predictions = [prediction.without(rejected) for prediction in predictions]
        best = pick_older(predictions) if self.domain.domain.rasa < NEWEST else pick(predictions)
        events: list[Event] = [event for prediction in predictions for event in prediction.events]
        events.extend(best.optional_events)
        if tracker.latest_action_name == ACTION_LISTEN:
            events.append(UserFeaturization(best.uses_text))
        action = best.action(self.domain)
        return Decision(
            action=action,
            policy=best.policy,
            confidence=best.confidence,
            events=tuple(events),
            hide_rule_turn=best.hide_rule_turn,
            is_end_to_end=best.uses_text,
            metadata=best.metadata,
            alternatives=self._alternatives(predictions, action),
        )

    def _alternatives(self, predictions: Sequence[Prediction], action: str) -> tuple[tuple[str, float], ...]:
        scores: dict[str, float] = {}
        for prediction in predictions:
            for name, score in prediction.scores.items():
                if name != action and score > scores.get(name, 0.0):
                    scores[name] = score
        ranked = sorted(scores.items(), key=lambda pair: (-pair[1], self.domain.action_number(pair[0])))
        return tuple(ranked[:ALTERNATIVES])


def pick(predictions: Sequence[Prediction]) -> Prediction:
    """Return the prediction that counts.

    One that ignores the user beats all others, then one from the text beats those from the intent, then the confidence
    decides, then the priority, then the order.
    """
    any_ignores = any(prediction.ignores_user for prediction in predictions)
    any_text = any(prediction.uses_text for prediction in predictions)
    best: Prediction | None = None
    for prediction in predictions:
        if prediction.ignores_user != any_ignores:
            continue
        if not any_ignores and prediction.uses_text != any_text:
            continue
        if best is None or (prediction.confidence, prediction.priority) > (best.confidence, best.priority):
            best = prediction
    if best is None:
        raise ValueError("an ensemble needs at least one policy")
    return best


def _rejected_action(tracker: Tracker) -> str | None:
    for event in reversed(tracker.events):
        if isinstance(event, ActionExecutionRejected):
            return event.name
        if isinstance(event, ActionExecuted):
            return None
    return None


# What every policy is.


class Policy(Protocol):
    """A trained policy."""

    @property
    def name(self) -> str:
        """The name of its Rasa class."""

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:
        """Predict what comes next."""

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt, as JSON values, for the model archive."""
