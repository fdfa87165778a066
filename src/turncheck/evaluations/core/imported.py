"""Files written by ``rasa test core`` → the report's own types. The inverse of :mod:`turncheck.render.rasa_files`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec
import yaml

from turncheck.evaluations.core.misunderstood import span_written
from turncheck.evaluations.nlu.imported import Results, accuracy_of, figure
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.messages.phrasing import count
from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.project.model import Story, UserStep
from turncheck.report import model
from turncheck.yaml_tree.source import YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


NO_SUCCESSES: Final = (
    "The stories that passed are only counted, not listed: `rasa test core` lists them with --successes."
)
NO_ERRORS: Final = "The stories that failed are not listed: `rasa test core` was called with --no-errors."
STORY_REPORT: Final = "story_report.json"
UNNAMED: Final = "unknown: Rasa's files do not name it"
"""The name of a story that is known only from the figures."""
_TITLE: Final = re.compile(r"(?P<name>.*) \((?P<path>[^()]*)\)", re.DOTALL)
_PREDICTED: Final = re.compile(r"predicted: (?P<what>.*?)(?: after action_unlikely_intent)?")
_UNLIKELY: Final = "action_unlikely_intent"


def import_core(
    report: Mapping[str, Any],
    *,
    failed: tuple[str, str] | None,
    passed: tuple[str, str] | None,
    warned: tuple[str, str] | None,
    test_stories: Mapping[str, Story],
    entities: Results | None = None,
) -> model.Core:
    """Make the report's section from ``story_report.json`` and the story files next to it.

    Args:
        report: the content of ``story_report.json``.
        failed: name and text of ``failed_test_stories.yml``, ``None`` if it is missing; likewise the others.
        passed: of ``successful_test_stories.yml``.
        warned: of ``stories_with_warnings.yml``.
        test_stories: the project's test stories by name: their places, and their messages.
        entities: what the policies found, ``TEDPolicy_report.json`` and its errors.

    The dialogue cannot be judged a second time. But after a misunderstood message Rasa continues as the story says, so
    a story whose actions are right fails only because of its messages.

    Stories that the figures count but no file lists are included under the name :data:`UNNAMED`.

    Raises:
        UserError: a file has another shape, or its stories do not match the figures.
    """
    with_warning = {name for name, *_ in _stories(warned)} if warned else set()
    results = [_result(*story, test_stories, passed=False, warned=False) for story in _stories(failed)]
    results += [
        _result(*story, test_stories, passed=True, warned=story[0] in with_warning) for story in _stories(passed)
    ]
    averages = report.get("weighted avg")
    conversations = report.get("conversation_accuracy") or {}
    remarks = ["Read from the files of `rasa test core`: policies and confidences are not in them."]
    remarks += [NO_SUCCESSES] if passed is None and conversations.get("correct") else []
    unclear = sum(not story.passed and all(step.passed for step in story.steps) for story in results)
    remarks += (
        [f"Of {unclear} failed stories Rasa's files do not say what is wrong: an entity's value."] if unclear else []
    )
    remarks += [NO_ERRORS] if failed is None and conversations.get("correct") != conversations.get("total") else []
    stories = (*results, *_unnamed(report, failed, passed, results))
    if unknown := sum(story.as_written is None for story in stories):
        which = f"the dialogue of {count(unknown, 'failed story', 'failed stories')}"
        remarks.append(f"Whether {which} passes as written is not known: Rasa's files do not list the steps.")
    return model.Core(
        stories=stories,
        as_written=_as_written(stories),
        report=dict(report),
        accuracy=accuracy_of(report),
        conversation_accuracy=figure(conversations, "accuracy"),
        precision=figure(averages, "precision"),
        recall=figure(averages, "recall"),
        f1=figure(averages, "f1-score"),
        remarks=tuple(remarks),
        policy_entities=_policy_entities(entities) if entities and (entities.report or entities.errors) else None,
    )


def _as_written(stories: Sequence[model.StoryResult]) -> model.StoriesAsWritten | None:
    if any(story.as_written is None for story in stories):
        return None
    return model.StoriesAsWritten(
        passed=sum(bool(story.as_written) for story in stories), failed=sum(not story.as_written for story in stories)
    )


def _policy_entities(results: Results) -> model.PolicyEntities:
    return model.PolicyEntities(report=dict(results.report or {}), errors=tuple(results.errors or ()))


def _unnamed(
    report: Mapping[str, Any],
    failed: tuple[str, str] | None,
    passed: tuple[str, str] | None,
    listed: Sequence[model.StoryResult],
) -> list[model.StoryResult]:
    """Return a result for each story that the figures count, if no file lists them.

    Raises:
        UserError: a file lists more or fewer stories than the figures count.
    """
    conversations = report.get("conversation_accuracy")
    if not conversations:  # there were no stories
        return []
    right = int(figure(conversations, "correct"))
    wrong = int(figure(conversations, "total")) - right
    unnamed = []
    for file, counted, is_passed in ((failed, wrong, False), (passed, right, True)):
        number = sum(story.passed is is_passed for story in listed)
        if file is None:
            unnamed += [_counted(n, passed=is_passed) for n in range(1, counted + 1)]
        elif number != counted:
            what = f"{STORY_REPORT} counts {counted} {'passed' if is_passed else 'failed'} stories, {file[0]} lists"
            raise UserError(
                f"{what} {number}: the two are from different runs, or the file is truncated",
                hint="Empty the folder before `rasa test core` writes into it, and take all that it wrote.",
            )
    return unnamed


def _counted(number: int, *, passed: bool) -> model.StoryResult:
    return model.StoryResult(
        name=f"{UNNAMED} ({number})",
        location=Location(STORY_REPORT, 1),
        passed=passed,
        named=False,
        as_written=True if passed else None,
    )


_Story = tuple[str, Location, list[model.WrittenStep]]


def _stories(file: tuple[str, str] | None) -> list[_Story]:
    """Return each story of a file: its name, its source, and its steps with their comments."""
    if file is None:
        return []
    name, text = file
    document = parse_yaml(YamlSource(name, text))
    if document.findings:
        fault = document.findings[0]
        raise UserError(f"{name} cannot be read: {fault.message}", location=fault.location)
    root = document.root
    if root is None or not root.data:  # only a comment: none of the stories belongs here
        return []
    entries = root.items.get("stories") if isinstance(root, YamlMapping) else None
    if not isinstance(entries, YamlSequence):
        raise UserError(f"{name} is not a file of `rasa test core`: it has no list of stories")
    comments = _comments(text)
    return [_story(name, entry, comments) for entry in entries.items]


def _story(file: str, entry: YamlNode, comments: Mapping[int, str]) -> _Story:
    shape = entry.data
    title, steps = (shape.get("story"), entry.at("steps")) if isinstance(shape, dict) else (None, None)
    if not isinstance(title, str) or not isinstance(steps, YamlSequence):
        raise UserError(f"{file}: a story needs a name and steps", location=entry.location)
    named = _TITLE.fullmatch(title)
    name, path = (named["name"], named["path"]) if named else (title, "")
    return name, Location(path or file, 1 if path else entry.location.line), [_step(s, comments) for s in steps.items]


def _step(step: YamlNode, comments: Mapping[int, str]) -> model.WrittenStep:
    shape = step.data
    if not isinstance(shape, dict) or not shape:
        raise UserError("a story's step is a mapping", location=step.location)
    entities = step.at("entities")
    lines = [entity.location.line or 0 for entity in entities.items] if isinstance(entities, YamlSequence) else []
    try:
        return model.WrittenStep(
            step=shape,
            comment=comments.get(step.location.line or 0),
            entity_comments={str(index): comments[line] for index, line in enumerate(lines) if line in comments},
        )
    except ValueError as error:
        raise UserError(f"this is not a step of a story: {error}", location=step.location) from None


def _comments(text: str) -> dict[int, str]:
    """Return the comment after each line's content. A ``#`` in a quoted string does not begin one."""
    ends: dict[int, int] = {}
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken | yaml.ValueToken | yaml.KeyToken | yaml.BlockEntryToken):
            ends[token.end_mark.line] = token.end_mark.column
    lines = text.split("\n")
    rests = {number: lines[number][column:].strip() for number, column in ends.items() if number < len(lines)}
    return {number + 1: rest[1:].strip() for number, rest in rests.items() if rest.startswith("#")}


