"""Whether a mutant behaves differently from the original at all, on the project's own sentences, stories and forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import msgspec

from turncheck.dialogue.domain import ACTION_LISTEN, SLOT_REQUESTED
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, Event, SlotSet
from turncheck.dialogue.training import training_trackers
from turncheck.engines.conversation import Conversation, Parse, PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.evaluations.core.story_run import run_story
from turncheck.messages.errors import UserError
from turncheck.project import model
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.engines.base import Trained
    from turncheck.evaluations.strength.bench import Mutant
    from turncheck.project.nlu_data import Example


# The conversations that may distinguish a mutant from the original: what users may say, and in which situations.

_NOBODY: Final = "annotation"
"""The extractor name of entities that come from annotations."""


class Entity(msgspec.Struct, frozen=True):
    """An entity of a message, with its value as understood."""

    entity: str
    value: Any
    role: str | None = None
    group: str | None = None


class Message(msgspec.Struct, frozen=True):
    """What a user says and its annotated meaning, independent of how the NLU would understand it."""

    text: str
    intent: str
    entities: tuple[Entity, ...] = ()

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it has in common with other messages: the intent and the set of entities."""
        return self.intent, *((entity.entity, entity.role, entity.group) for entity in self.entities)

    @property
    def parse(self) -> Parse:
        """The message as a parse."""
        intent = PredictedIntent(self.intent.partition("/")[0], 1.0)
        entities = (
            PredictedEntity(0, len(self.text), entity.entity, entity.value, _NOBODY, entity.role, entity.group)
            for entity in self.entities
        )
        response = self.intent if "/" in self.intent else None
        selectors = (intent.name or "", "default") if response else ()
        chosen = {name: SelectedResponse(name, response, 1.0) for name in selectors}
        return Parse(self.text, intent, (intent,), tuple(entities), chosen)


class Talk(msgspec.Struct, frozen=True):
    """A conversation: the events before it, and the user's messages."""

    messages: tuple[Message, ...]
    before: tuple[Event, ...] = ()

    @property
    def reach(self) -> frozenset[str]:
        """The names that it concerns, in the notation of :attr:`Mutant.touched`."""
        names = {f"intent {message.intent.partition('/')[0]}" for message in self.messages}
        names |= {f"entity {entity.entity}" for message in self.messages for entity in message.entities}
        names |= {f"slot {event.value}" for event in self.before if _is_question(event)}
        names |= {f"slot {event.name}" for event in self.before if isinstance(event, SlotSet)}
        return frozenset(names | {f"form {event.name}" for event in self.before if isinstance(event, ActiveLoop)})


class Annotated(msgspec.Struct, frozen=True):
    """Understands the messages of talks as annotated."""

    info: EngineInfo
    extractors: tuple[str, ...] = ()
    known: dict[str, Parse] = msgspec.field(default_factory=dict)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Return the parse of each of these."""
        return [self.known[text] for text in texts]


def _is_question(event: Event) -> TypeGuard[SlotSet]:
    return isinstance(event, SlotSet) and event.name == SLOT_REQUESTED


def talks_of(project: model.Project) -> list[Talk]:
    """Return the conversations along a project's rules and stories, and one for every message in every situation.

    Situations are the start, the conditions of each rule and of each response, and each question of each form, both
    with no other slot filled and with all others filled.
    """
    return list(dict.fromkeys(_talks(project)))


def _talks(project: model.Project) -> Iterator[Talk]:
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
                    if any(isinstance(step, model.ActionStep) and step.action == response.name for step in story.steps):
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
    project: model.Project, story: model.Story, messages: Sequence[Message], setting: tuple[Event, ...]
) -> Iterator[Talk]:
    """Yield a story's messages with some slots set; if a form has to be active, at the last of its questions."""
    loops = [step.name for step in story.condition if isinstance(step, model.ActiveLoopStep) and step.name]
    slots = tuple(SlotSet(step.slot, step.value) for step in story.condition if isinstance(step, model.SlotWasSetStep))
    form = project.domain.forms.get(loops[0]) if loops else None
    if form is None:
        yield Talk(tuple(messages[:1]) if not messages_of(story) else tuple(messages), _listening((*slots, *setting)))
        return
    for name in form.required_slots:
        for message in messages:
            yield Talk((message,), _asking(project, form.name, name, (*slots, *setting), filled=True))


def _settings(conditions: Sequence[Mapping[str, Any]]) -> list[tuple[Event, ...]]:
    """Return the slots that make the conditions of a response true, all at the same time."""
    slots = [condition for condition in conditions if isinstance(condition.get("name"), str)]
    return [tuple(SlotSet(slot["name"], slot.get("value")) for slot in slots)] if slots else []


