"""The gate about tests that were only held against the files of the project, where nothing runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from turncheck.comparison.consistent_tests import consistency_of
from turncheck.comparison.failures import FaultOf
from turncheck.gates.judged import JudgedGate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from turncheck.gates.gate import Gate
    from turncheck.gates.judged import Judging
    from turncheck.report.consistency import CheckedTest, InconsistentTest

Why = Literal["consistent", "inconsistent", "tests gone"]
"""Why such a gate ended as it did."""


def judge_consistent_tests(gate: Gate, judging: Judging) -> Iterator[JudgedGate]:
    """Judge whether all tests expect only what the project has; against a base, whether none newly does otherwise.

    A test of the base that is gone fails it, too, unless that is accepted. If there are no files of this kind, there is
    nothing to say.
    """
    checked = consistency_of(judging.report)
    change = judging.compared.consistency if judging.compared is not None else UNSET
    if checked is None:
        return
    if isinstance(change, UnsetType):
        gone, wrong, old = [], checked.inconsistent, False
    else:
        gone = [test for test in change.gone if not _is_accepted(test, judging.rules.accept_gone)]
        wrong, old = change.newly, bool(checked.inconsistent)
    if causes := (*map(_gone, gone), *map(_wrong, wrong)):
        why = "tests gone" if gone else "inconsistent"
        yield JudgedGate(gate, "failed", why, causes=causes, needs_base=bool(gone))
    else:
        yield JudgedGate(gate, "passed", "inconsistent" if old else "consistent")


def _is_accepted(test: CheckedTest, accepted: Collection[str]) -> bool:
    return bool({test.name, test.location.path, "e2e"} & set(accepted))


def _gone(test: CheckedTest) -> FaultOf:
    return FaultOf(f"the test case '{test.name}' is gone", location=test.location)


def _wrong(test: InconsistentTest) -> FaultOf:
    return FaultOf(f"test case {test.name} expects the {test.lacks}", location=test.at)
