"""Conversations along a project's rules and stories: what users would say, and what the assistant answers now."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.action_server.server import NoActionServer
from turncheck.messages.errors import UserError
from turncheck.project.formats.rasa_nlu_writer import annotated
from turncheck.project.model import (
    ActionStep,
    ActiveLoopStep,
    OrStep,
    SlotWasSetStep,
    UserStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.engines.conversation import Conversation, Turn
    from turncheck.engines.workshop import Trained
    from turncheck.project.model import Project, SlotMapping, Step, Story
    from turncheck.project.nlu_data import Example

_MOST_ANSWERS: Final = 12
"""At most this many questions of a form are answered."""

Signature = tuple[str, tuple[tuple[str, str], ...]]
"""An intent, and the entities of a message with their values."""
Steps = tuple[dict[str, Any], ...]
"""The steps of an end-to-end case or a test story, as written in a file."""


@dataclass
class Sentences:
    """The training sentences that are understood as annotated, by their meaning."""

    trained: Trained

    @cached_property
    def known(self) -> list[Example]:
        """All of them, the shortest first, but single words last."""
        if self.trained.nlu is None:
            return []
        examples = [one for one in self.trained.project.nlu.examples if one.intent and _is_plain(one.text)]
        parses = self.trained.nlu.parse([one.text for one in examples])
        good = []
        for example, parse in zip(examples, parses, strict=True):
            wanted = sorted((one.entity, one.role or "", str(one.value)) for one in example.entities)
            heard = sorted((one.entity, one.role or "", str(one.value)) for one in parse.entities)
            if parse.intent.name == example.base_intent and wanted == heard:
                good.append(example)
        return sorted(good, key=lambda one: (len(one.text.split()) < 2, len(one.text), one.text))

    @cached_property
    def by_meaning(self) -> dict[Signature, list[Example]]:
        """By intent and entities."""
        found: dict[Signature, list[Example]] = {}
        for one in self.known:
            values = tuple(sorted((entity.entity, str(entity.value)) for entity in one.entities))
            for intent in dict.fromkeys((one.intent or "", one.base_intent or "")):
                found.setdefault((intent, values), []).append(one)
        return found

    def of(self, step: UserStep, turn: int) -> Example | None:
        """Return a sentence for a message; entities without a value in the story may have any value."""
        if step.intent is None:
            return None
        values = tuple(sorted((one.entity, str(one.value or "")) for one in step.entities))
        if found := self.by_meaning.get((step.intent, values)):
            return found[turn % len(found)]
        if any(value for _, value in values):
            return None
        names = [name for name, _ in values]
        of_intent = {heard: examples for (intent, heard), examples in self.by_meaning.items() if intent == step.intent}
        others = [examples[0] for heard, examples in of_intent.items() if sorted(name for name, _ in heard) == names]
        if not others and not names:
            # A rule that does not name entities also applies to a message with entities.
            others = [examples[0] for examples in of_intent.values()]
        return others[turn % len(others)] if others else None

    def filling(self, slot: str, wanted: Any, turn: int) -> str | None:
        """Return a user's answer to a form's question.

        ``wanted``: the value to answer with, ``None`` for any; ``turn``: which of the slot's mappings to use.
        """
        definition = self.trained.project.domain.slots.get(slot)
        mappings = definition.mappings if definition else ()
        ways = [text for mapping in mappings if (text := self._by_mapping(slot, mapping, wanted)) is not None]
        return ways[turn % len(ways)] if ways else None

    def _by_mapping(self, slot: str, mapping: SlotMapping, wanted: Any) -> str | None:
        match mapping.type:
            case "from_entity":
                for one in self.known:
                    values = [
                        entity.value
                        for entity in one.entities
                        if entity.entity == mapping.entity and (mapping.role is None or mapping.role == entity.role)
                    ]
                    if len(values) == len(one.entities) == 1 and wanted in {None, values[0]}:
                        return one.text
            case "from_intent" if wanted is None or wanted == mapping.value:
                for one in self.known:
                    if one.base_intent in mapping.intents and not one.entities:
                        return one.text
            case "from_text":
                return slot.replace("_", " ") if wanted is None else str(wanted)
            case _:
                pass
        return None


def _is_plain(text: str) -> bool:
    return bool(text.strip()) and text.isprintable() and not text.startswith("/")


@dataclass
class Walks:
    """Walks along rules and stories with sentences from the training data."""

    trained: Trained
    sentences: Sentences = field(init=False)

    def __post_init__(self) -> None:
        self.sentences = Sentences(self.trained)

    def as_case(self, story: Story, turn: int) -> tuple[Steps, dict[str, Any]] | None:
        """Return the steps of a case and the slots that it begins with.

        The expected answers are the assistant's current ones. ``None`` if it needs an action server, depends on chance,
        or has a message for which there is no sentence. ``turn``: which of the sentences to use.
        """
        before = before_story(story, self.trained.project)
        if before is None:
            return None
        examples = self._examples((*before, story), turn)
        slots = _set_by(story)
        if examples is None:
            return None
        # Without a message of its own it applies at the end of a form, which is filled in before.
        fills = bool(before) and not list(users_of(story))
        said = [one.text for one in examples]
        steps = self.recorded(said, {} if fills else slots, slots if fills else None, turn)
        return None if steps is None else (steps, {} if fills else slots)

    def as_story(self, story: Story, turn: int) -> Steps | None:
        """Return a rule or story as the steps of a test story, with sentences. ``None`` if that is not possible."""
        before = before_story(story, self.trained.project)
        if before is None or not list(users_of(story)):
            return None
        steps: list[dict[str, Any]] = [{"slot_was_set": [{name: value}]} for name, value in _set_by(story).items()]
        for step in (step for one in (*before, story) for step in one.steps):
            written = self._written(step, turn)
            if written is None:
                return None
            steps.append(written)
        return tuple(steps)

    def recorded(
        self, texts: Sequence[str], slots: Mapping[str, Any], filled_in: Mapping[str, Any] | None = None, way: int = 0
    ) -> Steps | None:
        """Hold the conversation, and return the steps of a case that expects its answers; ``None``: it is not a test.

        ``filled_in``: the form that is active at the end is completed, with these values for these slots; ``way``:
        which of the mappings fills each slot.
        """
        engine = self.trained.engine(NoActionServer())
        if engine is None or not texts:
            return None
        conversation = engine.conversation(fixtures=slots)
        steps: list[dict[str, Any]] = []
        try:
            turn: Turn | None = conversation.open()
            for text in texts:
                if turn is not None:
                    turn = self._say(conversation, text, turn, steps)
            if turn is None or (filled_in is not None and not self._fill_in(conversation, filled_in, way, turn, steps)):
                return None
        except UserError:
            return None
        return tuple(steps) if any(step.keys() & {"bot", "utter", "slot_was_set"} for step in steps) else None

    def _fill_in(
        self, conversation: Conversation, wanted: Mapping[str, Any], way: int, turn: Turn, steps: list[dict[str, Any]]
    ) -> bool:
        for _ in range(_MOST_ANSWERS):
            asked = turn.slots.get("requested_slot")
            if turn.active_loop is None or not isinstance(asked, str):
                break
            text = self.sentences.filling(asked, wanted.get(asked), way)
            answered = None if text is None else self._say(conversation, text, turn, steps)
            if answered is None:
                return False
            turn = answered
        return turn.active_loop is None

    def _say(self, conversation: Conversation, text: str, before: Turn, steps: list[dict[str, Any]]) -> Turn | None:
        """Add the turn after another one; ``None`` if the turn cannot be expected to happen again."""
        turn = conversation.say(text)
        if turn.stopped or any(action.outcome != "ran" for action in turn.custom_actions):
            return None
        filled = [
            {name: value}
            for name, value in turn.slots.items()
            if value != before.slots.get(name)
            and isinstance(value, str | bool | int | float)
            and name != "requested_slot"
        ]
        steps.append({"user": text})
        steps += [{"slot_was_set": filled}] if filled else []
        steps += _answers(turn, self.trained)
        return turn

    def _examples(self, stories: Sequence[Story], turn: int) -> list[Example] | None:
        found = [self.sentences.of(step, turn) for story in stories for step in users_of(story)]
        return [one for one in found if one is not None] if found and None not in found else None

    def _written(self, step: Step, turn: int) -> dict[str, Any] | None:
        match step:
            case OrStep() if step.alternatives:
                written = [self._written(one, turn) for one in step.alternatives[0]]
                return written[0] if len(written) == 1 else None
            case UserStep():
                example = self.sentences.of(step, turn)
                return None if example is None else {"user": annotated(example), "intent": step.intent}
            case ActionStep():
                return {"action": step.action}
            case ActiveLoopStep():
                return {"active_loop": step.name}
            case SlotWasSetStep():
                return {"slot_was_set": [step.slot if step.named_only else {step.slot: step.value}]}
            case _:
                return None


def _set_by(story: Story) -> dict[str, Any]:
    """Return the slots in a rule's condition, with their values."""
    return {
        one.slot: one.value
        for one in story.condition
        if isinstance(one, SlotWasSetStep) and one.slot != "requested_slot" and one.value is not None
    }


