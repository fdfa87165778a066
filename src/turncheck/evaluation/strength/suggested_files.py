"""Suggested tests and tasks as files in the project's formats, marked for review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

from turncheck.project.formats.rasa_nlu_writer import annotated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.evaluation.robustness.training import TrainingSentences
    from turncheck.evaluation.strength.tasks import SentenceTask
    from turncheck.report.strength import SuggestedTest

REVIEW: Final = "To be reviewed: these tests expect what the assistant does now. Is that what it should do?"


def cases_text(suggested: Sequence[SuggestedTest]) -> str:
    """Return suggested cases as a file of end-to-end cases, each with the faults that it would notice."""
    lines = [f"# {REVIEW}"]
    fixtures = [{one.name: [{name: value} for name, value in one.fixture.items()]} for one in suggested if one.fixture]
    if fixtures:
        lines.append(_yaml({"fixtures": fixtures}))
    lines.append("test_cases:")
    for one in suggested:
        fixture = {"fixtures": [one.name]} if one.fixture else {}
        lines += [*_noticed(one), *_indented({"test_case": one.name, **fixture, "steps": list(one.steps)})]
    return "\n".join(lines) + "\n"


def stories_text(suggested: Sequence[SuggestedTest]) -> str:
    """Return suggested test stories as a file, each with the faults that it would notice."""
    lines = [f"# {REVIEW}", 'version: "3.1"', "stories:"]
    for one in suggested:
        lines += [*_noticed(one), *_indented({"story": one.name, "steps": list(one.steps)})]
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
        lines += [f"    - {annotated(one)}" for one in group.sentences]
    return "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    """Return the text on one line, so that it cannot end a comment."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _noticed(one: SuggestedTest) -> list[str]:
    return [f"  # Would notice: {one_line(fault.what)} ({one_line(str(fault.location))})" for fault in one.notices]


def _indented(entry: dict[str, Any]) -> list[str]:
    return [f"  {line}" for line in _yaml([entry]).splitlines()]


def _yaml(content: Any) -> str:
    return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=10_000)).rstrip()
