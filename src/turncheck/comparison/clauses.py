"""The words and phrases that the clauses of a verdict's summary share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.changes import number_of
from turncheck.comparison.faults import faults_of
from turncheck.comparison.gates_on_tests import GONE_TESTS, LOST, failing_of, no_longer_checked, tests_of
from turncheck.comparison.tally import NAMES, tallies
from turncheck.comparison.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.tally import Tally
    from turncheck.comparison.verdict import GateResult
    from turncheck.report.model import Report

_LONGEST: Final = 120
TEST_GATES: Final = frozenset({"test-failures", "new-failures"})
NO_BASE: Final = {
    "unreachable": "the baseline could not be reached",
    "unreadable": "the baseline could not be read",
}


def gone_in_words(report: Report, comparison: Comparison) -> str:
    """``7 stories gone, the end-to-end cases are no longer run``."""
    faulty = {fault.evaluation for fault in faults_of(report)}
    parts = [
        one.reason if one.files else LOST[one.evaluation] for one in comparison.lost if one.evaluation not in faulty
    ]
    whole = {one.evaluation for one in comparison.lost}
    for evaluation, cases in tests_of(comparison):
        if cases.gone:
            parts.append(f"{count(number_of(cases.gone), *NAMES[evaluation])} gone")
        if cases.not_run and evaluation not in whole:
            parts.append(f"{count(number_of(cases.not_run), *NAMES[evaluation])} of the base not run")
    hidden = [f"'{one.location.path}'" for one in no_longer_checked(comparison)]
    where = f" ({joined(hidden[:2])} {'is' if len(hidden) == 1 else 'are'} not looked for)" if parts and hidden else ""
    return f"{', '.join(parts)}{where}"


def failed_of(tally: Tally) -> str:
    return f"{len(tally.failed):,} of {tally.counted(tally.ran)}"


def newly_failing(report: Report, comparison: Comparison) -> list[str]:
    """``2 stories newly fail``, ``1 new end-to-end case fails``, ``1 of 2 stories failed (the base ran none)``."""
    parts = []
    not_on_base = {one.evaluation for one in comparison.base_lacks if one.cases is None}
    parts += [
        f"{failed_of(t)} failed (the base ran none)" for t in failed_tallies(report) if t.evaluation in not_on_base
    ]
    for name, cases in tests_of(comparison):
        one, many = NAMES[name]
        if name in not_on_base:
            continue
        failing = failing_of(report, cases)
        new = number_of(case for case in failing if case.base_location is None)
        known = [case for case in failing if case.base_location is not None]
        misunderstood = number_of(case for case in known if case.misunderstood)
        if broken := number_of(known) - misunderstood:
            parts.append(f"{count(broken, one, many)} newly {'fails' if broken == 1 else 'fail'}")
        if misunderstood:
            parts.append(f"{count(misunderstood, one, many)} newly misunderstood")
        if new:
            parts.append(f"{new:,} new {one if new == 1 else many} {'fails' if new == 1 else 'fail'}")
    return parts


def failed_tallies(report: Report) -> list[Tally]:
    return [tally for tally in tallies(report) if tally.failed]


def joined(parts: Iterable[str]) -> str:
    return " and ".join(parts)


def short_reason(gate: GateResult, comparison: Comparison | None) -> str:
    if gate.needs_base or gate.name == GONE_TESTS:
        if comparison is None or comparison.judged:
            return cut(gate.reason)
        return NO_BASE.get(comparison.baseline.status, cut(f"no baseline: {comparison.baseline.reason}"))
    return cut(gate.reason)


def cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
