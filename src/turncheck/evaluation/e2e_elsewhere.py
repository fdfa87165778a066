"""End-to-end cases that are run by the workers of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.evaluation.answers import unanswered
from turncheck.evaluation.e2e import NOT_FINISHED, case_units, run_unless_lost, section_of
from turncheck.evaluation.e2e_case import CaseOutcome, skipped_case
from turncheck.evaluation.e2e_coverage import Exercised
from turncheck.messages.engine_errors import CutShortError, EngineError
from turncheck.work.workplace import batches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from turncheck.engines.conversation import ConversationEngine
    from turncheck.evaluation.answers import Answers
    from turncheck.evaluation.e2e_case import CaseRun
    from turncheck.project.e2e.model import E2ECase
    from turncheck.work.workplace import Workplace


@dataclass(frozen=True, slots=True)
class CasesRun:
    """The answers of ``others``, and the outcomes of the cases that workers ran."""

    others: Answers
    outcomes: Mapping[str, CaseOutcome]

    def known(self, unit: str) -> Any | None:
        """Return the outcome of a case."""
        return self.outcomes.get(unit) or self.others.known(unit)

    def is_asked(self, unit: str) -> bool:
        """Whether ``others`` says so."""
        return self.others.is_asked(unit)

    def keep(self, unit: str, answer: Any) -> None:
        """Pass the answer on to ``others``."""
        self.others.keep(unit, answer)


def run_elsewhere(
    engine: ConversationEngine, cases: Sequence[E2ECase], run: CaseRun, answers: Answers, work: Workplace
) -> Answers:
    """Have the requested cases run by workers, and return the answers with their outcomes.

    A case in which the engine failed has none: it is run here, which shows why.

    Raises:
        CutShortError: the cluster could not go on, or the run was interrupted; in ``finished``, cases that were not
            run are skipped.
    """
    by_unit = dict(zip(case_units(cases), cases, strict=True))
    parts = batches([(unit, by_unit[unit]) for unit in unanswered(answers, by_unit)], work)
    outcomes: dict[str, CaseOutcome] = {}
    try:
        for _, found in work.each(_run_batch, (engine, run), parts, total=len(parts), kind="batch of cases"):
            for unit, outcome in found.items():
                outcomes[unit] = outcome
                answers.keep(unit, outcome)
    except (EngineError, KeyboardInterrupt) as error:
        stopped = CutShortError(error)
        reason = NOT_FINISHED if stopped.interrupted else f"not run: {stopped.what}"
        known = CasesRun(answers, outcomes)
        all_of_them = [
            known.known(unit) or CaseOutcome(skipped_case(case, reason), Exercised()) for unit, case in by_unit.items()
        ]
        raise CutShortError(error, section_of(all_of_them, (NOT_FINISHED,) if stopped.interrupted else ())) from error
    return CasesRun(answers, outcomes)


def _run_batch(
    shared: tuple[ConversationEngine, CaseRun], cases: Sequence[tuple[str, E2ECase]]
) -> dict[str, CaseOutcome]:
    engine, run = shared
    found = ((unit, run_unless_lost(engine, case, run, {}, 0)) for unit, case in cases)
    return {unit: outcome for unit, outcome in found if outcome is not None}
