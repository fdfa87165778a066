"""Events from JSON, as Rasa's trackers hold them and as an action server sends them.

Any JSON becomes either a well-typed :class:`~turncheck.dialogue.events.Event` or a :class:`ShapeError` that says where
it is wrong: nobody has to check again later. It accepts what Rasa 3.6 accepts, whose schema of events requires the same
of slots, users, actions and entities; of the others it requires what Rasa needs when it uses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.dialogue import events, outward_events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Json = dict[str, Any]


class ShapeError(ValueError):
    """A JSON value of the wrong shape: where it is, and what is needed there."""


class JsonObject(Struct, frozen=True):
    """A JSON object with its ``place`` in the document, such as ``events[0]``; it gives values of the type asked for.

    Each of its methods raises :class:`ShapeError` where the value is of another type.
    """

    items: Mapping[str, Any]
    place: str

    @classmethod
    def of(cls, value: Any, place: str) -> JsonObject:
        """Take a value that has to be an object."""
        if not isinstance(value, dict):
            raise _wrong(value, place, "an object")
        return cls(value, place)

    def below(self, key: str) -> str:
        """Return the place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def required(self, key: str) -> Any:
        """Return what is expected under the key."""
        if key not in self.items:
            raise ShapeError(f"{self.place} needs the key '{key}'")
        return self.items[key]

    def text(self, key: str) -> str:
        """Return the string that is expected under the key."""
        value = self.required(key)
        if not isinstance(value, str):
            raise _wrong(value, self.below(key), "a string")
        return value

    def text_or_none(self, key: str) -> str | None:
        """Return the text, where there is one."""
        return None if self.items.get(key) is None else self.text(key)

    def in_words(self, key: str) -> str | None:
        """Return the value under the key as a string: Rasa compares it with names, and with nothing else."""
        value = self.items.get(key)
        return None if value is None else str(value)

    def number_or_none(self, key: str) -> float | None:
        """Return the number, where there is one."""
        value: float | None = self.items.get(key)
        if value is not None and not _is_number(value):
            raise _wrong(value, self.below(key), "a number")
        return value

    def truth(self, key: str) -> bool:
        """Return the truth value; ``False`` where there is none."""
        value = self.items.get(key, False)
        if not isinstance(value, bool):
            raise _wrong(value, self.below(key), "true or false")
        return value

    def object_or_none(self, key: str) -> JsonObject | None:
        """Return the object, where there is one."""
        return None if self.items.get(key) is None else JsonObject.of(self.items[key], self.below(key))

    def objects(self, key: str) -> tuple[JsonObject, ...]:
        """Return the objects of the list under the key; none where there is no such key."""
        return objects(self.items.get(key, []), self.below(key))


def objects(value: Any, place: str) -> tuple[JsonObject, ...]:
    """Return the objects of a list.

    Raises:
        ShapeError: it is not a list of objects.
    """
    if not isinstance(value, list):
        raise _wrong(value, place, "a list of objects")
    return tuple(JsonObject.of(item, f"{place}[{index}]") for index, item in enumerate(value))


