"""End-to-end cases along a project's rules and stories: what users would say, and what the assistant answers now."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluation.strength.story_faults import touched_by
from turncheck.messages.errors import UserError
from turncheck.project.model import ActiveLoopStep, OrStep, SlotWasSetStep, UserStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.engines.conversation import Turn
    from turncheck.evaluation.strength.assistant import Trained
    from turncheck.messages.location import Location
    from turncheck.project.model import Project, Step, Story
    from turncheck.project.nlu_data import Example

_PER_MESSAGE: Final = 2
"""So many sentences are tried for a message."""

Signature = tuple[str, tuple[tuple[str, str], ...]]
"""An intent, and the entities of a message with their values."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A case in the shape of a file of cases, the rule or story that it walks along, and what that is about."""

    name: str
    along: str
    location: Location
    steps: tuple[Mapping[str, Any], ...]
    slots: Mapping[str, Any]
    touched: frozenset[str]

    @property
    def shape(self) -> dict[str, Any]:
        """The entry of the file's ``test_cases``; its fixture has the case's name."""
        fixture = {"fixtures": [self.name]} if self.slots else {}
        return {"test_case": self.name, **fixture, "steps": [dict(step) for step in self.steps]}


def candidates_of(trained: Trained, taken: Sequence[str] = ()) -> list[Candidate]:
    """Return a case for each rule and story that can be walked in sentences of the training data.

    What the assistant says is what it says now. Left out is what needs an action server, what chance decides, and what
    the sentences are not understood as.

    Args:
        trained: the assistant as it is.
        taken: names that cases have already.
    """
    sentences = _sentences(trained)
    names = Counter(taken)
    found = []
    for story in (*trained.project.rules, *trained.project.stories):
        before = _before(story, trained.project)
        if before is None:
            continue
        messages = [_signature(step) for one in (*before, story) for step in _users(one)]
        if not messages or None in messages:
            continue
        for turn in range(_PER_MESSAGE):
            texts = [_nth(sentences, one, turn) for one in messages if one is not None]
            if None in texts or (turn and texts == [_nth(sentences, one, 0) for one in messages if one is not None]):
                break
            slots = {
                one.slot: one.value
                for one in story.condition
                if isinstance(one, SlotWasSetStep) and one.slot != "requested_slot" and one.value is not None
            }
            steps = _recorded(trained, [text for text in texts if text is not None], slots)
            if steps is None:
                break
            name = f"{story.name} (suggested)" if not turn else f"{story.name} (suggested, {turn + 1})"
            names[name] += 1
            name = name if names[name] == 1 else f"{name} {names[name]}"
            touched = frozenset().union(*(touched_by(one) for one in (*before, story)))
            found.append(Candidate(name, f"{story.kind} '{story.name}'", story.location, steps, slots, touched))
    return found


def _sentences(trained: Trained) -> dict[Signature, list[str]]:
    """Return the sentences of each message, those that are understood as annotated, the shortest first."""
    found: dict[Signature, list[str]] = {}
    if trained.nlu is None:
        return found
    examples = [one for one in trained.project.nlu.examples if one.intent and _is_plain(one.text)]
    for example, parse in zip(examples, trained.nlu.parse([one.text for one in examples]), strict=True):
        wanted = tuple(sorted((one.entity, str(one.value)) for one in example.entities))
        heard = tuple(sorted((one.entity, str(one.value)) for one in parse.entities))
        if parse.intent.name == example.base_intent and wanted == heard:
            for intent in {example.intent or "", example.base_intent or ""}:
                found.setdefault((intent, wanted), []).append(example.text)
    return {key: sorted(texts, key=_handy) for key, texts in found.items()}


def _handy(text: str) -> tuple[bool, int, str]:
    """Neither a single word nor a long sentence."""
    return len(text.split()) < 2, len(text), text


def _is_plain(text: str) -> bool:
    return bool(text.strip()) and text.isprintable() and not text.startswith("/")


def _nth(sentences: Mapping[Signature, Sequence[str]], wanted: Signature, turn: int) -> str | None:
    """Return a sentence of a message; one whose values the story leaves open may have any."""
    if wanted in sentences:
        texts = sentences[wanted]
        return texts[turn % len(texts)]
    names = sorted(name for name, _ in wanted[1])
    if wanted[1] and any(value for _, value in wanted[1]):
        return None
    others = [
        texts[0]
        for (intent, heard), texts in sentences.items()
        if intent == wanted[0] and sorted(name for name, _ in heard) == names
    ]
    return others[turn % len(others)] if others else None


def _signature(step: UserStep) -> Signature | None:
    if step.intent is None:
        return None
    return step.intent, tuple(sorted((one.entity, str(one.value or "")) for one in step.entities))


def _users(story: Story) -> Iterator[UserStep]:
    for step in story.steps:
        first: Step = step.alternatives[0][0] if isinstance(step, OrStep) and step.alternatives else step
        if isinstance(first, UserStep):
            yield first


def _before(story: Story, project: Project) -> tuple[Story, ...] | None:
    """Return what has to happen before: what activates the form of a condition. ``None``: nobody knows."""
    loops = [one.name for one in story.condition if isinstance(one, ActiveLoopStep) and one.name]
    if not loops:
        return ()
    for other in project.rules:
        if not other.condition and any(
            isinstance(step, ActiveLoopStep) and step.name == loops[0] for step in other.steps
        ):
            return (other,)
    return None


def _recorded(trained: Trained, texts: Sequence[str], slots: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...] | None:
    """Hold the conversation, and return the steps of a case that expects what is said; ``None``: it is no test."""
    engine = trained.engine(NoActionServer())
    if engine is None:
        return None
    conversation = engine.conversation(fixtures=slots)
    steps: list[Mapping[str, Any]] = []
    said = False
    try:
        before = dict(conversation.open().slots)
        for text in texts:
            turn = conversation.say(text)
            if turn.stopped or any(action.outcome != "ran" for action in turn.custom_actions):
                return None
            steps.append({"user": text})
            answers = list(_answers(turn, trained))
            filled = [
                {name: value}
                for name, value in turn.slots.items()
                if value != before.get(name)
                and isinstance(value, str | bool | int | float)
                and name != "requested_slot"
            ]
            before = dict(turn.slots)
            steps += [{"slot_was_set": filled}] if filled else []
            steps += answers
            said = said or bool(answers)
    except UserError:
        return None
    return tuple(steps) if said else None


def _answers(turn: Turn, trained: Trained) -> Iterator[Mapping[str, str]]:
    """Yield what is said as text, or by the response's name where it has several variations."""
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


def examples_of(project: Project) -> dict[str, list[Example]]:
    """Return the training examples by intent."""
    found: dict[str, list[Example]] = {}
    for example in project.nlu.examples:
        if example.base_intent:
            found.setdefault(example.base_intent, []).append(example)
    return found
