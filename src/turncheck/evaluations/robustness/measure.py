"""How robustness is measured: held-out sentences are varied, else those of the training data, by folds."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from turncheck.evaluations.answers import COMPUTE_LOCALLY, Answers
from turncheck.evaluations.nlu.judging import why_not_testable
from turncheck.evaluations.nlu.measure import KeptAnswers
from turncheck.messages.errors import IncompleteError
from turncheck.messages.phrasing import at_paths
from turncheck.report.model import Skipped
from turncheck.run.skipping import unreadable
from turncheck.work.workplace import INLINE, Executor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.base import Engine
    from turncheck.evaluations.robustness.robustness import TrainingSentences
    from turncheck.process.cache import Cache
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.report.model import Robustness
    from turncheck.run.under_way import RunInProgress
    from turncheck.settings.options import Settings


def measure(run: RunInProgress) -> Robustness | None:
    """Vary the test sentences the way real users write; only on request."""
    tests = run.tests.nlu
    untrainable = run.engines.capabilities.no_training if tests is None else None
    reason = untrainable or why_not_testable(run.project, tests, folds=run.settings.folds)
    why_not = run.why_not("robustness", in_folds=tests is None)
    if reason and tests is not None and run.settings.nlu:
        reason += at_paths((run.settings.nlu,))
    if why_not is None and reason:
        why_not = Skipped(evaluation="robustness", reason=reason, no_tests=True)
    why_not = unreadable("robustness", run.tests.nlu_findings, of="nlu") or why_not
    if why_not is not None:
        run.skip(why_not)
        return None
    with run.screen.step("robustness", "Varying the test sentences"):
        return run.as_single_unit(
            "robustness",
            lambda: measure_robustness(
                run.engines, run.project, tests, run.settings, work=run.work, cache=run.inputs.cache
            ),
        )


def measure_robustness(
    engines: Engine,
    project: Project,
    tests: NluData | None,
    settings: Settings,
    *,
    work: Executor,
    cache: Cache | None = None,
) -> Robustness:
    """Vary the test sentences where there are any, else the project's own; cached folds are not trained again.

    Raises:
        UserError: the project's own word lists cannot be read, or it cannot be trained.
        IncompleteError: the engine failed, or the run was interrupted; ``finished`` are the figures until then.
    """
    from turncheck.evaluations.robustness.robustness import cross_validate_robustness, evaluate_robustness

    engine = engines.nlu if tests is not None else None
    if tests is not None and engine is not None:
        return evaluate_robustness(project, engine, tests, seed=settings.seed)
    return cross_validate_robustness(
        project,
        engines.nlu_trainer,
        folds=settings.folds,
        seed=settings.seed,
        work=INLINE if engines.capabilities.slow_training else work,
        answers_about=lambda variants, asked: _kept(engines, settings, cache, variants, asked),
    )


def _kept(
    engines: Engine,
    settings: Settings,
    cache: Cache | None,
    variants: Mapping[str, Sequence[str]],
    asked: Mapping[int, Sequence[str]],
) -> Answers:
    """Return what earlier runs answered for the same variants; ``asked`` are all sentences of each fold."""
    key = None if cache is None else engines.key_of_folds(settings.folds)
    # Messages that state their intent are read by the domain, which is only part of the key if a sentence does so.
    outright = any(text.lstrip().startswith("/") for texts in variants.values() for text in texts)
    if cache is None or key is None or outright:
        return COMPUTE_LOCALLY
    varied = json.dumps([key, list(variants.items())])
    return KeptAnswers(COMPUTE_LOCALLY, asked, cache, hashlib.sha256(varied.encode()).hexdigest())


def measure_training_sentences(
    engines: Engine, project: Project, tests: NluData | None, settings: Settings
) -> tuple[TrainingSentences, ...]:
    """Return training sentences with which fewer variants of the test sentences are misunderstood; none without these.

    Raises:
        UserError: the project's own word lists cannot be read, or it cannot be trained.
        IncompleteError: the engine failed, or it was interrupted: with some of the variants nothing can be decided.
    """
    from turncheck.evaluations.robustness.robustness import evaluate_robustness, training_sentences

    engine = engines.nlu
    if tests is None or engine is None:
        return ()
    try:
        robustness = evaluate_robustness(project, engine, tests, seed=settings.seed)
        return training_sentences(project, tests, robustness, engines.nlu_trainer, settings.seed)
    except IncompleteError as error:
        error.finished = None
        raise
