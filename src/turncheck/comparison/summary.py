"""The verdict in one line: a few short clauses, the most important first, and no number twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.broken_intents import broken_intents_in_words, dropped_intents
from turncheck.comparison.changes import number_of
from turncheck.comparison.clauses import TEST_GATES, newly_failing
from turncheck.comparison.failing_clauses import and_more, failing_clauses
from turncheck.comparison.fallback_change import is_less_understood
from turncheck.comparison.gates_on_tests import newly_misunderstood
from turncheck.comparison.gone_tests import GONE_TESTS
from turncheck.comparison.new_errors import NEW_ERRORS
from turncheck.comparison.noise import is_likely_misheard
from turncheck.comparison.other_clauses import (
    ON_BASE_TOO,
    accepted_in_words,
    changes,
    gone_unjudged,
    left_open,
    misunderstood_in_words,
    not_judged,
    passed_in_words,
    trained_on,
    uncounted_clauses,
)
from turncheck.comparison.suppression_gate import NEW_SUPPRESSIONS
from turncheck.comparison.taken_away import taken_away_in_words
from turncheck.comparison.tally import tallies
from turncheck.comparison.unseen_changes import unseen_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import GateResult, Reservation
    from turncheck.report.model import GateSettings, Report

_MOST: Final = 3
"""The largest number of clauses in the line."""
_ORDER: Final = (
    *(
        "completed",
        "could-be-run",
        "errors",
        NEW_ERRORS,
        NEW_SUPPRESSIONS,
        "new-failures",
        "test-failures",
        GONE_TESTS,
        "something-was-tested",
    ),
    "require",
)
"""The order in which failing gates are named: causes before symptoms, gates about figures last."""


def summarize(
    report: Report, comparison: Comparison | None, gates: Sequence[GateResult], settings: GateSettings
) -> str:
    """Say what happened: first what broke, or what passed; then what failed and does not count; then what is open."""
    compared = comparison if comparison and comparison.judged else None
    failing = sorted((gate for gate in gates if gate.fails), key=_rank)
    about = {gate.metric for gate in failing}
    intents = broken_intents_in_words(compared, about) if compared else ""
    misunderstood = misunderstood_in_words(report, compared)
    words = and_more(failing_clauses(failing, report, comparison), _MOST - bool(intents))
    causes, symptoms = (words[:0], words) if failing and failing[0].name in TEST_GATES else (words[:1], words[1:])
    broken = [clause for clause in (*causes, intents, *symptoms, misunderstood) if clause]
    newly_broken = words or intents or (misunderstood and not misunderstood.endswith(ON_BASE_TOO))
    away = taken_away_in_words(compared) if compared else []
    if newly_broken:
        clauses = [[*causes, *away[:1], *broken[len(causes) :], *away[1:]]]
    else:
        clauses = [[*away[:1], passed_in_words(report, compared), *broken, *away[1:]]]
    clauses.append(uncounted_clauses(report, compared, gates, settings))
    clauses.append([unseen_in_words(compared, report.engine.name)] if compared and report.engine else [])
    clauses.append([accepted_in_words(report, compared, gates)])
    clauses.append([left_open(report, comparison, gates, " ".join(clauses[0]))])
    clauses.append([trained_on(report, compared)])
    clauses.append(changes(report, compared, failing) if compared and not broken and not away else [])
    return "; ".join([clause for part in clauses for clause in part if clause][:_MOST])


def reservation(report: Report, comparison: Comparison | None, gates: Sequence[GateResult]) -> Reservation:
    """Return the reason why "passed" alone would be misleading, if there is one."""
    found = tallies(report)
    if any(tally.failed for tally in found):
        new = next((gate for gate in gates if gate.name == "new-failures"), None)
        old = new is not None and new.outcome == "passed" and comparison is not None and comparison.judged
        return (_suppressed(comparison) or "old failures only") if old else "although tests fail"
    if taken := _reservation_by_comparison(report, comparison, gates):
        return taken
    if misunderstood := _misunderstood(report, comparison):
        return misunderstood
    if comparison is not None and comparison.unseen_changes:
        return "a change cannot be judged" if len(comparison.unseen_changes) == 1 else "changes cannot be judged"
    if any(tally.none_ran for tally in found):
        return "not all tests were run"
    return "not all gates were judged" if not_judged(report, gates) else ""


def _reservation_by_comparison(
    report: Report, comparison: Comparison | None, gates: Sequence[GateResult]
) -> Reservation:
    if comparison is None or not comparison.judged:
        return ""
    if newly_failing(report, comparison):
        return "although tests fail"
    if any(one.unjudged for one in comparison.cut_intents):
        return "less is judged"
    if gone_unjudged(report, comparison, gates):
        return "although tests are gone"
    if suppressed := _suppressed(comparison):
        return suppressed
    if comparison.collisions:
        return "intents collide"
    if is_less_understood(comparison):
        return "less is understood"
    return "an intent is worse" if dropped_intents(comparison) else ""


def _misunderstood(report: Report, comparison: Comparison | None) -> Reservation:
    """Say that tests passed although a message was misunderstood: where there is a base, newly."""
    newly = newly_misunderstood(report, comparison)
    judged = comparison is not None and comparison.judged
    if comparison is not None and judged:
        newly = [(name, cases) for name, cases in newly if not is_likely_misheard(comparison, name)]
    numbers = {
        tally.evaluation: sum(number_of(cases) for name, cases in newly if name == tally.evaluation)
        if judged
        else len(tally.misunderstood)
        for tally in tallies(report)
    }
    if stories := numbers.get("core", 0):
        return "a story is misunderstood" if stories == 1 else "stories are misunderstood"
    if cases := numbers.get("e2e", 0):
        return "an end-to-end case is misunderstood" if cases == 1 else "end-to-end cases are misunderstood"
    return ""


def _suppressed(comparison: Comparison | None) -> Reservation:
    """Say that the change suppresses something that would have failed the run."""
    if comparison is None or not comparison.judged or not comparison.new_suppressions:
        return ""
    errors = sum(one.severity == "error" for one in comparison.new_suppressions)
    if errors:
        return "an error is newly suppressed" if errors == 1 else "errors are newly suppressed"
    single = len(comparison.new_suppressions) == 1
    return "a warning is newly suppressed" if single else "warnings are newly suppressed"


def _rank(gate: GateResult) -> int:
    name = gate.name.partition(":")[0]
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
