"""What an assistant has to be tested with, and what fails on its default branch today."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from turncheck.commands.init.workflows import ON_MAIN
from turncheck.messages.errors import INTERRUPTED, UserError
from turncheck.messages.phrasing import count
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.run.prepare import baseline_finder, prepare
from turncheck.run.reading import read_tests
from turncheck.run.run import run_and_conclude
from turncheck.settings.options import Settings
from turncheck.settings.sources import from_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turncheck.process.screen import Console

_EVALUATIONS: Final = ("validate", "core", "e2e", "batch")
"""What can fail there; how well sentences are understood fails no run without a limit."""
_GATES: Final = frozenset({*ON_MAIN, "could-be-run"})


def counted(folder: Path) -> str:
    """Return what there is to train on, and to test with."""
    project, tests = read_project(folder), read_tests(Settings(project=str(folder)))
    learnt = [count(len(project.nlu.examples), "training sentence")]
    if project.platform.no_dialogues is None:
        learnt += [count(len(project.stories), "story", "stories"), count(len(project.rules), "rule")]
    found = {
        "test sentence": len(tests.nlu.examples) if tests.nlu else 0,
        "end-to-end case": len(read_cases(folder, tests.e2e).cases) if tests.e2e else 0,
        "batch suite": len(tests.batch),
    }
    stories = sum(story.kind == "story" for story in tests.stories)
    tested = [count(stories, "test story", "test stories")] if stories else []
    tested += [count(number, what) for what, number in found.items() if number]
    return f"{', '.join(learnt)}; {', '.join(tested) or 'no tests'}"


def failing_today(folder: Path, screen: Console) -> Iterator[str]:
    """Measure what is there, and yield a line for each gate of the default branch that fails; no base is looked for.

    Raises:
        KeyboardInterrupt: somebody interrupted it.
    """
    given = {"project": str(folder), "baseline": "none", "engine": "embedded", "fail_on": ON_MAIN}
    try:
        prepared = prepare(from_arguments({**given, "evaluations": _EVALUATIONS}), os.environ)
        outcome = run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)
    except UserError as error:
        yield f"it cannot be run: {error.what}"
        return
    if outcome.report.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    for gate in outcome.verdict.gates:
        if gate.fails and gate.name in _GATES and not gate.follows:
            yield f"{gate.name}: {gate.in_words}"
