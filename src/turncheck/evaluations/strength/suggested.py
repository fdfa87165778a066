"""Earlier suggestions in files that nobody has reviewed yet: they are not written a second time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import yaml
from msgspec import Struct

from turncheck.evaluations.nlu.predictions import find_neighbours
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.formats.rasa_nlu_writer import annotated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from turncheck.evaluations.robustness.robustness import TrainingSentences
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import Strength
    from turncheck.report.strength import SuggestedTest


CASES: Final = "tests/e2e_suggested_{}.yml"
STORIES: Final = "tests/stories_suggested_{}.yml"
TASKS: Final = "tests/held_out_suggested_{}.template"
TRAINING: Final = "tests/training_suggested_{}.template"

Key = tuple[str, ...]
"""What identifies a suggestion, even after a reviewer's corrections."""


def key_of_test(test: SuggestedTest) -> Key:
    """Return the user messages of a test and the slots that it begins with, but not what is expected."""
    return _conversation(test.kind, test.steps, test.fixture)


def key_of_task(task: SentenceTask) -> Key:
    """Return the intent that needs sentences."""
    return "task", task.intent


def key_of_training(group: TrainingSentences) -> Key:
    """Return an intent and its training sentences."""
    return "training", group.sentences[0].intent or "", *map(annotated, group.sentences)


def suggested_before(root: Path) -> dict[Key, Path]:
    """Return the suggestions in a project's files, each with its file; a file that cannot be read is ignored."""
    return {
        key: path
        for name, keys in ((CASES, _cases), (STORIES, _stories), (TASKS, _tasks), (TRAINING, _trainings))
        for path in _there(root, name)
        for key in keys(_content(path))
    }


def free_file(root: Path, name: str) -> Path:
    """Return the first of the numbered files with this name that does not exist yet."""
    return root / name.format(len(list(_there(root, name))) + 1)


def _there(root: Path, name: str) -> Iterator[Path]:
    number = 1
    while os.path.lexists(path := root / name.format(number)):
        yield path
        number += 1


def _cases(content: dict[Any, Any]) -> Iterator[Key]:
    slots: dict[str, dict[Any, Any]] = {}
    for fixture in _dicts(content.get("fixtures")):
        for name, values in fixture.items():
            slots[str(name)] = dict(pair for one in _dicts(values) for pair in one.items())
    for case in _dicts(content.get("test_cases")):
        names = case.get("fixtures")
        begin = dict(pair for name in _list(names) for pair in slots.get(str(name), {}).items())
        yield _conversation("case", _dicts(case.get("steps")), begin)


def _stories(content: dict[Any, Any]) -> Iterator[Key]:
    for story in _dicts(content.get("stories")):
        yield _conversation("story", _dicts(story.get("steps")), {})


def _tasks(content: dict[Any, Any]) -> Iterator[Key]:
    for block in _dicts(content.get("nlu")):
        yield "task", str(block.get("intent"))


def _trainings(content: dict[Any, Any]) -> Iterator[Key]:
    for block in _dicts(content.get("nlu")):
        lines = str(block.get("examples", "")).splitlines()
        yield "training", str(block.get("intent")), *(line.strip().removeprefix("- ") for line in lines)


def _conversation(kind: str, steps: Iterable[dict[Any, Any]], begin: dict[Any, Any]) -> Key:
    slots = sorted(f"{name}={value!r}" for name, value in begin.items())
    return kind, *slots, *(str(step["user"]) for step in steps if "user" in step)


