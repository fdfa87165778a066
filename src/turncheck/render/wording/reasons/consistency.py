"""Why the gate about tests ended as it did that were only held against the files of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from turncheck.comparison.consistent_tests import consistency_of
from turncheck.messages.phrasing import count
from turncheck.render.wording.reasons.tests import MAY_BE_DELETED

if TYPE_CHECKING:
    from turncheck.gates.judged import JudgedGate
    from turncheck.render.wording.reasons.context import Context, Reasons
    from turncheck.report.model import Report


def consistent_in_words(report: Report) -> str:
    """Say what was checked against each other, and how many of the steps the tests name."""
    checked = consistency_of(report)
    if checked is None:
        return ""
    flows = f"{count(len(checked.flows), 'flow')} with {count(checked.steps, 'step')}"
    if not checked.tests:
        return f"{flows} checked; there are no tests"
    are = "is" if checked.named == 1 else "are"
    tests = f"{count(len(checked.tests), 'test case')} ({checked.named:,} of the steps {are} named)"
    return f"{flows} and {tests} checked against each other"


def nothing_tested_in_words(report: Report) -> str:
    """``nothing was tested``, which is not true if files were checked against each other."""
    return "nothing was tested" if consistency_of(report) is None else "only files were checked"


def inconsistent_in_words(report: Report) -> str:
    """``7 of 8 test cases expect what is not there``."""
    checked = consistency_of(report)
    if checked is None:
        return ""
    expect = "expects" if len(checked.inconsistent) == 1 else "expect"
    return f"{len(checked.inconsistent):,} of {count(len(checked.tests), 'test case')} {expect} what is not there"


def _gone_or_inconsistent(gate: JudgedGate, context: Context) -> str:
    """``1 test case of the base is gone``; which other tests expect what is not there."""
    change = context.compared.consistency if context.compared is not None else UNSET
    gone = len(gate.causes) - (0 if isinstance(change, UnsetType) else len(change.newly))
    words = f"{count(gone, 'test case')} of the base {'is' if gone == 1 else 'are'} gone{MAY_BE_DELETED}"
    return f"{words}; {inconsistent_in_words(context.report)}" if len(gate.causes) > gone else words


REASONS: Final[Reasons] = {
    "consistent": lambda _, context: consistent_in_words(context.report),
    "inconsistent": lambda _, context: inconsistent_in_words(context.report),
    "tests gone": _gone_or_inconsistent,
}
