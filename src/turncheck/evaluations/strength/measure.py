"""How the strength of the tests is measured: they are run on mutants of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.evaluations.strength.strength import StrengthRun, evaluate_strength
from turncheck.report.model import Skipped
from turncheck.run.assistant import action_server, where_actions_are
from turncheck.run.trainable import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.engines.base import Engine
    from turncheck.engines.conversation import ActionServer
    from turncheck.evaluations.strength.mutant import Lines
    from turncheck.project.model import Project
    from turncheck.report.model import Strength
    from turncheck.run.changed_lines import ChangedLines
    from turncheck.run.under_way import RunInProgress
    from turncheck.settings.options import Settings
    from turncheck.validation.facts import ProjectTests
    from turncheck.work.workplace import Executor


def measure(run: RunInProgress) -> Strength | None:
    """Try the tests on the project with one small fault at a time; only on request.

    If requested by name it covers everything, unless the settings restrict it to changed lines.
    """
    tests, whole = run.project_tests, run.settings.strength != "changed"
    why_not = None if run.stopped is None else run.not_now("strength")
    why_not = why_not or run.not_possible("strength") or _unreadable_tests(run)
    if why_not is None and not (tests.stories or tests.examples or tests.cases):
        why_not = Skipped(evaluation="strength", reason="the project has no tests", no_tests=True)
    changed = None if whole or run.inputs.changed is None else run.inputs.changed()
    if why_not is None and not whole and (reason := why_no_mutants(changed)) is not None:
        why_not = Skipped(evaluation="strength", reason=reason, no_tests=True)
    if why_not is not None:
        run.skip(why_not)
        return None

    def all_mutants() -> Strength:
        with action_server(run.inputs, run.project, run.screen) as server:
            return measure_strength(
                run.engines,
                run.project,
                tests,
                run.settings,
                changed=None if whole or changed is None else changed.by_file,
                server=server,
                work=where_actions_are(server, run.work, run.settings, run.screen),
                suggest=True,
            )

    with run.screen.step("strength", "Trying the tests on mutants"):
        return run.in_one_piece("strength", all_mutants)


def _unreadable_tests(run: RunInProgress) -> Skipped | None:
    """If some tests cannot be read, the others would seem to notice too little."""
    return (
        unreadable("strength", run.tests.nlu_findings, of="nlu")
        or unreadable("strength", run.tests.story_findings, of="core")
        or unreadable("strength", run.cases.findings, of="e2e")
    )


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
