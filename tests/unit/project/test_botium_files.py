"""Suites of Botium's: which files belong together, what is wrong in them, and which test cases there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botium_records import written
from golden_texts import Golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turncheck.messages.finding import Finding
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import E2ECases
from turncheck.project.testfiles import find_e2e_cases, find_e2e_cases_not_looked_for
from turncheck.run.reading import read_tests
from turncheck.settings.options import Settings

HI = "greet\n\n#me\nhi\n\n#bot\nHello\n"


def _read(folder: Path, files: dict[str, str], capabilities: dict[str, Any] | None = None) -> E2ECases:
    written(folder / "tests", files, capabilities)
    return read_cases(folder, [folder / "tests"])


def _said(findings: tuple[Finding, ...]) -> list[tuple[str, str, int | None]]:
    return [(one.severity, one.location.path, one.location.line) for one in findings]


@pytest.mark.parametrize(
    ("files", "severity", "place", "message"),
    [
        ({"a.convo.txt": "a\n\n#user\nhi\n\n#bot\nHello"}, "warning", ("a.convo.txt", 3), "'#user' begins no section"),
        ({"a.convo.txt": "a\n\n#me\nhi\n\n# bot\nHello"}, "warning", ("a.convo.txt", 6), "'#bot' begins no section"),
        (
            {"a.convo.txt": "a\n\n#me\nhi\n\n#bot\nTEXT_CONTAIN_ANY x"},
            "warning",
            ("a.convo.txt", 7),
            "'TEXT_CONTAIN_ANY' is not an asserter",
        ),
        ({"a.convo.txt": "a\n\n#me\nUTT_HELLO\n\n#bot\nHello"}, "warning", ("a.convo.txt", 3), "'UTT_HELLO'"),
        ({"a.convo.txt": "a\n\n#me\nhi\n\n#bot\nUTT_HELLO"}, "warning", ("a.convo.txt", 6), "compared as it is"),
        ({"a.convo.txt": "a\n"}, "warning", ("a.convo.txt", 1), "neither #me nor #bot"),
        ({"a.convo.txt": ""}, "warning", ("a.convo.txt", 1), "neither #me nor #bot"),
        ({"a.convo.txt": "a\n\n#me\nBUTTON x\nhi"}, "error", ("a.convo.txt", 5), "No text is expected after BUTTON"),
        ({"a.convo.txt": "a\n\n#bot\n?hi\nBUTTONS x"}, "error", ("a.convo.txt", 3), "begin with '?', others do not"),
        ({"a.convo.txt": 'a\n\n#bot\n{"a": 1,}'}, "error", ("a.convo.txt", 3), "looks like JSON, but is not"),
        ({"a.convo.txt": "a\n\n#bot\nINTENT"}, "warning", ("a.convo.txt", 4), "INTENT has 0 arguments; expected 1."),
        ({"a.convo.txt": "a\n\n#bot\nTEXT_REGEXP_ANY ("}, "error", ("a.convo.txt", 4), "is not a regular expression"),
        ({"a.convo.txt": "a\n\n#begin\nTEXT x\n\n#me\nhi"}, "warning", ("a.convo.txt", 4), "has no effect in #begin"),
        ({"a.convo.txt": "a\n\n#include login\n"}, "error", ("a.convo.txt", 3), "no partial conversation 'login'"),
        (
            {"a.convo.txt": "a\n\n#include one\n", "b.pconvo.txt": "one\n\n#include one\n"},
            "error",
            ("b.pconvo.txt", 3),
            "'one' includes itself: one → one",
        ),
        (
            {
                "a.convo.txt": "a\n\n#include one\n",
                "b.pconvo.txt": "one\n\n#include two\n",
                "c.pconvo.txt": "two\n\n#me\nINCLUDE one\n",
            },
            "error",
            ("c.pconvo.txt", 3),
            "'one' includes itself: one → two → one",
        ),
        ({"a.convo.txt": HI, "b.pconvo.txt": "\n#me\nhi"}, "error", ("b.pconvo.txt", 1), "has no name"),
        ({"a.convo.txt": HI, "b.pconvo.txt": "a|b\n\n#me\nhi"}, "error", ("b.pconvo.txt", 1), "without '|'"),
        (
            {"a.convo.txt": HI, "b.pconvo.txt": "one\n\n#me\nhi", "c.pconvo.txt": "one\n\n#me\nhi"},
            "error",
            ("c.pconvo.txt", 1),
            "'one' appears twice, first in tests/b.pconvo.txt:1",
        ),
        ({"a.convo.txt": HI, "b.utterances.txt": "\nhi"}, "warning", ("b.utterances.txt", 1), "has no name"),
        ({"a.convo.txt": HI, "b.utterances.txt": "HELLO\n"}, "warning", ("b.utterances.txt", 1), "'HELLO' is empty"),
        (
            {"a.convo.txt": HI, "b.scriptingmemory.txt": "|$a\nx|1\nx|2"},
            "error",
            ("b.scriptingmemory.txt", 3),
            "'x' appears twice, first in tests/b.scriptingmemory.txt:2",
        ),
        (
            {"a.convo.txt": HI, "b.scriptingmemory.txt": "|$a|$b\nx|1|2", "c.scriptingmemory.txt": "|$b\ny|2"},
            "error",
            ("c.scriptingmemory.txt", 2),
            "has a value for '$b'",
        ),
        ({"a.convo.txt": HI, "b.scriptingmemory.txt": "|$a\n|1"}, "error", ("b.scriptingmemory.txt", 2), "has no name"),
        ({"a.convo.txt": HI, "b.convo.csv": "x"}, "warning", ("b.convo.csv", 1), "others of Botium's formats"),
        ({"a.convo.txt": HI, "b.xlsx": "x"}, "warning", ("b.xlsx", 1), "others of Botium's formats"),
        ({"a.convo.txt": HI, "b.md": "# Convos\n## x\n"}, "warning", ("b.md", 1), "others of Botium's formats"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(
    files: dict[str, str], severity: str, place: tuple[str, int], message: str, tmp_path: Path
) -> None:
    found = _read(tmp_path, files).findings

    assert (severity, f"tests/{place[0]}", place[1]) in _said(found)
    texts = [
        f"{one.message} {one.hint}"
        for one in found
        if (one.location.path, one.location.line) == (f"tests/{place[0]}", place[1])
    ]
    assert any(message in text for text in texts), texts


@pytest.mark.parametrize("text", ["#hashtag of a text", "#1 in the charts", "##"])
def test_a_text_that_begins_like_a_section_is_not_doubted(text: str, tmp_path: Path) -> None:
    assert _read(tmp_path, {"a.convo.txt": f"a\n\n#me\nhi\n\n#bot\n{text}\n"}).findings == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        (
            '{"botium": {"Capabilities": {"SCRIPTING_MATCHING_MODE": "includes"}}}',
            "SCRIPTING_MATCHING_MODE: 'includes'",
        ),
        (
            '{"botium": {"Capabilities": {"SCRIPTING_NORMALIZE_TEXT_REMOVE_REGEXP": "("}}}',
            "is not a regular expression",
        ),
    ],
)
def test_a_fault_in_the_settings_is_an_error(content: str, message: str, tmp_path: Path) -> None:
    written(tmp_path / "tests", {"a.convo.txt": HI, "botium.json": content})

    (fault,) = read_cases(tmp_path, [tmp_path / "tests"]).findings
    assert fault.severity == "error"
    assert fault.location.path == "tests/botium.json"
    assert message in fault.message


@pytest.mark.parametrize("content", ["[]", "1", '{"botium": 1}', '{"botium": {"Capabilities": [1]}}', "{}"])
def test_settings_of_another_shape_are_none(content: str, tmp_path: Path) -> None:
    written(tmp_path / "tests", {"a.convo.txt": HI, "botium.json": content})

    assert read_cases(tmp_path, [tmp_path / "tests"]).findings == ()


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(ends: str, mark: str, tmp_path: Path) -> None:
    read = _read(tmp_path, {"a.convo.txt": mark + HI.replace("\n", ends)})

    (case,) = read.cases
    assert (case.name, [turn.user for turn in case.turns]) == ("greet", [None, "hi"])
    assert case.turns[1].location.line == 3
    assert read.findings == ()


def test_a_file_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.convo.txt").write_bytes("gr\u00fc\u00df\n\n#me\nhi\n".encode("latin-1"))

    assert "file-not-utf8" in {finding.code for finding in read_cases(tmp_path, [tmp_path / "tests"]).findings}


# --- suites -----------------------------------------------------------------------------------------------------------

ASKS = "ask\n\n#me\nUTT_ASK\n\n#bot\nyes\n"
LIST = "UTT_ASK\nmay I?\ncan I?\n"


def test_files_of_the_folder_that_was_asked_for_belong_together(tmp_path: Path) -> None:
    written(tmp_path / "bots", {"convos/deep/a.convo.txt": ASKS, "lists/a.utterances.txt": LIST})

    assert len(read_cases(tmp_path, [tmp_path / "bots"]).cases) == 2
    assert len(read_cases(tmp_path, [tmp_path / "bots" / "convos"]).cases) == 1


@pytest.mark.parametrize("place", ["tests", "e2e_tests", "spec/convo"])
def test_files_of_the_folder_of_tests_belong_together_and_are_found(place: str, tmp_path: Path) -> None:
    written(tmp_path / place, {"convos/a.convo.txt": ASKS, "lists/a.utterances.txt": LIST, "skip_b.convo.txt": HI})
    found = find_e2e_cases(tmp_path)

    assert found == [tmp_path / place / "convos" / "a.convo.txt"]
    assert [case.name for case in read_cases(tmp_path, found).cases] == ["ask/UTT_ASK-L1", "ask/UTT_ASK-L2"]


def test_a_folder_with_settings_is_a_suite_of_its_own(tmp_path: Path) -> None:
    settings_of_one = json.dumps({"botium": {"Capabilities": {"SCRIPTING_UTTEXPANSION_MODE": "first"}}})
    files = {"one/a.convo.txt": ASKS, "one/a.utterances.txt": LIST, "one/botium.json": settings_of_one}
    written(tmp_path / "tests", {**files, "two/a.convo.txt": ASKS, "two/a.utterances.txt": LIST})

    cases = read_cases(tmp_path, [tmp_path / "tests"]).cases
    assert [case.key.removeprefix("tests/") for case in cases] == [
        "one/a.convo.txt::ask",
        "two/a.convo.txt::ask/UTT_ASK-L1",
        "two/a.convo.txt::ask/UTT_ASK-L2",
    ]


def test_settings_at_the_top_of_the_project_count(tmp_path: Path) -> None:
    written(tmp_path, {"botium.json": '{"botium": {"Capabilities": {"SCRIPTING_UTTEXPANSION_MODE": "first"}}}'})

    assert len(_read(tmp_path, {"a.convo.txt": ASKS, "a.utterances.txt": LIST}).cases) == 1


def test_one_case_of_a_file_can_be_named(tmp_path: Path) -> None:
    _read(tmp_path, {"a.convo.txt": ASKS, "a.utterances.txt": LIST})

    read = read_cases(tmp_path, [f"{tmp_path}/tests/a.convo.txt::ask/UTT_ASK-L2"])
    assert [case.turns[1].user for case in read.cases] == ["can I?"]


def test_convos_elsewhere_in_the_project_are_named(tmp_path: Path) -> None:
    written(tmp_path / "botium", {"a.convo.txt": HI})

    assert find_e2e_cases(tmp_path) == []
    assert find_e2e_cases_not_looked_for(tmp_path, ()) == ["botium/a.convo.txt"]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"botium/botium.json": "{}", "botium/all.xlsx": "x"}, ["botium/all.xlsx"]),
        ({"botium/a.utterances.txt": LIST, "botium/b.md": "# Convos\n", "botium/c.yml": "x: 1\n"}, ["botium/b.md"]),
        ({"tests/a.convo.csv": "x", "tests/b.yml": "utterances: {}\n"}, ["tests/a.convo.csv"]),
        ({"tests/a.convo.csv": "x", "tests/b.yml": "convos: []\n"}, []),
        ({"tests/a.convo.txt": HI, "tests/lists/a.utterances.txt": LIST, "tests/lists/b.xlsx": "x"}, []),
        ({"tests/a.convo.txt": HI, "tests/own/botium.json": "{}", "tests/own/b.xlsx": "x"}, ["tests/own/b.xlsx"]),
        ({"botium.json": "{}", "data.json": '{"name": 1, "utterances": {}}', "README.md": "# Convos of us\n"}, []),
    ],
)
def test_suites_without_a_conversation_that_is_read_are_named(
    files: dict[str, str], named: list[str], tmp_path: Path
) -> None:
    written(tmp_path, files)

    assert [finding.location.path for finding in read_tests(Settings(project=str(tmp_path))).other_findings] == named


def test_a_folder_that_is_named_says_what_in_it_is_not_read(tmp_path: Path) -> None:
    written(tmp_path / "suite", {"all.convo.csv": "x"})

    found = read_cases(tmp_path, [tmp_path / "suite"]).findings
    assert "botium-not-judged" in {finding.code for finding in found}


def test_a_file_without_conversations_has_no_cases(tmp_path: Path) -> None:
    _read(tmp_path, {"a.convo.txt": ASKS, "a.utterances.txt": LIST})

    assert read_cases(tmp_path, [tmp_path / "tests" / "a.utterances.txt"]).cases == ()


# --- cases ------------------------------------------------------------------------------------------------------------

TABLE = "|$product|$price\nmilk|milk|2\nbread|bread|3\n"
PRICES = "price\n\n#me\nthe price of $product\n\n#bot\n$price\n"


@pytest.mark.parametrize(
    ("capabilities", "names", "number_of_findings"),
    [
        (None, ["price.milk", "price.bread"], 0),
        ({"SCRIPTING_ENABLE_MEMORY": True}, ["price.milk", "price.bread"], 0),
        ({}, ["price"], 1),
        ({"SCRIPTING_ENABLE_MEMORY": False}, ["price"], 1),
        (
            {"SCRIPTING_ENABLE_MEMORY": True, "SCRIPTING_MEMORYEXPANSION_KEEP_ORIG": True},
            ["price", "price.milk", "price.bread"],
            0,
        ),
    ],
)
def test_a_table_is_used_if_the_settings_say_so_or_there_are_none(
    capabilities: dict[str, Any] | None, names: list[str], number_of_findings: int, tmp_path: Path
) -> None:
    read = _read(tmp_path, {"a.convo.txt": PRICES, "t.scriptingmemory.txt": TABLE}, capabilities)

    assert [case.name for case in read.cases] == names
    assert len(read.findings) == number_of_findings


def test_texts_drawn_at_random_are_the_same_in_each_run(tmp_path: Path) -> None:
    texts = "\n".join(f"text {number}" for number in range(50))
    files = {"a.convo.txt": ASKS, "b.convo.txt": ASKS.replace("ask", "more"), "a.utterances.txt": f"UTT_ASK\n{texts}\n"}
    mode = {"SCRIPTING_UTTEXPANSION_MODE": "random", "SCRIPTING_UTTEXPANSION_RANDOM_COUNT": 3}
    first, again = _read(tmp_path, files, mode), read_cases(tmp_path, [tmp_path / "tests"])

    assert first == again
    assert len(first.cases) == 6
    assert len({case.turns[1].user for case in first.cases}) > 3


def test_too_many_cases_are_refused_before_they_are_made(tmp_path: Path) -> None:
    texts = "\n".join(f"text {number}" for number in range(100))
    convo = "many\n\n" + "#me\nUTT_ASK\n\n#bot\n\n" * 10
    (fault,) = _read(tmp_path, {"a.convo.txt": convo, "a.utterances.txt": f"UTT_ASK\n{texts}\n"}).findings

    assert fault.severity == "error"
    assert "at most 10,000" in fault.message


def test_an_empty_utterance_list_leaves_a_case_that_is_not_judged(tmp_path: Path, golden: Golden) -> None:
    read = _read(tmp_path, {"a.convo.txt": ASKS, "a.utterances.txt": "UTT_ASK\n"})

    (case,) = read.cases
    assert case.not_judged is not None
    golden(case.not_judged.why)


def test_a_conversation_that_its_author_skips_is_a_case_that_is_not_judged(tmp_path: Path) -> None:
    read = _read(tmp_path, {"a.convo.txt": HI.replace("greet", "skip_greet")})

    assert [case.not_judged is not None for case in read.cases] == [True]


def test_plug_ins_that_take_part_everywhere_are_named(tmp_path: Path, golden: Golden) -> None:
    read = _read(tmp_path, {"a.convo.txt": HI}, {"ASSERTERS": [{"ref": "SPELLING", "src": "x", "global": True}]})

    (finding,) = read.findings
    golden(finding.message)


def test_partial_conversations_may_be_nested_deep_and_long_ones_are_read(tmp_path: Path) -> None:
    deep = {f"{n}.pconvo.txt": f"p{n}\n\n#include p{n + 1}\n\n#me\n{n}\n" for n in range(2000)}
    read = _read(tmp_path, {"a.convo.txt": "a\n\n#include p0\n", **deep, "end.pconvo.txt": "p2000\n\n#bot\nend\n"})
    assert [finding.severity for finding in read.findings] == ["error"]

    long = "long\n\n" + "#me\nhi\n\n#bot\nHello\n\n" * 5_000
    (case,) = _read(tmp_path / "other", {"a.convo.txt": long}).cases
    assert len(case.turns) == 5_001


# --- any text ---------------------------------------------------------------------------------------------------------

_LINES = st.sampled_from(
    [
        "#me", "#bot", "#begin", "#end", "#include", "#include p", "#me x", "#bott", "?", "!", "??", "!!", "", " ",
        "\t", "UTT_X", "UTT_X 1 %s", "%s %d %%", "$a", "$now", "|", "|$a", "|$a|$b", "x|1", "x|1|2", "$a|1", "a|x|y",
        "INTENT x", "?INTENT x", "!TEXT_REGEXP_ANY (", "TEXT_CONTAINS_ALL a\\|b|c", "BUTTONS_COUNT =", "TEXT_WER a|x",
        "INCLUDE p", "INCLUDE", "SET_SCRIPTING_MEMORY a|1", "CONVO_STEP_PARAMETERS {", "CONVO_STEP_PARAMETERS x:y",
        "BUTTON", "MEDIA x", '{"a": 1}', "[{}]", "[[", "skip_x", "p", "\x00", "\u2028", "\U0001f355",
    ]
)  # fmt: skip
_TEXT = st.one_of(st.text(max_size=40), st.lists(st.one_of(_LINES, st.text(max_size=8)), max_size=12).map("\n".join))


@given(convo=_TEXT, partial=_TEXT, utterances=_TEXT, memory=_TEXT)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused_and_always_the_same_way(
    convo: str, partial: str, utterances: str, memory: str, tmp_path: Path
) -> None:
    files = {
        "a.convo.txt": convo,
        "p.pconvo.txt": partial,
        "u.utterances.txt": utterances,
        "m.scriptingmemory.txt": memory,
    }
    for name, text in files.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    read = read_cases(tmp_path, [tmp_path / "tests"])

    assert read == read_cases(tmp_path, [tmp_path / "tests"])
    assert len({case.key for case in read.cases}) == len(read.cases)
    assert read.cases or any(finding.severity == "error" for finding in read.findings)
