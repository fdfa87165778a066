"""Stories and rules cut into steps at their checkpoints and alternatives, as Rasa cuts them.

A step is what is between two checkpoints. ``or`` makes a checkpoint of its own: one step for each alternative, all of
which end where the rest of the story begins.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.dialogue.domain import (
    ACTION_DEACTIVATE_FORM,
    ACTION_DEACTIVATE_LOOP,
    ACTION_LISTEN,
    ACTION_RULE_SNIPPET,
    SHOULD_NOT_BE_SET,
)
from turncheck.dialogue.events import (
    ActionExecuted,
    ActionReverted,
    ActiveLoop,
    AllSlotsReset,
    ConversationPaused,
    ConversationResumed,
    Event,
    Restarted,
    SlotSet,
    UserUtteranceReverted,
    UserUttered,
)
from turncheck.project import model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.messages.finding import Location

STORY_START: Final = "STORY_START"
GENERATED_PREFIX: Final = "GENR_"
_as_json: Final = json.JSONEncoder(default=str).encode
"""Prefix of the names of generated checkpoints."""

EVENT_NAMES: Final[Mapping[str, type[Event]]] = {
    "restart": Restarted,
    "rewind": UserUtteranceReverted,
    "undo": ActionReverted,
    "reset_slots": AllSlotsReset,
    "pause": ConversationPaused,
    "resume": ConversationResumed,
}
"""``- action: restart`` in a story is this event, not an action."""

_MESSAGE_WITH_INTENT = re.compile(r"^/(?P<intent>[^{@]+)(?P<confidence>@[0-9.]+)?(?P<entities>{.+})?(?P<rest>.*)")


class Checkpoint(Struct, frozen=True):
    """A point where dialogues join and split; only those with the values in ``conditions`` continue from it."""

    name: str
    conditions: Mapping[str, Any] = field(default_factory=dict)


class StoryStep(Struct, frozen=True):
    """A piece of a story or rule. ``id`` gives its place in Rasa's order, which compares ids as texts."""

    id: str
    name: str
    start: tuple[Checkpoint, ...]
    location: Location
    end: tuple[Checkpoint, ...] = ()
    events: tuple[Event, ...] = ()
    is_rule: bool = False

    def explicit_events(self, domain: DialogueDomain) -> list[Event]:
        """Return the events with the implied ones: listening before each message, slots from its entities."""
        events: list[Event] = []
        for event in self.events:
            if isinstance(event, UserUttered):
                _listen(events, event.location)
                events.append(event)
                events.extend(
                    dataclasses.replace(slot, location=event.location)
                    for slot in domain.slots_for_entities(event.entities)
                )
            else:
                events.append(event)
        if not self.end:
            _listen(events, events[-1].location if events else self.location)
        return events


def _listen(events: list[Event], location: Location | None) -> None:
    if events and isinstance(events[-1], ActionExecuted) and events[-1].name == ACTION_LISTEN:
        return
    events.append(ActionExecuted(ACTION_LISTEN, location=location))


def story_steps(stories: Iterable[model.Story], domain: DialogueDomain) -> list[StoryStep]:
    """Cut stories and rules into steps, in the order given. ``null`` in a rule means "must not be set"."""
    ids = (f"{number}_" for number in itertools.count(1))
    return [step for story in stories for step in _Cutter(story, domain, ids).cut()]


_RENAMING: Final = 2