def users_of(story: Story) -> Iterator[UserStep]:
    """Yield the messages of a story; the first of alternatives."""
    for step in story.steps:
        first: Step = step.alternatives[0][0] if isinstance(step, OrStep) and step.alternatives else step
        if isinstance(first, UserStep):
            yield first


def before_story(story: Story, project: Project) -> tuple[Story, ...] | None:
    """Return what has to happen before: what activates the form in a condition. ``None``: not known."""
    loops = [one.name for one in story.condition if isinstance(one, ActiveLoopStep) and one.name]
    if not loops:
        return ()
    for other in project.rules:
        if not other.condition and any(
            isinstance(step, ActiveLoopStep) and step.name == loops[0] for step in other.steps
        ):
            return (other,)
    return None


def _answers(turn: Turn, trained: Trained) -> Iterator[dict[str, str]]:
    """Yield the answers by their text, or by the name of the response if it has several variations."""
    responses = trained.project.domain.responses
    for event in turn.events:
        if event.get("event") != "bot":
            continue
        name = (event.get("metadata") or {}).get("utter_action")
        text = event.get("text")
        has_one = isinstance(name, str) and name in responses and len(responses[name].variations) == 1
        if text and (has_one or name is None) and "\n" not in text:
            yield {"bot": text}
        elif name:
            yield {"utter": name}
