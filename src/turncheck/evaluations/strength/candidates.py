"""Tests that nobody has written yet: each passes on the project as it is, and is tried on faults that go unnoticed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluations.coverage import reached_by_stories
from turncheck.evaluations.e2e.case import run_case
from turncheck.evaluations.strength.bench import CASE_RUN, CaseTest, Mutant, StoryTest, labels, outcomes_of_stories
from turncheck.evaluations.strength.faults import touched_by
from turncheck.evaluations.strength.suggested import cases_text, stories_text
from turncheck.messages.errors import UserError
from turncheck.process.output_files import temporary_folder
from turncheck.project import model
from turncheck.project.e2e.cases import read_cases
from turncheck.project.formats.rasa_nlu_writer import annotated
from turncheck.project.reader import read_story_files
from turncheck.report.strength import SuggestedTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.engines.base import Trained
    from turncheck.engines.conversation import Conversation, Turn
    from turncheck.project.nlu_data import Example


# Conversations along a project's rules and stories: what users would say, and what the assistant answers now.

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
            wanted = sorted((entity.entity, entity.role or "", str(entity.value)) for entity in example.entities)
            heard = sorted((entity.entity, entity.role or "", str(entity.value)) for entity in parse.entities)
            if parse.intent.name == example.base_intent and wanted == heard:
                good.append(example)
        return sorted(good, key=lambda one: (len(one.text.split()) < 2, len(one.text), one.text))

    @cached_property
    def by_meaning(self) -> dict[Signature, list[Example]]:
        """By intent and entities."""
        found: dict[Signature, list[Example]] = {}
        for example in self.known:
            values = tuple(sorted((entity.entity, str(entity.value)) for entity in example.entities))
            for intent in dict.fromkeys((example.intent or "", example.base_intent or "")):
                found.setdefault((intent, values), []).append(example)
        return found

    def of(self, step: model.UserStep, turn: int) -> Example | None:
        """Return a sentence for a message; entities without a value in the story may have any value."""
        if step.intent is None:
            return None
        values = tuple(sorted((entity.entity, str(entity.value or "")) for entity in step.entities))
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

    def _by_mapping(self, slot: str, mapping: model.SlotMapping, wanted: Any) -> str | None:
        match mapping.type:
            case "from_entity":
                for example in self.known:
                    values = [
                        entity.value
                        for entity in example.entities
                        if entity.entity == mapping.entity and (mapping.role is None or mapping.role == entity.role)
                    ]
                    if len(values) == len(example.entities) == 1 and wanted in {None, values[0]}:
                        return example.text
            case "from_intent" if wanted is None or wanted == mapping.value:
                for example in self.known:
                    if example.base_intent in mapping.intents and not example.entities:
                        return example.text
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

    def as_case(self, story: model.Story, turn: int) -> tuple[Steps, dict[str, Any]] | None:
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
        said = [example.text for example in examples]
        steps = self.recorded(said, {} if fills else slots, slots if fills else None, turn)
        return None if steps is None else (steps, {} if fills else slots)

    def as_story(self, story: model.Story, turn: int) -> Steps | None:
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

    def _examples(self, stories: Sequence[model.Story], turn: int) -> list[Example] | None:
        examples = [self.sentences.of(step, turn) for story in stories for step in users_of(story)]
        return [example for example in examples if example is not None] if examples and None not in examples else None

    def _written(self, step: model.Step, turn: int) -> dict[str, Any] | None:
        match step:
            case model.OrStep() if step.alternatives:
                written = [self._written(one, turn) for one in step.alternatives[0]]
                return written[0] if len(written) == 1 else None
            case model.UserStep():
                example = self.sentences.of(step, turn)
                return None if example is None else {"user": annotated(example), "intent": step.intent}
            case model.ActionStep():
                return {"action": step.action}
            case model.ActiveLoopStep():
                return {"active_loop": step.name}
            case model.SlotWasSetStep():
                return {"slot_was_set": [step.slot if step.named_only else {step.slot: step.value}]}
            case _:
                return None


def _set_by(story: model.Story) -> dict[str, Any]:
    """Return the slots in a rule's condition, with their values."""
    return {
        step.slot: step.value
        for step in story.condition
        if isinstance(step, model.SlotWasSetStep) and step.slot != "requested_slot" and step.value is not None
    }


def users_of(story: model.Story) -> Iterator[model.UserStep]:
    """Yield the messages of a story; the first of alternatives."""
    for step in story.steps:
        first: model.Step = step.alternatives[0][0] if isinstance(step, model.OrStep) and step.alternatives else step
        if isinstance(first, model.UserStep):
            yield first


