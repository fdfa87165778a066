"""The conversations that may distinguish a mutant from the original: what users may say, and in which situations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from turncheck.dialogue.defaults import ACTION_LISTEN, SLOT_REQUESTED
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, SlotSet
from turncheck.engines.parse import Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.project.model import ActionStep, ActiveLoopStep, OrStep, SlotWasSetStep, UserStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.dialogue.events import Event
    from turncheck.project.model import Project, Slot, Step, Story
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import EngineInfo

_NOBODY: Final = "annotation"
"""The extractor name of entities that come from annotations."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of a message, with its value as understood."""

    entity: str
    value: Any
    role: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What a user says and its annotated meaning, independent of how the NLU would understand it."""

    text: str
    intent: str
    entities: tuple[Entity, ...] = ()

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it has in common with other messages: the intent and the set of entities."""
        return self.intent, *((one.entity, one.role, one.group) for one in self.entities)

    @property
    def parse(self) -> Parse:
        """The message as a parse."""
        intent = PredictedIntent(self.intent.partition("/")[0], 1.0)
        entities = (
            PredictedEntity(0, len(self.text), one.entity, one.value, _NOBODY, one.role, one.group)
            for one in self.entities
        )
        response = self.intent if "/" in self.intent else None
        selectors = (intent.name or "", "default") if response else ()
        chosen = {name: SelectedResponse(name, response, 1.0) for name in selectors}
        return Parse(self.text, intent, (intent,), tuple(entities), chosen)


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: the events before it, and the user's messages."""

    messages: tuple[Message, ...]
    before: tuple[Event, ...] = ()

    @property
    def reach(self) -> frozenset[str]:
        """The names that it concerns, in the notation of :attr:`Mutant.touched`."""
        names = {f"intent {one.intent.partition('/')[0]}" for one in self.messages}
        names |= {f"entity {entity.entity}" for one in self.messages for entity in one.entities}
        names |= {f"slot {event.value}" for event in self.before if _is_question(event)}
        names |= {f"slot {event.name}" for event in self.before if isinstance(event, SlotSet)}
        return frozenset(names | {f"form {event.name}" for event in self.before if isinstance(event, ActiveLoop)})


@dataclass(frozen=True, slots=True)
class Annotated:
    """Understands the messages of talks as annotated."""

    info: EngineInfo
    extractors: tuple[str, ...] = ()
    known: dict[str, Parse] = field(default_factory=dict)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Return the parse of each of these."""
        return [self.known[text] for text in texts]


def _is_question(event: Event) -> TypeGuard[SlotSet]:
    return isinstance(event, SlotSet) and event.name == SLOT_REQUESTED


def talks_of(project: Project) -> list[Talk]:
    """Return the conversations along a project's rules and stories, and one for every message in every situation.

    Situations are the start, the conditions of each rule and of each response, and each question of each form, both
    with no other slot filled and with all others filled.
    """
    return list(dict.fromkeys(_talks(project)))


def _talks(project: Project) -> Iterator[Talk]:
    parts = (*project.stories, *project.rules)
    along = {id(story): messages_of(story) for story in parts}
    for story in parts:
        if messages := along[id(story)]:
            yield Talk(messages, _listening(_conditions(story)))
    single = list(dict.fromkeys(_single(project)))
    for message in single:
        yield Talk((message,))
    of_kind = tuple({message.kind: message for message in reversed(single)}.values())
    for response in project.domain.responses.values():
        for variation in response.variations:
            for setting in _settings(variation.conditions):
                for story in parts:
                    if any(isinstance(step, ActionStep) and step.action == response.name for step in story.steps):
                        yield from _in_setting(project, story, along[id(story)] or of_kind, setting)
    for story in parts:
        # A rule without a message: it applies at the end of a form, whose last answer leads to it.
        if not along[id(story)]:
            yield from _in_setting(project, story, of_kind, ())
    for form in project.domain.forms.values():
        for slot in form.required_slots:
            for message in of_kind:
                yield Talk((message,), _asking(project, form.name, slot))
                yield Talk((message,), _asking(project, form.name, slot, filled=True))


def _in_setting(
    project: Project, story: Story, messages: Sequence[Message], setting: tuple[Event, ...]
) -> Iterator[Talk]:
    """Yield a story's messages with some slots set; if a form has to be active, at the last of its questions."""
    loops = [one.name for one in story.condition if isinstance(one, ActiveLoopStep) and one.name]
    slots = tuple(SlotSet(one.slot, one.value) for one in story.condition if isinstance(one, SlotWasSetStep))
    form = project.domain.forms.get(loops[0]) if loops else None
    if form is None:
        yield Talk(tuple(messages[:1]) if not messages_of(story) else tuple(messages), _listening((*slots, *setting)))
        return
    for name in form.required_slots:
        for message in messages:
            yield Talk((message,), _asking(project, form.name, name, (*slots, *setting), filled=True))