def _content(path: Path) -> dict[Any, Any]:
    try:
        content = yaml.safe_load(read_regular(path, most=MAX_FILE_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dicts(value: Any) -> list[dict[Any, Any]]:
    return [one for one in _list(value) if isinstance(one, dict)]


# Suggested tests and tasks as files in the project's formats, marked for review.

REVIEW: Final = "To be reviewed: these tests expect what the assistant does now. Is that what it should do?"


def cases_text(suggested: Sequence[SuggestedTest]) -> str:
    """Return suggested cases as a file of end-to-end cases, each with the faults that it would notice."""
    lines = [f"# {REVIEW}"]
    fixtures = [
        {suggested_test.name: [{name: value} for name, value in suggested_test.fixture.items()]}
        for suggested_test in suggested
        if suggested_test.fixture
    ]
    if fixtures:
        lines.append(_yaml({"fixtures": fixtures}))
    lines.append("test_cases:")
    for suggestion in suggested:
        fixture = {"fixtures": [suggestion.name]} if suggestion.fixture else {}
        lines += [
            *_noticed(suggestion),
            *_indented({"test_case": suggestion.name, **fixture, "steps": list(suggestion.steps)}),
        ]
    return "\n".join(lines) + "\n"


def stories_text(suggested: Sequence[SuggestedTest]) -> str:
    """Return suggested test stories as a file, each with the faults that it would notice."""
    lines = [f"# {REVIEW}", 'version: "3.1"', "stories:"]
    for suggestion in suggested:
        lines += [*_noticed(suggestion), *_indented({"story": suggestion.name, "steps": list(suggestion.steps)})]
    return "\n".join(lines) + "\n"


def tasks_text(tasks: Sequence[SentenceTask]) -> str:
    """Return the missing sentences as a file to be filled in."""
    lines = [
        "# No test sentence has these intents. Write what users really say, not sentences of the training data; then",
        "# rename the file to test_nlu.yml. Beside each are sentences of intents that it is easily confused with.",
        'version: "3.1"',
        "nlu:",
    ]
    for task in tasks:
        lines.append(f"- intent: {_yaml(task.intent).splitlines()[0]}")
        lines += [f"  # near: {one_line(text)} ({one_line(other)})" for text, other in task.near]
        lines += [f"  # may notice: {one_line(what)}" for what in task.faults]
        lines += ["  examples: |", "    - …"]
    return "\n".join(lines) + "\n"


def training_text(groups: Sequence[TrainingSentences]) -> str:
    """Return training sentences that would help, as a file to be reviewed."""
    lines = [
        "# To be reviewed: sentences of the training data as users may mistype or shorten them. Move what users would",
        "# really write to the training data.",
        'version: "3.1"',
        "nlu:",
    ]
    for group in groups:
        lines.append(f"- intent: {_yaml(group.sentences[0].intent).splitlines()[0]}")
        variants = f"misunderstood variants: {group.before} now, {group.after} with all of these sentences"
        lines += [f"  # {group.family}: {variants}", "  examples: |"]
        lines += [f"    - {annotated(sentence)}" for sentence in group.sentences]
    return "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    """Return the text on one line, so that it cannot end a comment."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _noticed(suggested_test: SuggestedTest) -> list[str]:
    return [
        f"  # Would notice: {one_line(fault.what)} ({one_line(str(fault.location))})"
        for fault in suggested_test.notices
    ]


def _indented(entry: dict[str, Any]) -> list[str]:
    return [f"  {line}" for line in _yaml([entry]).splitlines()]


def _yaml(content: Any) -> str:
    return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=10_000)).rstrip()


# Sentences that somebody has to write: those for intents without test sentences.

_CONFUSABLE: Final = 3
_FAULTS: Final = 3


class SentenceTask(Struct, frozen=True):
    """An intent without test sentences.

    ``near``: the sentences of other intents that are nearest to its own, with their intents. ``faults``: the faults in
    its sentences that no test notices.
    """

    intent: str
    near: tuple[tuple[str, str], ...]
    faults: tuple[str, ...] = ()


def sentence_tasks(project: Project, held_out: Sequence[Example], strength: Strength) -> tuple[SentenceTask, ...]:
    """Return the intents without test sentences: those with the most unnoticed faults, then the most confusable."""
    tested = {example.base_intent for example in held_out}
    every = project.nlu.examples
    by_intent: dict[str, list[Example]] = {}
    for example in every:
        if example.base_intent:
            by_intent.setdefault(example.base_intent, []).append(example)
    lost: dict[object, list[str]] = {}
    for mutant in strength.mutants:
        if mutant.outcome == "survived" and mutant.kind == "sentences":
            lost.setdefault((mutant.location.path, mutant.location.line), []).append(mutant.what)
    tasks = []
    for intent, examples in by_intent.items():
        if intent in tested:
            continue
        texts = {number: example.text for number, example in enumerate(examples)}
        found = find_neighbours(every, texts, lambda _, index, own=intent: every[index].base_intent != own)  # type: ignore[misc]
        alike: dict[tuple[str, str], float] = {}
        for index, like in (pair for pairs in found.values() for pair in pairs):
            key = every[index].text, every[index].base_intent or ""
            alike[key] = max(like, alike.get(key, 0.0))
        near = sorted(alike, key=lambda key: (-alike[key], key))[:_CONFUSABLE]
        places = {(example.location.path, example.location.line) for example in examples}
        faults = [what for place, what_is_lost in lost.items() if place in places for what in what_is_lost]
        task = SentenceTask(intent, tuple(near), tuple(faults[:_FAULTS]))
        tasks.append((-len(faults), -alike[near[0]] if near else 0.0, intent, task))
    return tuple(task for *_, task in sorted(tasks, key=lambda one: one[:3]))
