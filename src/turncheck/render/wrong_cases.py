"""What is wrong in a report, whatever the base says: failed tests, misclassified sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from turncheck.comparison.cases import batch_cases, end_to_end_cases, intent_cases, story_cases
from turncheck.comparison.changed_cases import case_alone

if TYPE_CHECKING:
    from turncheck.comparison.cases import Case
    from turncheck.comparison.changes import CaseChange
    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Report


def wrong_tests(report: Report) -> list[tuple[str, CaseChange]]:
    """Stories, end-to-end and batch cases that fail, with what they are called, in the report's order.

    Those that are only misunderstood are a class of their own: :func:`misunderstood_stories`,
    :func:`misunderstood_cases`.
    """
    kinds = (
        ("story", story_cases(report)),
        ("end-to-end case", end_to_end_cases(report)),
        ("batch case", batch_cases(report)),
    )
    return [(kind, _wrong(case)) for kind, cases in kinds for case in cases if case.failed]


def new_and_old(
    report: Report, compared: Comparison | None
) -> tuple[list[tuple[str, CaseChange]], list[tuple[str, CaseChange]]]:
    """Split :func:`wrong_tests`: those that are new, and those that fail on the base too (none without a base)."""
    tests = wrong_tests(report)
    if compared is None or not compared.judged:
        return tests, []
    kinds = (("story", compared.stories), ("end-to-end case", compared.e2e), ("batch case", compared.batch))
    news = {(kind, case.name, case.location) for kind, cases in kinds for case in cases.newly_failing}
    new: list[tuple[str, CaseChange]] = []
    old: list[tuple[str, CaseChange]] = []
    for kind, case in tests:
        (new if (kind, case.name, case.location) in news else old).append((kind, case))
    return new, old


def misunderstood_stories(report: Report) -> list[CaseChange]:
    """Stories that fail only because a sentence is understood differently than written."""
    return [_wrong(case) for case in story_cases(report) if case.misunderstood]


def misunderstood_cases(report: Report) -> list[CaseChange]:
    """End-to-end cases that fail only because a sentence is understood differently than on the base."""
    return [_wrong(case) for case in end_to_end_cases(report) if case.misunderstood]


def wrong_sentences(report: Report) -> list[CaseChange]:
    """Test sentences whose intent is wrong, the most confident error first."""
    wrong = [_wrong(case) for case in intent_cases(report) if not case.passed]
    return sorted(wrong, key=lambda case: -(case.confidence or 0.0))


def _wrong(case: Case) -> CaseChange:
    return msgspec.structs.replace(
        case_alone(case), passed=False, base_passed=False, base_misunderstood=case.misunderstood, rests_on=()
    )
