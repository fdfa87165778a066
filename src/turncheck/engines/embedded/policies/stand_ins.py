"""Stand-ins for TEDPolicy and UnexpecTEDIntentPolicy: a linear model in place of Rasa's transformer."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypedDict

import msgspec
import numpy as np
from msgspec import Struct

from turncheck.dialogue import states as s
from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_UNLIKELY_INTENT
from turncheck.dialogue.events import ActionExecuted, UserUttered
from turncheck.dialogue.policy_states import RuleOnly, before_action, learner_states, learnt
from turncheck.dialogue.rules import Prediction
from turncheck.engines.embedded.model_archive import as_shape
from turncheck.process.one_thread import one_thread
from turncheck.project.config import max_history_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from turncheck.dialogue.states import State
    from turncheck.dialogue.tracker import Tracker
    from turncheck.dialogue.training import StoryTracker


# A linear model over the recent history: the stand-in for Rasa's transformer policies.
#
# Multinomial logistic regression over one feature for each thing seen in each of the last states, older states
# counting less; fitted by Adam (Kingma & Ba, 2015) on all distinct examples at once, from zero, so that the same
# stories give the same model.

Features = dict[str, float]

DEFAULT_HISTORY: Final = 8
"""How many states count if the configuration has no ``max_history``."""
_FADING: Final = 0.6
"""The factor on a feature's weight for each state further back."""
_ROUNDS: Final = 120
_RATE: Final = 0.3
_DECAY: Final = 1e-4
_DENSE_WORK: Final = 12_000_000
"""Cells of the matrix times labels: with more, sparse rows save more than it takes to load SciPy. About twenty cells of
a row are not zero."""
_DIGITS: Final = 5
_NAMES: Final[dict[tuple[str, int], tuple[str, ...]]] = {}
_NAMES_AT_MOST: Final = 50_000


def features_of(states: Sequence[State], max_history: int) -> Features:
    """Return the features of the last states, each with its weight; the vector has length 1 or less per kind."""
    features: Features = {}
    weight = 1.0
    for back, state in enumerate(reversed(states[-max_history:])):
        features.update(dict.fromkeys(_names(state, back), weight))
        weight *= _FADING
    return features


def _names(state: State, back: int) -> tuple[str, ...]:
    """Return the features of a state this far back; dialogues consist of few different states."""
    key = (state.text, back)
    names = _NAMES.get(key)
    if names is None:
        if len(_NAMES) >= _NAMES_AT_MOST:
            _NAMES.clear()
        names = _NAMES[key] = tuple(f"{back}|{name}" for name in _seen(state))
    return names


def _seen(state: State) -> Iterable[str]:
    user = state.get(s.USER, s.NO_PART)
    if user.get(s.INTENT):
        yield f"intent={user[s.INTENT]}"
    for entity in user.get(s.ENTITIES, ()):
        yield f"entity={entity}"
    for word in str(user.get(s.TEXT) or "").lower().split():
        yield f"word={word}"
    for name, features in state.get(s.SLOTS, s.NO_PART).items():
        yield f"slot={name}:{features}"
    for name in state.get(s.PREVIOUS_ACTION, s.NO_PART).values():
        yield f"action={name}"
    for name in state.get(s.ACTIVE_LOOP, s.NO_PART).values():
        yield f"loop={name}"


class Example(NamedTuple):
    """What was seen, what came with it, and how often."""

    features: Features
    label: str
    number: int


def _examples(seen: Iterable[tuple[Sequence[State], str]], max_history: int) -> list[Example]:
    """Return each of the examples once: augmented stories repeat the same few turns thousands of times."""
    states_of: dict[tuple[int, ...], Sequence[State]] = {}
    counts: Counter[tuple[tuple[int, ...], str]] = Counter()
    for states, label in seen:
        same = tuple(map(id, states))  # dialogues share their states
        states_of.setdefault(same, states)
        counts[same, label] += 1
    return [
        Example(features_of(states_of[same], max_history), label, number) for (same, label), number in counts.items()
    ]


class _Learnt(TypedDict):
    features: list[str]
    labels: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    weights: list[list[float]]