def before_story(story: model.Story, project: model.Project) -> tuple[model.Story, ...] | None:
    """Return what has to happen before: what activates the form in a condition. ``None``: not known."""
    loops = [step.name for step in story.condition if isinstance(step, model.ActiveLoopStep) and step.name]
    if not loops:
        return ()
    for other in project.rules:
        if not other.condition and any(
            isinstance(step, model.ActiveLoopStep) and step.name == loops[0] for step in other.steps
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


_PER_STORY: Final = 2
"""At most this many tests are made along a rule or story."""
_TRIED: Final = 6
"""At most this many tests along rules and stories are tried on one mutant."""
_SAID: Final = 2
"""At most this many sentences that are understood differently are tried on one mutant."""
_NAME: Final = 60


class Candidate(Struct, frozen=True):
    """A test as it would be written, and as it is run."""

    shown: SuggestedTest
    test: CaseTest | StoryTest


@dataclass
class Candidates:
    """Makes tests for a project on demand, each only once. ``taken``: names that tests already have."""

    trained: Trained
    taken: frozenset[str] = frozenset()
    _along: dict[tuple[int, int], Candidate | None] = field(default_factory=dict)
    _saying: dict[str, Candidate | None] = field(default_factory=dict)

    def for_mutant(self, mutant: Mutant, misread: Iterator[Example]) -> Iterator[Candidate]:
        """Yield tests that may notice a mutant: along what it touches, and with sentences that it misunderstands."""
        yield from islice(self._touching(mutant), _TRIED)
        yield from islice(filter(None, map(self._of_sentence, misread)), _SAID)

    def _touching(self, mutant: Mutant) -> Iterator[Candidate]:
        common = [len(touched & mutant.touched) for touched in self._touched]
        for number in sorted(range(len(common)), key=lambda number: (-common[number], number)):
            if mutant.touched and not common[number]:
                return
            for turn in range(_PER_STORY):
                if (candidate := self._of_story(number, turn)) is not None:
                    yield candidate

    @cached_property
    def _stories(self) -> tuple[model.Story, ...]:
        return (*self.trained.project.rules, *self.trained.project.stories)

    @cached_property
    def _touched(self) -> list[frozenset[str]]:
        project = self.trained.project
        return [
            self._with_questions(
                frozenset().union(*(touched_by(one) for one in (*(before_story(story, project) or ()), story)))
            )
            for story in self._stories
        ]

    def _with_questions(self, touched: frozenset[str]) -> frozenset[str]:
        """Add what forms ask and fill: a story names only the form, but a test walks through it to its end."""
        domain = self.trained.project.domain
        if domain is None:
            return touched
        asked = {
            name
            for form in domain.forms.values()
            if touched & {f"form {form.name}", f"action {form.name}"}
            for slot in form.required_slots
            for name in (
                f"slot {slot}",
                *(f"action {kind}_ask_{of}" for kind in ("utter", "action") for of in (slot, f"{form.name}_{slot}")),
            )
        }
        return touched | asked

    @cached_property
    def _names(self) -> list[str]:
        names: list[str] = []
        seen = Counter(self.taken)
        for story in self._stories:
            name = f"{story.name} (suggested)"
            seen[name] += 1
            names.append(name if seen[name] == 1 else f"{name} {seen[name]}")
        return names

    @cached_property
    def _walks(self) -> Walks:
        return Walks(self.trained)

    def _of_story(self, number: int, turn: int) -> Candidate | None:
        if (number, turn) not in self._along:
            self._along[number, turn] = self._made(number, turn)
        return self._along[number, turn]

    def _made(self, number: int, turn: int) -> Candidate | None:
        story = self._stories[number]
        name = self._names[number] if not turn else f"{self._names[number]}, {turn + 1}"
        along = f"{story.kind} '{story.name}'"
        kind: Literal["case", "story"] = "case"
        walk = self._walks.as_case(story, turn)
        if walk is None:
            kind, steps = "story", self._walks.as_story(story, turn)
            walk = None if steps is None else (steps, {})
        if walk is None or (turn and (first := self._of_story(number, 0)) and first.shown.steps == walk[0]):
            return None
        shown = SuggestedTest(
            kind=kind, name=name, along=along, location=story.location, steps=walk[0], fixture=walk[1]
        )
        return _passing(shown, self.trained, self._touched[number])

    def _of_sentence(self, example: Example) -> Candidate | None:
        """Return a case with one sentence of the training data."""
        text = example.text
        if text not in self._saying:
            steps = self._walks.recorded([text], {})
            name = f"{text[:_NAME]} (suggested)"
            self._saying[text] = (
                None
                if steps is None or name in self.taken
                else _passing(
                    SuggestedTest(
                        kind="case", name=name, along=f"the sentence '{text}'", location=example.location, steps=steps
                    ),
                    self.trained,
                    frozenset({f"intent {example.base_intent}"}),
                )
            )
        return self._saying[text]


def _passing(shown: SuggestedTest, trained: Trained, touched: frozenset[str]) -> Candidate | None:
    """Write the test, read it again and return it if it passes, else ``None``."""
    with temporary_folder("suggest") as folder:
        path = folder / "test_suggested.yml"
        path.write_text((cases_text if shown.kind == "case" else stories_text)([shown]), encoding="utf-8")
        if shown.kind == "story":
            stories, findings, _ = read_story_files([path], folder)
            outcomes = outcomes_of_stories(trained, stories)
            passing = frozenset((name, location) for name, location, outcome in outcomes if outcome == "passed")
            if len(stories) != 1 or len(passing) != 1 or any(finding.severity == "error" for finding in findings):
                return None
            return Candidate(shown, StoryTest(stories, labels(reached_by_stories(stories)), passing))
        read = read_cases(folder, [path])
    engine = trained.engine(NoActionServer())
    if engine is None or len(read.cases) != 1 or any(finding.severity == "error" for finding in read.findings):
        return None
    if run_case(engine, read.cases[0], CASE_RUN, 0).result.outcome != "passed":
        return None
    return Candidate(shown, CaseTest(read.cases[0], touched))
