"""Rules learnt from rule dialogues, and what they predict: Rasa's RulePolicy, which trains no model.

Rules are matched backwards from now; of several that fit, the longest wins. Some predictions need no rule: the default
actions, a loop that continues, and the way back from a detour out of a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.dialogue.defaults import (
    ACTION_BACK,
    ACTION_DEFAULT_FALLBACK,
    ACTION_LISTEN,
    ACTION_RESTART,
    ACTION_RULE_SNIPPET,
    ACTION_SESSION_START,
    INTENT_BACK,
    INTENT_RESTART,
    INTENT_SESSION_START,
)
from turncheck.dialogue.events import LoopInterrupted
from turncheck.dialogue.policy_states import RuleOnly, by_intent, by_text
from turncheck.dialogue.prediction import Prediction
from turncheck.dialogue.states import PREVIOUS_ACTION, active_loop, previous_action

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.rule_table import RuleTable
    from turncheck.dialogue.states import State
    from turncheck.dialogue.tracker import Tracker

POLICY: Final = "RulePolicy"
PRIORITY: Final = 4

DEFAULT_ACTION_OF_INTENT: Final[Mapping[str, str]] = {
    INTENT_RESTART: ACTION_RESTART,
    INTENT_BACK: ACTION_BACK,
    INTENT_SESSION_START: ACTION_SESSION_START,
}
_DEFAULT_SOURCE: Final = "default action of intent "
_LOOP_SOURCE: Final = "active loop "
_LISTEN_SUFFIX: Final = ", then listen"

Detour = Literal["interrupted", "without loop"]
"""Inside a loop: it returns after a detour and must not validate; or another action comes instead of the loop."""


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """The parameters of RulePolicy, with Rasa's defaults."""

    fallback_action: str = ACTION_DEFAULT_FALLBACK
    fallback_threshold: float = 0.3
    enable_fallback: bool = True
    restrict_rules: bool = True
    check_for_contradictions: bool = True
    use_nlu_confidence: bool = False
    priority: int = PRIORITY

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> RuleSettings:
        """Read the parameters as they are in ``config.yml``."""
        return cls(
            fallback_action=parameters.get("core_fallback_action_name", ACTION_DEFAULT_FALLBACK),
            fallback_threshold=float(parameters.get("core_fallback_threshold", 0.3)),
            enable_fallback=bool(parameters.get("enable_fallback_prediction", True)),
            restrict_rules=bool(parameters.get("restrict_rules", True)),
            check_for_contradictions=bool(parameters.get("check_for_contradictions", True)),
            use_nlu_confidence=bool(parameters.get("use_nlu_confidence_as_score", False)),
            priority=int(parameters.get("priority", PRIORITY)),
        )


_REACH_WHILE_LEARNING: Final = 100
"""How many states back at least, as long as it is not known which states without a rule are in rules only."""


def rule_key(states: Sequence[State]) -> str | None:
    """Return the JSON text of the states after the last "anything may come before"; ``None`` if there are none."""
    kept: list[str] = []
    for state in reversed(states):
        if previous_action(state) == ACTION_RULE_SNIPPET:
            break
        kept.append(state.text)
    return f"[{', '.join(reversed(kept))}]" if kept else None


def memorised(examples: Iterable[tuple[str | None, str]]) -> dict[str, str]:
    """Return which action follows which key; keys that different actions follow are left out completely."""
    lookup: dict[str, str] = {}
    ambiguous: set[str] = set()
    for key, action in examples:
        if not key or key in ambiguous:
            continue
        if lookup.setdefault(key, action) != action:
            ambiguous.add(key)
            del lookup[key]
    return lookup


@dataclass(frozen=True, slots=True)
class RuleDecision:
    """What the rules predict, and its source: a rule's key, a default, the loop, or (no action) the states."""

    action: str | None
    source: str | None
    returns_from_detour: bool = False
    uses_text: bool = False
    ignores_user: bool = False


