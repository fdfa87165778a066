"""The state that the events of a conversation lead to, slots included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.dialogue import events, states
from turncheck.dialogue.domain import ACTION_LISTEN, ACTION_SESSION_START, OTHER_VALUE, SHOULD_NOT_BE_SET

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.states import Part, State
    from turncheck.project.model import Slot


# What a slot holds, and what a policy sees of it: its features, as tuples of floats, without NumPy.
#
# Mirrors the slot types of Rasa 3 (``text``, ``bool``, ``categorical``, ``float``, ``list``, ``any``). A slot type
# that is a Python class of the project is never loaded; such a slot is treated like ``text``: set or not.

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

    __slots__ = ("_features", "_features_of_set", "_text", "definitions", "values", "was_set")

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
        self._text: str | None = None

    def with_value(self, name: str, value: Any) -> SlotValues:
        """Return these values with one set; a slot that the domain does not know is left out, as in Rasa."""
        slot = self.definitions.get(name)
        if slot is None:
            return self
        if type(value) not in _PLAIN:
            return self._with_value(slot, value)
        key = id(self), name, type(value), value
        known = _AFTER.get(key)
        if known is None:
            if len(_AFTER) >= _MOST_REMEMBERED:
                _AFTER.clear()
            known = _AFTER[key] = self, self._with_value(slot, value)
        return known[1]

    def _with_value(self, slot: Slot, value: Any) -> SlotValues:
        name = slot.name
        after = SlotValues(
            self.definitions,
            {**self.values, name: coerce(slot, value)},
            self.was_set if name in self.was_set else self.was_set | {name},
        )
        if self._features is not None and after._seen(slot) == self._features.get(name):
            after._features = self._features
        return after

    def reset(self) -> SlotValues:
        """Return the initial values."""
        return initial_values(self.definitions) if self.was_set else self

    @property
    def features(self) -> Part:
        """The features of every slot that has any, by name; not to be changed by the caller."""
        if self._features is None:
            seen = ((name, self._seen(slot)) for name, slot in self.definitions.items())
            self._features = states.slots_part(tuple([pair for pair in seen if pair[1] is not None]))
        return self._features

    @property
    def features_of_set(self) -> Part:
        """Like :attr:`features`, without the slots that still have their initial value."""
        if self._features_of_set is None:
            was_set = self.was_set
            self._features_of_set = states.slots_part(
                tuple([pair for pair in self.features.items() if pair[0] in was_set])
            )
        return self._features_of_set

    @property
    def text(self) -> str:
        """The values as a text that differs where any differs, also in its type (1, 1.0 and True)."""
        if self._text is None:
            self._text = repr((sorted(self.was_set), self.values))
        return self._text

    def _seen(self, slot: Slot) -> Features | str | None:
        if not influences(slot):
            return None
        value = self.values[slot.name]
        if isinstance(value, str) and value == SHOULD_NOT_BE_SET:
            return SHOULD_NOT_BE_SET
        features = features_of(slot, value)
        return features if any(features) else None


_INITIAL: dict[int, SlotValues] = {}
_PLAIN: Final = frozenset({str, bool, int, float, type(None)})
_AFTER: dict[tuple[int, str, type, Any], tuple[SlotValues, SlotValues]] = {}
"""The values before and after a slot is set, by the identity of those before: many dialogues set the same."""


_NOTHING_SAID = events.UserUttered()


class Loop(NamedTuple):
    """The active loop. ``trigger_message``: the parse result of the message that started it."""

    name: str
    is_interrupted: bool = False
    rejected: bool = False
    trigger_message: events.UserUttered | None = None


class Situation:
    """The state that a sequence of events leads to. Changed only by :meth:`apply`; everything that it holds is
    immutable."""

    __slots__ = (
        "_user",
        "active_loop",
        "domain",
        "followup_action",
        "latest_action",
        "latest_message",
        "paused",
        "slots",
    )

    def __init__(self, domain: DialogueDomain) -> None:
        self.domain = domain
        self.slots = initial_values(domain.slots)
        self._user = (_NOTHING_SAID, states.NO_PART)
        self.reset()

    def reset(self) -> None:
        """Go back to the beginning, with all slots at their initial values."""
        self.slots = self.slots.reset()
        self.paused = False
        self.latest_action: events.ActionExecuted | None = None
        self.latest_message = _NOTHING_SAID
        self.followup_action: str | None = ACTION_LISTEN
        self.active_loop: Loop | None = None

    def copy(self) -> Situation:
        """Return an independent copy of this situation."""
        other = Situation.__new__(Situation)  # `copy.copy` takes ten times as long, and dialogues are copied often
        other.domain, other.slots, other._user = self.domain, self.slots, self._user  # noqa: SLF001 - its own class
        other.latest_action, other.latest_message = self.latest_action, self.latest_message
        other.followup_action, other.active_loop, other.paused = self.followup_action, self.active_loop, self.paused
        return other

    @property
    def key(self) -> Hashable:
        """What is equal for situations that the same events lead on in the same way; valid while they exist."""
        message, action, loop = self.latest_message, self.latest_action, self.active_loop
        return (
            *(self.slots.text, self.followup_action, self.paused),
            *(message.text, message.use_text, id(message.intent), message.entities and repr(message.entities)),
            None if action is None else (action.name, action.text),
            None if loop is None else (*loop[:3], id(loop.trigger_message)),
        )

    @property
    def latest_action_name(self) -> str | None:
        """The name (or text) of the latest action."""
        return None if self.latest_action is None else self.latest_action.label

    @property
    def active_loop_name(self) -> str | None:
        """The active loop; a rule's "no loop" counts as none."""
        loop = self.active_loop
        return None if loop is None or loop.name == SHOULD_NOT_BE_SET else loop.name

    def state(self, *, of_set: bool = False) -> State:
        """Return what policies see now; ``of_set`` leaves out the slots that no event has set."""
        action, loop = self.latest_action, self.active_loop
        return states.state_of(
            self._user_part(),
            self.slots.features_of_set if of_set else self.slots.features,
            states.NO_PART if action is None else states.action_part(action.name, action.text),
            states.NO_PART if loop is None else states.loop_part(loop.name),
        )

    def _user_part(self) -> Part:
        message, part = self._user
        if message is not self.latest_message:
            message = self.latest_message
            part = states.user_part(message, self.domain)
            self._user = (message, part)
        return part

    def apply(self, event: events.Event) -> None:  # noqa: C901, PLR0912 - one branch per kind of event, flat
        """Apply one event. Those that undo others (``rewind``, ``undo``) are handled by the tracker."""
        match event:
            case events.ActionExecuted():
                self._acted(event)
            case events.UserUttered():
                self.latest_message = event
                self.followup_action = None
            case events.SlotSet():
                self.slots = self.slots.with_value(event.name, event.value)
            case events.UserFeaturization():
                if self.latest_action_name == ACTION_LISTEN:
                    self.latest_message = replace(self.latest_message, use_text=event.use_text)
            case events.ActiveLoop():
                self.active_loop = None if event.name is None else Loop(event.name, trigger_message=self.latest_message)
            case events.LoopInterrupted():
                if self.active_loop is not None:
                    self.active_loop = self.active_loop._replace(is_interrupted=event.is_interrupted)
            case events.ActionExecutionRejected():
                if self.active_loop is not None and event.name == self.active_loop_name:
                    self.active_loop = self.active_loop._replace(rejected=True)
            case events.EntitiesAdded():
                self._add_entities(event.entities)
            case events.FollowupAction():
                self.followup_action = event.name
            case events.AllSlotsReset():
                self.slots = self.slots.reset()
            case events.SessionStarted():
                self.reset()
            case events.Restarted():
                self.reset()
                self.followup_action = ACTION_LISTEN if self.domain.is_older else ACTION_SESSION_START
            case events.ConversationPaused():
                self.paused = True
            case events.ConversationResumed():
                self.paused = False
            case _:
                pass

    def _acted(self, event: events.ActionExecuted) -> None:
        self.latest_action = event
        self.followup_action = None
        loop = self.active_loop
        if loop is not None and (loop.is_interrupted or loop.rejected) and loop.name != SHOULD_NOT_BE_SET:
            self.active_loop = loop._replace(is_interrupted=False, rejected=loop.rejected and event.name != loop.name)

    def _add_entities(self, entities: Iterable[Mapping[str, Any]]) -> None:
        if self.latest_action_name != ACTION_LISTEN:
            return
        known = list(self.latest_message.entities)
        known.extend(entity for entity in entities if entity not in known)
        self.latest_message = replace(self.latest_message, entities=tuple(known))
