"""Utterances of batch suites of an assistant whose answers vary: those that failed are asked again, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, UnsetType, structs

from turncheck.comparison.cases import batch_expectation
from turncheck.comparison.repeats import typical_rate
from turncheck.engines.base import Engine, SuiteAnswers, UtteranceAnswer
from turncheck.evaluations.answers import UnfitAnswerError, asked_twice
from turncheck.evaluations.varying import attempts
from turncheck.messages.phrasing import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from turncheck.evaluations.varying.repeating import Repeating
    from turncheck.messages.errors import EngineError
    from turncheck.project.batch.model import Suite, SuiteCase
    from turncheck.report.batch import Batch, BatchCase
    from turncheck.report.model import HowRepeated

    Judge = Callable[[SuiteCase, UtteranceAnswer], BatchCase]

NO_ANSWER: Final = UtteranceAnswer(error="it was asked twice, and each time the engine gave no answer")


class RepeatedSuite(Struct, frozen=True):
    """The answers to a suite that was asked once, and all runs of its utterances, in their order.

    ``utterances``: none, if they were not repeated, since none could be evaluated.
    """

    first: SuiteAnswers
    utterances: tuple[attempts.StoredRuns, ...] = ()


class BatchRepetition(NamedTuple):
    """What became of utterances that were repeated: the cases of suites by their indexes.

    ``written``: of those that were asked here, what is kept to judge them elsewhere. ``stopped``: what ended it before
    its time.
    """

    cases: Mapping[int, tuple[BatchCase, ...]]
    written: Mapping[int, RepeatedSuite]
    how: HowRepeated
    stopped: EngineError | KeyboardInterrupt | None


class _Told(NamedTuple):
    answer: UtteranceAnswer
    case: BatchCase


def repeat_utterances(
    engine: Engine,
    suites: Sequence[Suite],
    here: Mapping[int, RepeatedSuite],
    how: Repeating[Batch],
    ask_one: Callable[[Engine, Suite], UtteranceAnswer],
    *,
    judge: Judge,
    stopped: EngineError | KeyboardInterrupt | None = None,
) -> BatchRepetition:
    """Ask again, after all utterances were asked once.

    Args:
        engine: what answers, if any utterance is asked here.
        suites: all suites.
        here: by their indexes those that were asked here, once, and those whose runs are known.
        how: how they are repeated.
        ask_one: has an engine answer a suite of one utterance.
        judge: judges an answer.
        stopped: what ended it when they were asked once: none is asked again.

    Raises:
        UnfitAnswerError: what is known of a suite is not about its utterances.
    """
    places = [(index, place) for index, suite in enumerate(suites) for place in range(len(suite.cases))]
    single = [replace(suites[index], cases=(suites[index].cases[place],)) for index, place in places]

    def told(number: int, answer: UtteranceAnswer) -> attempts.Run[_Told]:
        case = judge(single[number].cases[0], answer)
        is_unknown = case.result == "not-evaluated"
        sign: attempts.Sign = "error" if is_unknown else "passed" if case.passed else "failed"
        return attempts.Run(_Told(answer, case), sign, why=first_line(answer.error or ""))

    def ask(asked: Engine, number: int) -> attempts.Run[_Told]:
        answer, why = asked_twice(lambda: ask_one(asked, single[number]))
        return told(number, answer or UtteranceAnswer(error=why or NO_ANSWER.error))

    def test_of(number: int, index: int, place: int) -> attempts.RepeatedTest[_Told]:
        suite = here[index]
        if suite.utterances:
            known = suite.utterances[place]
            runs = [told(number, answer)._replace(base=run.base) for run, answer in _answers(suites[index], known)]
            return attempts.RepeatedTest(
                number, known=runs, why_known=known.why, in_turn=known.in_turn, known_usual=known.usual
            )
        test: attempts.RepeatedTest[_Told] = attempts.RepeatedTest(number, asked=1)
        test.add(told(number, suite.first.answers[place]), usual=True)
        return test

    tests = {where: test_of(number, *where) for number, where in enumerate(places) if where[0] in here}

    def find_base(_: Sequence[attempts.RepeatedTest[_Told]]) -> float:
        known = list(_runs_of_base(how.base()))
        keys = [
            _key(tests[index, place].answers[0].answer.case)
            if (index, place) in tests
            else _key(judge(suites[index].cases[place], NO_ANSWER))
            for index, place in places
        ]
        for where, found in zip(places, attempts.by_key(keys, known), strict=True):
            if where in tests:
                tests[where].base = found
        return typical_rate(runs.runs for _, runs in known)

    rounds = how.rounds(
        list(tests.values()), ask, engine, find_base, number=len(places), what="utterance", stopped=stopped
    )
    why = rounds.why_no_more
    cases = {
        index: tuple(_result(tests[index, place], why) for place in range(len(suites[index].cases))) for index in here
    }
    written = {
        index: RepeatedSuite(
            suite.first,
            tuple(tests[index, place].written(_answer, why) for place in range(len(suites[index].cases))),
        )
        for index, suite in here.items()
        if not suite.utterances
    }
    return BatchRepetition(cases, written, rounds.how, rounds.stopped)


def _answer(run: attempts.Run[_Told]) -> UtteranceAnswer:
    return run.answer.answer


def _answers(suite: Suite, known: attempts.StoredRuns) -> list[tuple[attempts.StoredRun, UtteranceAnswer]]:
    if not all(isinstance(run.answer, UtteranceAnswer) for run in known.runs) or not known.runs:
        raise UnfitAnswerError(f"suite:{suite.name}")
    return [(run, run.answer) for run in known.runs if isinstance(run.answer, UtteranceAnswer)]


def _runs_of_base(known: Batch | None) -> Iterator[tuple[Hashable, attempts.BaseRuns]]:
    for case in known.cases if known is not None else ():
        if case.result != "not-evaluated" or not isinstance(case.repeats, UnsetType):
            yield _key(case), attempts.base_runs(case.repeats, case.attempts, passed=case.passed)


def _key(case: BatchCase) -> Hashable:
    return case.text, batch_expectation(case)


def _result(test: attempts.RepeatedTest[_Told], why_unclear: str) -> BatchCase:
    """Return a case's result: that of the first run that shows what became of it, with all of its runs.

    One whose runs end in errors could not be evaluated: an assistant that is gone must not pass for a chance.
    """
    if not test.runs or test.is_broken:
        error = next(run.answer.case for run in reversed(test.answers) if run.sign == "error")
        words = test.errors_in_words if test.runs else ""
        reason = "; ".join(part for part in (words, error.reason) if part) or None
        return structs.replace(error, reason=reason, repeats=test.repeats())
    repeats, shown, first = test.repeats(), test.shown.case, test.answers[0].answer.case
    words = "" if repeats.outcome == "passed" else test.in_words(why_unclear)
    reason = "; ".join(part for part in (words, shown.reason) if part) or None
    return structs.replace(shown, passed=test.passes, reason=reason, repeats=repeats, measured=first.measured)