@dataclass(slots=True)
class RuleBook:
    """Everything that RulePolicy has learnt. ``not_in_stories``: the sources of predictions that no story needs."""

    domain: DialogueDomain
    settings: RuleSettings
    rules: RuleTable[str]
    detours: RuleTable[Detour]
    rule_only: RuleOnly = field(default_factory=RuleOnly)
    not_in_stories: frozenset[str] = frozenset()
    _reach: int = field(init=False, default=0)
    """How many states back rules look at most: anything longer is not a known key."""

    def __post_init__(self) -> None:
        self._reach = max(_REACH_WHILE_LEARNING, self._longest + 1)

    @property
    def _longest(self) -> int:
        return max(self.rules.longest, self.detours.longest)

    def learnt(self, not_in_stories: frozenset[str]) -> RuleBook:
        """End learning: take over the sources of predictions that no story needs; return this book."""
        self.not_in_stories = not_in_stories
        states = (source.count(f'"{PREVIOUS_ACTION}"') + 1 for source in not_in_stories)  # only the first has none
        self._reach = max(self._longest, *states, 0) + 1
        return self

    def predict(self, tracker: Tracker) -> Prediction:
        """Predict the next action; without a rule, the fallback with its threshold as confidence."""
        decision = self.decide(tracker)
        return Prediction(
            POLICY,
            self.scores(decision.action, tracker),
            priority=self.settings.priority,
            events=(LoopInterrupted(is_interrupted=True),) if decision.returns_from_detour else (),
            uses_text=decision.uses_text,
            ignores_user=decision.ignores_user,
            hide_rule_turn=decision.source in self.not_in_stories,
        )

    def scores(self, action: str | None, tracker: Tracker) -> dict[str, float]:
        """Return the scores: the fallback's threshold, and above it (as a rule) the action's."""
        settings = self.settings
        scores = {settings.fallback_action: settings.fallback_threshold} if settings.enable_fallback else {}
        if action is not None:
            intent = tracker.latest_message.intent
            scores[action] = intent.get("confidence", 1.0) if settings.use_nlu_confidence else 1.0
        return scores

    def decide(self, tracker: Tracker) -> RuleDecision:
        """Decide in Rasa's order: default actions, the loop, rules by text, rules by intent."""
        states = tracker.last_states(self._reach)
        by_message = RuleDecision(None, None)
        if tracker.latest_action_name == ACTION_LISTEN:
            by_message = self._by_rules(tracker, by_text(states), uses_text=True)
        default = _default_action(tracker)
        if default is not None and by_message.action is None:
            return default
        loop = _loop_goes_on(tracker)
        if loop is not None:
            return loop
        if by_message.action is not None:
            return by_message
        decision = self._by_rules(tracker, by_intent(states), uses_text=False)
        if by_message.returns_from_detour and not decision.returns_from_detour:
            return RuleDecision(decision.action, decision.source, returns_from_detour=True)
        return decision

    def _by_rules(self, tracker: Tracker, states: Sequence[State], *, uses_text: bool) -> RuleDecision:
        # Of several rules that fit, one is a part of the other: the longest one is the most specific.
        best = max(self.rules.matching(states), key=len, default=None)
        action = None if best is None else self.rules.outcomes[best]
        loop = tracker.active_loop_name
        returns = False
        if loop is not None:
            detours = {self.detours.outcomes[key] for key in self.detours.matching(states)}
            if best is not None and action == ACTION_LISTEN and active_loop(self.rules.states(best)[-1]) is None:
                # A general rule ends inside the loop: the loop asks again, unless something else follows in the rules.
                if "without loop" not in detours:
                    return RuleDecision(loop, best, uses_text=uses_text)
                action = None
            returns = "interrupted" in detours
        return RuleDecision(action, best or rule_key(states), returns_from_detour=returns, uses_text=uses_text)


def _default_action(tracker: Tracker) -> RuleDecision | None:
    if tracker.latest_action_name != ACTION_LISTEN:
        return None
    intent = tracker.latest_message.intent_name
    action = DEFAULT_ACTION_OF_INTENT.get(intent or "")
    return None if action is None else RuleDecision(action, f"{_DEFAULT_SOURCE}{intent}")


def _loop_goes_on(tracker: Tracker) -> RuleDecision | None:
    loop = tracker.active_loop_name
    if loop is None or tracker.is_active_loop_rejected:
        return None
    if tracker.latest_action_name == loop:
        return RuleDecision(ACTION_LISTEN, f"{_LOOP_SOURCE}{loop}{_LISTEN_SUFFIX}", ignores_user=True)
    if tracker.latest_action_name is None:
        return None
    return RuleDecision(loop, f"{_LOOP_SOURCE}{loop}", ignores_user=True)


def is_built_in(source: str) -> bool:
    """Whether a prediction does not come from a rule of the project."""
    return source.startswith((_DEFAULT_SOURCE, _LOOP_SOURCE))


def built_in_sources(domain: DialogueDomain) -> set[str]:
    """Return the sources of all predictions that need no rule."""
    defaults = {f"{_DEFAULT_SOURCE}{intent}" for intent in DEFAULT_ACTION_OF_INTENT}
    loops = {f"{_LOOP_SOURCE}{form}{suffix}" for form in domain.domain.forms for suffix in ("", _LISTEN_SUFFIX)}
    return defaults | loops