def _conditions(story: model.Story) -> tuple[Event, ...]:
    """Return the events that make a rule applicable; a form that has to be active is activated."""
    events: list[Event] = []
    for one in story.condition:
        if isinstance(one, model.SlotWasSetStep):
            events.append(SlotSet(one.slot, one.value))
        elif one.name:
            events += [ActionExecuted(one.name), ActiveLoop(one.name)]
    return tuple(events)


def _listening(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return (*events, ActionExecuted(ACTION_LISTEN)) if events else ()


def _asking(
    project: model.Project, form: str, slot: str, setting: tuple[Event, ...] = (), *, filled: bool = False
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


def _plausible(slot: model.Slot | None) -> Any:
    """Return a value that a slot may have."""
    kind = slot.type if slot else "text"
    if slot is not None and slot.values:
        return slot.values[0]
    values = {"bool": True, "float": 1.0, "list": ["something"]}
    return values.get(kind, "something")


def _single(project: model.Project) -> Iterator[Message]:
    """Yield every message in rules and stories, one for every intent, and those of sentences with entities."""
    for story in (*project.stories, *project.rules):
        for step in story.steps:
            yield from filter(None, (_message(user) for user in _users(step)))
    covered: set[str] = set()
    for example in project.nlu.examples:
        if example.intent and (example.entities or example.intent not in covered):
            covered.add(example.intent)
            yield _of_example(example)
    for name in project.domain.intents:
        if name not in covered and not any(intent.startswith(f"{name}/") for intent in covered):
            yield Message(name, name)


def _of_example(example: Example) -> Message:
    entities = tuple(Entity(entity.entity, entity.value, entity.role, entity.group) for entity in example.entities)
    return Message(example.text.lstrip("/ ") or "…", example.intent or "", entities)


def _users(step: model.Step) -> list[model.UserStep]:
    if isinstance(step, model.OrStep):
        return [one for alternative in step.alternatives for one in alternative if isinstance(one, model.UserStep)]
    return [step] if isinstance(step, model.UserStep) else []


def messages_of(story: model.Story) -> tuple[Message, ...]:
    """Return the user's messages in a story; the first of alternatives."""
    firsts = (users[0] for step in story.steps if (users := _users(step)))
    return tuple(message for step in firsts if (message := _message(step)) is not None)


def _message(step: model.UserStep) -> Message | None:
    """Return a step's message; ``None`` if it has only a text."""
    if not step.intent:
        return None
    entities = tuple(
        Entity(entity.entity, entity.value or "something", entity.role, entity.group)
        for entity in step.entities
        if entity.value is not None
    )
    words = " ".join(str(entity.value) for entity in entities)
    text = step.text if step.text and not step.text.startswith("/") else f"{step.intent} {words}".strip()
    return Message(text, step.intent, entities)


_MOST_TALKS: Final = 1000
"""At most this many conversations are compared."""


@dataclass
class Behaviour:
    """How the original behaves, computed once on demand.

    Compared are the NLU on all training sentences; decisions at each step of the training stories and rules; the
    responses in them; conversations along them, and each message in each situation (:mod:`talks`).
    """

    original: Trained
    _heard: dict[int, Any] = field(default_factory=dict)

    def is_that_of(self, mutated: Trained, mutant: Mutant) -> bool:
        """Whether the mutant cannot be distinguished from the original."""
        if mutant.operator.trains == "nlu":
            return self._understands_alike(mutated)
        if mutant.operator.trains == "policies" and not self._decides_alike(mutated):
            return False
        if mutant.operator.kind == "config" and not self._answers_alike(mutated):
            return False
        if self.said & _changed_responses(self.original.project, mutant.project):
            return False
        return all(self._held(number) == _hold(mutated, self.talks[number]) for number in self._telling(mutant))

    def _telling(self, mutant: Mutant) -> list[int]:
        """Return the indexes of the talks to compare, with those about what was changed first."""
        order = sorted(range(len(self.talks)), key=lambda number: -len(self._reach[number] & mutant.touched))
        return order[:_MOST_TALKS]

    @cached_property
    def _reach(self) -> list[frozenset[str]]:
        return [talk.reach for talk in self.talks]

    def _understands_alike(self, mutated: Trained) -> bool:
        if self.original.nlu is None or mutated.nlu is None:
            return self.original.nlu is mutated.nlu
        texts = [example.text for example in with_story_sentences(self.original.project).nlu.examples]
        pairs = zip(self.original.nlu.parse(texts), mutated.nlu.parse(texts), strict=True)
        return all(_understood(parse) == _understood(other) for parse, other in pairs)

    def misread(self, mutated: Trained) -> Iterator[Example]:
        """Yield the training sentences with an intent that only the mutant does not understand as annotated."""
        if self.original.nlu is None:
            return
        examples = [one for one in self.original.project.nlu.examples if one.intent and not one.text.startswith("/")]
        texts = [one.text for one in examples]
        heard = mutated.nlu.parse(texts) if mutated.nlu is not None else [None] * len(texts)
        for example, before, now in zip(examples, self.original.nlu.parse(texts), heard, strict=True):
            wanted = sorted((entity.entity, str(entity.value)) for entity in example.entities)
            found = sorted((entity.entity, str(entity.value)) for entity in before.entities)
            is_right = before.intent.name == example.base_intent and wanted == found
            if is_right and (now is None or _understood(before) != _understood(now)):
                yield example

    def _decides_alike(self, mutated: Trained) -> bool:
        return self.decisions == decisions_of(mutated, self.original.project)

    def _answers_alike(self, mutated: Trained) -> bool:
        """Whether each training sentence, with its confidence, is answered in the same way.

        Only the fallback policies of Rasa 1 and 2 look at the confidence.
        """
        if self.original.project.older is None or self.original.nlu is None:
            return True
        return self._answers == _answers(mutated, self._sentences)

    @cached_property
    def _sentences(self) -> dict[str, Parse]:
        """The parses of the training sentences."""
        nlu = self.original.nlu
        texts = [
            example.text
            for example in self.original.project.nlu.examples
            if example.intent and not example.text.startswith("/")
        ]
        return {parse.text: parse for parse in nlu.parse(list(dict.fromkeys(texts)))} if nlu is not None else {}

    @cached_property
    def _answers(self) -> list[Any]:
        return _answers(self.original, self._sentences)

    @cached_property
    def decisions(self) -> list[list[tuple[str, str]]]:
        """The original's actions at each step of its stories and rules."""
        return decisions_of(self.original, self.original.project)

    @cached_property
    def talks(self) -> list[Talk]:
        """The conversations that are compared."""
        return talks_of(self.original.project)

    @cached_property
    def said(self) -> frozenset[str]:
        """The responses that occur in stories and rules, as questions of forms, and for retrieval intents."""
        done = {action for story in self.decisions for action, _ in story}
        project = self.original.project
        for form in project.domain.forms.values():
            for slot in form.required_slots:
                own = f"utter_ask_{form.name}_{slot}"
                done.add(own if own in project.domain.responses else f"utter_ask_{slot}")
        chosen = {f"utter_{example.intent}" for example in project.nlu.examples if example.retrieval_label}
        return frozenset(done | {key for key in chosen if key.partition("/")[0] in done})

    def _held(self, number: int) -> Any:
        if number not in self._heard:
            self._heard[number] = _hold(self.original, self.talks[number])
        return self._heard[number]


def decisions_of(trained: Trained, project: model.Project) -> list[list[tuple[str, str]]]:
    """Return the action at each step of a project's stories and rules."""
    ensemble = trained.ensemble
    if ensemble is None:
        return []
    trackers = training_trackers(project, ensemble.domain, augmentation=0)
    return [run_story(tracker, ensemble, None).actions for tracker in trackers.all]


def _understood(parse: Parse) -> tuple[Any, ...]:
    entities = sorted(
        (entity.start, entity.end, entity.entity, entity.role or "", entity.group or "", str(entity.value))
        for entity in parse.entities
    )
    chosen = sorted(
        (name, selected_response.intent_response_key or "") for name, selected_response in parse.responses.items()
    )
    return parse.intent.name, entities, chosen


def _changed_responses(original: model.Project, mutated: model.Project) -> set[str]:
    """Return the names of the responses that differ."""
    before, now = original.domain.responses, mutated.domain.responses
    return {name for name, response in before.items() if _contents(response) != _contents(now.get(name))}


def _contents(response: model.Response | None) -> list[Any]:
    return [variation.content for variation in response.variations] if response else []


def _hold(trained: Trained, talk: Talk) -> Any:
    """Return the outcome of a conversation: messages, slots and the active form, turn by turn."""
    return _held(trained, {message.text: message.parse for message in talk.messages}, talk)


def _answers(trained: Trained, sentences: dict[str, Parse]) -> list[Any]:
    """Return the outcome of each sentence at the start of a conversation."""
    return [_held(trained, sentences, Talk((Message(text, ""),))) for text in sentences]


def _held(trained: Trained, known: dict[str, Parse], talk: Talk) -> Any:
    understood = Annotated(EngineInfo(name="annotated", version=""), known=known)
    try:
        conversation = trained.conversation(understood, talk.before)
        return None if conversation is None else [_turn(conversation, message.text) for message in talk.messages]
    except UserError as error:
        return str(error)


def _turn(conversation: Conversation, text: str) -> tuple[Any, ...]:
    turn = conversation.say(text)
    done: Sequence[Any] = [event.get("name") for event in turn.events if event.get("event") == "action"]
    return list(turn.responses), dict(turn.slots), turn.active_loop, done, turn.stopped
