"""Language understanding of a run: held out, or by folds whose answers may be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.evaluation.fold_runs import FoldRun
from turncheck.evaluation.nlu import cross_validate, evaluate_held_out
from turncheck.run.kept_answers import KeptAnswers
from turncheck.work.workplace import HERE

if TYPE_CHECKING:
    from turncheck.engines.base import Engines
    from turncheck.engines.parse import NluEngine
    from turncheck.evaluation.answers import Answers
    from turncheck.evaluation.nlu import NluMeasurement
    from turncheck.process.cache import Cache
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.settings.options import Settings
    from turncheck.work.workplace import Workplace


def measure_held_out(
    engines: Engines, engine: NluEngine, project: Project, tests: NluData, answers: Answers
) -> NluMeasurement:
    """Test the engine of the whole project on sentences that it was not trained on."""
    return evaluate_held_out(
        project,
        engine,
        tests,
        unknown_entities=engines.capabilities.unknown_entities,
        team_confidences=engines.team_confidences,
        answers=answers,
    )


def measure_by_folds(
    engines: Engines, project: Project, settings: Settings, *, answers: Answers, cache: Cache | None, work: Workplace
) -> NluMeasurement:
    """Cross-validate; what earlier runs answered for the same sentences is taken from the cache."""
    key = None if cache is None else engines.key_of_folds(settings.folds)
    return cross_validate(
        project,
        engines.nlu_trainer,
        folds=settings.folds,
        seed=settings.seed,
        work=HERE if engines.capabilities.slow_training else work,
        unknown_entities=engines.capabilities.unknown_entities,
        team_confidences=engines.team_confidences,
        answers=answers if cache is None or key is None else KeptAnswers(answers, FoldRun, cache, key),
    )
