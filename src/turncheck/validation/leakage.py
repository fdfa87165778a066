"""Test data compared with training data: what is memorised, and what cannot be produced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.model import UserStep
from turncheck.validation.dialogues import steps_of
from turncheck.validation.findings import found
from turncheck.validation.learnable import learnable
from turncheck.validation.words import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.project.model import Story
    from turncheck.validation.facts import Facts
    from turncheck.validation.project_tests import ProjectTests


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
    for text, place in sentences:
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
        yield found("test-sentence-in-training", message, place, others=[twin.location], subject=text)


def check_test_entities(facts: Facts) -> Iterator[Finding]:
    """Entities that tests expect and no extractor of the pipeline can produce."""
    known = learnable(facts.project)
    if known is None:
        return
    reported: set[str] = set()
    for entity, place in _test_entities(facts.tests):
        if entity not in known.entities and entity not in reported:
            reported.add(entity)
            yield found(
                "test-entity-not-extractable",
                f"A test expects the entity '{entity}', which nothing in the pipeline can extract.",
                place,
            )


def _test_sentences(tests: ProjectTests) -> Iterator[tuple[str, Location]]:
    spoken = [(step.text, step.location) for step in _user_steps(tests.stories)]
    spoken += [(turn.user, turn.location) for case in tests.cases for turn in case.turns]
    for text, place in spoken:
        if text and not text.startswith("/") and len(text.split()) > 1:
            yield text, place
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
