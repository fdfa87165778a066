"""Gates about findings in the data: all of a severity, those that the base does not have, those newly suppressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from turncheck.comparison.failed_tests import unknown_findings
from turncheck.comparison.failures import BadFinding
from turncheck.comparison.renames import message_of
from turncheck.comparison.tally import causes_of, faults_of
from turncheck.gates.judged import Findings, JudgedGate, NoFigure
from turncheck.messages.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.comparison.changes import FindingChange
    from turncheck.comparison.failures import Cause
    from turncheck.gates.gate import Gate
    from turncheck.gates.judged import Judging
    from turncheck.messages.finding import Severity
    from turncheck.report.model import Report, Skipped

Why = Literal[
    "no findings", "found", "new", "new not known", "hidden on base", "not validated",
    "no base", "suppressed", "none suppressed", "suppressions not known",
]  # fmt: skip
"""Why such a gate ended as it did."""


def severity_of(gate: Gate) -> Severity:
    """Return the severity of the findings that a gate is about."""
    return "warning" if gate.subject == "warnings" else "error"


def judge_all(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge findings of a severity; what could not be run is an error, too, if no finding says so at its place."""
    is_on = judging.is_on(gate) if gate.setting == "fail-on" else judging.rules.fail_on_warnings
    if not is_on:
        return
    report, severity = judging.report, severity_of(gate)
    found = _of(report, severity)
    unsaid = _unsaid(faults_of(report), found) if severity == "error" else ()
    if report.validation is None and not unsaid:
        yield _not_validated(gate, report)
        return
    facts = (Findings(severity, tuple(found), unsaid),)
    if not found and not unsaid:
        yield JudgedGate(gate, "passed", "no findings", facts)
        return
    renamed = judging.comparison.renamed if judging.comparison else ()
    findings = (
        BadFinding(finding, message_of(finding, renamed), advises=True, location=finding.location) for finding in found
    )
    yield JudgedGate(gate, "failed", "found", facts, causes=(*findings, *causes_of(unsaid)))


def judge_new(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge findings of a severity that the base does not have; if there is no base to compare with, these are all.

    With a base that could not be reached or read, it is not known which are new.
    """
    if not judging.is_on(gate):
        return
    comparison, severity = judging.comparison, severity_of(gate)
    found, faults = _new(judging, severity)
    unsaid = _unsaid(faults, found)
    if judging.report.validation is None and not unsaid:
        yield _not_validated(gate, judging.report)
        return
    facts = (Findings(severity, tuple(found), unsaid),)
    if not found and not unsaid:
        unknown = unknown_findings(comparison, severity) if comparison is not None else ()
        if unknown:
            yield JudgedGate(gate, "not judged", "hidden on base", causes=unknown)
        else:
            yield JudgedGate(gate, "passed", "no findings", facts)
        return
    causes: list[Cause] = [BadFinding(one, _message_now(one), advises=True, location=one.location) for one in found]
    causes += causes_of(unsaid)
    if comparison is not None and comparison.baseline.status in {"unreachable", "unreadable"}:
        yield JudgedGate(gate, "not judged", "new not known", facts, needs_base=True, causes=tuple(causes))
    else:
        yield JudgedGate(gate, "failed", "new", facts, causes=tuple(causes))


def judge_suppressions(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge errors that a comment or the setting ``ignore`` suppresses here and did not on the base."""
    if not judging.is_on(gate):
        return
    if (compared := judging.compared) is None:
        yield JudgedGate(gate, "not judged", "no base")
    elif changes := compared.new_suppressions:
        causes = tuple(BadFinding(one, one.message, advises=False, location=one.location) for one in changes)
        yield JudgedGate(gate, "failed", "suppressed", causes=causes)
    elif not compared.suppressions_known:
        yield JudgedGate(gate, "not judged", "suppressions not known")
    else:
        yield JudgedGate(gate, "passed", "none suppressed")


def _of(report: Report, severity: Severity) -> list[Finding]:
    findings = report.validation.findings if report.validation else ()
    return [finding for finding in findings if finding.severity == severity]


def _unsaid(faults: Sequence[Skipped], found: Sequence[Finding | FindingChange]) -> tuple[Skipped, ...]:
    """The faults that no finding names at its place."""
    locations = {finding.location for finding in found}
    return tuple(fault for fault in faults if fault.location not in locations)


def _not_validated(gate: Gate, report: Report) -> JudgedGate:
    """A gate about findings, of a report that has none since the data were not validated."""
    skipped = next((one.reason for one in report.skipped if one.evaluation == "validate"), None)
    return JudgedGate(gate, "not judged", "not validated", (NoFigure(skipped),) if skipped else ())


def _new(judging: Judging, severity: Severity) -> tuple[Sequence[Finding | FindingChange], Sequence[Skipped]]:
    """The findings to judge, and what could not be run because of a fault, which is an error."""
    faults = faults_of(judging.report) if severity == "error" else ()
    if (compared := judging.compared) is None:
        return _of(judging.report, severity), faults
    lost = {one.evaluation for one in compared.lost}
    new = [finding for finding in compared.new_findings if finding.severity == severity]
    return new, [skipped for skipped in faults if skipped.evaluation in lost]


def _message_now(finding: Finding | FindingChange) -> str:
    renamed = "" if isinstance(finding, Finding) else finding.message_now
    return renamed or finding.message
