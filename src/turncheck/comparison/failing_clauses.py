"""The clauses of a verdict's summary that say why it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.because import newly_failing_tests, tests_because_of
from turncheck.comparison.changes import SINGULAR, number_of
from turncheck.comparison.clauses import (
    NO_BASE,
    TEST_GATES,
    cut,
    failed_of,
    failed_tallies,
    gone_in_words,
    joined,
    newly_failing,
    short_reason,
)
from turncheck.comparison.faults import cause_first, faults_of
from turncheck.comparison.gates_on_tests import failing_of, tests_of
from turncheck.comparison.gone_tests import GONE_TESTS
from turncheck.comparison.new_errors import NEW_ERRORS, old_in_words
from turncheck.comparison.wording import count
from turncheck.messages.location import Location

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import FailedBy, GateResult
    from turncheck.report.model import Report

_ABOUT_ERRORS: Final = frozenset({"errors", NEW_ERRORS})


def failing_clauses(failing: Sequence[GateResult], report: Report, comparison: Comparison | None) -> list[str]:
    """A clause for each failing gate that adds something."""
    clauses: dict[str, None] = {}
    metrics = set()
    tests_named = False
    for gate in failing:
        if gate.follows:
            continue
        if gate.name in TEST_GATES and gate.outcome == "failed":
            if not tests_named and (words := _failed_tests(gate, report, comparison, failing)):
                clauses[words] = None
            tests_named = True
        elif gate.metric is not None and gate.metric in metrics:
            continue
        else:
            known = " ".join(clauses)
            parts = _clause(gate, report, comparison).split("; ")
            if said := "; ".join(part for part in parts if part not in known):
                clauses[said] = None
        metrics.add(gate.metric)
    return list(clauses)


def and_more(clauses: list[str], most: int) -> list[str]:
    more = len(clauses) - most
    if more <= 0:
        return clauses
    return [*clauses[: most - 1], f"{clauses[most - 1]}, and {count(more, 'more gate')} failed"]


def _clause(gate: GateResult, report: Report, comparison: Comparison | None) -> str:
    """A failing gate, without the details that belong in its own line."""
    if gate.outcome == "not judged":
        return f"{gate.name.partition(':')[0]} not judged ({short_reason(gate, comparison)})"
    if gate.name == "completed":
        return cut(f"stopped before the end: {gate.reason.partition(chr(10))[0]}")
    if gate.name == "could-be-run":
        return cause_first(faults_of(report))
    if gate.name in _ABOUT_ERRORS and len(gate.failed_by) == 1 and gate.failed_by[0].message:
        return _single_error(gate.failed_by[0], gate.name, report, comparison)
    if gate.name == GONE_TESTS and comparison is not None:
        return gone_in_words(report, comparison) or gate.reason
    if gate.name.startswith("require"):
        return cut(_figure(gate, " ("))
    if gate.name.startswith("max-regression"):
        return cut(_figure(gate, ", more than", " on the examples"))
    return cut(gate.reason)


def _figure(gate: GateResult, *details: str) -> str:
    """The reason up to its details. The metric's name, which may have a label of the project, is never cut."""
    name = gate.metric if gate.metric and gate.reason.startswith(gate.metric) else ""
    rest = gate.reason[len(name) :]
    for detail in details:
        rest = rest.partition(detail)[0]
    return name + rest


def _single_error(error: FailedBy, gate: str, report: Report, comparison: Comparison | None) -> str:
    """The message of the only error, if it is short, its place, and whether it is old."""
    words = error.message.rstrip(".")
    findings = report.validation.findings if report.validation else ()
    errors = [one for one in findings if one.severity == "error"]
    old = old_in_words(errors, comparison, "error") if gate == "errors" else ""
    words = cut(words)
    return f"{words} ({error.location}){old}" if error.location is not None else f"{words}{old}"


def _failed_tests(
    gate: GateResult, report: Report, comparison: Comparison | None, failing: Sequence[GateResult]
) -> str:
    """What failed, separated from what fails on the base too."""
    failed = failed_tallies(report)
    errors = 0 if any(one.name in _ABOUT_ERRORS for one in failing) else _new_errors(report, comparison)
    in_data = f"{count(errors, 'error')} in the data" if errors and gate.name == "new-failures" else ""
    if comparison is None or not comparison.judged:
        why = NO_BASE.get(comparison.baseline.status if comparison else "", "no baseline")
        all_new = f" ({why}, so all count as new)" if gate.name == "new-failures" else ""
        parts = [f"{joined(failed_of(tally) for tally in failed)} failed"] if failed else []
        return f"{', '.join([*parts, *([in_data] if in_data else [])])}{all_new}"
    new = newly_failing(report, comparison)
    old = sum(len(tally.failed) for tally in failed)
    old -= sum(number_of(failing_of(report, cases)) for _, cases in tests_of(comparison))
    data = [f"{in_data} that the base does not have"] if in_data else []
    if not new and not data:
        if not failed:  # the gate failed because of errors in the data, which another clause names
            return ""
        return f"{joined(failed_of(tally) for tally in failed)} failed (on the base too)"
    also = f" ({old:,} {'fails' if old == 1 else 'fail'} on the base too)" if old > 0 else ""
    first = "because of it " if new and not data and _all_because_of_one(failing, comparison) else ""
    return f"{first}{joined([*new, *data])}{also}{_because_of_a_rule(comparison) if new else ''}"


def _because_of_a_rule(comparison: Comparison) -> str:
    """``: rule 'a' was removed (data/rules.yml:3:3)``, if it has to do with all newly failing tests."""
    tests = newly_failing_tests(comparison)
    shared = [part for part in tests[0][1].rules if all(part in case.rules for _, case in tests)] if tests else []
    if not shared:
        return ""
    first, others = shared[0], len(shared) - 1
    kind = SINGULAR[first.kind]
    return f": {kind} '{first.name}' was {first.change} ({first.location}){f' and {others:,} more' if others else ''}"


def _all_because_of_one(failing: Sequence[GateResult], comparison: Comparison) -> bool:
    """Whether the single error in the data, which the line names first, explains all newly failing tests."""
    if failing[0].name not in _ABOUT_ERRORS or len(failing[0].failed_by) != 1 or comparison.base_lacks:
        return False
    explained = tests_because_of(comparison).get(failing[0].failed_by[0].location or Location(""), [])
    return len(explained) == len(newly_failing_tests(comparison))


def _new_errors(report: Report, comparison: Comparison | None) -> int:
    if comparison is not None and comparison.judged:
        return sum(finding.severity == "error" for finding in comparison.new_findings)
    return report.validation.counts.error if report.validation else 0
