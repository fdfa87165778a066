"""Rules learnt from rule dialogues, and what they predict: Rasa's RulePolicy, which trains no model.

Rules are matched backwards from now; of several that fit, the longest wins. Some predictions need no rule: the default
actions, a loop that continues, and the way back from a detour out of a loop.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import (
    ACTION_BACK,
    ACTION_DEFAULT_FALLBACK,
    ACTION_LISTEN,
    ACTION_RESTART,
    ACTION_RULE_SNIPPET,
    ACTION_SESSION_START,
    INTENT_BACK,
    INTENT_RESTART,
    INTENT_SESSION_START,
    SHOULD_NOT_BE_SET,
)
from turncheck.dialogue.events import Event, LoopInterrupted
from turncheck.dialogue.policy_states import RuleOnly, by_intent, by_text
from turncheck.dialogue.states import NO_PART, PREVIOUS_ACTION, Part, State, active_loop, previous_action
from turncheck.messages.phrasing import BY_ITSELF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.tracker import Tracker


# What a policy predicts.


class Prediction(NamedTuple):
    """The scores (0 to 1) of a policy; an action that is not named has the score 0.

    ``events`` are to be applied even if another policy wins; ``optional_events`` only if this one does. ``uses_text``:
    it looked at the text of the message instead of its intent; ``ignores_user``: at neither (a loop continues).
    ``hide_rule_turn``: the prediction comes from a rule that is in no story. ``metadata`` goes into the action's event.
    """

    policy: str | None
    scores: Mapping[str, float]
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
        return self._replace(scores={name: score for name, score in self.scores.items() if name != action})

    def ranked(self, domain: DialogueDomain, limit: int) -> list[tuple[str, float]]:
        """Return the actions with the highest scores above 0, best first."""
        above = [(action, score) for action, score in self.scores.items() if score > 0.0]
        return sorted(above, key=lambda pair: (-pair[1], domain.action_number(pair[0])))[:limit]


POLICY: Final = "RulePolicy"
PRIORITY: Final = 4

DEFAULT_ACTION_OF_INTENT: Final[Mapping[str, str]] = {
    INTENT_RESTART: ACTION_RESTART,
    INTENT_BACK: ACTION_BACK,
    INTENT_SESSION_START: ACTION_SESSION_START,
}
_DEFAULT_SOURCE: Final = f"{BY_ITSELF} with the intent "
_LOOP_SOURCE: Final = f"{BY_ITSELF} while the form is active: "
_LISTEN_SOURCE: Final = f"{BY_ITSELF} after the form "

Detour = Literal["interrupted", "without loop"]
"""Inside a loop: it returns after a detour and must not validate; or another action comes instead of the loop."""


class RuleSettings(NamedTuple):
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
        fallback_action = parameters.get("core_fallback_action_name", ACTION_DEFAULT_FALLBACK)
        return cls(
            fallback_action=str(fallback_action) if fallback_action else "",  # Rasa takes whatever is not an action
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


class RuleDecision(NamedTuple):
    """What the rules predict, and its source: a rule's key, a default, the loop; none if no rule fits."""

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
            hide_rule_turn=self.source(decision, tracker) in self.not_in_stories,
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
        states = tracker.last_states(max(1, self._longest))
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

    def source(self, decision: RuleDecision, tracker: Tracker) -> str | None:
        """Return where a decision comes from: if no rule fits, the states themselves."""
        return decision.source or rule_key(by_intent(tracker.last_states(self._reach)))

    def _by_rules(self, tracker: Tracker, states: Sequence[State], *, uses_text: bool) -> RuleDecision:
        # Of several rules that fit, one is a part of the other: the longest one is the most specific.
        best = max(self.rules.matching(states), key=len, default=None)
        action = None if best is None else self.rules.outcomes[best]
        loop = tracker.active_loop_name
        returns = False
        if loop is not None:
            detours = {self.detours.outcomes[key] for key in self.detours.matching(states)}
            if best is not None and action == ACTION_LISTEN and active_loop(self.rules.newest(best)) is None:
                # A general rule ends inside the loop: the loop asks again, unless something else follows in the rules.
                if "without loop" not in detours:
                    return RuleDecision(loop, best, uses_text=uses_text)
                action = None
            returns = "interrupted" in detours
        return RuleDecision(action, best, returns_from_detour=returns, uses_text=uses_text)


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
        return RuleDecision(ACTION_LISTEN, f"{_LISTEN_SOURCE}{loop}", ignores_user=True)
    if tracker.latest_action_name is None:
        return None
    return RuleDecision(loop, f"{_LOOP_SOURCE}{loop}", ignores_user=True)


def is_built_in(source: str) -> bool:
    """Whether a prediction does not come from a rule of the project."""
    return source.startswith(BY_ITSELF)


def built_in_sources(domain: DialogueDomain) -> set[str]:
    """Return the sources of all predictions that need no rule."""
    defaults = {f"{_DEFAULT_SOURCE}{intent}" for intent in DEFAULT_ACTION_OF_INTENT}
    loops = {f"{source}{form}" for form in domain.domain.forms for source in (_LOOP_SOURCE, _LISTEN_SOURCE)}
    return defaults | loops


# What follows after which states, looked up backwards from now, so that only rules that may fit are tried.

