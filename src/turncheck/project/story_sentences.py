"""Training sentences in stories: if NLU is trained with them, a message with text and intent is NLU data."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from turncheck.project.model import OrStep, Project, Step, UserStep
from turncheck.project.nlu_data import EntityAnnotation, Example

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Location

_INTENT_MESSAGE = "/"


def with_story_sentences(project: Project) -> Project:
    """Return the project with training examples from the messages of its stories and rules, as in ``rasa train``.

    A message with both ``user:`` and ``intent:`` gives an example with its text, the intent (without the response key
    of a retrieval intent) and the annotated entities; these follow the NLU data's own sentences, sorted by intent.
    ``rasa train nlu`` does not read stories, and neither does cross-validation.
    """
    steps = (step for story in (*project.stories, *project.rules) for step in _messages(story.steps))
    taught = [example for step in steps if (example := _example(step)) is not None]
    if not taught:
        return project
    taught.sort(key=lambda example: example.intent or "")
    return dataclasses.replace(project, nlu=replace(project.nlu, examples=(*project.nlu.examples, *taught)))


def _messages(steps: tuple[Step, ...]) -> Iterator[UserStep]:
    for step in steps:
        if isinstance(step, UserStep):
            yield step
        elif isinstance(step, OrStep):
            yield from (one for alternative in step.alternatives for one in alternative if isinstance(one, UserStep))


def _example(step: UserStep) -> Example | None:
    if not step.text or not step.intent or step.text.startswith(_INTENT_MESSAGE):
        return None  # a text that begins with a slash is parsed, and not sent through the pipeline
    entities = tuple(
        EntityAnnotation(entity.start, entity.end, entity.entity, entity.value, entity.role, entity.group)
        for entity in step.entities
        if entity.start is not None and entity.end is not None
    )
    return Example(step.text, step.base_intent, entities, origin=_Place(step.location))


class _Place:
    """Where a step's sentence is."""

    def __init__(self, location: Location) -> None:
        self._location = location

    def locate(self, index: int) -> Location:  # noqa: ARG002 - an origin of many examples would need it
        """Return the step's location."""
        return self._location
