"""One evaluation alone, as ``turncheck test X`` measures it: a run without the others, without a base and gates."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from turncheck.run.assistant import opened_engine
from turncheck.run.cache_folder import cache_of_command
from turncheck.run.cut_short import require_same_model, run_until_failure
from turncheck.run.report_of import project_info, report_of
from turncheck.run.trainable import ensure_possible
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.engines.base import Engine, Models
    from turncheck.process.cache import Cache
    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import EngineInfo, Report
    from turncheck.report.trust import Trust
    from turncheck.run.cut_short import PartialResult
    from turncheck.settings.options import Settings
    from turncheck.work.workplace import Executor

Measured = TypeVar("Measured")


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
            ensure_possible(engine, evaluation)
            used = engine
            return require_same_model(engine, lambda: measure(Bench(engine, work, cache)))

    result = run_until_failure(evaluate)
    finished = result.finished
    if used is None or finished is None:
        return Alone(evaluation, project, settings, screen, result)
    info = used.info(measured=engine_of(finished), conversations=evaluation == "e2e")
    return Alone(evaluation, project, settings, screen, result, info, used.trust)
