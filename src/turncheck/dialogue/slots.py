"""What a slot holds, and what a policy sees of it: its features, as tuples of floats, without NumPy.

Mirrors the slot types of Rasa 3 (``text``, ``bool``, ``categorical``, ``float``, ``list``, ``any``). A slot type that
is a Python class of the project is never loaded; such a slot is treated like ``text``: set or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.defaults import OTHER_VALUE, SHOULD_NOT_BE_SET
from turncheck.dialogue.states import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.project.model import Slot

BUILT_IN_TYPES = frozenset({"text", "bool", "categorical", "float", "list", "any"})

Features = tuple[float, ...]


def influences(slot: Slot) -> bool:
    """Whether the slot's value can influence predictions."""
    return slot.type != "any" and slot.influence_conversation is not False


def coerce(slot: Slot, value: Any) -> Any:
    """Return the value as the slot stores it: a list slot wraps a single value (empty ones stay as they are)."""
    if slot.type == "list" and value and not isinstance(value, list):
        return [value]
    return value


def features_of(slot: Slot, value: Any) -> Features:
    """Return what a policy sees of the value; all zeros (or nothing) if it does not see it.

    ``bool`` and ``float``: ``(is set, value)``, a float scaled from its range to 0..1; ``categorical``: one position
    per value of the domain and a last one for all others; ``text`` and ``list``: ``(is set,)``.
    """
    if not influences(slot):
        return ()
    match slot.type:
        case "bool":
            return _bool_features(value)
        case "float":
            return _float_features(slot, value)
        case "categorical":
            return _categorical_features(slot.values, value)
        case "list":
            return (1.0 if value else 0.0,)
        case _:
            return (1.0 if value is not None else 0.0,)


def _bool_features(value: Any) -> Features:
    truth = as_bool(value)
    return (0.0, 0.0) if truth is None else (1.0, float(truth))


def as_bool(value: Any) -> bool | None:
    """Read a truth value from a bool, a number or a string such as ``"true"``; ``None`` for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value == 1.0
    if isinstance(value, str):
        if value.isnumeric():
            try:
                return float(value) == 1.0
            except ValueError:  # "½" is numeric, but not a float
                return None
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def _float_features(slot: Slot, value: Any) -> Features:
    low = 0.0 if slot.min_value is None else slot.min_value
    high = 1.0 if slot.max_value is None else slot.max_value
    try:
        capped = max(low, min(high, float(value)))
    except (TypeError, ValueError, OverflowError):  # an integer may be beyond all floats
        return (0.0, 0.0)
    return (1.0, (capped - low) / (abs(high - low) or 1))


def _categorical_features(values: tuple[Any, ...] | None, value: Any) -> Features:
    positions, size = _categories(values or ())
    features = [0.0] * size
    if value is not None:
        features[positions.get(str(value).lower(), positions[OTHER_VALUE])] = 1.0
    return tuple(features)


_Categories = tuple[dict[str, int], int]
"""Where each category is among the features, and how many features there are."""

_MOST_REMEMBERED: Final = 1024
_KNOWN_CATEGORIES: dict[int, tuple[tuple[Any, ...], _Categories]] = {}
"""By the identity of the tuple of values, since equal values may read differently (1 and True)."""


def _categories(values: tuple[Any, ...]) -> _Categories:
    known = _KNOWN_CATEGORIES.get(id(values))
    if known is None or known[0] is not values:
        texts = [str(value).lower() for value in values if value is not None]
        if OTHER_VALUE not in texts:
            texts.append(OTHER_VALUE)
        positions: dict[str, int] = {}
        for number, text in enumerate(texts):
            positions.setdefault(text, number)
        if len(_KNOWN_CATEGORIES) >= _MOST_REMEMBERED:
            _KNOWN_CATEGORIES.clear()
        known = _KNOWN_CATEGORIES[id(values)] = (values, (positions, len(texts)))
    return known[1]


def initial_values(definitions: Mapping[str, Slot]) -> SlotValues:
    """Return the initial values of all slots; the same object for the same definitions, since it never changes."""
    known = _INITIAL.get(id(definitions))
    if known is None or known.definitions is not definitions:
        known = SlotValues(definitions)
        _INITIAL.clear()  # projects are used one after the other: remembering one is enough
        _INITIAL[id(definitions)] = known
    return known


def _initial_values(definitions: Mapping[str, Slot]) -> dict[str, Any]:
    return {name: coerce(slot, slot.initial_value) for name, slot in definitions.items()}


class SlotValues:
    """The values of all slots at one moment. Immutable: setting a slot gives a new object, so trackers can share
    them."""

    __slots__ = ("_features", "_features_of_set", "definitions", "values", "was_set")

    def __init__(
        self,
        definitions: Mapping[str, Slot],
        values: Mapping[str, Any] | None = None,
        was_set: frozenset[str] = frozenset(),
    ) -> None:
        self.definitions = definitions
        self.values = _initial_values(definitions) if values is None else values
        self.was_set = was_set
        """The slots that an event has set since the beginning or the last reset, including those set to ``None``."""
        self._features: Part | None = None
        self._features_of_set: Part | None = None

    def with_value(self, name: str, value: Any) -> SlotValues:
        """Return these values with one set; a slot that the domain does not know is left out, as in Rasa."""
        slot = self.definitions.get(name)
        if slot is None:
            return self
        return SlotValues(
            self.definitions,
            {**self.values, name: coerce(slot, value)},
            self.was_set if name in self.was_set else self.was_set | {name},
        )

    def reset(self) -> SlotValues:
        """Return the initial values."""
        return initial_values(self.definitions) if self.was_set else self

    @property
    def features(self) -> Part:
        """The features of every slot that has any, by name; not to be changed by the caller."""
        if self._features is None:
            features = Part()
            for name, slot in self.definitions.items():
                seen = self._seen(slot)
                if seen is not None:
                    features[name] = seen
            self._features = features
        return self._features

    @property
    def features_of_set(self) -> Part:
        """Like :attr:`features`, without the slots that still have their initial value."""
        if self._features_of_set is None:
            was_set = self.was_set
            self._features_of_set = Part({name: seen for name, seen in self.features.items() if name in was_set})
        return self._features_of_set

    def _seen(self, slot: Slot) -> Features | str | None:
        if not influences(slot):
            return None
        value = self.values[slot.name]
        if isinstance(value, str) and value == SHOULD_NOT_BE_SET:
            return SHOULD_NOT_BE_SET
        features = features_of(slot, value)
        return features if any(features) else None


_INITIAL: dict[int, SlotValues] = {}
