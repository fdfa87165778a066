"""Errors in the data beside those of the base: which are new, and the gate about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.faults import failed_by_fault, faults_in_words, faults_of, unlike
from turncheck.comparison.verdict import FailedBy, GateResult
from turncheck.comparison.wording import count, why_no_baseline
from turncheck.messages.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import FindingChange
    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Report, Skipped

NEW_ERRORS: Final = "new-errors"


def judge_new_errors(report: Report, comparison: Comparison | None) -> GateResult:
    """Judge errors in the data that the base does not have; if there is no base to compare with, these are all.

    With a base that could not be reached or read, it is not known which are new.
    """
    found, faults = _new(report, comparison)
    place = {finding.location for finding in found}
    unsaid = [one for one in faults if one.location not in place]
    if report.validation is None and not unsaid:
        skipped = next((one.reason for one in report.skipped if one.evaluation == "validate"), None)
        return GateResult(name=NEW_ERRORS, outcome="not judged", reason=skipped or "there was nothing to judge")
    compared = comparison is not None and comparison.judged
    none = "" if compared else why_no_baseline(comparison)
    if not found and not unsaid:
        reason = "no errors in the data that the base does not have" if compared else f"no errors in the data; {none}"
        return GateResult(name=NEW_ERRORS, outcome="passed", reason=reason)
    causes = (*(failed_by_finding(one, _message_now(one)) for one in found), *map(failed_by_fault, unlike(unsaid)))
    parts = [f"{count(len(found), 'error')} in the data"] if found else []
    parts += [faults_in_words(unsaid)] if unsaid else []
    if comparison is not None and comparison.baseline.status in {"unreachable", "unreadable"}:
        reason = f"{'; '.join(parts)}; {none}, so it is not known which are new"
        return GateResult(name=NEW_ERRORS, outcome="not judged", reason=reason, failed_by=causes, needs_base=True)
    of_base = " that the base does not have" if compared else f"; {none}, so every error counts as new"
    return GateResult(name=NEW_ERRORS, outcome="failed", reason=f"{'; '.join(parts)}{of_base}", failed_by=causes)


def _new(report: Report, comparison: Comparison | None) -> tuple[list[Finding | FindingChange], Sequence[Skipped]]:
    """The errors to judge, and what could not be run because of a fault."""
    if comparison is None or not comparison.judged:
        findings = report.validation.findings if report.validation else ()
        return [one for one in findings if one.severity == "error"], faults_of(report)
    new = [one for one in comparison.new_findings if one.severity == "error"]
    lost = {one.evaluation for one in comparison.lost}
    return [*new], [one for one in faults_of(report) if one.evaluation in lost]


def _message_now(finding: Finding | FindingChange) -> str:
    renamed = "" if isinstance(finding, Finding) else finding.message_now
    return renamed or finding.message


def failed_by_finding(finding: Finding | FindingChange, message: str) -> FailedBy:
    """Describe a finding that fails a gate; ``message`` may add the new name of what the change renamed."""
    what = f"{finding.code}: {message} {finding.hint}".strip()
    return FailedBy(what=what, location=finding.location, message=finding.message)


def old_in_words(found: Sequence[Finding], comparison: Comparison | None, severity: str) -> str:
    """``, both on the base too``: how many of the findings of a severity the base has; empty if none or not known."""
    if (
        comparison is None
        or not comparison.judged
        or any(one.evaluation == "validate" for one in comparison.base_lacks)
    ):
        return ""
    old = len(found) - sum(one.severity == severity for one in comparison.new_findings)
    if old <= 0:
        return ""
    many = {1: "", 2: "both "}.get(old, "all ") if old == len(found) else f"{old:,} of them "
    return f", {many}on the base too"
