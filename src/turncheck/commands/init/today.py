"""What would fail if a repository were measured as it is today."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.gates.table import OF_ALL, subject_of
from turncheck.messages.errors import INTERRUPTED, UserError
from turncheck.messages.phrasing import count
from turncheck.process import interrupts
from turncheck.settings.options import Settings
from turncheck.settings.sources import from_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from threading import Event

    from turncheck.conclude import Outcome
    from turncheck.process.screen import Console


_EVALUATIONS: Final = ("validate", "core", "e2e", "batch")
"""What can fail there; how well sentences are understood fails no run without a limit."""
_SUBJECTS: Final = frozenset({"errors", "tests", "faults"})
"""What is wrong there today: what the gates say that are about these."""
NO_TESTS: Final = "no tests"
"""How what is counted ends if there are none."""


def counted(folder: Path) -> str:
    """Return what there is to train on, and to test with."""
    from turncheck.project.e2e.cases import read_cases
    from turncheck.project.reader import read_project
    from turncheck.run.reading import read_tests

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
    return f"{', '.join(learnt)}; {', '.join(tested) or NO_TESTS}"


class Today(NamedTuple):
    """What fails, a line for each gate of the default branch; ``is_complete``: whether all of it was measured."""

    failing: tuple[str, ...] = ()
    is_complete: bool = True
    uncounted: str = ""
    """Batch cases that fail and do not count, as a stand-in judged them."""


def failing_today(folder: Path, screen: Console, seconds: float | None) -> Today:
    """Measure what is there, for at most so many ``seconds`` (``None``: no limit); no base is looked for.

    Raises:
        KeyboardInterrupt: somebody interrupted it.
    """
    from threading import Event

    from turncheck.comparison.tally import tallies
    from turncheck.render.wording.tests import joined, tolerated_in_words

    is_over = Event()
    outcome = None
    try:
        with _interrupted_after(seconds, is_over):
            outcome = _measured(folder, screen)
    except UserError as error:
        return Today((f"it cannot be run: {error.message}",))
    except KeyboardInterrupt:
        if not is_over.is_set():
            raise
    if outcome is None:
        return Today(is_complete=False)
    is_stopped = outcome.report.stopped == INTERRUPTED
    if is_stopped and not is_over.is_set():
        raise KeyboardInterrupt
    gates = [gate for gate in outcome.verdict.gates if gate.fails and not gate.follows]
    failing = [outcome.run.failing(gate) for gate in gates if subject_of(gate.name) in _SUBJECTS]
    tolerated = [tolerated_in_words(tally) for tally in tallies(outcome.run.report) if tally.tolerated]
    return Today(tuple(failing), not is_stopped, joined(tolerated))


def _measured(folder: Path, screen: Console) -> Outcome:
    from turncheck.run.prepare import baseline_finder, prepare
    from turncheck.run.run import run_and_conclude

    given = {"project": str(folder), "baseline": "none", "engine": "embedded", "fail_on": OF_ALL}
    prepared = prepare(from_arguments({**given, "evaluations": _EVALUATIONS}), os.environ)
    return run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)


@contextmanager
def _interrupted_after(seconds: float | None, is_over: Event) -> Iterator[None]:
    """Interrupt what is inside after so many seconds, as Ctrl-C does: what was finished is kept."""
    from threading import Timer

    if seconds is None:
        yield
        return

    def interrupt() -> None:
        is_over.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if is_over.is_set():
            interrupts.forget()
