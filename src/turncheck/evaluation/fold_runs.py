"""Training and asking the engines of a cross-validation, one a fold, in as many processes as wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from turncheck.evaluation.predictions import Judged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.base import NluEngine, NluTrainer, Parse
    from turncheck.evaluation.splits import Folds
    from turncheck.project.model import Example, Project
    from turncheck.report.model import EngineInfo

NEIGHBOURS: Final = 3
"""How many near training sentences are shown for a wrong one."""

_WORTH_WORKERS: Final = 4000
"""Below so many examples all folds are done before a second process has started (about two seconds)."""

Neighbours = tuple[tuple[int, float], ...]
"""Near training sentences: index into the project's examples, and similarity (0 to 1)."""


class NearSentence(Protocol):
    """A training sentence near to a text."""

    @property
    def text(self) -> str:
        """The sentence."""

    @property
    def similarity(self) -> float:
        """How near it is, 0 to 1."""


@runtime_checkable
class KnowsNeighbours(Protocol):
    """An engine that can say which training sentences are near to a text."""

    def neighbours(self, texts: Sequence[str], k: int) -> Sequence[Sequence[NearSentence]]:
        """Return for each text the nearest sentences the engine was trained on, the nearest first."""


@dataclass(frozen=True, slots=True)
class FoldRun:
    """What the engine of one fold said, in the order of ``Folds.judged``; ``neighbours`` by index of wrong examples."""

    fold: int
    parses: tuple[Parse, ...]
    neighbours: dict[int, Neighbours]
    info: EngineInfo
    extractors: tuple[str, ...]


def run_folds(
    project: Project,
    trainer: NluTrainer,
    plan: Folds,
    *,
    workers: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[FoldRun]:
    """Run all folds that judge something, in order; ``workers`` is as in :func:`evaluate_nlu`."""
    folds = [fold for fold in range(plan.count) if plan.judged(fold)]
    if workers == 0:
        workers = _processors() if len(project.nlu.examples) >= _WORTH_WORKERS else 1
    workers = min(workers, len(folds))
    runs = []
    if workers == 1:
        for fold in folds:
            runs.append(_run_fold(project, trainer, plan, fold))
            if progress:
                progress(len(runs), len(folds))
        return runs

    from joblib import Parallel, delayed  # noqa: PLC0415 - only where processes are started

    light = _without_origins(project)
    pool = Parallel(n_jobs=workers, return_as="generator")
    for run in pool(delayed(_run_fold)(light, trainer, plan, fold) for fold in folds):
        runs.append(run)
        if progress:
            progress(len(runs), len(folds))
    return runs


def _run_fold(project: Project, trainer: NluTrainer, plan: Folds, fold: int) -> FoldRun:
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - comes with scikit-learn, which not every engine needs

    examples = project.nlu.examples
    trained, judged = plan.trained(fold), plan.judged(fold)
    share = replace(project, nlu=replace(project.nlu, examples=tuple(examples[index] for index in trained)))
    # With more threads a sum is added up in another order, and its last digit may depend on the machine.
    with threadpool_limits(limits=1):
        engine = trainer.fit(share)
        parses = engine.parse([examples[index].text for index in judged])
        wrong = [
            index for index, parse in zip(judged, parses, strict=True) if not Judged(examples[index], parse).correct
        ]
        found = find_neighbours(engine, [examples[index].text for index in wrong], examples, trained)
    return FoldRun(fold, tuple(parses), dict(zip(wrong, found, strict=True)), engine.info, engine.extractors)


def find_neighbours(
    engine: NluEngine, texts: Sequence[str], examples: Sequence[Example], trained: Sequence[int]
) -> list[Neighbours]:
    """Return the nearest training sentences of each text, none where the engine does not know them.

    ``trained`` are the indexes in ``examples`` that the engine was trained on; of equal sentences the first is named.
    """
    if not texts or not isinstance(engine, KnowsNeighbours):
        return [()] * len(texts)
    place: dict[str, int] = {}
    for index in trained:
        place.setdefault(examples[index].text, index)
    return [
        tuple((place[one.text], one.similarity) for one in near if one.text in place)
        for near in engine.neighbours(texts, NEIGHBOURS)
    ]


def _without_origins(project: Project) -> Project:
    """Locations are looked up here, not in the workers: no file's text is sent to them."""
    examples = tuple(replace(example, origin=None) for example in project.nlu.examples)
    return replace(project, nlu=replace(project.nlu, examples=examples), stories=(), rules=(), findings=(), files=())


def _processors() -> int:
    import joblib  # noqa: PLC0415 - knows about containers and affinity

    return int(joblib.cpu_count())
