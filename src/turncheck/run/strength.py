"""The tests of a project, run on its mutants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.evaluation.strength.strength import StrengthRun, evaluate_strength

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.engines.base import Engine
    from turncheck.engines.conversation import ActionServer
    from turncheck.evaluation.strength.mutant import Lines
    from turncheck.project.model import Project
    from turncheck.report.model import Strength
    from turncheck.run.changed_lines import ChangedLines
    from turncheck.settings.options import Settings
    from turncheck.validation.facts import ProjectTests
    from turncheck.work.workplace import Executor


def measure_strength(
    engines: Engine,
    project: Project,
    tests: ProjectTests,
    settings: Settings,
    *,
    changed: Lines | None,
    server: ActionServer,
    work: Executor,
    most: int = 0,
    suggest: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Strength:
    """Run the tests on the mutants of all lines, or of those that a change touches.

    Raises:
        UserError: the project cannot be trained.
        CutShortError: the cluster is gone, or it was interrupted; ``finished`` are the figures until then.
    """
    run = StrengthRun(
        seed=settings.seed,
        budget=settings.strength_budget,
        most=most,
        changed=changed,
        suggest=suggest,
    )
    workshop = engines.workshop(settings.seed)
    return evaluate_strength(project, workshop, tests, run, server=server, work=work, progress=progress)


def why_no_mutants(changed: ChangedLines | None) -> str | None:
    """Return why there are no mutants for a change."""
    if changed is None:
        return "which lines changed is not known here"
    if changed.unknown:
        return f"no changed lines to try: {changed.unknown}"
    return None if changed.by_file else "the change touches no line of the project"
