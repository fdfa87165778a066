"""The end-to-end cases of a run."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from turncheck.evaluation.answers import unanswered
from turncheck.evaluation.e2e import case_units, evaluate_cases, run_elsewhere
from turncheck.evaluation.e2e_case import CaseRun
from turncheck.run.assistant import running_server, where_actions_are

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.base import Engine
    from turncheck.engines.conversation import ConversationEngine
    from turncheck.evaluation.answers import Answers
    from turncheck.evaluation.e2e_steps import SlotOrder
    from turncheck.process.screen import Console
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project
    from turncheck.report.model import EndToEnd
    from turncheck.run.inputs import Inputs
    from turncheck.settings.options import Settings
    from turncheck.work.workplace import Executor


def slot_order_of(settings: Settings) -> SlotOrder:
    """Return how consecutive ``slot_was_set`` steps are judged."""
    return "any" if settings.slot_order == "any" else "strict"


def measure_cases(
    inputs: Inputs,
    project: Project,
    cases: Sequence[E2ECase],
    engines: Engine,
    *,
    screen: Console,
    answers: Answers,
    work: Executor,
) -> EndToEnd:
    """Run the conversations of the cases; the action server is started if any of them has no answers yet."""
    settings = inputs.settings
    run = CaseRun(slot_order=slot_order_of(settings), workers=max(engines.at_once, settings.workers))
    engine: ConversationEngine | None = None
    with ExitStack() as stack:
        if unanswered(answers, case_units(cases)):
            running = running_server(
                settings, project, inputs.environment, screen, inputs.hosts, variables=inputs.file_variables
            )
            server = stack.enter_context(running)
            engine = engines.assistant(server)
            if (place := where_actions_are(server, work, settings, screen)).size:
                answers = run_elsewhere(engine, cases, run, answers, place)
        return evaluate_cases(engine, cases, run, timed=screen.timer("e2e"), answers=answers)
