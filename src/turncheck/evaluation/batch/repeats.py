"""Utterances of batch suites of an assistant whose answers vary: those that failed are asked again, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from turncheck.comparison.cases import batch_expectation
from turncheck.evaluation.repeats import Repeated, Run, answered, base_runs, by_key, in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.base import Engine
    from turncheck.evaluation.repeats import Repeating, Sign
    from turncheck.messages.errors import EngineError
    from turncheck.project.batch.model import Suite
    from turncheck.report.batch import Batch, BatchCase
    from turncheck.report.model import HowRepeated


class BatchRepetition(NamedTuple):
    """What became of utterances that were repeated. ``stopped``: what ended it before its time."""

    cases: list[BatchCase]
    how: HowRepeated
    stopped: EngineError | KeyboardInterrupt | None


def repeat_utterances(
    engine: Engine,
    suites: Sequence[Suite],
    cases: Sequence[BatchCase],
    how: Repeating[Batch],
    judge: Callable[[Engine, Suite], BatchCase],
) -> BatchRepetition:
    """Ask again, after all utterances were asked once.

    Args:
        engine: what answers.
        suites: the suites.
        cases: the results of all their utterances, in order.
        how: how they are repeated.
        judge: has an engine answer a suite of one utterance, and judges it.
    """
    single = [replace(suite, cases=(case,)) for suite in suites for case in suite.cases]

    def ask(asked: Engine, number: int) -> Run[BatchCase]:
        case = answered(lambda: judge(asked, single[number]))
        return Run(cases[number], "error") if case is None else Run(case, _sign(case))

    def find_base(judged: Sequence[Repeated[BatchCase]]) -> None:
        known = how.base()
        before = () if known is None else known.cases
        runs = (
            (_key(batch_case), base_runs(batch_case.repeats, passed=batch_case.passed))
            for batch_case in before
            if batch_case.result != "not-evaluated"
        )
        for test, found in zip(judged, by_key([_key(cases[test.number]) for test in judged], runs), strict=True):
            test.base = found

    tests: list[Repeated[BatchCase]] = [Repeated(number, asked=1) for number in range(len(cases))]
    for test, case in zip(tests, cases, strict=True):
        test.add(Run(case, _sign(case)), usual=True)
    rounds = how.rounds(tests, ask, engine, find_base, "utterance")
    why = rounds.why_no_more
    results = [_result(case, test, why) if test.runs else case for case, test in zip(cases, tests, strict=True)]
    return BatchRepetition(results, rounds.how, rounds.stopped or rounds.broken)


def _key(case: BatchCase) -> object:
    return case.text, batch_expectation(case)


def _sign(case: BatchCase) -> Sign:
    if case.result == "not-evaluated":
        return "error"
    return "passed" if case.passed else "failed"


def _result(first: BatchCase, test: Repeated[BatchCase], why_unclear: str) -> BatchCase:
    """Return a case's result: that of the first run that shows what became of it, with all of its runs."""
    repeats, shown = test.repeats(), test.shown
    words = "" if repeats.outcome == "passed" else in_words(repeats, test.why_unclear(why_unclear))
    reason = "; ".join(part for part in (words, shown.reason) if part) or None
    return structs.replace(shown, location=first.location, passed=test.passes, reason=reason, repeats=repeats)