def _result(
    name: str,
    source: Location,
    written: Sequence[model.WrittenStep],
    test_stories: Mapping[str, Story],
    *,
    passed: bool,
    warned: bool,
) -> model.StoryResult:
    story = test_stories.get(name)
    location = story.location if story else source
    messages = _messages(story, written)
    steps: list[model.StoryStep] = []
    misunderstood: list[model.Misunderstanding] = []
    as_written, misparsed = True, False
    for number, written_step in enumerate(written):
        judged = _judged(written_step, location)
        steps += judged
        wrong = [step for step in judged if not step.passed]
        if {"intent", "user"} & written_step.step.keys():
            misparsed = bool(wrong)
            if misparsed:
                misunderstood.append(_misunderstanding(wrong, written_step, messages.get(number), location))
        elif wrong and not _differs_in_response(wrong[0], misparsed=misparsed):
            as_written = False
    return model.StoryResult(
        name=name,
        location=location,
        passed=passed,
        warned=warned,
        steps=tuple(steps),
        written=tuple(written),
        as_written=passed or as_written,
        misunderstood=tuple(misunderstood),
    )


def _differs_in_response(step: model.StoryStep, *, misparsed: bool) -> bool:
    """Whether only the response of a retrieval action differs, or is missing after a misunderstood message.

    The choice of the response is a part of understanding the message.
    """
    base, _, response = step.expected.partition("/")
    predicted, _, other = step.predicted.partition("/")
    return bool(response) and base == predicted and (bool(other) or misparsed)