def _settings(conditions: Sequence[Mapping[str, Any]]) -> list[tuple[Event, ...]]:
    """Return the slots that make the conditions of a response true, all at the same time."""
    slots = [one for one in conditions if isinstance(one.get("name"), str)]
    return [tuple(SlotSet(one["name"], one.get("value")) for one in slots)] if slots else []


def _conditions(story: Story) -> tuple[Event, ...]:
    """Return the events that make a rule applicable; a form that has to be active is activated."""
    events: list[Event] = []
    for one in story.condition:
        if isinstance(one, SlotWasSetStep):
            events.append(SlotSet(one.slot, one.value))
        elif one.name:
            events += [ActionExecuted(one.name), ActiveLoop(one.name)]
    return tuple(events)


def _listening(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return (*events, ActionExecuted(ACTION_LISTEN)) if events else ()


def _asking(
    project: Project, form: str, slot: str, setting: tuple[Event, ...] = (), *, filled: bool = False
) -> tuple[Event, ...]:
    """Return the events that lead to a form's question; ``filled``: all others are answered."""
    others = project.domain.forms[form].required_slots if filled else ()
    known = {event.name for event in setting if isinstance(event, SlotSet)}
    answers = tuple(
        SlotSet(name, _plausible(project.domain.slots.get(name)))
        for name in others
        if name != slot and name not in known
    )
    asked = SlotSet(SLOT_REQUESTED, slot), ActionExecuted(ACTION_LISTEN)
    return (ActionExecuted(form), ActiveLoop(form), *answers, *setting, *asked)


def _plausible(slot: Slot | None) -> Any:
    """Return a value that a slot may have."""
    kind = slot.type if slot else "text"
    if slot is not None and slot.values:
        return slot.values[0]
    values = {"bool": True, "float": 1.0, "list": ["something"]}
    return values.get(kind, "something")


def _single(project: Project) -> Iterator[Message]:
    """Yield every message in rules and stories, one for every intent, and those of sentences with entities."""
    for story in (*project.stories, *project.rules):
        for step in story.steps:
            yield from filter(None, (_message(one) for one in _users(step)))
    covered: set[str] = set()
    for example in project.nlu.examples:
        if example.intent and (example.entities or example.intent not in covered):
            covered.add(example.intent)
            yield _of_example(example)
    for name in project.domain.intents:
        if name not in covered and not any(intent.startswith(f"{name}/") for intent in covered):
            yield Message(name, name)


def _of_example(example: Example) -> Message:
    entities = tuple(Entity(one.entity, one.value, one.role, one.group) for one in example.entities)
    return Message(example.text.lstrip("/ ") or "…", example.intent or "", entities)


def _users(step: Step) -> list[UserStep]:
    if isinstance(step, OrStep):
        return [one for alternative in step.alternatives for one in alternative if isinstance(one, UserStep)]
    return [step] if isinstance(step, UserStep) else []


def messages_of(story: Story) -> tuple[Message, ...]:
    """Return the user's messages in a story; the first of alternatives."""
    firsts = (users[0] for step in story.steps if (users := _users(step)))
    return tuple(message for step in firsts if (message := _message(step)) is not None)


def _message(step: UserStep) -> Message | None:
    """Return a step's message; ``None`` if it has only a text."""
    if not step.intent:
        return None
    entities = tuple(
        Entity(one.entity, one.value or "something", one.role, one.group)
        for one in step.entities
        if one.value is not None
    )
    words = " ".join(str(one.value) for one in entities)
    text = step.text if step.text and not step.text.startswith("/") else f"{step.intent} {words}".strip()
    return Message(text, step.intent, entities)
