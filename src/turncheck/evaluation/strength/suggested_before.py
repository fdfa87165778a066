"""Earlier suggestions in files that nobody has reviewed yet: they are not written a second time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import yaml

from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.formats.rasa_nlu_writer import annotated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from turncheck.evaluation.robustness.training import TrainingSentences
    from turncheck.evaluation.strength.tasks import SentenceTask
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