def _messages(story: Story | None, written: Sequence[model.WrittenStep]) -> dict[int, UserStep]:
    """Return the project's own step for each message, by its index in the written steps, if the two match."""
    places = [number for number, step in enumerate(written) if {"intent", "user"} & step.step.keys()]
    steps = [step for step in story.steps if isinstance(step, UserStep)] if story else []
    return dict(zip(places, steps, strict=True)) if len(places) == len(steps) else {}


def _misunderstanding(
    wrong: Sequence[model.StoryStep], written: model.WrittenStep, message: UserStep | None, location: Location
) -> model.Misunderstanding:
    intent = next((step for step in wrong if step.kind == "intent"), None)
    known = str(written.step.get("intent")) if "intent" in written.step else None
    comment = (written.comment or "").removeprefix("predicted: ").partition(": ")[2]
    text, entity_spans = _read(comment)
    said, expected = _read(str(written.step.get("user", "")).strip())
    if message is not None and message.text:
        said = message.text.strip()
        expected = tuple(span_written(said, msgspec.structs.asdict(entity)) for entity in message.entities)
    base, response = _parts(known)
    predicted, chosen = _parts(intent.predicted if intent else known)
    return model.Misunderstanding(
        text=said or text,
        location=message.location if message else location,
        expected=model.ExpectedParse(intent=base, response=response, entities=expected),
        predicted=model.StoryParse(intent=predicted, response=chosen, entities=entity_spans),
    )


def _parts(label: str | None) -> tuple[str | None, str | None]:
    """Split ``faq/ask_hours`` into the intent and the response; Rasa writes ``None`` for no intent."""
    if label in {None, "None"}:
        return None, None
    return str(label).partition("/")[0], label if "/" in str(label) else None


def _read(sentence: str) -> tuple[str, tuple[model.EntitySpan, ...]]:
    try:
        text, entities = parse_annotations(sentence)
    except AnnotationError:
        return sentence, ()
    return text, tuple(
        model.EntitySpan(
            start=entity.start,
            end=entity.end,
            entity=entity.entity,
            value=entity.value,
            role=entity.role,
            group=entity.group,
        )
        for entity in entities
    )


def _judged(written: model.WrittenStep, location: Location) -> list[model.StoryStep]:
    """Return the predictions in a written step: none, an action, or what was understood."""
    said = _PREDICTED.fullmatch(written.comment) if written.comment else None
    predicted = said["what"] if said else None
    step = written.step
    action = step.get("action") or step.get("bot")
    if action is not None:
        unlikely = predicted == _UNLIKELY != action
        shown = str(action) if predicted is None or unlikely else predicted
        return [
            model.StoryStep(
                kind="action",
                expected=str(action),
                predicted=shown,
                passed=shown == str(action),
                location=location,
                warning=unlikely or bool(written.comment and written.comment.endswith(f" after {_UNLIKELY}")),
            )
        ]
    if predicted is None and not written.entity_comments:
        return []
    intent, _, text = (predicted or "").partition(": ")
    expected = str(step.get("intent") or step.get("user"))
    judged = []
    if predicted is not None and intent != expected:
        judged.append(
            model.StoryStep(kind="intent", expected=expected, predicted=intent, passed=False, location=location)
        )
    found = [text] if predicted is not None and not judged else []
    found += [comment.removeprefix("predicted: ") for comment in written.entity_comments.values()]
    if found:
        wanted = step.get("user") or ", ".join(str(entity) for entity in step.get("entities") or ())
        judged.append(
            model.StoryStep(
                kind="entities", expected=str(wanted), predicted="; ".join(found), passed=False, location=location
            )
        )
    return judged
