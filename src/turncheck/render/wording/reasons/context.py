"""What the reasons of a run's gates are said of, and the reasons that gates of several families give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from turncheck.comparison import failed_tests
from turncheck.comparison.failures import BadFinding, FailedTest, NotRunTest
from turncheck.comparison.tally import Tally, tallies
from turncheck.evaluations.kinds import CASES
from turncheck.gates.judged import JudgedGate, NoFigure
from turncheck.messages.phrasing import count
from turncheck.render.wording import tests as wording
from turncheck.render.wording.changes import unreadable_in_words
from turncheck.render.wording.figures import why_no_baseline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Report


class Context(Struct, frozen=True):
    """What the reasons of a run's gates are said of; ``brief``: without what a document says once."""

    report: Report
    comparison: Comparison | None
    brief: bool = False

    @property
    def compared(self) -> Comparison | None:
        """The comparison, if there was a base."""
        return self.comparison if self.comparison is not None and self.comparison.judged else None

    @property
    def none(self) -> str:
        """Why there is no base."""
        return why_no_baseline(self.comparison, brief=self.brief)

    @property
    def found(self) -> Sequence[Tally]:
        """The tests by kind."""
        return tallies(self.report)


Words = str | Callable[[JudgedGate, Context], str]
"""What is said for a reason: always the same, or made of the facts."""
Reasons = Mapping[str, Words]
"""What is said for each reason of a family of gates."""


def no_base(_: JudgedGate, context: Context) -> str:
    """Say why there is no base."""
    return context.none


STOPPED = "the run ended before its end"
"""Why a gate is not judged that needs all tests."""


def not_run(gate: JudgedGate, _: Context) -> str:
    """Say why there is nothing to judge."""
    return next((fact.why for fact in gate.facts if isinstance(fact, NoFigure)), "there was nothing to judge")


def unclear(gate: JudgedGate, _: Context) -> str:
    """Name the tests whose runs do not say how they fare."""
    cases = [cause for cause in gate.causes if isinstance(cause, NotRunTest)]
    numbers = Counter(case.evaluation for case in cases)
    all_of_them = wording.joined(count(number, *CASES[name]) for name, number in numbers.items())
    is_one_reason = len(cases) > 1 and len({case.reason for case in cases}) == 1
    return f"{all_of_them} unclear: {cases[0].reason if is_one_reason else f'{cases[0].name}: {cases[0].reason}'}"


def hidden_on_base(gate: JudgedGate, context: Context) -> str:
    """Say what may be old: the base cannot show whether it is."""
    tests = sum(isinstance(cause, FailedTest) for cause in gate.causes)
    found = Counter(cause.finding.severity for cause in gate.causes if isinstance(cause, BadFinding))
    if not gate.causes:
        return f"{hidden_in_words(context.compared)}, so what it has there is not counted"
    words = [count(tests, "test that fails", "tests that fail")] if tests else []
    words += [
        count(number, f"{severity} in the data", f"{severity}s in the data") for severity, number in found.items()
    ]
    if failed_tests.only_failing_if_repaired(context.compared):
        return f"{wording.joined(words)} may be new: the repaired base fails the same, another repair might not"
    return f"{wording.joined(words)} may be old: {hidden_in_words(context.compared)}"


def hidden_in_words(compared: Comparison | None) -> str:
    """Say where the base cannot be read."""
    used = compared.baseline if compared is not None else None
    unread = (used.hidden or used.mended) if used is not None else ()
    if where := unreadable_in_words(unread):
        return f"the base {where}"
    faults = compared.base_faults if compared is not None else ()
    return next((f"the base could not be run: {fault.reason}" for fault in faults), "the base cannot be read")
