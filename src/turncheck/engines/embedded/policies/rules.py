"""The policies that learn nothing: what followed after exactly these states, and what rules say.

MemoizationPolicy, AugmentedMemoizationPolicy and RulePolicy; and the policies of Rasa 1 that RulePolicy replaced:
mappings, forms and fallbacks, and which policy decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from msgspec import Struct

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import (
    ACTION_DEFAULT_ASK_AFFIRMATION,
    ACTION_DEFAULT_ASK_REPHRASE,
    ACTION_LISTEN,
    ACTION_REVERT_FALLBACK_EVENTS,
    ACTION_UNLIKELY_INTENT,
    DialogueDomain,
)
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, Event, FollowupAction, SlotSet, UserUttered
from turncheck.dialogue.policy_states import (
    RuleOnly,
    before_action,
    by_intent,
    learner_history,
    learner_states,
    learner_states_of,
    learnt,
)
from turncheck.dialogue.rules import POLICY, Detour, Prediction, RuleBook, RuleSettings, RuleTable, memorised
from turncheck.dialogue.tracker import History, Tracker
from turncheck.engines.embedded.actions.base import actions_but_listening
from turncheck.engines.embedded.model_archive import as_shape
from turncheck.project.config import max_history_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from turncheck.dialogue.states import State
    from turncheck.dialogue.training import StoryTracker

PRIORITY: Final = 3
_REMEMBERED: Final = 20_000
_DIGEST_SIZE: Final = 16


class MemoizationSettings(Struct, frozen=True):
    """The parameters of both policies, with Rasa's defaults. ``max_history``: how many states count; 0: all."""

    name: str = "MemoizationPolicy"
    max_history: int = 0
    use_nlu_confidence: bool = False
    priority: int = PRIORITY

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any], *, max_history: int = 0) -> MemoizationSettings:
        """Read the parameters as they are in ``config.yml``. ``max_history``: the default."""
        return cls(
            name=name,
            max_history=max_history_of(parameters) or max_history,
            use_nlu_confidence=bool(parameters.get("use_nlu_confidence_as_score", False)),
            priority=int(parameters.get("priority", PRIORITY)),
        )


class _Learnt(TypedDict):
    lookup: dict[str, str]
    longest: NotRequired[int]


