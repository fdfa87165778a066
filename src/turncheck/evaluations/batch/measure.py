"""How batch suites are measured: utterance by utterance or each as a whole, depending on the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.render.phrases import engine_lines
from turncheck.report.model import Batch, Skipped
from turncheck.run.reading import ensure_readable
from turncheck.run.repeats import repeating
from turncheck.run.skipping import skipped_without_nlu, with_tests
from turncheck.run.under_way import KindOptions

if TYPE_CHECKING:
    from turncheck.project.batch.model import Suites
    from turncheck.run.under_way import RunInProgress


class SuiteOptions(KindOptions, frozen=True):
    """What ``test batch`` asks for besides the settings."""

    suites: Suites
    """The suites, which are read already."""
    repeat: int | None = None
    """How often each suite is run; ``None``: as in a run."""

    def make_ready(self, run: RunInProgress) -> None:
        """Make ready what understands the utterances, and say what it is.

        Raises:
            UserError: there is nothing to train on, a model cannot be read, or utterances cannot be repeated.
        """
        engine = run.engines
        ensure_readable(run.project, engine.needs("batch"))
        if self.repeat is not None and self.repeat > 1 and engine.capabilities.uploads_suites:
            raise UserError(
                "--repeat asks for each utterance several times, and the platform runs each suite as a whole",
                hint="Leave it out, or ask for one utterance at a time (--kore-way find-intent).",
            )
        if not engine.capabilities.answers_suites:
            engine.make_ready(("nlu",), run.screen)
        for line in engine_lines(engine.info(conversations=False)):
            run.screen.note(line)
        run.suites.read = self.suites


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
