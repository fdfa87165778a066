"""The answers of a shard: stored as they come, read as they are asked for, and never all in memory."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golden_texts import Golden

from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.evaluations.answers import EngineFacts
from turncheck.evaluations.core.judging import StoryAnswer
from turncheck.evaluations.core.story_run import StoryRun
from turncheck.evaluations.nlu.splits import FoldRun
from turncheck.evaluations.written_answers import AnswerReader, UnreadableError, write_answer
from turncheck.messages.errors import UserError
from turncheck.report.entities import read_tokens, write_tokens
from turncheck.report.model import Alternative, EngineInfo, StoryStep, Substitution, WrittenStep
from turncheck.run.shards import document
from turncheck.run.shards.document import ANSWERS_NAME, HEAD_NAME, PackedAnswers, read_answers, read_head
from turncheck.run.shards.merge import MergedAnswers, MissingAnswerError
from turncheck.settings.parsers import Shard


def stored(folder: Path, answers: dict[str, Any]) -> Path:
    packed = PackedAnswers()
    for unit, answer in answers.items():
        packed.add(unit, write_answer(answer))
    folder.mkdir()
    (folder / ANSWERS_NAME).write_bytes(packed.content())
    return folder


def dealt(folder: Path, answers: dict[str, Any], count: int) -> list[Path]:
    """Store each answer in the shard that it belongs to."""
    shards = [Shard(number, count) for number in range(1, count + 1)]
    return [
        stored(folder / str(one.number), {unit: answer for unit, answer in answers.items() if one.holds(unit)})
        for one in shards
    ]


@pytest.mark.parametrize("answers", [{}, {"fold:1": 1}, {"sentence:a\nb": "\ud800", "story:\ud800": float("inf")}])
def test_the_stored_answers_are_read_in_their_order(answers: dict[str, Any], tmp_path: Path) -> None:
    folder = stored(tmp_path / "shard", answers)

    assert list(read_answers(folder)) == list(answers.items())
    assert json.loads(gzip.decompress((folder / ANSWERS_NAME).read_bytes())) == answers  # one object, for any reader


def test_answers_on_one_line_are_read_too(tmp_path: Path) -> None:
    (tmp_path / ANSWERS_NAME).write_bytes(gzip.compress(json.dumps({"story:a": 1, "story:b": "},"}).encode()))

    assert dict(read_answers(tmp_path)) == {"story:a": 1, "story:b": "},"}


def test_a_device_is_not_read(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / HEAD_NAME).symlink_to("/dev/zero")

    with pytest.raises(UserError) as refused:
        read_head(tmp_path)
    golden(refused.value)


@pytest.mark.parametrize("content", [b"[1]", b'{"a":1', b'"a":1}{', b"{" * 100_000, b"\xff"])
def test_what_is_not_answers_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ANSWERS_NAME).write_bytes(gzip.compress(content))

    with pytest.raises(UserError, match="cannot be read"):
        list(read_answers(tmp_path))


@pytest.mark.slow
def test_merging_holds_one_answer_at_a_time(tmp_path: Path) -> None:
    names = [f"story:{number}" for number in range(4_000)]
    said = {name: f"{name} {'x' * 5000}" for name in names}  # 20 MB
    answers = {
        name: StoryAnswer(StoryRun(), as_written=True, seconds=1.0, tokens={text: ((0, 1),)})
        for name, text in said.items()
    }
    merged = MergedAnswers(dealt(tmp_path, answers, 3), {})
    tracemalloc.start()
    try:
        for unit, answer in answers.items():
            assert merged.known(unit) == answer
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 5_000_000


@pytest.mark.slow
def test_what_only_one_answer_has_is_not_kept() -> None:
    reader = AnswerReader()
    tracemalloc.start()
    try:
        for number in range(10_000):
            sentence = f"sentence {number} {'x' * 1000}"  # 10 MB
            assert reader.value_of({"{:}": [[sentence, {"()": [0, number]}]]}) == {sentence: (0, number)}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 4_000_000


@pytest.mark.slow
def test_storing_holds_packed_answers(tmp_path: Path) -> None:
    packed = PackedAnswers()
    tracemalloc.start()
    try:
        for number in range(20_000):
            packed.add(f"story:{number}", json.dumps("x" * 1000))
        packed.content()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 5_000_000
    assert packed.units == {"story": 20_000}


def test_answers_are_found_in_any_order(tmp_path: Path) -> None:
    answers = {
        f"story:{number}": StoryAnswer(StoryRun(), as_written=True, seconds=number, tokens={}) for number in range(10)
    }
    facts = EngineFacts(EngineInfo(name="one", version="1"), ())
    merged = MergedAnswers(dealt(tmp_path, answers, 2), {"engine": json.loads(write_answer(facts))})

    assert [merged.known(unit) for unit in reversed(answers)] == [*reversed(answers.values())]
    assert merged.known("engine") == facts
    with pytest.raises(MissingAnswerError, match="story:10"):
        merged.known("story:10")


@pytest.mark.parametrize("unit", ["engine", "fold:0", "sentence:a", "story:a", "case:a", "suite:a", "section:a", "x:a"])
@pytest.mark.parametrize("answer", [None, 5, EngineInfo(name="one", version="1")])
def test_what_does_not_answer_a_unit_is_a_gap(unit: str, answer: object, tmp_path: Path) -> None:
    merged = MergedAnswers(dealt(tmp_path, {unit: answer}, 2), {})

    with pytest.raises(MissingAnswerError, match=unit):
        merged.known(unit)


@pytest.mark.parametrize(
    ("limit", "value"), [("_MOST_UNPACKED", 100), ("_MOST_UNPACKED", 25), ("_LONGEST_LINE", 20), ("_MOST_VALUES", 3)]
)
def test_answers_that_would_fill_the_memory_are_refused(
    limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    folder = stored(
        tmp_path / "shard", {f"story:{number}": (1, 2, number) for number in range(10)}
    )  # lines of 25 bytes
    assert len(list(read_answers(folder))) == 10
    monkeypatch.setattr(document, limit, value)

    with pytest.raises(UserError) as refused:
        list(read_answers(folder))
    golden(refused.value)


def test_what_answers_have_in_common_is_in_memory_once() -> None:
    reader = AnswerReader()

    def step(value: object) -> tuple[StoryStep, WrittenStep]:
        plain = StoryStep(
            kind="action",
            expected="utter_greet",
            predicted="utter_bye",
            passed=False,
            alternatives=(Alternative(action="utter_greet", confidence=0.3),),
            slots={"size": value},
        )
        made = reader.value_of(json.loads(write_answer((plain, WrittenStep(step={"size": value})))))
        assert made == (plain, WrittenStep(step={"size": value}))
        return made  # type: ignore[no-any-return]

    one, other = step(1), step(1)

    assert one[0].expected is other[0].expected
    assert one[0].alternatives[0] is other[0].alternatives[0]
    assert one[0].slots is other[0].slots
    assert one[1] is other[1]
    pairs = json.loads(write_answer([("utter_a", "utter_b")]))
    assert reader.value_of(pairs)[0] is reader.value_of(pairs)[0]
    for value in (True, 1.0):
        assert type(step(value)[1].step["size"]) is type(value)  # equal to 1, and not the same


RUN = FoldRun(
    0,
    (Parse("hi", PredictedIntent("greet", 0.9), (PredictedIntent("greet", 0.9),), responses={}, tokens=((0, 2),)),),
    EngineInfo(
        name="embedded",
        version="1",
        substitutions=(Substitution(component="DIETClassifier", used=None, reason="no networks"),),
    ),
    ("DIETClassifier",),
)


def places_of(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places_of(value[key], (*place, key))


@pytest.mark.parametrize(
    "given", [None, True, -1, 10**400, float("nan"), float("inf"), "x", [], {}, {"[]": []}, {"()": [7]}]
)
def test_an_answer_with_anything_else_in_a_place_is_refused_or_has_its_types(given: object) -> None:
    plain = json.loads(write_answer(RUN))
    refused = 0
    for place in places_of(plain):
        tree: Any = {"whole": json.loads(json.dumps(plain))}
        *way, last = ("whole", *place)
        target = tree
        for key in way:
            target = target[key]
        target[last] = given
        try:
            read = AnswerReader().value_of(tree["whole"])
        except UnreadableError:
            refused += 1
            continue
        if not isinstance(read, FoldRun):
            continue  # whoever asked for a fold says so
        assert type(read.fold) is int
        assert isinstance(read.info, EngineInfo)
        assert all(isinstance(one, Parse) for one in read.parses)
        assert all(isinstance(name, str) for name in read.extractors)
        for parse in read.parses:
            for one in (parse.intent, *parse.ranking):
                assert isinstance(one.name, str | None)
                assert abs(one.confidence) <= 1e15
            assert all(min(border) >= 0 for border in parse.tokens or ())
            assert parse.tokens is None or read_tokens(write_tokens(parse.tokens)) == parse.tokens
        msgspec.json.encode(read.info)
    assert refused > 10