class _Cutter:
    """Cuts one story."""

    def __init__(self, story: model.Story, domain: DialogueDomain, ids: Iterator[str]) -> None:
        self.story = story
        self.domain = domain
        self.ids = ids
        self.is_rule = story.kind == "rule"
        self.done: list[StoryStep] = []
        self.open: list[StoryStep] = []
        self.new: list[Event] = []
        """The latest events of the open steps, which are not in them yet."""
        self.start: list[Checkpoint] = []

    def cut(self) -> list[StoryStep]:
        if self.is_rule:
            for condition in self.story.condition:
                self._step(condition)
            if not self.story.conversation_start:
                self._add(ActionExecuted(ACTION_RULE_SNIPPET, location=self.story.location))
        for step in self.story.steps:
            self._step(step)
        if self.is_rule and not self.story.wait_for_user_input:
            self._add(ActionExecuted(ACTION_RULE_SNIPPET, location=self.story.location))
        self._take_in_new()
        return _first_action_marked([*self.done, *self.open])

    def _current(self, action: str) -> str:
        """Return the name of an action: Rasa 2 also accepts Rasa 1's name for deactivating a loop."""
        is_old = action == ACTION_DEACTIVATE_FORM and self.domain.domain.rasa == _RENAMING
        return ACTION_DEACTIVATE_LOOP if is_old else action

    def _step(self, step: model.Step) -> None:
        match step:
            case model.UserStep():
                self._add(user_uttered(step))
            case model.ActionStep():
                event = EVENT_NAMES.get(step.action)
                self._add(
                    ActionExecuted(self._current(step.action), location=step.location)
                    if event is None
                    else event(location=step.location)
                )
            case model.BotStep():
                self._add(ActionExecuted(text=step.text, location=step.location))
            case model.SlotWasSetStep():
                self._add(self._slot_set(step))
            case model.ActiveLoopStep():
                name = SHOULD_NOT_BE_SET if self.is_rule and step.name is None else step.name
                self._add(ActiveLoop(name, location=step.location))
            case model.CheckpointStep():
                self._checkpoint(step)
            case model.EventStep():
                self._ensure_open()  # these events of Rasa 1.x change nothing that a policy sees, but count as events
            case model.OrStep():
                alternatives = [
                    user_uttered(part) if isinstance(part, model.UserStep) else self._slot_set(part)
                    for alternative in step.alternatives
                    for part in alternative
                ]
                if alternatives:
                    self._add(*alternatives)

    def _slot_set(self, step: model.SlotWasSetStep) -> SlotSet:
        value = self._default_value(step.slot) if step.named_only else step.value
        if value is None and self.is_rule:
            value = SHOULD_NOT_BE_SET
        return SlotSet(step.slot, value, location=step.location)

    def _default_value(self, name: str) -> Any:
        """The value of a slot that a story names without a value."""
        slot = self.domain.slots.get(name)
        return {"text": "filled", "list": ["filled"]}.get(slot.type) if slot is not None else None

    def _checkpoint(self, step: model.CheckpointStep) -> None:
        self._take_in_new()
        if not self.open:
            self.start.append(Checkpoint(step.name, {slot.slot: slot.value for slot in step.slots}))
            return
        end = (Checkpoint(step.name),)
        copies = [replace(piece, id=next(self.ids), end=end) for piece in self.open if piece.end]
        self.open = [piece if piece.end else replace(piece, end=end) for piece in self.open] + copies

    def _add(self, *alternatives: Event) -> None:
        self._ensure_open()
        if len(alternatives) == 1:
            self.new += alternatives
            return
        self._take_in_new()
        end = (Checkpoint(self._name_of_alternatives(alternatives)),)
        self.open = [
            replace(piece, id=next(self.ids), events=(*piece.events, event), end=end)
            for piece in self.open
            for event in alternatives
        ]

    def _take_in_new(self) -> None:
        if self.new:
            self.open = [replace(piece, events=(*piece.events, *self.new)) for piece in self.open]
            self.new = []

    def _ensure_open(self) -> None:
        self.done.extend(piece for piece in self.open if piece.end)
        going_on = [piece for piece in self.open if not piece.end]
        if not going_on:
            names = dict.fromkeys(end.name for piece in self.open for end in piece.end)
            start = [Checkpoint(name) for name in names] if self.open else self.start
            going_on = [
                StoryStep(
                    id=next(self.ids),
                    name=self.story.name,
                    start=tuple(start) or (Checkpoint(STORY_START),),
                    location=self.story.location,
                    is_rule=self.is_rule,
                )
            ]
        self.open = going_on

    def _name_of_alternatives(self, alternatives: Sequence[Event]) -> str:
        """Return the name of the checkpoint after an ``or``: the same story, past and alternatives give the same name,
        as in Rasa."""
        identity = [
            self.story.name,
            [_written(event) for piece in self.open for event in piece.events],
            sorted({start.name for piece in self.open for start in piece.start}),
            sorted(_written(event) for event in alternatives),
        ]
        import hashlib  # OpenSSL is slow to load, and few stories have alternatives

        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        return f"{GENERATED_PREFIX}OR_{digest[:16]}"