class HistoryModel(Struct, frozen=True):
    """Trained weights: a row for each feature and a last one for the bias, a column for each label."""

    features: Mapping[str, int]
    labels: tuple[str, ...]
    weights: NDArray[np.float64]

    @classmethod
    def fit(cls, examples: Iterable[Example]) -> HistoryModel | None:
        """Learn which label comes with which features; ``None`` if there is nothing to learn from."""
        counts: Counter[tuple[tuple[tuple[str, float], ...], str]] = Counter()
        for features, label, number in examples:
            counts[tuple(sorted(features.items())), label] += number
        if not counts:
            return None
        rows = sorted({features for features, _ in counts})
        index = {name: number for number, name in enumerate(sorted({name for row in rows for name, _ in row}))}
        labels = tuple(sorted({label for _, label in counts}))
        row_of = {row: place for place, row in enumerate(rows)}
        column_of = {label: place for place, label in enumerate(labels)}
        targets = np.zeros((len(rows), len(labels)))
        for (row, label), number in counts.items():
            targets[row_of[row], column_of[label]] = math.sqrt(number)
        cells = [[(index[name], value) for name, value in row] for row in rows]
        matrix = _matrix(cells, len(index), is_dense=len(rows) * (len(index) + 1) * len(labels) <= _DENSE_WORK)
        # Several threads would cost more than such small matrices, and sums would depend on their number.
        with one_thread("blas"):
            weights = _descend(matrix, targets / targets.sum())
        return cls(index, labels, np.round(weights, _DIGITS))

    def log_probabilities(self, features: Features) -> dict[str, float]:
        """Return the natural logarithm of each label's probability."""
        total = self.weights[-1].copy()
        for name, value in features.items():
            row = self.features.get(name)
            if row is not None:
                total += value * self.weights[row]
        total -= total.max()
        total -= math.log(float(np.exp(total).sum()))
        return {label: round(float(value), _DIGITS) for label, value in zip(self.labels, total, strict=True)}

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        return {"features": list(self.features), "labels": list(self.labels), "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, shape: Mapping[str, Any]) -> HistoryModel:
        """Read what :meth:`to_json` wrote."""
        shape = as_shape(shape, _Learnt)
        return cls(
            {name: number for number, name in enumerate(shape["features"])},
            shape["labels"],
            np.array(shape["weights"], dtype=np.float64).reshape(len(shape["features"]) + 1, len(shape["labels"])),
        )


def _matrix(rows: Sequence[Sequence[tuple[int, float]]], columns: int, *, is_dense: bool) -> Any:
    """Return the examples as a matrix with a last column of ones."""
    if is_dense:
        dense = np.zeros((len(rows), columns + 1))
        dense[:, -1] = 1.0
        for number, row in enumerate(rows):
            for column, value in row:
                dense[number, column] = value
        return dense
    from scipy.sparse import csr_matrix  # only imported if there are many stories

    lengths = np.array([len(row) + 1 for row in rows])
    cells = [cell for row in rows for cell in (*row, (columns, 1.0))]
    return csr_matrix(
        ([value for _, value in cells], [column for column, _ in cells], np.concatenate(([0], lengths.cumsum()))),
        shape=(len(rows), columns + 1),
    )


def _descend(matrix: Any, targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit the weights to targets: for each row, how much each label counts."""
    weights = np.zeros((matrix.shape[1], targets.shape[1]))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    share = targets.sum(axis=1, keepdims=True)
    for number in range(1, _ROUNDS + 1):
        scores = matrix @ weights
        # A row has few cells: comparing columns takes an eighth of the time.
        scores -= np.ascontiguousarray(scores.T).max(axis=0)[:, None]
        probabilities = np.exp(scores)
        probabilities *= share / probabilities.sum(axis=1, keepdims=True)
        gradient = matrix.T @ (probabilities - targets) + _DECAY * weights
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        step = (first / (1 - 0.9**number)) / (np.sqrt(second / (1 - 0.99**number)) + 1e-8)
        weights -= _RATE * step
    return weights


TED: Final = "TEDPolicy"
UNEXPECTED: Final = "UnexpecTEDIntentPolicy"
_PRIORITY: Final = {UNEXPECTED: 2}
"""Where it is not 1."""
_RANKING_LENGTH: Final = 10
_MARGIN: Final = 1.0
"""How much less likely than in any story (in natural logarithms) an intent must be to count as unlikely."""


class StandInSettings(Struct, frozen=True):
    """The parameters that a stand-in uses, and the name of the policy that it stands in for."""

    name: str = TED
    max_history: int = DEFAULT_HISTORY
    priority: int = 1
    tolerance: float = 0.0
    ignored_intents: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any]) -> StandInSettings:
        """Read the parameters as they are in ``config.yml``."""
        return cls(
            name=name,
            max_history=max_history_of(parameters) or DEFAULT_HISTORY,
            priority=int(parameters.get("priority", _PRIORITY.get(name, 1))),
            tolerance=float(parameters.get("tolerance") or 0.0),
            ignored_intents=frozenset(parameters.get("ignore_intents_list") or ()),
        )


@dataclass(frozen=True, slots=True)
class TedStandIn:
    """Predicts the probability of each action from the recent history."""

    settings: StandInSettings
    model: HistoryModel | None = field(repr=False)
    reads_texts: bool = False

    @classmethod
    def fit(cls, trackers: Iterable[StoryTracker], settings: StandInSettings) -> TedStandIn:
        """Learn from the stories, including augmented ones."""
        stories = [tracker for tracker in trackers if not tracker.is_rule]
        reads_texts = any(isinstance(e, UserUttered) and e.use_text for tracker in stories for e in tracker.events)
        actions = (
            (states, action)
            for tracker in stories
            for states, action in _actions(tracker, settings.max_history)
            if action != ACTION_UNLIKELY_INTENT
        )
        examples = _examples(actions, settings.max_history)
        return cls(settings, HistoryModel.fit(examples), reads_texts)

    @property
    def name(self) -> str:
        """The name of its Rasa class."""
        return self.settings.name

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:
        """Score the actions; by the message's text if stories have texts and that is more confident than the intent."""
        by_intent = self._scores(self._seen(tracker, rule_only))
        uses_text = False
        scores = by_intent
        if self.reads_texts and tracker.latest_action_name == ACTION_LISTEN and tracker.latest_message.text:
            by_text = self._scores(self._seen(tracker, rule_only, text=True))
            if max(by_text.values(), default=0.0) > max(by_intent.values(), default=0.0):
                uses_text, scores = True, by_text
        return Prediction(self.name, scores, priority=self.settings.priority, uses_text=uses_text)

    def _seen(self, tracker: Tracker, rule_only: RuleOnly, *, text: bool = False) -> Sequence[State]:
        return learner_states(tracker, rule_only, max_history=self.settings.max_history, text=text)

    def _scores(self, states: Sequence[State]) -> dict[str, float]:
        if self.model is None:
            return {}
        logs = self.model.log_probabilities(features_of(states, self.settings.max_history))
        best = sorted(logs.items(), key=lambda pair: (-pair[1], pair[0]))[:_RANKING_LENGTH]
        total = sum(math.exp(log) for _, log in best)
        return {action: round(math.exp(log) / total, 6) for action, log in best}

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt."""
        return {"model": None if self.model is None else self.model.to_json(), "reads_texts": self.reads_texts}

    @classmethod
    def from_json(cls, shape: Mapping[str, Any], settings: StandInSettings) -> TedStandIn:
        """Read what :meth:`to_json` wrote."""
        return cls(settings, _model(shape), as_shape(shape["reads_texts"], bool))


@dataclass(frozen=True, slots=True)
class UnexpectedIntentStandIn:
    """Predicts ``action_unlikely_intent`` if an intent is less likely than it ever was in the stories.

    ``thresholds``: for each intent, what its score must reach.
    """

    settings: StandInSettings
    model: HistoryModel | None = field(repr=False)
    thresholds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def fit(cls, trackers: Iterable[StoryTracker], settings: StandInSettings) -> UnexpectedIntentStandIn:
        """Learn which intents follow what, from the stories without texts."""
        intents = (
            seen
            for tracker in trackers
            if not tracker.is_rule and not _has_texts(tracker)
            for seen in _intents(tracker, settings.max_history)
        )
        examples = _examples(intents, settings.max_history)
        model = HistoryModel.fit(examples)
        if model is None:
            return cls(settings, None)
        scores: dict[str, list[float]] = {}
        for features, intent, number in examples:
            scores.setdefault(intent, []).extend([model.log_probabilities(features)[intent]] * number)
        thresholds = {}
        for intent, found in sorted(scores.items()):
            found.sort()
            thresholds[intent] = found[min(int(settings.tolerance * len(found)), len(found) - 1)] - _MARGIN
        return cls(settings, model, thresholds)

    @property
    def name(self) -> str:
        """The name of its Rasa class."""
        return UNEXPECTED

    def predict(self, tracker: Tracker, rule_only: RuleOnly) -> Prediction:
        """Predict it if the message's intent is unlikely here; its severity is how much the score falls short."""
        intent = _intent_just_heard(tracker)
        if intent is None or self.model is None or intent not in tracker.domain.used_entities:
            return Prediction(UNEXPECTED, {}, priority=self.settings.priority)
        states = _before_message(learner_states(tracker, rule_only, max_history=self.settings.max_history))
        scores = self.model.log_probabilities(features_of(states, self.settings.max_history))
        judged = self._judged(intent, scores)
        is_unlikely = (judged["severity"] or 0.0) > 0.0 and intent not in self.settings.ignored_intents
        ranking = sorted(scores, key=lambda name: (-scores[name], name))[:_RANKING_LENGTH]
        return Prediction(
            UNEXPECTED,
            {ACTION_UNLIKELY_INTENT: 1.0} if is_unlikely else {},
            priority=self.settings.priority,
            metadata={"query_intent": judged, "ranking": [self._judged(name, scores) for name in ranking]},
        )

    def _judged(self, intent: str, scores: Mapping[str, float]) -> dict[str, Any]:
        threshold = self.thresholds.get(intent)
        score = scores.get(intent)
        severity = None if threshold is None or score is None else round(threshold - score, 5)
        return {"name": intent, "score": score, "threshold": threshold, "severity": severity}

    def to_json(self) -> dict[str, Any]:
        """Return what was learnt."""
        return {"model": None if self.model is None else self.model.to_json(), "thresholds": dict(self.thresholds)}

    @classmethod
    def from_json(cls, shape: Mapping[str, Any], settings: StandInSettings) -> UnexpectedIntentStandIn:
        """Read what :meth:`to_json` wrote."""
        return cls(settings, _model(shape), as_shape(shape["thresholds"], dict[str, float]))


def _model(shape: Mapping[str, Any]) -> HistoryModel | None:
    return None if shape["model"] is None else HistoryModel.from_json(shape["model"])


def _actions(tracker: StoryTracker, max_history: int) -> Iterator[tuple[Sequence[State], str]]:
    states = learnt(tracker.states())
    actions = (event for event in tracker.applied_events() if isinstance(event, ActionExecuted))
    for number, event in enumerate(actions, 1):
        if not event.is_unpredictable:
            yield before_action(states, number, max_history), event.label


def _intents(tracker: StoryTracker, max_history: int) -> Iterator[tuple[Sequence[State], str]]:
    states = learnt(tracker.states())
    for number, state in enumerate(states, 1):
        intent = state.get(s.USER, s.NO_PART).get(s.INTENT)
        if intent and s.follows_listen(state):
            yield _before_message(before_action(states, number, max_history)), intent


def _before_message(states: Sequence[State]) -> list[State]:
    """Return the states without the newest message."""
    return [*states[:-1], states[-1].before_message]


def _has_texts(tracker: StoryTracker) -> bool:
    return any(
        (isinstance(event, UserUttered) and event.intent_name is None)
        or (isinstance(event, ActionExecuted) and event.name is None)
        for event in tracker.events
    )


def _intent_just_heard(tracker: Tracker) -> str | None:
    for event in reversed(tracker.applied_events()):
        if isinstance(event, ActionExecuted):
            return None
        if isinstance(event, UserUttered):
            return event.intent_name
    return None
