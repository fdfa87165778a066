"""The policies of Rasa 1 that RulePolicy replaced: mappings, forms and fallbacks, and which policy decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import (
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_DEFAULT_ASK_REPHRASE,
    ACTION_LISTEN,
    ACTION_REVERT_FALLBACK_EVENTS,
)
from turncheck.dialogue.events import ActionExecuted
from turncheck.dialogue.policy_states import RuleOnly, before_action, learner_states, learnt
from turncheck.dialogue.rules import Prediction
from turncheck.engines.embedded.actions.base import actions_but_listening
from turncheck.engines.embedded.model_archive import as_shape
from turncheck.engines.embedded.policies.memoization import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.dialogue.states import State
    from turncheck.dialogue.tracker import Tracker
    from turncheck.dialogue.training import StoryTracker

MAPPING: Final = "MappingPolicy"
FORM: Final = "FormPolicy"
FALLBACK: Final = "FallbackPolicy"
TWO_STAGE: Final = "TwoStageFallbackPolicy"
HISTORY: Final = 5
"""How many states a memoization policy of Rasa 1 and 2 looks back at by default."""

_PRIORITY: Final = {MAPPING: 2, FALLBACK: 4, TWO_STAGE: 4, FORM: 5}
_BY_THEMSELVES: Final = {"restart": "action_restart", "back": "action_back", "session_start": "action_session_start"}
"""What these intents are mapped to by default."""


@dataclass(frozen=True, slots=True)
class MappingPolicy:
    """Predicts the action that a message's intent triggers, then listening, if it predicted that action itself."""

    priority: int = _PRIORITY[MAPPING]

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> MappingPolicy:
        """Read the parameters as they are in ``config.yml``."""
        return cls(int(parameters.get("priority", _PRIORITY[MAPPING])))

    @property
    def name(self) -> str:
        """The name of its Rasa class."""
        return MAPPING

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:  # noqa: ARG002 - there are no rules
        """Predict what the intent triggers."""
        intent = tracker.latest_message.intent_name or ""
        known = tracker.domain.domain.intents.get(intent)
        action = _BY_THEMSELVES.get(intent) or (None if known is None else known.triggers)
        scores: dict[str, float] = {}
        if tracker.latest_action_name == ACTION_LISTEN:
            if action is not None and action in tracker.domain.actions:
                scores[action] = 1.0
        elif action is not None and tracker.latest_action_name == action:
            latest = tracker.last_applied(ActionExecuted)
            if isinstance(latest, ActionExecuted) and latest.policy == MAPPING:
                scores[ACTION_LISTEN] = 1.0
        return Prediction(MAPPING, scores, priority=self.priority)

    def to_json(self) -> dict[str, Any]:
        """Return nothing: it is not trained."""
        return {}


