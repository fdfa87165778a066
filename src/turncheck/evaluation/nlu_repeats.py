"""Test sentences of an assistant whose answers vary: those that were misunderstood are asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET, UnsetType

from turncheck.evaluation.predictions import Judged, shortened
from turncheck.evaluation.repeats import Repeated, Repeating, Run, Sign, answered, base_runs, by_key
from turncheck.messages.phrasing import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.base import Engine
    from turncheck.engines.conversation import Parse
    from turncheck.messages.errors import EngineError
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import HowRepeated, Nlu, Repeats


class Repetition(NamedTuple):
    """What became of sentences that were repeated: of each the parse that shows it, and its runs.

    ``stopped``: what ended it before its time. ``remarks``: what a reader must know.
    """

    parses: list[Parse]
    repeats: list[Repeats | UnsetType]
    how: HowRepeated
    stopped: EngineError | KeyboardInterrupt | None
    remarks: tuple[str, ...]


def repeat_sentences(
    engine: Engine, examples: Sequence[Example], parses: Sequence[Parse], how: Repeating[Nlu]
) -> Repetition:
    """Ask again, after all sentences were asked once; those without an intent are not.

    A question that goes wrong says nothing of the assistant: it is asked once more, and then counts as an error.
    """

    def ask(asked: Engine, number: int) -> Run[Parse]:
        nlu = asked.nlu
        parse = None if nlu is None else answered(lambda: shortened(nlu.parse([examples[number].text])[0]))
        return Run(parses[number], "error") if parse is None else Run(parse, _sign(Judged(examples[number], parse)))

    def find_base(judged: Sequence[Repeated[Parse]]) -> None:
        known = how.base()
        before = known.predictions if known is not None and known.mode == "held-out" else ()
        runs = (
            (
                (nlu_prediction.text, nlu_prediction.expected.intent, nlu_prediction.expected.response),
                base_runs(nlu_prediction.repeats, passed=nlu_prediction.correct),
            )
            for nlu_prediction in before
        )
        asked = (examples[test.number] for test in judged)
        keys = [(example.text, example.base_intent, example.retrieval_label) for example in asked]
        for test, found in zip(judged, by_key(keys, runs), strict=True):
            test.base = found

    tests: list[Repeated[Parse]] = [Repeated(number, asked=1) for number in range(len(examples))]
    for test, example, parse in zip(tests, examples, parses, strict=True):
        test.add(Run(parse, _sign(Judged(example, parse))), usual=True)
    rounds = how.rounds(tests, ask, engine, find_base, "sentence")
    repeats = [test.repeats() if test.runs else UNSET for test in tests]
    unclear = sum(one.outcome == "unclear" for one in repeats if not isinstance(one, UnsetType))
    remarks = rounds.remarks + ((f"{count(unclear, 'sentence')} unclear: {rounds.why_no_more}.",) if unclear else ())
    shown = [test.shown if test.runs else parse for test, parse in zip(tests, parses, strict=True)]
    return Repetition(shown, repeats, rounds.how, rounds.stopped or rounds.broken, remarks)


def _sign(judged: Judged) -> Sign:
    if not judged.example.base_intent:
        return "left out"
    return "passed" if judged.correct else "failed"