def kind_of(value: Any) -> str:
    """Name a JSON value's type in words."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def _wrong(value: Any, place: str, needed: str) -> ShapeError:
    return ShapeError(f"{place or 'it'} must be {needed}, not {kind_of(value)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# --- the kinds of events ----------------------------------------------------------------------------------------------

_When = dict[str, Any]


def _user(shape: JsonObject, when: _When) -> events.Event:
    text, parsed = shape.text_or_none("text"), JsonObject.of(shape.required("parse_data"), shape.below("parse_data"))
    intent = JsonObject.of(parsed.items.get("intent", {}), parsed.below("intent"))
    _check_intent(intent)
    for other in parsed.objects("intent_ranking"):
        _check_intent(other)
    parsed.text_or_none("text")
    selectors = parsed.items.get("response_selector")
    if "response_selector" in parsed.items and not (
        isinstance(selectors, dict) and isinstance(selectors.get("all_retrieval_intents"), list)
    ):
        raise ShapeError(f"{parsed.below('response_selector')} must be an object with a list 'all_retrieval_intents'")
    return events.UserUttered(
        text=text,
        intent=intent.items,
        entities=_entities(parsed),
        parse_data=parsed.items or None,
        input_channel=shape.text_or_none("input_channel"),
        message_id=shape.text_or_none("message_id"),
        **when,
    )


def _check_intent(intent: JsonObject) -> None:
    if "name" in intent.items:
        intent.text_or_none("name")
    intent.number_or_none("confidence")


def _entities(shape: JsonObject) -> tuple[Mapping[str, Any], ...]:
    entities = shape.objects("entities")
    for entity in entities:
        entity.text("entity")
        entity.required("value")
        for key in ("start", "end", "confidence"):
            entity.number_or_none(key)
        for key in ("extractor", "role", "group"):
            entity.text_or_none(key)
    return tuple(entity.items for entity in entities)


def _action(shape: JsonObject, when: _When) -> events.Event:
    name, text = shape.text_or_none("name"), shape.text_or_none("action_text")
    if name is None and text is None:
        raise ShapeError(f"{shape.place} needs a 'name' or an 'action_text'")
    return events.ActionExecuted(
        name=name,
        policy=shape.text_or_none("policy"),
        confidence=shape.number_or_none("confidence"),
        text=text,
        hide_rule_turn=shape.truth("hide_rule_turn"),
        **when,
    )


def _slot(shape: JsonObject, when: _When) -> events.Event:
    return events.SlotSet(shape.text("name"), shape.required("value"), **when)


def _bot(shape: JsonObject, when: _When) -> events.Event:
    data = JsonObject.of(shape.items.get("data") or {}, shape.below("data"))
    return outward_events.BotUttered(shape.text_or_none("text"), data.items, **when)


def _rejected(shape: JsonObject, when: _When) -> events.Event:
    return events.ActionExecutionRejected(
        shape.text("name"), shape.text_or_none("policy"), shape.number_or_none("confidence"), **when
    )


def _reminder(shape: JsonObject, when: _When) -> events.Event:
    return outward_events.ReminderScheduled(
        intent=shape.text("intent"),
        date_time=shape.text_or_none("date_time"),
        entities=shape.items.get("entities"),
        name=shape.text_or_none("name"),
        kill_on_user_message=bool(shape.items.get("kill_on_user_msg", True)),
        **when,
    )


def _cancelled(shape: JsonObject, when: _When) -> events.Event:
    return outward_events.ReminderCancelled(
        shape.in_words("name"), shape.in_words("intent"), shape.items.get("entities"), **when
    )


def _entities_added(shape: JsonObject, when: _When) -> events.Event:
    shape.required("entities")
    return events.EntitiesAdded(_entities(shape), **when)


def _featurization(shape: JsonObject, when: _When) -> events.Event:
    seen = shape.items.get("use_text_for_featurization")
    return events.UserFeaturization(None if seen is None else bool(seen), **when)


def _loop(shape: JsonObject, when: _When) -> events.Event:
    return events.ActiveLoop(shape.text_or_none("name"), **when)


_READERS: Final[dict[str, Callable[[JsonObject, _When], events.Event]]] = {
    "user": _user,
    "action": _action,
    "slot": _slot,
    "bot": _bot,
    "entities": _entities_added,
    "user_featurization": _featurization,
    "agent": lambda s, w: outward_events.AgentUttered(s.in_words("text"), s.items.get("data"), **w),
    "reset_slots": lambda _, w: events.AllSlotsReset(**w),
    "action_execution_rejected": _rejected,
    "active_loop": _loop,
    "form": _loop,
    "loop_interrupted": lambda s, w: events.LoopInterrupted(bool(s.items.get("is_interrupted", False)), **w),
    "form_validation": lambda s, w: events.LoopInterrupted(not s.items.get("validate", True), **w),
    "followup": lambda s, w: events.FollowupAction(s.in_words("name"), **w),
    "session_started": lambda _, w: events.SessionStarted(**w),
    "restart": lambda _, w: events.Restarted(**w),
    "rewind": lambda _, w: events.UserUtteranceReverted(**w),
    "undo": lambda _, w: events.ActionReverted(**w),
    "pause": lambda _, w: events.ConversationPaused(**w),
    "resume": lambda _, w: events.ConversationResumed(**w),
    "export": lambda s, w: outward_events.StoryExported(s.text_or_none("path"), **w),
    "reminder": _reminder,
    "cancel_reminder": _cancelled,
}


def from_json(shape: Any, place: str = "the event") -> events.Event:
    """Read one event from its JSON shape; ``place`` is where it is, for the error.

    Raises:
        ShapeError: it is not an event that Rasa would take.
    """
    event = JsonObject.of(shape, place)
    kind = event.text("event")
    if kind not in _READERS:
        raise ShapeError(f"{event.below('event')}: there is no kind of event '{kind[:100]}'")
    metadata = event.object_or_none("metadata")
    when: _When = {"timestamp": event.number_or_none("timestamp"), "metadata": metadata.items if metadata else None}
    return _READERS[kind](event, when)