def _first_action_marked(steps: Sequence[StoryStep]) -> list[StoryStep]:
    """Mark the first action of each story that begins with an action: there is nothing before it to learn from."""
    return [_marked(step) if any(start.name == STORY_START for start in step.start) else step for step in steps]


def _marked(step: StoryStep) -> StoryStep:
    for index, event in enumerate(step.events):
        if isinstance(event, UserUttered):
            break
        if isinstance(event, ActionExecuted):
            marked = dataclasses.replace(event, is_unpredictable=True)
            return replace(step, events=(*step.events[:index], marked, *step.events[index + 1 :]))
    return step


def _written(event: Event) -> str:
    """Describe an event, equally for events that Rasa considers equal (all slot events are)."""
    match event:
        case UserUttered():
            entities = [
                (entity.get("value"), entity["entity"], entity.get("role"), entity.get("group"))
                for entity in event.entities
            ]
            return _as_json([event.text, event.intent_name, entities])
        case ActionExecuted():
            return str(event.name)
        case ActiveLoop():
            return f"loop {event.name}"
        case _:
            return event.kind


# --- messages --------------------------------------------------------------------------------------------------------


def user_uttered(step: model.UserStep) -> UserUttered:
    """Return the event of a user step. A retrieval intent keeps its full name beside the base intent.

    A text such as ``/inform{"city": "Rome"}`` names its entities itself.
    """
    text = None if step.text is None else step.text.strip()
    entities = tuple(_entity(entity) for entity in step.entities)
    if text is not None and text.startswith("/"):
        entities = tuple(entities_of_command(text))
    intent = None if step.intent is None else step.intent.strip().removeprefix("/")
    return UserUttered(text=text, intent=_intent(intent), entities=entities, location=step.location)


@cache
def _intent(full: str | None) -> Mapping[str, Any]:
    """One for all messages of an intent: in a hundred thousand stories they take more memory than everything else."""
    if full is None:
        return {"name": None}
    base, _, key = full.partition("/")
    return {"name": base, "full_retrieval_intent_name": full if key else None, "confidence": 1.0}


def _entity(entity: model.StoryEntity) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    if entity.start is not None and entity.end is not None:
        shape |= {"start": entity.start, "end": entity.end}
    if entity.value is not None:
        shape["value"] = entity.value
    shape["entity"] = entity.entity
    if entity.role is not None:
        shape["role"] = entity.role
    if entity.group is not None:
        shape["group"] = entity.group
    return shape


def entities_of_command(text: str) -> list[dict[str, Any]]:
    """Return the entities that ``/intent{"entity": value}`` names; a list as value gives several. Invalid JSON gives
    none."""
    match = _MESSAGE_WITH_INTENT.match(text)
    if match is None or match["entities"] is None:
        return []
    try:
        named = json.loads(match["entities"])
    except ValueError:
        return []
    if not isinstance(named, dict):
        return []
    start, end = match.span("entities")
    return [
        {"entity": name, "value": value, "start": start, "end": end}
        for name, values in named.items()
        for value in (values if isinstance(values, list) else [values])
    ]
