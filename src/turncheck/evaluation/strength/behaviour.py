"""Whether a mutant behaves otherwise than the original at all, on the project's own sentences, stories and forms."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.defaults import ACTION_LISTEN, SLOT_REQUESTED
from turncheck.dialogue.events import ActionExecuted, ActiveLoop, SlotSet
from turncheck.dialogue.training import training_trackers
from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluation.story_run import run_story
from turncheck.messages.errors import UserError
from turncheck.project.model import OrStep, UserStep
from turncheck.project.story_sentences import with_story_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.dialogue.events import Event
    from turncheck.engines.embedded.conversation import EmbeddedConversation
    from turncheck.engines.parse import Parse
    from turncheck.evaluation.strength.assistant import Trained
    from turncheck.evaluation.strength.mutant import Mutant
    from turncheck.project.model import Project, Step, Story

_NO_STUBS: Final[dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: the events before it, and what the user says."""

    messages: tuple[str, ...]
    before: tuple[Event, ...] = ()


@dataclass
class Behaviour:
    """How the original behaves, found out when it is asked for, once.

    Understanding is compared on all training sentences; decisions at each step of the training stories and rules;
    conversations along these, and each message that they have, from the start and at each question of each form.
    """

    original: Trained
    _heard: dict[int, Any] = field(default_factory=dict)

    def is_that_of(self, mutated: Trained, mutant: Mutant) -> bool:
        """Whether the mutant cannot be told from the original."""
        if mutant.operator.trains == "nlu":
            return self._understands_alike(mutated)
        if mutant.operator.trains == "policies" and not self._decides_alike(mutated):
            return False
        return all(self._held(number) == _hold(mutated, talk) for number, talk in enumerate(self.talks))

    def _understands_alike(self, mutated: Trained) -> bool:
        if self.original.nlu is None or mutated.nlu is None:
            return self.original.nlu is mutated.nlu
        texts = [example.text for example in with_story_sentences(self.original.project).nlu.examples]
        pairs = zip(self.original.nlu.parse(texts), mutated.nlu.parse(texts), strict=True)
        return all(_understood(one) == _understood(other) for one, other in pairs)

    def _decides_alike(self, mutated: Trained) -> bool:
        return self.decisions == decisions_of(mutated, self.original.project)

    @cached_property
    def decisions(self) -> list[list[tuple[str, str]]]:
        """What the original does at each step of its stories and rules."""
        return decisions_of(self.original, self.original.project)

    @cached_property
    def talks(self) -> list[Talk]:
        """The conversations that are compared."""
        return list(dict.fromkeys(_talks(self.original.project)))

    def _held(self, number: int) -> Any:
        if number not in self._heard:
            self._heard[number] = _hold(self.original, self.talks[number])
        return self._heard[number]


def decisions_of(trained: Trained, project: Project) -> list[list[tuple[str, str]]]:
    """Return the action at each step of a project's stories and rules."""
    ensemble = trained.ensemble
    if ensemble is None:
        return []
    trackers = training_trackers(project, ensemble.domain, augmentation=0)
    return [run_story(tracker, ensemble, None).actions for tracker in trackers.all]


def _understood(parse: Parse) -> tuple[Any, ...]:
    entities = sorted(
        (one.start, one.end, one.entity, one.role or "", one.group or "", str(one.value)) for one in parse.entities
    )
    chosen = sorted((name, one.intent_response_key or "") for name, one in parse.responses.items())
    return parse.intent.name, entities, chosen


def _talks(project: Project) -> Iterator[Talk]:
    parts = (*project.stories, *project.rules)
    for story in parts:
        if messages := messages_of(story):
            yield Talk(messages)
    single = dict.fromkeys(message for story in parts for message in messages_of(story))
    for example in project.nlu.examples:
        slots = {one.entity: one.value for one in example.entities}
        if example.intent and slots:
            single.setdefault(_message(example.base_intent or "", slots))
    for message in single:
        yield Talk((message,))
    of_kind: dict[tuple[str, ...], str] = {}
    for message in single:
        of_kind.setdefault((message.partition("{")[0], *sorted(_names(message))), message)
    for form in project.domain.forms.values():
        for slot in form.required_slots:
            begun = ActionExecuted(form.name), ActiveLoop(form.name)
            asked = (*begun, SlotSet(SLOT_REQUESTED, slot), ActionExecuted(ACTION_LISTEN))
            for message in (*of_kind.values(), "/inform"):
                yield Talk((message,), asked)


def _names(message: str) -> list[str]:
    """Return the entities of a message."""
    return list(json.loads(message[message.index("{") :])) if "{" in message else []


def messages_of(story: Story) -> tuple[str, ...]:
    """Return what the user says in a story, as ``/intent{"entity": "value"}``; of alternatives the first."""
    messages = []
    for step in story.steps:
        first: Step = step.alternatives[0][0] if isinstance(step, OrStep) and step.alternatives else step
        if isinstance(first, UserStep):
            slots = {one.entity: one.value for one in first.entities if one.value is not None}
            messages.append(_message(first.intent, slots) if first.intent else first.text or "")
    return tuple(messages)


def _message(intent: str, slots: dict[str, Any]) -> str:
    return f"/{intent}{json.dumps(slots, ensure_ascii=False, default=str) if slots else ''}"


def _hold(trained: Trained, talk: Talk) -> Any:
    """Return what a conversation leads to: messages, slots and the active form, turn by turn."""
    engine = trained.engine(NoActionServer())
    if engine is None:
        return None
    try:
        conversation = engine.conversation(history=talk.before, stubs=_NO_STUBS)
        return [_turn(conversation, message) for message in talk.messages]
    except UserError as error:
        return str(error)


def _turn(conversation: EmbeddedConversation, message: str) -> tuple[Any, ...]:
    turn = conversation.say(message)
    done: Sequence[Any] = [event.get("name") for event in turn.events if event.get("event") == "action"]
    return list(turn.responses), dict(turn.slots), turn.active_loop, done, turn.stopped
