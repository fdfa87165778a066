"""A run of one kind of evaluation without a base: what ``turncheck test X`` is.

It measures as any run does. What a run leaves out with a reason, it refuses.
"""

from __future__ import annotations

import dataclasses
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from turncheck.ci.hosts import find_host
from turncheck.evaluations.kinds import KINDS
from turncheck.messages.errors import IncompleteError, UserError
from turncheck.report.model import KindCoverage, Report, Skipped, Source
from turncheck.run.assistant import opened_engine
from turncheck.run.bot_of_base import ensure_token_is_sent_as_on_base
from turncheck.run.evaluated_project import coverage_by_tests
from turncheck.run.folders import cache_of_command
from turncheck.run.inputs import Inputs
from turncheck.run.masking import masked, values_in
from turncheck.run.partial import cause, run_until_failure
from turncheck.run.reading import NO_TESTS, Tests, ensure_possible
from turncheck.run.repeats import ensure_repeats_are_possible
from turncheck.run.report_of import project_info, report_of
from turncheck.run.under_way import KindOptions, RunInProgress, measured_by
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from turncheck.engines.base import Models
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.run.inputs import ChangedLines
    from turncheck.settings.options import Settings


NOTHING_MORE: Final = KindOptions()


class Subject(Struct, frozen=True):
    """What is measured: an assistant, by these settings, with these tests."""

    settings: Settings
    project: Project
    tests: Tests = NO_TESTS
    models: Models | None = None
    """Where a trained model may be taken from; ``None``: the engine is trained."""
    environment: Mapping[str, str] = os.environ
    """The variables of the process."""
    changed: Callable[[], ChangedLines] | None = None
    """Returns which lines a change touches, if only these are measured."""


class SingleRun(Struct, frozen=True):
    """One evaluation as far as it got."""

    report: Report
    run: RunInProgress | None = None
    """What measured it, if it came to that."""
    stopped: IncompleteError | None = None
    """What ended it before its end."""


def run_single(
    evaluation: Evaluation,
    subject: Subject,
    screen: Console,
    options: KindOptions = NOTHING_MORE,
    *,
    in_folds: bool = False,
    source: Source | None = None,
) -> SingleRun:
    """Measure one evaluation. If the engine fails or somebody interrupts, the part until then is kept.

    Args:
        evaluation: which one.
        subject: what is measured.
        screen: shows the progress.
        options: what the command asks of the evaluation besides the settings.
        in_folds: whether the engine has to be trained in folds.
        source: what the report says about the state of the repository.

    Raises:
        UserError: the engine does not support it, the project is at fault, or there is nothing to measure.
    """
    settings = dataclasses.replace(subject.settings, evaluations=(evaluation,), baseline="none")
    environment, run = subject.environment, None

    def measured() -> RunInProgress:
        nonlocal run
        ensure_token_is_sent_as_on_base(settings, find_host(environment, settings.token), environment)
        cache = cache_of_command(settings, environment, screen)
        inputs = Inputs(settings, Source(), environment=environment, cache=cache, changed=subject.changed)
        with (
            opened_engine(settings, subject.project, environment, screen, models=subject.models, cache=cache) as engine,
            workplace_of(settings, screen) as work,
            ExitStack() as until_its_end,
        ):
            ensure_possible(engine, evaluation, in_folds=in_folds)
            run = RunInProgress(
                inputs, subject.project, subject.tests, engine, screen,
                work=work, until_its_end=until_its_end, options=options,
            )  # fmt: skip
            options.make_ready(run)
            ensure_repeats_are_possible(run)
            _measure(run, evaluation)
            return run

    result = run_until_failure(measured)
    finished = result.finished
    stopped = result.stopped if finished is None else finished.cut_short
    report = report_of(
        project_info(subject.project),
        settings.seed,
        source=source,
        stopped=None if stopped is None else str(stopped),
        timings=screen.timings,
    )
    if finished is not None and finished.sections[evaluation] is not None:
        report = _with_results(report, finished, evaluation)
    elif stopped is not None:
        report = structs.replace(report, skipped=(Skipped(evaluation=evaluation, reason=cause(stopped)),))
    return SingleRun(masked(report, values_in(subject.project)), finished, stopped)


def _measure(run: RunInProgress, evaluation: Evaluation) -> None:
    """Measure it as a run does, and refuse what that leaves out."""
    section = run.sections[evaluation] = measured_by(KINDS[evaluation])(run)
    if (refused := run.refused.get(evaluation)) is not None:
        raise refused
    if section is None and run.cut_short is None:
        skipped = run.skipped[evaluation]
        raise UserError(skipped.without_place or skipped.reason, location=skipped.location)


def _with_results(report: Report, run: RunInProgress, evaluation: Evaluation) -> Report:
    sections: dict[str, Any] = {evaluation: run.sections[evaluation]}
    report = structs.replace(
        report,
        engine=run.engines.info(measured=run.measured_engine, conversations=evaluation == "e2e"),
        trust=run.engines.trust,
        **sections,
    )
    return structs.replace(report, coverage=_coverage(run, report))


def _coverage(run: RunInProgress, report: Report) -> dict[str, KindCoverage]:
    """What dialogues reach: the cases, and the stories of which any step was judged."""
    if report.core is None and report.e2e is None:
        return {}
    judged = {step.location for story in (report.core.stories if report.core else ()) for step in story.steps}
    stories = tuple(story for story in run.tests.stories if any(step.location in judged for step in story.steps))
    tests = structs.replace(run.tests, stories=stories)
    return coverage_by_tests(run.project, tests, None, report.core, report.e2e, None)