@dataclass(frozen=True, slots=True)
class FormPolicy:
    """While a form is active, predicts the form after each message, and listening after the form.

    ``unhappy``: the turns of the stories in which something else follows a message while a form is active.
    """

    unhappy: Mapping[str, str] = field(default_factory=dict, repr=False)
    priority: int = _PRIORITY[FORM]

    @classmethod
    def fit(cls, trackers: Iterable[StoryTracker], parameters: Mapping[str, Any]) -> FormPolicy:
        """Collect the messages of the stories while a form is active."""
        unhappy: dict[str, str] = {}
        for tracker in trackers:
            if tracker.is_rule or tracker.is_augmented:
                continue
            states = learnt(tracker.states())
            actions = [event for event in tracker.applied_events() if isinstance(event, ActionExecuted)]
            for number, action in enumerate(actions, 1):
                before = before_action(states, number, 2)
                form = s.active_loop(before[-1])
                if form is not None and s.follows_listen(before[-1]) and not action.is_unpredictable:
                    unhappy[_turn(before)] = form
        return cls(unhappy, int(parameters.get("priority", _PRIORITY[FORM])))

    @property
    def name(self) -> str:
        """The name of its Rasa class."""
        return FORM

    def knows_detour(self, tracker: Tracker) -> bool:
        """Whether a story leaves the active form at a message such as this one."""
        form = tracker.active_loop_name
        return form is not None and self.unhappy.get(_turn(learner_states(tracker, RuleOnly(), max_history=2))) == form

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:  # noqa: ARG002 - there are no rules
        """Predict that the form goes on."""
        form, latest = tracker.active_loop_name, tracker.latest_action_name
        scores: dict[str, float] = {}
        if form is not None and latest == ACTION_LISTEN:
            if not (tracker.is_active_loop_rejected and self.knows_detour(tracker)):
                scores[form] = 1.0
        elif form is not None and latest == form:
            scores[ACTION_LISTEN] = 1.0
        return Prediction(FORM, scores, priority=self.priority)

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt."""
        return {"unhappy": dict(self.unhappy)}

    @classmethod
    def from_json(cls, shape: Mapping[str, Any], parameters: Mapping[str, Any]) -> FormPolicy:
        """Read what :meth:`to_json` wrote."""
        return cls(as_shape(shape["unhappy"], dict[str, str]), int(parameters.get("priority", _PRIORITY[FORM])))


def _turn(states: Sequence[State]) -> str:
    """Return a key of the newest state with the action before the listening that it follows."""
    before = states[-2].get(s.PREVIOUS_ACTION, s.NO_PART).text if len(states) > 1 else ""
    return digest_of(f"{before} {states[-1].text}")


@dataclass(frozen=True, slots=True)
class FallbackPolicy:
    """Predicts the fallback action if the message was not understood, or no other policy is sure enough."""

    name: str
    action: str
    nlu_action: str
    nlu_threshold: float = 0.3
    ambiguity_threshold: float = 0.1
    core_threshold: float = 0.3
    priority: int = _PRIORITY[FALLBACK]

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any]) -> FallbackPolicy:
        """Read the parameters as they are in ``config.yml``."""
        action = str(parameters.get("fallback_action_name", "action_default_fallback"))
        return cls(
            name,
            action,
            action,
            _number(parameters, "nlu_threshold", 0.3),
            _number(parameters, "ambiguity_threshold", 0.1),
            _number(parameters, "core_threshold", 0.3),
            int(parameters.get("priority", _PRIORITY[name])),
        )

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:  # noqa: ARG002 - there are no rules
        """Predict the fallback, with the confidence that the others must exceed unless it is certain."""
        latest = tracker.latest_action_name
        if latest in {self.action, self.nlu_action} and latest != ACTION_LISTEN:
            scores = {ACTION_LISTEN: 1.0}
        elif latest == ACTION_LISTEN and self._is_unsure(tracker):
            scores = {self.nlu_action: 1.0}
        else:
            scores = {self.action: self.core_threshold}
        return Prediction(self.name, scores, priority=self.priority)

    def _is_unsure(self, tracker: Tracker) -> bool:
        intent = tracker.latest_message.intent
        if float(intent.get("confidence", 1.0)) < self.nlu_threshold:
            return True
        parsed = tracker.latest_message.parse_data or {}
        ranking = [float(one.get("confidence", 0.0)) for one in parsed.get("intent_ranking", ())[:2]]
        return len(ranking) == 2 and ranking[0] - ranking[1] < self.ambiguity_threshold

    def to_json(self) -> dict[str, Any]:
        """Return nothing: it is not trained."""
        return {}


@dataclass(frozen=True, slots=True)
class TwoStageFallbackPolicy(FallbackPolicy):
    """Asks whether a message was understood correctly, then to rephrase it, before it falls back."""

    deny_intent: str = "out_of_scope"
    last_action: str = "action_default_fallback"

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any]) -> TwoStageFallbackPolicy:
        """Read the parameters as they are in ``config.yml``."""
        fallback = "action_default_fallback"
        return cls(
            name,
            str(parameters.get("fallback_core_action_name", fallback)),
            ACTION_DEFAULT_ASK_AFFIRMATION,
            _number(parameters, "nlu_threshold", 0.3),
            _number(parameters, "ambiguity_threshold", 0.1),
            _number(parameters, "core_threshold", 0.3),
            int(parameters.get("priority", _PRIORITY[name])),
            str(parameters.get("deny_suggestion_intent_name", "out_of_scope")),
            str(parameters.get("fallback_nlu_action_name", fallback)),
        )

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:
        """Predict the next stage."""
        latest = tracker.latest_action_name
        if latest in {ACTION_DEFAULT_ASK_AFFIRMATION, ACTION_DEFAULT_ASK_REPHRASE, self.action}:
            return self._sure(ACTION_LISTEN)
        done = actions_but_listening(tracker)
        unsure = latest == ACTION_LISTEN and self._is_unsure(tracker)
        if done[-1:] == [ACTION_DEFAULT_ASK_AFFIRMATION]:
            if tracker.latest_message.intent_name == self.deny_intent:
                again = done[-2:-1] == [ACTION_DEFAULT_ASK_REPHRASE]
                return self._sure(self.last_action if again else ACTION_DEFAULT_ASK_REPHRASE)
            return self._sure(self.last_action if unsure else ACTION_REVERT_FALLBACK_EVENTS)
        if done[-1:] == [ACTION_DEFAULT_ASK_REPHRASE]:
            return self._sure(ACTION_DEFAULT_ASK_AFFIRMATION if unsure else ACTION_REVERT_FALLBACK_EVENTS)
        return FallbackPolicy.predict(self, tracker, rule_only)

    def _sure(self, action: str) -> Prediction:
        return Prediction(self.name, {action: 1.0}, priority=self.priority)


def _number(parameters: Mapping[str, Any], key: str, default: float) -> float:
    value = parameters.get(key, default)
    return float(value) if isinstance(value, int | float) else default


def pick_older(predictions: Sequence[Prediction]) -> Prediction:
    """Return the prediction that counts in Rasa 1 and 2: by confidence, then by priority, then the first.

    A form beats all but a mapping that itself beats the rest and predicts anything. In Rasa 2, predictions that
    ignore the user, then those from the text, exclude the others, as in Rasa 3.
    """
    ignores = any(prediction.ignores_user for prediction in predictions)
    is_from_text = not ignores and any(prediction.uses_text for prediction in predictions)
    best: Prediction | None = None
    form: Prediction | None = None
    for prediction in predictions:
        if prediction.ignores_user != ignores or (not ignores and prediction.uses_text != is_from_text):
            continue
        if prediction.policy == FORM:
            form = prediction
        elif best is None or _rank(prediction) > _rank(best):
            best = prediction
    if form is not None and (best is None or (not _is_mapped(best) and _rank(form) > _rank(best))):
        best = form
    if best is None:
        raise ValueError("an ensemble needs at least one policy")
    return best


def _is_mapped(prediction: Prediction) -> bool:
    return prediction.policy == MAPPING and prediction.confidence > 0


def _rank(prediction: Prediction) -> tuple[float, int]:
    return prediction.confidence, prediction.priority
