"""Trains and asks the engines of a cross-validation, one per fold, wherever the work is done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.answers import ASKED_HERE, answered
from turncheck.evaluation.predictions import shortened
from turncheck.messages.engine_errors import CutShortError, EngineError
from turncheck.work.workplace import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.parse import NluTrainer, Parse
    from turncheck.evaluation.answers import Answers
    from turncheck.evaluation.splits import Folds
    from turncheck.project.model import Project
    from turncheck.report.model import EngineInfo
    from turncheck.work.workplace import Workplace

_WORTH_WORKERS: Final = 4000
"""With fewer examples, all folds are done before a second process has started (about two seconds)."""


@dataclass(frozen=True, slots=True)
class FoldRun:
    """The answers of one fold's engine, in the order of ``Folds.judged``."""

    fold: int
    parses: tuple[Parse, ...]
    info: EngineInfo
    extractors: tuple[str, ...]


def run_folds(
    project: Project,
    trainer: NluTrainer,
    plan: Folds,
    *,
    work: Workplace = HERE,
    progress: Callable[[int, int], None] | None = None,
    answers: Answers = ASKED_HERE,
) -> list[FoldRun]:
    """Run all folds that judge any examples, in order; ``work`` is as in ``evaluation.nlu.cross_validate``.

    A fold is a unit of ``answers``: known folds are not trained again.

    Raises:
        CutShortError: the engine failed, or the run was interrupted; ``finished`` has the folds that were done,
            ``None`` if there are none.
        ElsewhereError: other folds are run elsewhere.
    """
    folds = [fold for fold in range(plan.count) if plan.judged(fold)]

    def run(missing: Sequence[int]) -> list[FoldRun | None]:
        asked = [folds[index] for index in missing]
        try:
            return list(_run_asked(project, trainer, plan, asked, work=work, progress=progress))
        except CutShortError as error:
            done = {one.fold: one for one in error.finished or ()}
            cause = KeyboardInterrupt() if error.interrupted else error
            raise CutShortError(cause, [done.get(fold) for fold in asked] if done else None) from error

    try:
        return [one for one in answered(answers, [fold_unit(fold) for fold in folds], run) if one is not None]
    except CutShortError as error:
        done = [one for one in error.finished or () if one is not None]
        cause = KeyboardInterrupt() if error.interrupted else error
        raise CutShortError(cause, done or None) from error


def fold_unit(fold: int) -> str:
    """Return the name of a fold as a unit of answers."""
    return f"fold:{fold}"


def _run_asked(
    project: Project,
    trainer: NluTrainer,
    plan: Folds,
    folds: Sequence[int],
    *,
    work: Workplace,
    progress: Callable[[int, int], None] | None,
) -> list[FoldRun]:
    runs: list[FoldRun] = []
    shared = (project.light(project.nlu), trainer, plan)
    is_long = len(project.nlu.examples) >= _WORTH_WORKERS
    try:
        for _, run in work.each(_run_fold, shared, folds, total=len(folds), kind="fold", worth_processes=is_long):
            runs.append(run)
            if progress:
                progress(len(runs), len(folds))
    except (EngineError, KeyboardInterrupt) as error:
        raise CutShortError(error, sorted(runs, key=lambda one: one.fold) or None) from error
    return sorted(runs, key=lambda one: one.fold)


def _run_fold(shared: tuple[Project, NluTrainer, Folds], fold: int) -> FoldRun:
    from threadpoolctl import threadpool_limits  # a dependency of scikit-learn, which not every engine needs

    project, trainer, plan = shared
    examples = project.nlu.examples
    trained, judged = plan.trained(fold), plan.judged(fold)
    share = replace(project, nlu=replace(project.nlu, examples=tuple(examples[index] for index in trained)))
    # More threads add up a sum in a different order, so that its last digit may depend on the machine.
    with threadpool_limits(limits=1):
        engine = trainer.fit(share)
        parses = engine.parse([examples[index].text for index in judged])
    return FoldRun(fold, tuple(map(shortened, parses)), engine.info, engine.extractors)
