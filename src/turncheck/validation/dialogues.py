"""Stories and rules beside each other, and test data beside training data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.model import (
    ActionStep,
    ActiveLoopStep,
    BotStep,
    CheckpointStep,
    OrStep,
    SlotWasSetStep,
    UserStep,
)
from turncheck.validation.components import EXTRACTORS, LEARNING_EXTRACTORS, is_custom, short_name
from turncheck.validation.findings import found
from turncheck.validation.unused import pretrained_entities

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from turncheck.finding import Finding
    from turncheck.location import Location
    from turncheck.project.model import Example, Project, Step, Story


def check_repeated_stories(blocks: Sequence[Story]) -> Iterator[Finding]:
    """Blocks with the same name, and blocks with the same steps."""
    names: dict[tuple[str, str], Story] = {}
    contents: dict[Hashable, Story] = {}
    for block in blocks:
        twin = names.setdefault((block.kind, block.name), block)
        if block.name and twin is not block:
            yield found(
                "story-name-duplicate",
                f"The name '{block.name}' is that of another {block.kind}, too ({twin.location}).",
                block.location,
            )
        twin = contents.setdefault(_content(block), block)
        if twin is not block:
            yield found(
                "story-duplicate",
                f"The {block.kind} '{block.name}' has the steps of '{twin.name}' ({twin.location}).",
                block.location,
            )


def check_reachability(blocks: Sequence[Story]) -> Iterator[Finding]:
    """Stories behind checkpoints that can never be reached, though some story ends with them."""
    entries = [(block, *_checkpoints(block)) for block in blocks]
    produced = {name for _, _, ends in entries for name in ends}
    reached: set[str] = set()
    waiting: dict[str, list[tuple[Story, list[str]]]] = {}
    ready = [(block, ends) for block, starts, ends in entries if not starts]
    for block, starts, ends in entries:
        for name in starts:
            waiting.setdefault(name, []).append((block, ends))
    begun = {id(block) for block, _ in ready}
    while ready:
        _, ends = ready.pop()
        for name in ends:
            if name not in reached:
                reached.add(name)
                for block, more in waiting.get(name, ()):
                    if id(block) not in begun:
                        begun.add(id(block))
                        ready.append((block, more))
    for block, starts, _ in entries:
        if id(block) not in begun and any(name in produced for name in starts):
            yield found("story-unreachable", f"The {block.kind} '{block.name}' can never begin.", block.location)


def _checkpoints(block: Story) -> tuple[list[str], list[str]]:
    """The checkpoints a block starts with and those it ends with (or passes)."""
    starts: list[str] = []
    ends: list[str] = []
    begun = False
    for step in block.steps:
        if isinstance(step, CheckpointStep):
            (ends if begun else starts).append(step.name)
        else:
            begun = True
    return starts, ends


def check_test_stories(project: Project, tests: Sequence[Story]) -> Iterator[Finding]:
    """Test stories that are copies of training stories, and their sentences that are training sentences."""
    known = {_content(block): block for block in (*project.rules, *project.stories)}
    for test in tests:
        twin = known.get(_content(test))
        if twin is not None:
            yield found(
                "test-story-in-training",
                f"The test story '{test.name}' is a copy of the {twin.kind} '{twin.name}' ({twin.location}).",
                test.location,
            )


def check_test_sentences(project: Project, tests: Sequence[Story], examples: Sequence[Example]) -> Iterator[Finding]:
    """Test sentences that are training sentences too, wherever they stand.

    Answers of one word in test stories ("yes", "large") are none of them: there is no other way to say them.
    """
    known = {example.text: example for example in project.nlu.examples}
    for text, place in _test_sentences(tests, examples):
        twin = known.get(text)
        if twin is not None:
            yield found(
                "test-sentence-in-training",
                f"The test sentence '{text}' is also an example of '{twin.intent}' ({twin.location}).",
                place,
            )


def check_test_entities(project: Project, tests: Sequence[Story], examples: Sequence[Example]) -> Iterator[Finding]:
    """Entities that tests expect and no extractor of the pipeline can produce."""
    pipeline = project.config.pipeline
    if not pipeline or any(is_custom(component.name) for component in pipeline):
        return
    names = {short_name(component.name) for component in pipeline} & EXTRACTORS
    producible = set(pretrained_entities(project.config))
    if names & LEARNING_EXTRACTORS:
        producible |= {annotation.entity for example in project.nlu.examples for annotation in example.entities}
    if "RegexEntityExtractor" in names:
        producible |= {regex.name for regex in project.nlu.regexes} | {table.name for table in project.nlu.lookups}
    reported: set[str] = set()
    for entity, place in _test_entities(tests, examples):
        if entity not in producible and entity not in reported:
            reported.add(entity)
            yield found(
                "test-entity-not-extractable",
                f"A test expects the entity '{entity}', which nothing in the pipeline can extract.",
                place,
            )


def _test_sentences(tests: Iterable[Story], examples: Iterable[Example]) -> Iterator[tuple[str, Location]]:
    for step in _user_steps(tests):
        if step.text and not step.text.startswith("/") and len(step.text.split()) > 1:
            yield step.text, step.location
    for example in examples:
        yield example.text, example.location


def _test_entities(tests: Iterable[Story], examples: Iterable[Example]) -> Iterator[tuple[str, Location]]:
    for step in _user_steps(tests):
        if step.text and not step.text.startswith("/"):
            yield from ((entity.entity, step.location) for entity in step.entities)
    for example in examples:
        yield from ((annotation.entity, example.location) for annotation in example.entities)


def _user_steps(stories: Iterable[Story]) -> Iterator[UserStep]:
    for story in stories:
        for step in story.steps:
            if isinstance(step, UserStep):
                yield step


def _content(block: Story) -> Hashable:
    """What a block does, without its name and places; texts of user steps that have an intent do not count."""
    kind = (block.conversation_start, block.wait_for_user_input) if block.kind == "rule" else ()
    return (
        kind,
        tuple(_step_content(step) for step in block.condition),
        tuple(_step_content(step) for step in block.steps),
    )


def _step_content(step: Step) -> Hashable:
    match step:
        case UserStep():
            entities = tuple((e.entity, repr(e.value), e.role, e.group) for e in step.entities)
            return ("user", step.intent if step.intent is not None else step.text, entities)
        case ActionStep():
            return ("action", step.action)
        case BotStep():
            return ("bot", step.text)
        case SlotWasSetStep():
            return ("slot", step.slot, repr(step.value), step.named_only)
        case ActiveLoopStep():
            return ("loop", step.name)
        case CheckpointStep():
            return ("checkpoint", step.name, tuple(_step_content(slot) for slot in step.slots))
        case OrStep():
            return ("or", tuple(tuple(_step_content(s) for s in alternative) for alternative in step.alternatives))
