"""What follows after which states, looked up backwards from now, so that only rules that may fit are tried."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from turncheck.dialogue import states as s
from turncheck.dialogue.defaults import SHOULD_NOT_BE_SET
from turncheck.dialogue.states import NO_PART, Part, State, previous_action

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Outcome = TypeVar("Outcome")

_Feature = tuple[str, str, Any]
"""The part of a state, the name in it, and the value there."""

_FEW: Final = 8
"""Up to this many rules are tried faster one by one than looked up."""


class RuleTable(Generic[Outcome]):
    """What follows after which states, to be looked up backwards from now. ``key`` is the states as JSON."""

    def __init__(self, outcomes: Mapping[str, Outcome]) -> None:
        self.outcomes = dict(outcomes)
        self._states = {key: _states_of(key) for key in self.outcomes}
        self.longest = max(map(len, self._states.values()), default=0)
        groups: dict[tuple[str | None, str | None], dict[str, list[State]]] = {}
        for key, states in self._states.items():
            groups.setdefault(_signature(states[-1]), {})[key] = states
        self._by_last = {signature: _Candidates(rules) for signature, rules in groups.items()}

    def states(self, key: str) -> Sequence[State]:
        """Return the states of a key."""
        return self._states[key]

    def remove(self, key: str) -> None:
        """Remove a key."""
        del self.outcomes[key]
        del self._states[key]

    def matching(self, states: Sequence[State]) -> Iterator[str]:
        """Yield the keys that fit the dialogue, in the order in which they were learnt."""
        action, intent = _signature(states[-1])
        for signature in dict.fromkeys([(action, intent), (action, None), (None, None), (None, intent)]):
            candidates = self._by_last.get(signature)
            if candidates is None:
                continue
            for key in candidates.of(states):
                rule = self._states.get(key)
                if rule is not None and _applies(rule, states):
                    yield key


class _Candidates:
    """Rules with the same newest action and intent, each filed under its rarest feature.

    So a dialogue is only compared with rules of which it has that feature, and with those that require none.
    """

    def __init__(self, rules: Mapping[str, Sequence[State]]) -> None:
        self._every = list(rules)
        self._without: list[int] = []
        self._by_feature: list[dict[_Feature, list[int]]] = []
        """How many states back from now; then by feature the rules, by their number in ``_every``."""
        if len(rules) <= _FEW:
            return
        wanted = [_wanted(states) for states in rules.values()]
        frequency = Counter(feature for features in wanted for feature in features)
        for number, features in enumerate(wanted):
            # Among equally rare ones the newest: the fewer states have to be looked at, the better.
            rarest = min(features, key=frequency.__getitem__, default=None)
            if rarest is None:
                self._without.append(number)
                continue
            back, feature = rarest
            while len(self._by_feature) <= back:
                self._by_feature.append({})
            self._by_feature[back].setdefault(feature, []).append(number)

    def of(self, states: Sequence[State]) -> Sequence[str]:
        """The rules that may fit a dialogue, in the order in which they were given."""
        if len(self._every) <= _FEW:
            return self._every
        found = list(self._without)
        for back, by_feature in enumerate(self._by_feature):
            if back >= len(states):  # a rule that reaches back further than the dialogue is compared with its end alone
                found.extend(number for numbers in by_feature.values() for number in numbers)
            elif by_feature:
                for part, features in states[-1 - back].items():
                    for name, value in features.items():
                        found.extend(by_feature.get((part, name, value), ()))
        return [self._every[number] for number in sorted(found)]


def _wanted(rule: Sequence[State]) -> list[tuple[int, _Feature]]:
    """The features that a rule requires, each with how many states back, the newest first."""
    return [
        (back, (part, name, value))
        for back, state in enumerate(reversed(rule))
        if state.get(s.PREVIOUS_ACTION)  # at a dialogue's beginning nothing else is compared
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


def _signature(state: State) -> tuple[str | None, str | None]:
    return previous_action(state), state.get(s.USER, NO_PART).get(s.INTENT)


def _applies(rule: Sequence[State], states: Sequence[State]) -> bool:
    """Whether each state of the rule is contained in the dialogue's state at the same distance from now."""
    for wanted, state in zip(reversed(rule), reversed(states), strict=False):
        begins = not wanted.get(s.PREVIOUS_ACTION)
        if begins != (not state.get(s.PREVIOUS_ACTION)):
            return False
        if not begins and not _contains(state, wanted):
            return False
    return True


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
