"""How often the cases of a run are run: what the setting ``repeats`` means for its engine, and what can be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.gate_rules import read_threshold
from turncheck.comparison.repeats import runs_needed
from turncheck.evaluations.e2e import JUDGED_BY_BOUND
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.settings.engines import ENGINES
from turncheck.settings.repeats import AUTO, ONCE, repeat_rules

if TYPE_CHECKING:
    from turncheck.run.under_way import RunInProgress
    from turncheck.settings.repeats import RepeatRules


def rules_of(run: RunInProgress) -> RepeatRules:
    """Return how often the cases of this run are run.

    ``auto``: several times if the engine's answers vary. An engine that only needs files answers the same each time:
    there, each is run once.
    """
    setting = run.settings.repeats
    if answers_never_vary(run) or (setting == AUTO and not run.engines.capabilities.varies):
        return ONCE
    return repeat_rules(setting)


def answers_never_vary(run: RunInProgress) -> bool:
    """Whether the engine gives the same answer each time, custom actions aside."""
    return ENGINES[run.settings.engine].from_files and not run.engines.capabilities.varies


def ensure_repeats_are_possible(run: RunInProgress) -> None:
    """Make sure, before anything is asked, that the cases can be run as often as the settings demand.

    Raises:
        UserError: the budget is too small for the first runs, or a threshold could not be reached by any result.
    """
    rules = rules_of(run)
    if rules.once and run.settings.repeats != AUTO and not repeat_rules(run.settings.repeats).once:
        run.screen.note("repeats: this engine gives the same answer each time, so that each case is run once.")
    cases = [case for case in run.cases.cases if not case.expects_nothing]
    if rules.once:
        return
    if not cases or run.why_not("e2e") is not None:
        if run.settings.repeats != AUTO:
            run.screen.note("repeats: only end-to-end cases are repeated, and this run has none.")
        return
    turns = rules.first * sum(max(1, sum(turn.user is not None for turn in case.turns)) for case in cases)
    if turns > rules.turns:
        raise UserError(
            f"repeats: the budget of {rules.turns:,} turns is too small: {rules.first} runs of"
            f" {count(len(cases), 'end-to-end case')} take {turns:,}",
            remedy="Raise `turns` in `budget`, or lower `first`.",
        )
    runs = rules.first * len(cases)
    for line in run.settings.thresholds:
        threshold = read_threshold(line)
        if threshold.name not in JUDGED_BY_BOUND or threshold.operator not in {">=", ">"}:
            continue
        needed = runs_needed(threshold.limit)
        if needed is None:
            raise UserError(
                f"thresholds: '{line}' cannot be reached by any number of runs",
                location=run.inputs.rules.get(threshold.text),
                remedy="Runs only show that a share is above some limit below 1.",
            )
        if needed > runs:
            first = -(-needed // len(cases))
            raise UserError(
                f"thresholds: '{line}' needs {needed} runs, all of which pass; {rules.first} runs of"
                f" {count(len(cases), 'end-to-end case')} are {runs}",
                location=run.inputs.rules.get(threshold.text),
                remedy=f"Set `first` in `repeats` to {first}, or lower the limit.",
            )
