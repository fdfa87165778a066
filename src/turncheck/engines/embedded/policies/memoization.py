"""MemoizationPolicy, AugmentedMemoizationPolicy and RulePolicy: what followed after exactly these states."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_UNLIKELY_INTENT
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, FollowupAction, SlotSet, UserUttered
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
from turncheck.dialogue.tracker import History
from turncheck.engines.embedded.model_archive import as_shape
from turncheck.project.config import max_history_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.events import Event
    from turncheck.dialogue.states import State
    from turncheck.dialogue.tracker import Tracker
    from turncheck.dialogue.training import StoryTracker


PRIORITY: Final = 3
_REMEMBERED: Final = 20_000
_DIGEST_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class MemoizationSettings:
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
