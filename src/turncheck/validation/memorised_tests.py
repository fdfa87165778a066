"""Test data compared with training data: what is memorised, and what cannot be produced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Location, Name
from turncheck.project import model
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found
from turncheck.validation.learnable import learnable
from turncheck.validation.repeated_stories import steps_of
from turncheck.validation.similarity import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.validation.facts import Facts, ProjectTests


CHECKS: Final = (
    own_check(
        "test-story-in-training",
        "warning",
        "A test story is a copy of a training story",
        "It passes from memory and proves nothing. Vary it.",
        "# data/stories.yml\n- story: greet\n  steps: [{intent: greet}, {action: utter_greet}]\n"
        "# tests/test_stories.yml\n- story: greet in a test\n  steps: [{intent: greet}, {action: utter_greet}]",
        "# data/stories.yml\n- story: greet\n  steps: [{intent: greet}, {action: utter_greet}]\n"
        "# tests/test_stories.yml\n- story: greet and part\n  steps: [{intent: greet}, {action: utter_greet},"
        " {intent: goodbye}, {action: utter_goodbye}]",
        about=("test",),
    ),
    own_check(
        "test-sentence-in-training",
        "warning",
        "A test sentence is also a training sentence",
        "Understanding it proves nothing. Word it differently; different case, punctuation or accents are not enough."
        " One-word answers in test stories and end-to-end cases are not reported, since there is no other way to say"
        " them.",
        "- user: good morning to you   # also an example of greet",
        "- user: a very good morning",
        about=("sentence",),
    ),
    own_check(
        "test-entity-not-extractable",
        "warning",
        "A test expects an entity that nothing in the pipeline can extract",
        "The test can only fail. Add an extractor for it, or annotated examples. `RegexEntityExtractor` looks only"
        " for entities that are annotated in some example and have a regex or a lookup table.",
        "- user: on [Monday](time)   # and no DucklingEntityExtractor in the pipeline",
        "pipeline:\n- name: DucklingEntityExtractor\n  dimensions: [time]",
        needs=("nlu", "config"),
        about=("entity",),
    ),
)


def check_test_stories(facts: Facts) -> Iterator[Finding]:
    """Test stories that are copies of training stories; case, punctuation and accents of messages do not count."""
    project = facts.project
    known = {steps_of(block, plain_words): block for block in (*project.rules, *project.stories)}
    for test in facts.tests.stories:
        twin = known.get(steps_of(test, plain_words))
        if twin is not None:
            itself = twin.location.path == test.location.path
            words = f"is a copy of the {twin.kind} '{twin.name}' ({twin.location})"
            yield found(
                "test-story-in-training",
                f"The test story '{test.name}' {'is in the training data itself' if itself else words}.",
                test.location,
                "Move it to the folder 'tests', from which nothing is learned." if itself else "",
                others=[] if itself else [twin.location],
                subject=test.name,
                about=(Name("test", test.name),),
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
        about = (Name("sentence", text),)
        yield found("test-sentence-in-training", message, location, others=[twin.location], subject=text, about=about)


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
                about=(Name("entity", entity),),
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


def _user_steps(stories: Iterable[model.Story]) -> Iterator[model.UserStep]:
    for story in stories:
        for step in story.steps:
            if isinstance(step, model.UserStep):
                yield step
