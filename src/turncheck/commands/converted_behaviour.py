"""Whether a converted project behaves as the project does: both are trained, and compared with each other.

Sentences must be understood the same, stories pass or fail the same. Policies that learn are stand-ins in both.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from turncheck.engines.conversation import NluEngine, Parse
    from turncheck.messages.finding import Location
    from turncheck.project.model import Project, Step, Story
    from turncheck.report.model import StoryResult


_FALLBACK: Final = "FallbackClassifier"
_RESTART: Final = "restart"
_CAPITALS: Final = "EntitySynonymMapper writes a value with the capitals that it has elsewhere in the data"


class Behaviour(NamedTuple):
    """The result: the differences, what was compared, what could not be, and what Rasa 3 changes by itself."""

    differences: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def joined_with(self, other: Behaviour) -> Behaviour:
        """Combine two results."""
        return Behaviour(
            self.differences + other.differences,
            self.compared + other.compared,
            self.not_run + other.not_run,
            self.changed + other.changed,
        )


def compare_understanding(before: Project, after: Project, left_out: Collection[Location]) -> Behaviour:
    """Train both pipelines and parse with both all sentences of both, except those that the conversion ``left_out``.

    It lists these itself; nothing teaches them any more. The threshold of a fallback policy is left out: parsing does
    not depend on it.
    """
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer

    kept = [example.text for example in before.nlu.examples if example.location not in left_out]
    gone = {example.text for example in before.nlu.examples} - set(kept)
    texts = [
        text
        for text in dict.fromkeys([*kept, *(example.text for example in after.nlu.examples)])
        if text.strip() and text not in gone
    ]
    if not texts or before.config.pipeline is None:
        return Behaviour(not_run=("understanding: the project has no NLU data, or no pipeline",))
    try:
        old, new = EmbeddedNluTrainer().fit(before), EmbeddedNluTrainer().fit(_without_new_fallback(before, after))
    except UserError as error:
        return Behaviour(not_run=(f"understanding: {error.message}",))
    lines: list[str] = []
    capitals: list[str] = []
    for sentence, parse, other in zip(texts, old.parse(texts), new.parse(texts), strict=True):
        was, becomes = _understood(parse), _understood(other)
        if was != becomes:
            said = f"“{sentence}” is understood as {was} before, as {becomes} after"
            (capitals if was.casefold() == becomes.casefold() else lines).append(said)
    changed = (f"{_CAPITALS}: {capitals[0]}; {count(len(capitals), 'sentence')}",) if capitals else ()
    return Behaviour(tuple(lines), (count(len(texts), "sentence"),), changed=changed)


def _without_new_fallback(before: Project, after: Project) -> Project:
    from msgspec.structs import replace

    if any(component.name == _FALLBACK for component in before.config.pipeline or ()):
        return after
    pipeline = tuple(component for component in after.config.pipeline or () if component.name != _FALLBACK)
    return dataclasses.replace(after, config=replace(after.config, pipeline=pipeline))


def _understood(parse: Parse) -> str:
    marks = []
    for predicted_entity in sorted(parse.entities, key=lambda entity: (entity.start, entity.end, entity.entity)):
        more = "".join(f", {name}" for name in (predicted_entity.role, predicted_entity.group) if name)
        marks.append(
            f"{predicted_entity.entity}={predicted_entity.value}"
            f" ({predicted_entity.start}-{predicted_entity.end}{more})"
        )
    return f"{parse.intent.name or 'nothing'}{' with ' if marks else ''}{', '.join(marks)}"


def compare_stories(before: Project, after: Project, old_tests: Sequence[Path], new_tests: Sequence[Path]) -> Behaviour:
    """Train the policies of both and test the stories and test stories with them."""
    if not before.config.policies:
        return Behaviour(not_run=("stories: the project has no policies",))
    try:
        old = _verdicts(before, old_tests)
    except UserError as error:
        return Behaviour(not_run=(f"stories: {error.message}",))
    try:
        new = _verdicts(after, new_tests)
    except UserError as error:
        return Behaviour((f"the converted project cannot be trained: {error.message}",))
    differences = [
        f"the story '{name}' {_said(story)} before, and {_said(other)} after{_first_fault(other)}"
        for name, results in old.items()
        for story, other in zip(results, new.get(name, ()), strict=False)
        if story.passed is not other.passed
    ]
    number = sum(map(len, old.values()))
    restarting = [
        f"the story '{story.name}': Rasa 3 begins a session after its `restart`" for story in _restarting(before)
    ]
    return Behaviour(tuple(differences), (count(number, "story", "stories"),) if number else (), tuple(restarting))


def _restarting(project: Project) -> list[Story]:
    """Return the stories that continue differently anyway: older Rasas listen after a restart."""
    return [story for story in project.stories if any(_is_restart(step) for step in story.steps)]


def _is_restart(step: Step) -> bool:
    return getattr(step, "event", None) == _RESTART or getattr(step, "action", None) == _RESTART


def _said(result: StoryResult) -> str:
    return "passes" if result.passed else "fails"


def _first_fault(result: StoryResult) -> str:
    from turncheck.render.phrases import expected_got
    from turncheck.render.spans import plain

    wrong = next((step for step in result.steps if not step.passed), None)
    return "" if wrong is None else f": {plain(expected_got(wrong.wanted, wrong.got))}"


def _verdicts(project: Project, tests: Sequence[Path]) -> dict[str, list[StoryResult]]:
    """Judge the training stories by their intents, and test stories with texts end to end."""
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
    from turncheck.engines.embedded.policies.trainer import train_ensemble
    from turncheck.evaluations.core.judging import evaluate_stories
    from turncheck.project.reader import read_stories

    ensemble = train_ensemble(project)
    stories = [*project.stories, *(read_stories(tests, project.root)[0] if tests else ())]
    stories = [story for story in stories if story.kind != "rule" and not any(map(_is_restart, story.steps))]
    spoken = [story for story in stories if _has_texts(story)]
    silent = [story for story in stories if not _has_texts(story)]
    results = list(evaluate_stories(ensemble, silent).stories) if silent else []
    if spoken:
        nlu: NluEngine = EmbeddedNluTrainer().fit(project)
        results += evaluate_stories(ensemble, spoken, nlu=nlu, end_to_end=True).stories
    return _by_name(result for result in results if not result.duplicate)


def _has_texts(story: Story) -> bool:
    from turncheck.project.model import UserStep

    return any(isinstance(step, UserStep) and step.text for step in story.steps)


def _by_name(results: Iterable[StoryResult]) -> dict[str, list[StoryResult]]:
    named: dict[str, list[StoryResult]] = defaultdict(list)
    for result in results:
        named[result.name].append(result)
    return named
