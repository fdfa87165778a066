"""The gate about errors that a change suppresses in place of fixing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.comparison.verdict import FailedBy, GateResult
from turncheck.comparison.wording import count, why_no_baseline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.changes import FindingChange
    from turncheck.comparison.model import Comparison

NEW_SUPPRESSIONS: Final = "new-suppressions"


def judge_new_suppressions(comparison: Comparison | None) -> GateResult:
    """Judge errors that a comment or the setting ``ignore`` suppresses here and did not on the base."""
    if comparison is None or not comparison.judged:
        return GateResult(name=NEW_SUPPRESSIONS, outcome="not judged", reason=why_no_baseline(comparison))
    if found := comparison.new_suppressions:
        failed_by = tuple(FailedBy(what=f"{one.code}: {one.message}", location=one.location) for one in found)
        reason = suppressed_in_words(found)
        return GateResult(name=NEW_SUPPRESSIONS, outcome="failed", reason=reason, failed_by=failed_by)
    if not comparison.suppressions_known:
        reason = "the baseline's report is of an older version, which does not say what is suppressed"
        return GateResult(name=NEW_SUPPRESSIONS, outcome="not judged", reason=reason)
    return GateResult(name=NEW_SUPPRESSIONS, outcome="passed", reason="no error is newly suppressed")


def suppressed_in_words(found: Sequence[FindingChange]) -> str:
    """Return ``2 errors newly suppressed``; warnings are counted apart."""
    numbers = {one: sum(finding.severity == one for finding in found) for one in ("error", "warning")}
    return f"{' and '.join(count(number, what) for what, number in numbers.items() if number)} newly suppressed"
