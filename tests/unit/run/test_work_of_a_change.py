"""What small files of a change make turncheck do has an end: lengths, numbers, and a clock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.clock import evaluating_within, is_over, seconds_left
from turncheck.engines.base import SuiteAnswers, UtteranceAnswer
from turncheck.evaluations.batch import suites
from turncheck.evaluations.e2e.botium.conversation import ScriptRun
from turncheck.evaluations.e2e.botium.message import Message
from turncheck.evaluations.e2e.botium.texts import CannotCompareError, cleaned, word_error_rate
from turncheck.evaluations.e2e.botium.values import Values
from turncheck.project.batch.model import ExpectedEntity, Suite, SuiteCase
from turncheck.project.botium.model import Capabilities
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import E2ECases
from turncheck.web.json_path import MOST_VALUES, JsonPath, PathError, compiled
from turncheck.yaml_tree.shapes import EndlessSearchError, is_matched


def _deep(levels: int, width: int) -> Any:
    value: Any = [1] * width
    for _ in range(levels):
        value = [value, *[1] * width]
    return value


# Paths.


@pytest.mark.parametrize(
    "path", ["$" + ".a" * 50_000, "$" + ".a" * 101, "$" + "['a']" * 101, "$" + "[?@" * 300, "$" + "..a" * 120]
)
def test_a_path_has_a_length_and_a_number_of_steps(path: str) -> None:
    with pytest.raises(PathError):
        compiled(path)


@pytest.mark.parametrize(
    "path", ["$..[?count(@..*) > 1e8]", "$..[?@..[?@..[?@..[?@]]]]", "$..[?@..['a','b','c','d']]", "$..[?$..[?@]]"]
)
def test_a_path_leads_through_so_many_values(path: str) -> None:
    begin = time.process_time()
    with pytest.raises(PathError):
        JsonPath(path).values(_deep(90, 200))
    assert time.process_time() - begin < 10


def test_a_path_ends_with_the_time_of_the_turn() -> None:
    begin = time.monotonic()
    with evaluating_within(0.05), pytest.raises(PathError):
        JsonPath("$..[?count(@..*) > 1e8]").values(_deep(90, 200))
    assert time.monotonic() - begin < 5


def test_what_is_selected_is_the_same_with_its_places() -> None:
    answer = {"messages": [{"text": "a"}, {"text": "b", "id": 1}], "k" * 50_000: [1] * 20_000}
    assert JsonPath("$.messages[?@.id == 1].text").found(answer) == [(("messages", 1, "text"), "b")]
    assert JsonPath("$.messages[?count(@.*) > 1 && search(@.text, 'b')].id").values(answer) == [1]
    assert len(JsonPath("$..*").values(answer)) == MOST_VALUES


# Patterns.


def test_patterns_share_the_time_of_a_turn() -> None:
    begin = time.monotonic()
    with evaluating_within(0.2):
        for _ in range(20):
            with pytest.raises(EndlessSearchError):
                is_matched("(a|aa)+$", "a" * 60 + "!")
    assert time.monotonic() - begin < 10


def test_a_limit_within_another_one_ends_with_it() -> None:
    with evaluating_within(0.0), evaluating_within(60.0):
        time.sleep(0.01)
        assert is_over()
        assert seconds_left(1.0) < 0.1
    assert not is_over()
    assert seconds_left(1.0) == 1.0


# Texts and values of Botium.


@pytest.mark.parametrize("piece", ["<", "<p", "<br", "<p>", "</p"])
def test_texts_are_cleaned_in_time(piece: str) -> None:
    begin = time.process_time()
    cleaned(piece * 30_000, Capabilities())
    assert time.process_time() - begin < 1


def test_tags_are_taken_out_as_before() -> None:
    assert cleaned("4 <p>5</p><i>6</i> 1 < 2", Capabilities()) == "4 5 6 1 < 2"
    assert cleaned("1 < 2 <b", Capabilities()) == "1 < 2 <b"


@pytest.mark.parametrize("wanted", ["a " * 30_000, "a * " * 300])
def test_words_are_counted_up_to_a_limit(wanted: str) -> None:
    with pytest.raises(CannotCompareError):
        word_error_rate("b " * 30_000, wanted)


def test_values_that_hold_themselves_twice_end(tmp_path: Path) -> None:
    convo = "twice\n\n#begin\nSET_SCRIPTING_MEMORY a|xxxxxxxx\n"
    doubled = "SET_SCRIPTING_MEMORY a|$a$a\n" * 60
    (case,) = _read(tmp_path, {"twice.convo.txt": f"{convo}{doubled}\n#me\n$a\n\n#bot\nx\n"}).cases
    assert case.script is not None
    spoken = ScriptRun(case.script).spoken(case.turns[-1])
    assert len(spoken.user or "") < 2_000_000


def test_a_text_does_not_become_very_long() -> None:
    values = Values({"$a": "x" * 600_000, "$b": "y"}, {})
    with pytest.raises(CannotCompareError):
        values.filled("$a$a")
    assert values.filled("$b$b") == "yy"


def test_a_message_with_a_list_is_searched_in_time() -> None:
    message = Message({"text": "a" * 60 + "!"}, None, {})
    with evaluating_within(0.1), pytest.raises(CannotCompareError):
        message.with_list("((a|aa)+)$")


# What the files of a suite stand for.


def _read(folder: Path, files: dict[str, str]) -> E2ECases:
    for name, text in files.items():
        (folder / "spec").mkdir(exist_ok=True)
        (folder / "spec" / name).write_text(text, "utf-8")
    begin = time.process_time()
    read = read_cases(folder, [folder / "spec"])
    assert time.process_time() - begin < 10
    return read


EIGHT = "#include {}\n\n" * 8
CHAIN = {f"p{n}.pconvo.txt": f"p{n}\n\n{EIGHT.replace('{}', f'p{n + 1}')}" for n in range(9)}


@pytest.mark.parametrize("last", ["#me\nhi\n", ""], ids=["said", "empty"])
def test_partial_conversations_that_include_each_other_end(tmp_path: Path, golden: Golden, last: str) -> None:
    whole = f"whole\n\n{EIGHT.replace('{}', 'p0')}"
    read = _read(tmp_path, {**CHAIN, "p9.pconvo.txt": f"p9\n\n{last}", "whole.convo.txt": whole})

    assert read.cases == ()
    golden(*[finding.message for finding in read.findings if "whole" in finding.message])


def test_all_conversations_of_a_suite_have_so_many_sections_together(tmp_path: Path, golden: Golden) -> None:
    few = {f"p{n}.pconvo.txt": CHAIN[f"p{n}.pconvo.txt"] for n in range(3)}
    convos = {f"c{n:03}.convo.txt": f"c{n}\n\n#include p0\n" for n in range(600)}
    read = _read(tmp_path, {**few, "p3.pconvo.txt": "p3\n\n#me\nhi\n\n#bot\nx\n", **convos})

    assert 100 < len(read.cases) < 600
    golden(read.findings[0].message)


def test_lists_with_many_arguments_have_so_many_texts_together(tmp_path: Path, golden: Golden) -> None:
    sections = "".join(f"#me\nhi\n\n#bot\nL {n}\n\n" for n in range(1000))
    texts = "".join(f"t{n} %s\n" for n in range(5000))
    read = _read(tmp_path, {"l.utterances.txt": f"L\n{texts}", "a.convo.txt": f"a\n\n{sections}"})

    assert read.cases == ()
    golden(read.findings[0].message)


# Batch suites.


def test_the_patterns_of_a_suite_share_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "_PATTERN_SECONDS", 0.3)
    case = SuiteCase("to a", ("A",), entities=(ExpectedEntity("City", ("(a|aa)+$",)),))
    answer = UtteranceAnswer(matched=("A",), entities={"City": "a" * 60 + "!"})
    begin = time.monotonic()

    judged = suites.judged_suite(Suite("s", "s.json", (case,) * 60), SuiteAnswers((answer,) * 60), suites.SuiteRun())

    assert not any(one.passed for one in judged.cases)
    assert time.monotonic() - begin < 10