@dataclass(frozen=True, slots=True)
class MemoizationPolicy:
    """Looks up the last states, each in full; a history that led to different actions is forgotten."""

    settings: MemoizationSettings
    lookup: Mapping[str, str] = field(repr=False)
    longest: int = 0
    """The number of states of the longest history that was memorised; 0 if it is not known."""

    @classmethod
    def fit(cls, trackers: Iterable[StoryTracker], settings: MemoizationSettings) -> MemoizationPolicy:
        """Memorise the stories, without rules and augmented stories."""
        stories = [tracker for tracker in trackers if not tracker.is_rule and not tracker.is_augmented]
        longest = max((len(tracker.states()) for tracker in stories), default=1)
        return cls(settings, memorised(_examples(stories, settings.max_history)), longest)

    @property
    def name(self) -> str:
        """The name of its Rasa class."""
        return self.settings.name

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:
        """Predict what came next in the stories, with confidence 1 (or that of the message's intent)."""
        action = self.recall(tracker, rule_only)
        scores = {}
        if action is not None:
            intent = tracker.latest_message.intent
            scores[action] = intent.get("confidence", 1.0) if self.settings.use_nlu_confidence else 1.0
        return Prediction(self.name, scores, priority=self.settings.priority)

    def recall(self, tracker: Tracker, rule_only: RuleOnly) -> str | None:
        """Return what came next in the stories."""
        return self._known(tracker, rule_only)

    def _known(self, tracker: Tracker, rule_only: RuleOnly) -> str | None:
        if self.settings.max_history or tracker.domain.is_older:
            return self.look_up(learner_states(tracker, rule_only, max_history=self.settings.max_history))
        return self.lookup.get(_whole_key(tracker, rule_only))

    def look_up(self, states: Sequence[State]) -> str | None:
        """Return what came next after exactly these states."""
        return self.lookup.get(key_of(states))

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt."""
        return {"lookup": dict(self.lookup), "longest": self.longest}

    @classmethod
    def from_json(cls, shape: Mapping[str, Any], settings: MemoizationSettings) -> MemoizationPolicy:
        """Read what :meth:`to_json` wrote; models of older versions do not have the longest."""
        learnt = as_shape(shape, _Learnt)
        return cls(settings, learnt["lookup"], learnt.get("longest", 0))


@dataclass(frozen=True, slots=True)
class AugmentedMemoizationPolicy(MemoizationPolicy):
    """If the history is unknown, forgets it from its beginning, action by action, until the rest is known.

    Slots set in the forgotten part are forgotten with it.
    """

    _forgotten: dict[tuple[str, RuleOnly], str | None] = field(default_factory=dict, compare=False, repr=False)
    """Results of forgetting, by history: dialogues come to the same points again and again."""

    def recall(self, tracker: Tracker, rule_only: RuleOnly) -> str | None:
        """Return what came next in the stories after as much of the history as they know."""
        found = self._known(tracker, rule_only)
        if found is not None:
            return found
        domain, max_history = tracker.domain, self.settings.max_history
        # Rasa 1 forgets from the very beginning, later versions only what ``max_history`` reaches.
        past = _trimmed(tracker, 0 if domain.is_older else max_history)
        if self.longest and not max_history:
            past = _not_longer(past, self.longest, domain.domain.forms)
        return self._recall_less(domain, past, rule_only)

    def _recall_less(self, domain: DialogueDomain, past: Sequence[Event], rule_only: RuleOnly) -> str | None:
        tried: list[tuple[str, RuleOnly]] = []
        found = None
        shorter = _from_action(past, skip=0)
        while found is None and shorter:
            happened = _seen_in(shorter)
            if happened is not None:
                key = happened, rule_only
                if key in self._forgotten:
                    found = self._forgotten[key]
                    break
                tried.append(key)
            history = History(domain)
            seen = learner_states_of(history, shorter, rule_only)
            found = self.look_up(seen[-self.settings.max_history :])
            shorter = _from_action(history.applied_events(shorter), skip=1)
        if len(self._forgotten) < _REMEMBERED:
            self._forgotten.update(dict.fromkeys(tried, found))
        return found


def _seen_in(events: Iterable[Event]) -> str | None:
    """Return a digest of everything that states are made of; ``None`` if there are rarer events, not covered here."""
    seen: list[tuple[Any, ...]] = []
    for event in events:
        match event:
            case ActionExecuted():
                seen.append((event.name, event.text, event.hide_rule_turn))
            case SlotSet():
                seen.append(("slot", event.name, event.value, ""))
            case UserUttered():
                text = event.text if event.use_text or not event.intent_name else None  # else the intent counts
                seen.append(("user", event.intent_name, text, event.use_text, event.entities))
            case ActiveLoop():
                seen.append(("loop", event.name))
            case _:
                return None
    return digest_of(repr(seen))


def key_of(states: Sequence[State]) -> str:
    """Return the key under which these states are memorised."""
    return digest_of(f"[{', '.join([state.unquoted for state in states])}]")


def digest_of(text: str) -> str:
    """Return a digest of Rasa's key, the states' JSON without its quotes: memorised states may be long."""
    return blake2b(text.encode(), digest_size=_DIGEST_SIZE).hexdigest()


class _GrowingKey:
    """The key of all states of a dialogue that grows: each state is only hashed once."""

    __slots__ = ("_hash", "_read")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._hash = blake2b(b"[", digest_size=_DIGEST_SIZE)
        self._read = 0

    def of(self, states: Sequence[State], number: int, last: State) -> str:
        """Return what :func:`key_of` returns for the first ``number`` states, by intent, and the last one."""
        if number < self._read:
            self._begin()
        for state in states[self._read : number]:
            self._hash.update(f"{state.by_intent.unquoted}, ".encode())
        self._read = number
        key = self._hash.copy()
        key.update(f"{last.unquoted}]".encode())
        return key.hexdigest()


def _whole_key(tracker: Tracker, rule_only: RuleOnly) -> str:
    """Return the key of everything that a learner sees."""
    past, now = learner_history(tracker, rule_only)
    (last,) = by_intent(now or past[-1:])
    number = len(past) if now else len(past) - 1
    return tracker.growing(("key", rule_only), _GrowingKey).of(past, number, last)


def _examples(trackers: Iterable[StoryTracker], max_history: int) -> Iterator[tuple[str, str]]:
    for tracker in trackers:
        states = learnt(tracker.states())
        actions = (event for event in tracker.applied_events() if isinstance(event, ActionExecuted))
        whole = _GrowingKey()
        for number, event in enumerate(actions, 1):
            if event.is_unpredictable:
                continue
            if max_history:
                yield key_of(before_action(states, number, max_history)), event.label
            else:
                last = min(number, len(states)) - 1
                yield whole.of(states, last, states[last]), event.label


def _trimmed(tracker: Tracker, max_history: int) -> Sequence[Event]:
    """Keep the events from the last listening on that is more than ``max_history`` actions back."""
    applied = tracker.applied_events()
    actions = 0
    for index in range(len(applied) - 1, -1, -1) if max_history else ():
        event = applied[index]
        if isinstance(event, ActionExecuted):
            actions += 1
            if actions > max_history and event.name == ACTION_LISTEN:
                return History(tracker.domain).applied_events(applied[index:])
    return applied


def _not_longer(applied: Sequence[Event], longest: int, loops: Container[str]) -> Sequence[Event]:
    """Leave out the beginning as long as more than ``longest`` states would surely be seen of the rest."""
    seen = 0
    is_seen = True
    for index in range(len(applied) - 1, -1, -1):
        match applied[index]:
            case FollowupAction():
                is_seen = False  # whether the state before that action is hidden depends on earlier ones
            case ActionExecuted(name=name) as before:
                seen += is_seen and name not in loops and name != ACTION_UNLIKELY_INTENT
                if seen > longest:
                    return applied[index + 1 :]
                is_seen = not before.hide_rule_turn
            case _:
                pass
    return applied


def _from_action(applied: Sequence[Event], *, skip: int) -> Sequence[Event]:
    """Return the events from the first action after ``skip`` others; none if there is no such action."""
    for index, event in enumerate(applied):
        if isinstance(event, ActionExecuted):
            if not skip:
                return applied[index:]
            skip -= 1
    return ()


# RulePolicy: predicts what the rules say.


class _LearntRules(TypedDict):
    rules: dict[str, str]
    detours: dict[str, Detour]
    rule_only_slots: frozenset[str]
    rule_only_loops: frozenset[str]
    not_in_stories: frozenset[str]


class RulePolicy(Struct, frozen=True):
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
        learnt = as_shape(shape, _LearntRules)
        return cls(
            RuleBook(
                domain,
                settings,
                RuleTable(learnt["rules"]),
                RuleTable(learnt["detours"]),
                RuleOnly(learnt["rule_only_slots"], learnt["rule_only_loops"]),
            ).learnt(learnt["not_in_stories"])
        )


MAPPING: Final = "MappingPolicy"
FORM: Final = "FormPolicy"
FALLBACK: Final = "FallbackPolicy"
TWO_STAGE: Final = "TwoStageFallbackPolicy"
HISTORY: Final = 5
"""How many states a memoization policy of Rasa 1 and 2 looks back at by default."""

_PRIORITY: Final = {MAPPING: 2, FALLBACK: 4, TWO_STAGE: 4, FORM: 5}
_BY_THEMSELVES: Final = {"restart": "action_restart", "back": "action_back", "session_start": "action_session_start"}
"""What these intents are mapped to by default."""


class MappingPolicy(Struct, frozen=True):
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


class FallbackPolicy(Struct, frozen=True):
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


class TwoStageFallbackPolicy(FallbackPolicy, frozen=True):
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
