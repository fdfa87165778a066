"""One evaluation as far as it got: in a run, or alone, as ``turncheck test X`` measures it, without a base."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from turncheck.messages.errors import CutShortError, EngineError
from turncheck.messages.phrasing import first_line
from turncheck.report.model import Skipped
from turncheck.run.assistant import opened_engine
from turncheck.run.cache_folder import cache_of_command
from turncheck.run.report_of import project_info, report_of
from turncheck.run.trainable import ensure_possible
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.engines.base import Engine, Models
    from turncheck.messages.errors import UserError
    from turncheck.process.cache import Cache
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import EngineInfo, Report
    from turncheck.report.trust import Trust
    from turncheck.settings.options import Settings
    from turncheck.work.workplace import Executor

Measured = TypeVar("Measured")


# If the engine fails or somebody interrupts, what was finished is kept.


@dataclass(frozen=True, slots=True)
class PartialResult(Generic[Measured]):
    """The outcome of an evaluation: ``finished`` is all of it or, with ``stopped``, the part until then, if any."""

    finished: Measured | None
    stopped: CutShortError | None = None

    @property
    def reason(self) -> str | None:
        """Why it ended before its end, as in reports."""
        return None if self.stopped is None else str(self.stopped)

    def skipped(self, evaluation: Evaluation) -> tuple[Skipped, ...]:
        """Return the entry for an evaluation of which nothing was finished."""
        if self.stopped is None or self.finished is not None:
            return ()
        return (Skipped(evaluation=evaluation, reason=cause(self.stopped)),)


def run_until_failure(evaluate: Callable[[], Measured]) -> PartialResult[Measured]:
    """Evaluate. Errors that are not the engine's are passed on unchanged."""
    try:
        return PartialResult(evaluate())
    except CutShortError as error:
        return PartialResult(error.finished, error)
    except (EngineError, KeyboardInterrupt) as error:
        return PartialResult(None, CutShortError(error))


def require_same_model(engines: Engine, evaluate: Callable[[], Measured]) -> Measured:
    """Evaluate, and make sure that the engine used the same model throughout.

    Raises:
        CutShortError: it had another model at the end, or could no longer answer.
    """
    result = evaluate()
    engines.ensure_same_model(result)
    return result


def cause(stopped: UserError) -> str:
    """Return on one line why something was not run."""
    return first_line(stopped.message)


def end_with(stopped: CutShortError) -> NoReturn:
    """End a command whose evaluation was stopped, after all was written.

    Raises:
        CutShortError: the engine failed.
        KeyboardInterrupt: somebody interrupted it.
    """
    if stopped.interrupted:
        raise KeyboardInterrupt
    raise stopped


# One evaluation alone.


@dataclass(frozen=True, slots=True)
class Bench:
    """What one evaluation is measured with: an open engine, where its tasks run, and where trained models are kept."""

    engine: Engine
    work: Executor
    cache: Cache | None


@dataclass(frozen=True, slots=True)
class Alone(Generic[Measured]):
    """One evaluation as far as it got, and what it was measured with, if it got anywhere."""

    evaluation: Evaluation
    project: Project
    settings: Settings
    screen: Console
    result: PartialResult[Measured]
    engine: EngineInfo | None = None
    trust: Trust | None = None

    @property
    def finished(self) -> Measured | None:
        """What was measured: all of it, or the part until it was stopped."""
        return self.result.finished

    def report(self, section: Any, **more: Any) -> Report:
        """Return the report with the ``section`` of the evaluation, if there is one; ``more``: what else it has."""
        return report_of(
            project_info(self.project),
            self.settings.seed,
            **{self.evaluation: section},
            engine=self.engine,
            trust=self.trust,
            skipped=self.result.skipped(self.evaluation) if section is None else (),
            stopped=self.result.reason,
            timings=self.screen.timings,
            **more,
        )


def measured_alone(
    evaluation: Evaluation,
    settings: Settings,
    project: Project,
    screen: Console,
    measure: Callable[[Bench], Measured],
    *,
    environment: Mapping[str, str] = os.environ,
    models: Models | None = None,
    in_folds: bool = False,
    engine_of: Callable[[Measured], EngineInfo | None] = lambda _: None,
) -> Alone[Measured]:
    """Measure one evaluation. If the engine fails or somebody interrupts, the part until then is kept.

    Args:
        evaluation: which one.
        settings: which engine, and how it is measured.
        project: what is measured.
        screen: shows the progress.
        measure: makes the engine ready, and measures.
        environment: the variables of the process.
        models: where a trained model may be taken from; ``None``: the engine is trained.
        in_folds: whether the engine has to be trained in folds.
        engine_of: returns what understood, if that is another engine: the one of a fold.

    Raises:
        UserError: the engine does not support it, or the project is at fault.
    """
    used: Engine | None = None

    def evaluate() -> Measured:
        nonlocal used
        cache = cache_of_command(settings, environment, screen)
        with (
            opened_engine(settings, project, environment, screen, models=models, cache=cache) as engine,
            workplace_of(settings, screen) as work,
        ):
            ensure_possible(engine, evaluation, in_folds=in_folds)
            used = engine
            return require_same_model(engine, lambda: measure(Bench(engine, work, cache)))

    result = run_until_failure(evaluate)
    finished = result.finished
    if used is None or finished is None:
        return Alone(evaluation, project, settings, screen, result)
    info = used.info(measured=engine_of(finished), conversations=evaluation == "e2e")
    return Alone(evaluation, project, settings, screen, result, info, used.trust)
