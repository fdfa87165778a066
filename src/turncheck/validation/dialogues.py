"""Stories and rules compared with each other and with the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.model import (
    ActionStep,
    ActiveLoopStep,
    BotStep,
    CheckpointStep,
    EventStep,
    OrStep,
    SlotWasSetStep,
    UserStep,
)
from turncheck.validation.findings import found
from turncheck.validation.similarity import plain_words
from turncheck.validation.unused import learnable

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.model import Step, Story
    from turncheck.validation.facts import Facts, ProjectTests


def check_repeated_stories(facts: Facts) -> Iterator[Finding]:
    """Blocks with the same name, and blocks with the same steps."""
    if facts.dialogues is None:
        return
    names: dict[tuple[str, str], Story] = {}
    for block in sorted(facts.blocks, key=lambda story: story.location.sort_key):
        twin = names.setdefault((block.kind, block.name), block)
        if block.name and twin is not block:
            yield found(
                "story-name-duplicate",
                f"The name '{block.name}' is that of another {block.kind}, too ({twin.location}).",
                block.location,
                others=[twin.location],
            )
    contents: dict[Hashable, Story] = {}
    for block in facts.blocks:
        twin = contents.setdefault(steps_of(block), block)
        if twin is not block:
            yield found(
                "story-duplicate",
                f"The {block.kind} '{block.name}' has the steps of '{twin.name}' ({twin.location}).",
                block.location,
                others=[twin.location],
                subject=" / ".join(sorted((block.name, twin.name))),
            )


def check_reachability(facts: Facts) -> Iterator[Finding]:
    """Stories after checkpoints that can never be reached, although some story ends with them.

    Only dialogues with the required slot values pass a checkpoint with conditions.
    """
    if facts.dialogues is None or facts.dialogues.refused is not None:
        return
    trackers = facts.dialogues.trackers
    entries = [(block, *_checkpoints(block)) for block in facts.project.stories]
    produced = {name for _, _, ends in entries for name in ends}
    reached: set[str] = set()
    waiting: dict[str, list[tuple[Story, list[str]]]] = {}
    ready = [(block, ends) for block, starts, ends in entries if not starts]
    for block, starts, ends in entries:
        for start in starts:
            if not start.slots or block.location in trackers.begun:
                waiting.setdefault(start.name, []).append((block, ends))
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
        if id(block) not in begun and any(start.name in produced for start in starts):
            yield found("story-unreachable", f"The {block.kind} '{block.name}' can never begin.", block.location)


def _checkpoints(block: Story) -> tuple[list[CheckpointStep], list[str]]:
    """The checkpoints a block starts with, and the names of those it ends with (or passes)."""
    starts: list[CheckpointStep] = []
    ends: list[str] = []
    begun = False
    for step in block.steps:
        if not isinstance(step, CheckpointStep):
            begun = True
        elif begun:
            ends.append(step.name)
        else:
            starts.append(step)
    return starts, ends


def steps_of(block: Story, said: Callable[[str], Hashable] = str) -> Hashable:
    """What a block does, without its name and places; texts of user steps with an intent do not count.

    ``said`` turns the other texts into what is compared.
    """
    kind = (block.conversation_start, block.wait_for_user_input) if block.kind == "rule" else ()
    return (
        kind,
        tuple(_step_content(step, said) for step in block.condition),
        tuple(_step_content(step, said) for step in block.steps),
    )


def _step_content(step: Step, said: Callable[[str], Hashable]) -> Hashable:
    match step:
        case UserStep():
            entities = tuple((e.entity, repr(e.value), e.role, e.group) for e in step.entities)
            return ("user", step.intent if step.intent is not None else said(step.text or ""), entities)
        case ActionStep():
            return ("action", step.action)
        case BotStep():
            return ("bot", step.text)
        case SlotWasSetStep():
            return ("slot", step.slot, repr(step.value), step.named_only)
        case ActiveLoopStep():
            return ("loop", step.name)
        case EventStep():
            return ("event", step.event, repr(step.parameters))
        case CheckpointStep():
            return ("checkpoint", step.name, tuple(_step_content(slot, said) for slot in step.slots))
        case OrStep():
            return (
                "or",
                tuple(tuple(_step_content(s, said) for s in alternative) for alternative in step.alternatives),
            )


# Test data compared with training data: what is memorised, and what cannot be produced.


def check_test_stories(facts: Facts) -> Iterator[Finding]:
    """Test stories that are copies of training stories; case, punctuation and accents of messages do not count."""
    project = facts.project
    known = {steps_of(block, plain_words): block for block in (*project.rules, *project.stories)}
    for test in facts.tests.stories:
        twin = known.get(steps_of(test, plain_words))
        if twin is not None:
            yield found(
                "test-story-in-training",
                f"The test story '{test.name}' is a copy of the {twin.kind} '{twin.name}' ({twin.location}).",
                test.location,
                others=[twin.location],
                subject=test.name,
            )


def check_test_sentences(facts: Facts) -> Iterator[Finding]:
    """Test sentences that are also training sentences, wherever they are, letter for letter or word for word.

    Answers of one word in test stories and cases ("yes", "large") do not count: there is no other way to say them.
    """
    project, tests = facts.project, facts.tests
    sentences = list(_test_sentences(tests))
    if not sentences:
        return
    by_text = {example.text: example for example in project.nlu.examples}
    by_words = {plain_words(example.text): example for example in project.nlu.examples}
    by_words.pop((), None)
    for text, location in sentences:
        twin = by_text.get(text)
        if twin is not None:
            words = f"is also an example of '{twin.intent}' ({twin.location})"
        elif (twin := by_words.get(plain_words(text))) is not None:
            words = (
                f"matches the example '{twin.text}' of '{twin.intent}' ({twin.location}) but for case,"
                " punctuation and accents"
            )
        else:
            continue
        message = f"The test sentence '{text}' {words}."
        yield found("test-sentence-in-training", message, location, others=[twin.location], subject=text)


def check_test_entities(facts: Facts) -> Iterator[Finding]:
    """Entities that tests expect and no extractor of the pipeline can produce."""
    known = learnable(facts.project)
    if known is None:
        return
    reported: set[str] = set()
    for entity, location in _test_entities(facts.tests):
        if entity not in known.entities and entity not in reported:
            reported.add(entity)
            yield found(
                "test-entity-not-extractable",
                f"A test expects the entity '{entity}', which nothing in the pipeline can extract.",
                location,
            )


def _test_sentences(tests: ProjectTests) -> Iterator[tuple[str, Location]]:
    spoken = [(step.text, step.location) for step in _user_steps(tests.stories)]
    spoken += [(turn.user, turn.location) for case in tests.cases for turn in case.turns]
    for text, location in spoken:
        if text and not text.startswith("/") and len(text.split()) > 1:
            yield text, location
    for example in tests.examples:
        yield example.text, example.location


def _test_entities(tests: ProjectTests) -> Iterator[tuple[str, Location]]:
    for step in _user_steps(tests.stories):
        if step.text and not step.text.startswith("/"):
            yield from ((entity.entity, step.location) for entity in step.entities)
    for example in tests.examples:
        yield from ((annotation.entity, example.location) for annotation in example.entities)


def _user_steps(stories: Iterable[Story]) -> Iterator[UserStep]:
    for story in stories:
        for step in story.steps:
            if isinstance(step, UserStep):
                yield step
