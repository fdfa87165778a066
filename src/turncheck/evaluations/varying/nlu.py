"""Test sentences of an assistant whose answers vary: those that were misunderstood are asked again."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from turncheck.comparison.repeats import typical_rate
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.evaluations.answers import (
    Answers,
    DelegatedError,
    UnfitAnswerError,
    answers_here,
    asked_twice,
    first_answers,
    units_of,
)
from turncheck.evaluations.nlu.predictions import JudgedSentence, shortened
from turncheck.evaluations.varying.attempts import BaseRuns, RepeatedTest, Run, StoredRuns, base_runs, by_key
from turncheck.messages.errors import IncompleteError
from turncheck.messages.phrasing import count
from turncheck.report.model import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.engines.base import Engine
    from turncheck.evaluations.varying.repeating import Repeating
    from turncheck.messages.errors import EngineError
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import HowRepeated, Nlu, Repeats


class Repetition(NamedTuple):
    """What became of sentences that were repeated: of each the parse that shows it, and its runs.

    A sentence without a parse was not asked, or has no answer yet. ``stopped``: what ended it before its time.
    ``remarks``: what a reader must know.
    """

    parses: list[Parse | None]
    repeats: list[Repeats | Attempt | UnsetType]
    how: HowRepeated | UnsetType = UNSET
    stopped: EngineError | KeyboardInterrupt | None = None
    remarks: tuple[str, ...] = ()


def repeat_sentences(
    engine: Engine,
    how: Repeating[Nlu],
    examples: Sequence[Example],
    answers: Answers,
    ask_first: Callable[[Sequence[int]], Sequence[Parse]],
) -> Repetition:
    """Ask for all sentences once, and then again; those without an intent are not asked again.

    A question that goes wrong says nothing of the assistant: it is asked once more, and then counts as an error. A
    sentence is a unit of ``answers``: its runs are kept as they were, and judged again where all sentences are known.

    Args:
        engine: what answers, if any sentence is asked here.
        how: how they are repeated.
        examples: the sentences.
        answers: the runs that are known, and where those go that are made here.
        ask_first: asks for the sentences with these indexes once.

    Raises:
        DelegatedError: other sentences are asked elsewhere.
        UnfitAnswerError: what is known of a sentence is not its runs.
        IncompleteError: the engine cannot answer any sentence, or failed where only a part is asked.
    """
    units = units_of("sentence", (example.text for example in examples))
    own = answers_here(answers, units, StoredRuns)
    begin = time.monotonic()
    first, stopped = first_answers(ask_first, [index for index, known in own.items() if known is None])
    seconds = how.workers * (time.monotonic() - begin) / max(1, len(first))
    if stopped is not None:
        if not first or len(own) < len(examples):
            stopped.finished = None
            raise stopped
        return Repetition([first.get(index) for index in own], [UNSET] * len(own), stopped=stopped)
    tests = [
        _test(index, examples[index], first.get(index), seconds)
        if known is None
        else _known(index, units[index], examples[index], known)
        for index, known in own.items()
    ]

    def ask(asked: Engine, number: int) -> Run[Parse]:
        nlu, example = asked.nlu, examples[number]
        parse, why = (None, "") if nlu is None else asked_twice(lambda: shortened(nlu.parse([example.text])[0]))
        return _run(example, parse)._replace(why=why)

    def find_base(_: Sequence[RepeatedTest[Parse]]) -> float:
        keys = [(example.text, example.base_intent, example.retrieval_label) for example in examples]
        known = list(_runs_of_base(how.base()))
        found = by_key(keys, known)
        for test in tests:
            test.base = found[test.number]
        return typical_rate(runs.runs for _, runs in known)

    rounds = how.rounds(tests, ask, engine, find_base, number=len(examples), what="sentence", must_pass=False)
    why = rounds.why_no_more
    for test in tests:
        if own[test.number] is None and (rounds.stopped is None or test.verdict is not None):
            written = test.written(lambda run: None if run.sign == "error" else run.answer, why)
            answers.keep(units[test.number], written)
    if len(own) < len(examples):
        if rounds.stopped is not None:
            raise IncompleteError(rounds.stopped)
        raise DelegatedError
    parses = [_shown(examples[test.number], test, is_over=rounds.stopped is None) for test in tests]
    repeats: list[Repeats | Attempt | UnsetType] = [
        test.repeats() if test.runs or test.errors else UNSET for test in tests
    ]
    return Repetition(parses, repeats, rounds.how, rounds.stopped, (*rounds.remarks, *_remarks(tests, why)))


def ask_times(
    times: int, examples: Sequence[Example], _: Answers, ask: Callable[[Sequence[int]], Sequence[Parse]]
) -> Repetition:
    """Ask for all sentences so many times; the first run that fails shows how a sentence fares.

    Raises:
        IncompleteError: the engine failed before it had answered anything.
    """
    parses: list[list[Parse]] = [[] for _ in examples]
    stopped: IncompleteError | None = None
    while stopped is None and times:
        times -= 1
        given: Sequence[Parse | None]
        try:
            given = ask(range(len(examples)))
        except IncompleteError as error:
            stopped, given = error, error.finished or ()
        for of_one, parse in zip(parses, given, strict=False):
            of_one.extend([] if parse is None else [parse])
    if stopped is not None and not any(parses):
        raise stopped
    runs = [
        [JudgedSentence(example, parse).correct for parse in of_one]
        for example, of_one in zip(examples, parses, strict=True)
    ]
    shown = [
        of_one[passed.index(False) if False in passed else 0] if of_one else None
        for of_one, passed in zip(parses, runs, strict=True)
    ]
    attempts: list[Repeats | Attempt | UnsetType] = [
        Attempt(passed=sum(passed), of=len(passed), runs=tuple(passed)) if example.base_intent else UNSET
        for example, passed in zip(examples, runs, strict=True)
    ]
    return Repetition(shown, attempts, stopped=stopped)


def _run(example: Example, parse: Parse | None) -> Run[Parse]:
    if parse is None:
        return Run(_not_understood(example), "error")
    if not example.base_intent:
        return Run(parse, "left out")
    return Run(parse, "passed" if JudgedSentence(example, parse).correct else "failed")


def _not_understood(example: Example) -> Parse:
    return Parse(example.text, PredictedIntent(None, 0.0))


def _test(number: int, example: Example, parse: Parse | None, seconds: float) -> RepeatedTest[Parse]:
    test: RepeatedTest[Parse] = RepeatedTest(number, asked=1)
    test.add(run := _run(example, parse)._replace(seconds=seconds), usual=True)
    test.is_never_judged = run.sign == "left out"
    return test


def _known(number: int, unit: str, example: Example, known: StoredRuns) -> RepeatedTest[Parse]:
    if not known.runs:
        raise UnfitAnswerError(unit)
    runs = []
    for run in known.runs:
        if run.answer is not None and not isinstance(run.answer, Parse):
            raise UnfitAnswerError(unit)
        runs.append(_run(example, run.answer)._replace(base=run.base))
    return RepeatedTest(number, known=runs, why_known=known.why, in_turn=known.in_turn, known_usual=known.usual)


def _runs_of_base(known: Nlu | None) -> Iterator[tuple[tuple[str, str | None, str | None], BaseRuns]]:
    for prediction in known.predictions if known is not None and known.mode == "held-out" else ():
        key = prediction.text, prediction.expected.intent, prediction.expected.response
        yield key, base_runs(prediction.repeats, prediction.attempts, passed=prediction.correct)


def _shown(example: Example, test: RepeatedTest[Parse], *, is_over: bool) -> Parse | None:
    """Return the parse that shows how a sentence fares: one that has no answer was not understood.

    ``is_over``: whether it was asked as often as it may be; else one without an answer counts as not asked.
    """
    if test.runs and not test.is_broken:
        return replace(test.shown, measured=test.answers[0].answer.measured)
    left_out = next((run.answer for run in test.answers if run.sign == "left out"), None)
    return left_out or (_not_understood(example) if is_over or test.is_broken else None)


def _remarks(tests: Sequence[RepeatedTest[Parse]], why_no_more: str) -> Iterator[str]:
    unclear = [test for test in tests if test.verdict is None and (test.runs or test.errors)]
    for why, number in Counter(test.why_unclear(why_no_more) for test in unclear).items():
        yield f"{count(number, 'sentence')} unclear: {why}."