Outcome = TypeVar("Outcome")

_Feature = tuple[str, str, Any]
"""The part of a state, the name in it, and the value there."""

_FEW: Final = 8
"""Up to this many states are tried faster one by one than looked up."""


class RuleTable(Generic[Outcome]):
    """What follows after which states, to be looked up backwards from now. ``key`` is the states as JSON.

    ``tried``: how many states of rules have been compared with states of dialogues so far.
    """

    def __init__(self, outcomes: Mapping[str, Outcome]) -> None:
        self.outcomes = dict(outcomes)
        self.longest = self.tried = 0
        self._keys = list(self.outcomes)
        self._newest: dict[str, State] = {}
        self._now = _Earlier(State())
        known: dict[str, State] = {}
        for number, key in enumerate(self._keys):
            states = [known.setdefault(state.text, state) for state in _states_of(key)]
            self.longest = max(self.longest, len(states))
            self._newest[key] = states[-1]
            self._now.file(states, number)

    def newest(self, key: str) -> State:
        """Return the last one of a key's states."""
        return self._newest[key]

    def remove(self, key: str) -> None:
        """Remove a key."""
        del self.outcomes[key]

    def matching(self, states: Sequence[State]) -> list[str]:
        """Return the keys that fit the dialogue, in the order in which they were learnt."""
        found: list[int] = []
        waiting = [(self._now, 1)]
        while waiting:
            later, back = waiting.pop()
            candidates = later.candidates(states[-back])
            self.tried += len(candidates)
            for rule in candidates:
                if not _fits(rule.state, states[-back]):
                    continue
                if rule.number is not None:
                    found.append(rule.number)
                if rule.before and back < len(states):
                    waiting.append((rule, back + 1))
                elif rule.before:  # a rule that reaches back further than the dialogue is compared with its end alone
                    found.extend(rule.numbers_before())
        return [self._keys[number] for number in sorted(found) if self._keys[number] in self.outcomes]


class _Earlier:
    """A state of rules that are the same from here on, and what comes before it in each of them.

    ``number``: that of the rule that begins here. What comes before is filed under its rarest feature: a dialogue is
    only compared with the states of which it has that feature, and with those that require none.
    """

    __slots__ = ("_by_feature", "_without", "before", "number", "state")

    def __init__(self, state: State) -> None:
        self.state = state
        self.number: int | None = None
        self.before: dict[str, _Earlier] = {}
        self._by_feature: dict[_Feature, list[_Earlier]] | None = None
        self._without: list[_Earlier] = []

    def file(self, states: Sequence[State], number: int) -> None:
        """Add a rule, which has these states up to here."""
        rule = self
        for state in reversed(states):
            rule = rule.before.setdefault(state.text, _Earlier(state))
        rule.number = number

    def candidates(self, state: State) -> Sequence[_Earlier]:
        """Return the rules that may fit if the dialogue has this state before."""
        if len(self.before) <= _FEW:
            return list(self.before.values())
        if self._by_feature is None:
            self._by_feature = self._filed()
        found = self._without.copy()
        for part, features in state.items():
            for name, value in features.items():
                found.extend(self._by_feature.get((part, name, value), ()))
        return found

    def _filed(self) -> dict[_Feature, list[_Earlier]]:
        wanted = [(rule, _wanted(rule.state)) for rule in self.before.values()]
        frequency = Counter(feature for _, features in wanted for feature in features)
        by_feature: dict[_Feature, list[_Earlier]] = {}
        for rule, features in wanted:
            rarest = min(features, key=frequency.__getitem__, default=None)
            (self._without if rarest is None else by_feature.setdefault(rarest, [])).append(rule)
        return by_feature

    def numbers_before(self) -> Iterator[int]:
        """Yield the rules that reach back further."""
        waiting = list(self.before.values())
        while waiting:
            rule = waiting.pop()
            waiting += rule.before.values()
            if rule.number is not None:
                yield rule.number


def _wanted(state: State) -> list[_Feature]:
    """The features that a state of a rule requires; at a dialogue's beginning nothing is compared."""
    if not state.get(s.PREVIOUS_ACTION):
        return []
    return [
        (part, name, value)
        for part, features in state.items()
        for name, value in features.items()
        if value and value != SHOULD_NOT_BE_SET
    ]


def _states_of(key: str) -> list[State]:
    return [State({part: _part(content) for part, content in state.items()}) for state in json.loads(key)]


def _part(content: Mapping[str, Any]) -> Part:
    return Part({name: _frozen(value) for name, value in content.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _fits(wanted: State, state: State) -> bool:
    """Whether the dialogue's state contains that of a rule at the same distance from now."""
    begins = not wanted.get(s.PREVIOUS_ACTION)
    if begins or not state.get(s.PREVIOUS_ACTION):
        return begins and not state.get(s.PREVIOUS_ACTION)
    return _contains(state, wanted)


def _contains(state: State, wanted: State) -> bool:
    for part, features in wanted.items():
        actual = state.get(part, NO_PART)
        for name, feature in features.items():
            value = actual.get(name)
            if feature == SHOULD_NOT_BE_SET:
                if value and value != SHOULD_NOT_BE_SET:
                    return False
            elif feature and value != feature:
                return False
    return True
