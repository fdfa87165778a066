"""The state of a dialogue as policies see it: plain dictionaries in Rasa's shape.

A state has up to four parts, each left out when empty: ``user`` (``intent`` or ``text``, ``entities``), ``slots``
(features by name), ``prev_action`` (``action_name`` or ``action_text``), ``active_loop`` (``name``).
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.domain import ACTION_LISTEN, SHOULD_NOT_BE_SET, DialogueDomain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.dialogue.events import UserUttered


_as_json: Final = json.JSONEncoder(sort_keys=True).encode
"""Created once: ``json.dumps`` creates an encoder for each call."""


class Part(dict[str, Any]):
    """A part of a state. Shared between states and never changed, so its text is computed only once."""

    __slots__ = ("_text", "_untold")

    _text: str
    _untold: Part

    @property
    def without_text(self) -> Part:
        """The part without a message's text, always the same object."""
        try:
            return self._untold
        except AttributeError:
            self._untold = Part({key: value for key, value in self.items() if key != TEXT})
            return self._untold

    @property
    def text(self) -> str:
        """The part as JSON with sorted keys."""
        try:
            return self._text
        except AttributeError:
            self._text = _as_json(self)
            return self._text


class State(dict[str, Part]):
    """One state. Shared between trackers and policies, and never changed."""

    __slots__ = ("_before_message", "_by_intent", "_text", "_unquoted")

    _before_message: State
    _by_intent: State
    _text: str
    _unquoted: str

    @property
    def by_intent(self) -> State:
        """The state without the text if there is an intent, always the same object."""
        user = self.get(USER)
        if user is None or TEXT not in user or not user.get(INTENT):
            return self
        try:
            return self._by_intent
        except AttributeError:
            self._by_intent = self.with_user(user.without_text)
            return self._by_intent

    @property
    def before_message(self) -> State:
        """The state without a message, always the same object."""
        try:
            return self._before_message
        except AttributeError:
            self._before_message = State({name: part for name, part in self.items() if name != USER})
            return self._before_message

    def with_user(self, user: Part) -> State:
        """Return the state with another message."""
        changed = State(self)
        changed[USER] = user
        return changed

    @property
    def text(self) -> str:
        """The state as JSON with sorted keys: the form in which states are memorised and compared."""
        try:
            return self._text
        except AttributeError:
            self._text = "{" + ", ".join([f'"{name}": {self[name].text}' for name in sorted(self)]) + "}"
            return self._text

    @property
    def unquoted(self) -> str:
        """The text without its quotes, as in the keys of Rasa's memory."""
        try:
            return self._unquoted
        except AttributeError:
            self._unquoted = self.text.replace('"', "")
            return self._unquoted


NO_PART: Final = Part()


USER: Final = "user"
SLOTS: Final = "slots"
PREVIOUS_ACTION: Final = "prev_action"
ACTIVE_LOOP: Final = "active_loop"
INTENT: Final = "intent"
TEXT: Final = "text"
ENTITIES: Final = "entities"
ACTION_NAME: Final = "action_name"
ACTION_TEXT: Final = "action_text"
LOOP_NAME: Final = "name"


@lru_cache(maxsize=4096)
def action_part(name: str | None, text: str | None) -> Part:
    """Return what policies see of an action."""
    return Part({ACTION_NAME: name} if name else {ACTION_TEXT: text})


@lru_cache(maxsize=4096)
def loop_part(name: str) -> Part:
    """Return what policies see of the active loop."""
    return Part({LOOP_NAME: name})


@lru_cache(maxsize=4096)
def slots_part(features: tuple[tuple[str, Any], ...]) -> Part:
    """Return what policies see of the slots."""
    return Part(features)


_KEPT_STATES: Final = 4096
_states: dict[tuple[int, ...], State] = {}


def state_of(user: Part, slots: Part, action: Part, loop: Part) -> State:
    """Return the state of these parts, without those that are empty: the same object for the same parts."""
    # Only of objects that their state keeps alive; an empty part would not be.
    key = (id(user) if user else 0, id(slots) if slots else 0, id(action) if action else 0, id(loop) if loop else 0)
    state = _states.get(key)
    if state is None:
        parts = {USER: user, SLOTS: slots, PREVIOUS_ACTION: action, ACTIVE_LOOP: loop}
        state = State({name: part for name, part in parts.items() if part})
        if len(_states) >= _KEPT_STATES:
            _states.clear()
        _states[key] = state
    return state


def user_part(message: UserUttered | None, domain: DialogueDomain) -> Part:
    """Return what policies see of a message: its intent or its text, and the entities that the intent uses, sorted."""
    if message is None or message.is_empty:
        return NO_PART
    text = message.text if message.use_text is not False else None
    if message.use_text:
        return _message_part(text, None, ())
    intent = message.intent_name
    labels = _entity_labels(message.entities)
    used = domain.used_entities.get(intent or "") if labels else None
    return _message_part(text, intent, tuple(sorted(labels if used is None else labels & used)))


@lru_cache(maxsize=4096)
def _message_part(text: str | None, intent: str | None, entities: tuple[str, ...]) -> Part:
    """Return what policies see of a message: the same object for the same message, with its JSON."""
    parts = {TEXT: text, INTENT: intent, ENTITIES: entities}
    return Part({name: value for name, value in parts.items() if value})


def _entity_labels(entities: Sequence[Mapping[str, Any]]) -> set[str]:
    labels = set()
    for entity in entities:
        name = entity.get("entity")
        if name is None:
            continue
        labels.add(name)
        labels.update(f"{name}#{entity[key]}" for key in ("role", "group") if key in entity)
    return labels


def previous_action(state: State) -> str | None:
    """Return the name of the action before this state."""
    part = state.get(PREVIOUS_ACTION)
    return None if part is None else part.get(ACTION_NAME)


def follows_listen(state: State) -> bool:
    """Whether the user has just spoken."""
    return previous_action(state) == ACTION_LISTEN


def active_loop(state: State) -> str | None:
    """Return the name of the active loop; a rule's "no loop" is none."""
    name = state.get(ACTIVE_LOOP, NO_PART).get(LOOP_NAME)
    return None if name == SHOULD_NOT_BE_SET else name
