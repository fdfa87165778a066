"""How batch suites are measured: utterance by utterance or each as a whole, depending on the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.messages.phrasing import count
from turncheck.report.model import Batch, Skipped
from turncheck.run.repeats import repeating
from turncheck.run.skipping import skipped_without_nlu, with_tests

if TYPE_CHECKING:
    from turncheck.run.under_way import RunInProgress


class SuiteOptions(Struct, frozen=True):
    """What ``test batch`` asks for besides the settings."""

    repeat: int | None = None
    """How often each suite is run; ``None``: as in a run."""


def measure(run: RunInProgress) -> Batch | None:
    """Judge the suites, unless they are faulty."""
    none = Skipped(evaluation="batch", reason="the project has no batch suites", no_tests=True)
    why_not = run.not_now("batch") if run.tests.batch else none
    if why_not is not None:
        run.skip(why_not)
        return None
    suites = run.suites
    by_sentence = not run.engines.capabilities.answers_suites
    why_not = suites.refused() or run.not_possible("batch")
    why_not = why_not or skipped_without_nlu("batch", run.project, run.engines, has_sentences=by_sentence)
    if why_not is not None:
        run.skip(with_tests(why_not, None if suites.read.errors else suites.texts))
        return None
    with run.screen.step("batch", f"Running {count(len(suites.texts), 'batch case')}"):
        return run.run_or_skip("batch", lambda: _judged(run))


def _judged(run: RunInProgress) -> Batch:
    asked = run.options(SuiteOptions)
    if asked is not None and asked.repeat is not None:
        return run.suites.evaluate_times(run.screen, asked.repeat)
    with repeating(run, "batch") as how:
        return run.suites.evaluate(run.screen, run.precomputed.answers, how)
