"""The gate about tests that were only held against the files of the project, where nothing runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UnsetType

from turncheck.comparison.judged import FaultOf, Judged

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison
    from turncheck.report.consistency import Consistency
    from turncheck.report.model import Report

CONSISTENT: Final = "consistent-tests"
_CANNOT_PASS: Final = frozenset({"flow-test-cannot-pass", "flow-test-names-nothing"})
"""The findings on tests that expect what is not there."""


def consistency_of(report: Report) -> Consistency | None:
    """Return what a run checked against each other, if it did."""
    checked = report.consistency
    return None if isinstance(checked, UnsetType) or not checked.flows else checked


def judge_consistent_tests(report: Report, comparison: Comparison | None) -> Judged | None:
    """Judge whether all tests expect only what the project has; against a base, whether none newly does otherwise.

    ``None``: there are no files of this kind.
    """
    checked = consistency_of(report)
    if checked is None:
        return None
    causes = tuple(
        FaultOf(f"test case {test.name} expects the {test.lacks}", location=test.at) for test in checked.inconsistent
    )
    if not causes:
        return Judged(CONSISTENT, "passed", "consistent")
    if comparison is not None and comparison.judged and not _newly(comparison):
        return Judged(CONSISTENT, "passed", "inconsistent")
    return Judged(CONSISTENT, "failed", "inconsistent", causes=causes)


def _newly(comparison: Comparison) -> bool:
    return any(finding.code in _CANNOT_PASS for finding in comparison.new_findings)
