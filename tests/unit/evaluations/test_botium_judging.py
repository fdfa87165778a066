"""Botium's conversations pass and fail here as they do in Botium, and send the same messages."""

from __future__ import annotations

import re
import time
from collections.abc import Hashable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from botium_records import Json, ScriptedEngine, records, written
from golden_texts import Golden
from msgspec import structs
from report_builder import report

from turncheck.comparison.cases import end_to_end_cases
from turncheck.engines.conversation import Turn
from turncheck.evaluations.e2e.botium import values
from turncheck.evaluations.e2e.botium.conversation import ScriptRun
from turncheck.evaluations.e2e.botium.texts import matches
from turncheck.evaluations.e2e.botium.values import values_in
from turncheck.evaluations.e2e.case import CaseRun, run_case
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.project.botium.model import Capabilities
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import E2ECases
from turncheck.report.model import CaseResult, EndToEnd

RUNS = records("runs.json")
CLEARED = "a value that is cleared"
"""`CLEAR_SCRIPTING_MEMORY` is meant to clear a value, which it does here, but not in Botium."""
REFUSED = ("a variable of the machine", "digits without their number")
"""Functions that fail in Botium, too: such a conversation is not run here, but says why."""


PATTERNS_OF_HELLO = (
    *("(?:Hello)", "(?=H)H[^e]*ello", r"\(?Hello\)?", r"H\++|e[*+l]", "H[^]llo", "[[]a|o", "(?<!a|bc)H", "(?<=He+)l"),
    *(
        r"(?<x>l)\k<x>",
        r"(x)?\1H",
        r"\1(H)",
        r"(l\1)lo",
        "(?<é>l)",
        r"(?<$>l)\1",
        r"\110ello",
        r"\x48\u0065l",
        "{,2}|H",
    ),
    *(r"\e\l\lo", "$^|H", "(?=H)*e"),
)
PATTERNS_OF_SOMETHING_ELSE = (
    *(
        r"\AHello",
        r"\\AHello",
        r"Hello\Z",
        "(zebra {,2}crossing){,1}",
        "[]",
        r"\q",
        r"\cJ",
        r"\p{L}",
        r"\k<x>",
        "He{e}",
    ),
    *("Hel$ab", "[[:alpha:]]", r"\R"),
)
PATTERNS_NOT_READ = (
    *(
        "(?i)HELLO",
        "(?>H)",
        "(?P<x>H)",
        "(?#H)",
        "Hel*+o",
        "Hel{2}+o",
        "Hell?+o",
        r"(?<x>H)\k",
        r"(?<x>H)\k<y>",
        "(?<-x>H)",
    ),
    *(r"(?:(l)|o)*\1", r"(l|)*\1", r"(?<=\1(l))o", r"(?!(x))\1", "(?<x>H)|(?<x>e)", "(?i:h)"),
)
"""What JavaScript refuses, and references to what it has forgotten, while Python has not."""


def _cases(folder: Path, files: dict[str, str], capabilities: dict[str, Any] | None = None) -> E2ECases:
    written(folder / "tests", files, capabilities)
    return read_cases(folder, [folder / "tests"])


@pytest.fixture
def _in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_in_utc")
@pytest.mark.parametrize("name", [name for name in RUNS if name not in (CLEARED, *REFUSED)])
def test_a_conversation_ends_as_in_botium(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RUNS[name]
    if clock := run.get("clock"):
        monkeypatch.setattr(values, "now", lambda: datetime.fromisoformat(clock))
    read = _cases(tmp_path, run["files"], run.get("capabilities", {}))
    faults = [finding for finding in read.findings if finding.severity == "error"]
    if "error" in run["outcomes"]:
        assert faults
        return
    assert not faults

    outcomes = {}
    for case in read.cases:
        engine = ScriptedEngine(run["replies"], run.get("opening", ()))
        result = run_case(engine, case, CaseRun()).result  # type: ignore[arg-type]  # a scripted engine
        assert result.outcome in {"passed", "failed"}
        said = engine.talks[-1].said
        outcomes[case.name] = {"passed": result.passed, "said": [*map(len, said)] if run.get("varies") else said}

    assert outcomes == run["outcomes"]


def _judged(folder: Path, convo: str, replies: list[list[Any]], *, hears: bool = True, **files: str) -> CaseResult:
    read = _cases(folder, {"a.convo.txt": convo, **{name.replace("__", "."): text for name, text in files.items()}})
    assert [finding for finding in read.findings if finding.severity == "error"] == []
    engine = ScriptedEngine(replies, hears=hears)
    return evaluate_cases(engine, read.cases, CaseRun()).cases[0]  # type: ignore[arg-type]  # a scripted engine


def test_a_value_is_cleared_as_its_hook_says(tmp_path: Path) -> None:
    run = RUNS[CLEARED]
    read = _cases(tmp_path, run["files"], run["capabilities"])
    engine = ScriptedEngine(run["replies"])

    run_case(engine, read.cases[0], CaseRun())  # type: ignore[arg-type]  # a scripted engine

    assert engine.talks[0].said == ["a", "I am $name"]


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("Room $room", "Room 42"),
        ("!You said 42", "!You said 42"),
        ("!You said $room", "!You said 42"),
        ("TEXT Room $room", "Room 42"),
        ("!TEXT You said $room", "!You said 42"),
        ("Room $room of $other", "Room 42 of $other"),
    ],
)
def test_a_failure_shows_the_values_of_variables(expected: str, shown: str, tmp_path: Path) -> None:
    table = "          |$room\nfirst     |42\n"
    convo = f"case\n\n#me\nroom $room\n\n#bot\n{expected}\n"
    result = _judged(tmp_path, convo, [["You said 42"]], rooms__scriptingmemory__txt=table)
    (step,) = result.steps
    assert (step.outcome, step.expected) == ("failed", shown)
    assert "$room" not in result.difference


def test_a_failure_names_the_line_what_was_said_and_what_was_expected(tmp_path: Path) -> None:
    result = _judged(
        tmp_path, "order\n\n#me\na pizza\n\n#bot\nWhich size do you want?\n", [["Which size do you wish?"]]
    )

    (step,) = result.steps
    assert (step.kind, step.outcome, step.expected) == ("bot", "failed", "Which size do you want?")
    assert step.location is not None
    assert str(step.location).startswith("tests/a.convo.txt:6")
    assert step.actual == "Which size do you wish?"
    assert "- bot: Which size do you wish?" in result.difference
    assert result.difference[0] == "  user: a pizza"


def test_a_failure_in_a_partial_conversation_names_its_own_file(tmp_path: Path) -> None:
    result = _judged(
        tmp_path,
        "order\n\n#include login\n\n#me\norder\n\n#bot\nyes\n",
        [["Welcome"], ["yes"]],
        login__pconvo__txt="login\n\n#me\nAnn\n\n#bot\nHello\n",
    )

    assert [(step.outcome, step.location and step.location.path) for step in result.steps] == [
        ("failed", "tests/login.pconvo.txt"),
        ("skipped", "tests/a.convo.txt"),
    ]
    assert [message.text for message in result.messages] == ["Ann", "order"]


def test_an_asserter_about_what_was_understood_is_skipped_where_the_engine_does_not_report_it(
    tmp_path: Path, golden: Golden
) -> None:
    convo = "greet\n\n#me\nhi\n\n#bot\nHello\nINTENT greet\nENTITIES city\n"
    result = _judged(tmp_path, convo, [["Hello"]], hears=False)

    assert [step.outcome for step in result.steps] == ["passed", "skipped", "skipped"]
    assert result.outcome == "skipped"
    golden(result.reason)


def test_asserters_about_what_an_engine_reports_only_in_part_are_skipped(tmp_path: Path, golden: Golden) -> None:
    convo = "greet\n\n#me\nhi\n\n#bot\nINTENT greet\nINTENT_CONFIDENCE 50\nINTENT_UNIQUE\nENTITIES city\n"
    (case,) = _cases(tmp_path, {"a.convo.txt": convo}).cases
    assert case.script is not None
    assert case.turns[1].part is not None
    heard = {"intent": {"name": "greet", "confidence": None}, "entities": []}
    user = {"event": "user", "text": "hi", "parse_data": heard}
    turn = Turn("hi", (), {}, None, (user, {"event": "bot", "text": "Hello"}), not_reported={"entities": "not said"})

    judged = ScriptRun(case.script).judge(case.turns[1].part, turn, case.location)
    assert [one.step.outcome for one in judged] == ["passed", "skipped", "skipped", "skipped"]
    assert (judged[0].step.reason, judged[3].step.reason) == (None, "not said")
    golden(*(one.step.reason for one in judged[1:3]))


def test_what_an_engine_does_not_report_is_skipped_with_its_reason(tmp_path: Path, golden: Golden) -> None:
    lines = (
        "BUTTONS Yes",
        "!MEDIA",
        "CARDS_COUNT 1",
        "FORMS a",
        "JSON_PATH $.a",
        "ASSIGN_SCRIPTING_MEMORY a|$.sourceData.a",
    )
    (case,) = _cases(tmp_path, {"a.convo.txt": "\n".join(("case\n\n#me\nhi\n\n#bot", *lines))}).cases
    assert case.script is not None
    assert case.turns[1].part is not None
    unseen = {kind: f"no {kind}" for kind in ("buttons", "media", "cards")}
    turn = Turn("hi", (), {}, None, ({"event": "bot", "text": "Hello", "data": {}},), not_reported=unseen)

    judged = ScriptRun(case.script).judge(case.turns[1].part, turn, case.location)
    assert {one.step.outcome for one in judged} == {"skipped"}
    reasons = [one.step.reason for one in judged]
    assert reasons[:4] == [*unseen.values(), unseen["cards"]]
    golden(*reasons[4:])


@pytest.mark.parametrize("lines", ["BUTTONS Buy|Look", "MEDIA http://x/a.png", "BUTTONS_COUNT_REC 2"])
def test_what_elements_of_rasa_show_is_looked_into(lines: str, tmp_path: Path) -> None:
    buttons = [{"title": "Buy", "payload": "/buy"}, {"title": "Look", "url": "http://x"}]
    said = {"text": "Hello", "cards": [{"title": "Tea", "image_url": "http://x/a.png", "buttons": buttons}]}

    assert _judged(tmp_path, f"case\n\n#me\nhi\n\n#bot\n{lines}\n", [[said]]).passed


def test_what_should_not_be_shown_is_expected_to_be_none(tmp_path: Path) -> None:
    said = {"text": "Hello", "buttons": [{"title": "Buy", "payload": "/buy"}]}
    (_, step) = _judged(tmp_path, "case\n\n#me\nhi\n\n#bot\nHello\n!BUTTONS\n", [[said]]).steps
    assert (step.outcome, step.expected) == ("failed", "none")


@pytest.mark.parametrize("end", ["BOT_CONSUMED", "BOT_UNCONSUMED_COUNT 0", "!BOT_UNCONSUMED_COUNT", "!BOT_CONSUMED"])
def test_messages_that_were_not_read_are_named(end: str, tmp_path: Path, golden: Golden) -> None:
    turns: Json = {"some": ["Hello"], "many": ["One", {"text": ""}, "Three", "Four"], "none": []}
    failures = {}
    for name, said in turns.items():
        (step,) = _judged(tmp_path / name, f"case\n\n#me\nhi\n\n#end\n{end}\n", [said]).steps
        if step.outcome == "failed":
            failures[name] = step.actual

    assert set(failures) == ({"none"} if end == "!BOT_CONSUMED" else {"some", "many"})
    golden(*failures.values())


def test_a_message_that_a_setting_wants_read_is_named(tmp_path: Path) -> None:
    settings = {"SCRIPTING_FORCE_BOT_CONSUMED": True}
    read = _cases(tmp_path, {"a.convo.txt": "case\n\n#me\nhi\n\n#bot\nHello\n"}, settings)
    (result,) = evaluate_cases(ScriptedEngine([["Hello", "Coffee?"]]), read.cases, CaseRun()).cases  # type: ignore[arg-type]

    assert "Coffee?" in str(result.steps[-1].actual)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("Hello\nASSIGN_SCRIPTING_MEMORY a", "ASSIGN_SCRIPTING_MEMORY has 1 arguments; expected 2"),
        ("Hello\nASSIGN_SCRIPTING_MEMORY a|$.sourceData.b", "nothing is at $.sourceData.b"),
        ("ORDERED_LIST_TO_BUTTON (a\\|aa)+$\nBUTTONS", "took too long"),
        ("JSON_PATH", "JSON_PATH has 0 arguments; expected 1 or 2"),
    ],
)
def test_a_logic_hook_or_a_path_that_cannot_be_followed_fails(lines: str, reason: str, tmp_path: Path) -> None:
    said = {"text": "Hello" if "LIST" not in lines else "a" * 60 + "!", "source": {"a": 1}}
    result = _judged(tmp_path, f"case\n\n#me\nhi\n\n#bot\n{lines}\n", [[said]])

    assert result.outcome == "failed"
    assert reason in str(result.steps[-1].reason)


def test_a_path_that_is_there_fails_what_must_not_be_there(tmp_path: Path) -> None:
    """In Botium, `!` without a value never fails."""
    result = _judged(tmp_path, "case\n\n#me\nhi\n\n#bot\n!JSON_PATH $.a\n", [[{"text": "Hello", "source": {"a": 1}}]])

    assert result.outcome == "failed"


def test_an_intent_that_a_bot_does_not_name_is_not_the_expected_one(tmp_path: Path) -> None:
    (case,) = _cases(tmp_path, {"a.convo.txt": "case\n\n#me\nhi\n\n#bot\nINTENT greet\nINTENT_CONFIDENCE 50\n"}).cases
    assert case.script is not None
    assert case.turns[1].part is not None
    turn = Turn("hi", (), {}, None, ({"event": "bot", "text": "Hello"},), not_reported={"entities": "not said"})

    judged = ScriptRun(case.script).judge(case.turns[1].part, turn, case.location)
    assert [one.step.outcome for one in judged] == ["failed", "failed"]


def test_a_text_that_fails_counts_even_if_an_asserter_cannot_be_judged(tmp_path: Path) -> None:
    result = _judged(tmp_path, "greet\n\n#me\nhi\n\n#bot\nHello\nINTENT greet\n", [["Bye"]], hears=False)

    assert result.outcome == "failed"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("JSON_PATH $.a[(@.length-1)]", "'$.a[(@.length-1)]' is not a JSONPath by RFC 9535"),
        ("ASSIGN_SCRIPTING_MEMORY a|b", "'b' is not a JSONPath by RFC 9535"),
        ("TEXT $env(GITHUB_TOKEN)", "$env: variables of this machine, which may be secrets, are not told to a bot"),
        ("TEXT $random", "$random: it needs the number of digits"),
        ("TEXT $random(2000)", "$random: it needs the number of digits, at most 1000"),
        ("TEXT $cap(SIMPLEREST_URL)", "$cap: botium.json does not set 'SIMPLEREST_URL'"),
        ("TEXT $msg(b)", "$msg: 'b' is not a JSONPath by RFC 9535"),
        ('CONDITIONAL_STEP_JSON_PATH_BASED {"jsonPath": "b"}', "'b' is not a JSONPath by RFC 9535"),
        ('{"text": "Hello"}', "the message of #bot is JSON for one of Botium's connectors"),
        ("MY_ASSERTER one", "MY_ASSERTER: it is a plug-in of Botium's (tests/botium.json)"),
        ("CONVO_STEP_PARAMETERS ignoreNotMatchedBotResponses:1", "'ignoreNotMatchedBotResponses' has no effect here"),
    ],
)
def test_what_cannot_be_judged_is_skipped_with_its_line_and_the_reason(line: str, why: str, tmp_path: Path) -> None:
    plugins = {"ASSERTERS": [{"ref": "MY_ASSERTER", "src": "./mine.js"}]}
    read = _cases(tmp_path, {"a.convo.txt": f"case\n\n#me\nhi\n\n#bot\n{line}\n"}, plugins)

    section = _all(read)
    (finding,) = [one for one in read.findings if one.code == "botium-not-judged"]
    assert why in finding.message
    assert finding.location.line in {6, 7}
    (result,) = section.cases
    assert result.outcome == "skipped"
    assert result.reason is not None
    assert why in result.reason
    assert section.skipped == 1


@pytest.mark.parametrize(
    ("pattern", "outcome"),
    [
        *((pattern, "passed") for pattern in PATTERNS_OF_HELLO),
        *((pattern, "failed") for pattern in PATTERNS_OF_SOMETHING_ELSE),
        *((pattern, "skipped") for pattern in PATTERNS_NOT_READ),
    ],
)
def test_a_pattern_is_read_as_in_javascript_or_not_judged(pattern: str, outcome: str, tmp_path: Path) -> None:
    """The others of the suite are judged whatever it is."""
    convo = "case\n\n#me\nhi\n\n#bot\n{}\n"
    line = f"TEXT_REGEXP_ANY {pattern}".replace("|", r"\|")  # one argument
    files = {"a.convo.txt": convo.format("Hello"), "b.convo.txt": convo.format(line)}
    read = _cases(tmp_path, files, {"SCRIPTING_NORMALIZE_TEXT": False})

    assert {one.severity for one in read.findings} <= {"warning"}
    assert [one.outcome for one in _all(read).cases] == ["passed", outcome]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^[\d-x]$", "-", True),
        (r"^[\d-a-z]$", "k", False),
        (r"^[a-\d-z]$", "z", True),
        (r"^[^\W\d]$", "5", False),
        (r"[\c1]", "\x11", True),
        (r"\c1", "\\c1", True),
        (r"[\c!]", "\\", True),
        (r"\s", "\ufeff", True),
        (r"\s", "\x85", False),
        (r"\w\b", "\u00e9", False),
        ("^..$", "\U0001f600", True),
        ("^[\U0001f44d\U0001f44e]$", "\U0001f44d", False),
        (r"^\ud83d\ude00$", "\U0001f600", True),
        ("^(?:(a)|b)*$", "ab", True),
        ("{,2}", "a", False),
        ("a$", "a\n", False),
    ],
)
def test_a_pattern_finds_what_it_finds_in_javascript(pattern: str, text: str, found: bool) -> None:
    assert matches(text, pattern, "regexp") is found


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("k\u00c9[a-c]", "K\u00e9B", True),
        ("k", "\u212a", False),
        (r"[a-z]|\w", "\u017f", False),
        ("kay\u0131t", "KAYIT", False),
        ("i", "\u0130", False),
        (r"^\u03c3", "\u03c2", True),
        ("[^a]", "A", False),
        (r"(a)\1", "aA", True),
    ],
)
def test_a_pattern_that_ignores_case_finds_what_it_finds_in_javascript(pattern: str, text: str, found: bool) -> None:
    assert matches(text, pattern, "regexpIgnoreCase") is found


@pytest.mark.parametrize("pattern", ["(", "*a", "[b-a]", "a{2,1}", "a**", r"\b*o", "^*", "(?<=H)*e", "[a"])
def test_a_pattern_that_is_broken_in_javascript_is_an_error(pattern: str, tmp_path: Path) -> None:
    read = _cases(tmp_path, {"a.convo.txt": f"case\n\n#me\nhi\n\n#bot\nTEXT_REGEXP_ANY {pattern}\n"})

    assert [one.code for one in read.findings if one.severity == "error"] == ["botium-syntax"]


@pytest.mark.parametrize(
    ("pattern", "outcomes"),
    [
        (r"[\u{1F44B}-\u{1F44F}]|\ud83d\ude00", ["passed", "failed"]),
        (r"\p{Emoji}", ["skipped", "skipped"]),
        ("(?i)h", ["skipped", "skipped"]),
    ],
)
def test_a_pattern_that_is_taken_out_of_texts_reads_whole_characters(
    pattern: str, outcomes: list[str], tmp_path: Path
) -> None:
    convo = "case\n\n#me\nhi\n\n#bot\nTEXT_EQUALS {}\n"
    files = {"a.convo.txt": convo.format("Hi there"), "b.convo.txt": convo.format("Bye")}
    read = _cases(tmp_path, files, {"SCRIPTING_NORMALIZE_TEXT_REMOVE_REGEXP": pattern})
    section = evaluate_cases(ScriptedEngine([["Hi\U0001f44b there\U0001f600"]]), read.cases, CaseRun())  # type: ignore[arg-type]

    assert {one.severity for one in read.findings} <= {"warning"}
    assert [one.outcome for one in section.cases] == outcomes


@pytest.mark.parametrize(
    ("wanted", "said", "words", "values"),
    [
        (r"^(?:Hi|Hello) \(?$name\)?, \d+ \++ $unit$", "Hello (Ann, 3 ++ km", "word", {"$name": "Ann", "$unit": "km"}),
        (r"I am $name, \1", "I am Bob, Bob", "", {"$name": "Bob"}),
        ("I am $name", "I am \U0001f600\U0001f44b", "", {"$name": "\U0001f600\U0001f44b"}),
        ("I am $name", "I am Jos\u00e9", "word", {"$name": "Jos"}),
        (r"I am $name{,2}", "I am Ann", "", {}),
        (r"I am $name(?i)", "I am Ann", "", {}),
    ],
)
def test_variables_take_values_where_a_pattern_of_javascript_has_them(
    wanted: str, said: str, words: str, values: dict[str, str]
) -> None:
    assert values_in(said, [wanted], Capabilities(matching="regexp", memory_words=words)) == values


def test_a_message_of_another_channel_is_not_judged(tmp_path: Path) -> None:
    read = _cases(tmp_path, {"a.convo.txt": "case\n\n#me\nhi\n\n#bot other\nHello\n"})

    (result,) = _all(read).cases
    assert (result.outcome, "'#bot other'" in (result.reason or "")) == ("skipped", True)


def _all(read: E2ECases) -> EndToEnd:
    return evaluate_cases(ScriptedEngine([["Hello"]]), read.cases, CaseRun())  # type: ignore[arg-type]


@pytest.mark.parametrize("sent", ["MEDIA cat.png", "FORM name|Ann", "BUTTON", "PAUSE 100", '{"text": "hi"}'])
def test_what_cannot_be_sent_is_not_judged(sent: str, tmp_path: Path) -> None:
    read = _cases(tmp_path, {"a.convo.txt": f"case\n\n#me\n{sent}\n\n#bot\nHello\n"})

    assert _all(read).cases[0].outcome == "skipped"
    assert "botium-not-judged" in {finding.code for finding in read.findings}


def test_what_a_user_says_is_computed_anew_in_each_run_and_never_from_the_machine(tmp_path: Path) -> None:
    convo = "case\n\n#begin\nSET_SCRIPTING_MEMORY id|$uniqid\n\n#me\n$id $random10\n\n#bot\nHello\n"
    files = {"a.convo.txt": convo, "b.convo.txt": "told\n\n#me\n$env(HOME) $msg($.a)\n\n#bot\nHello\n"}
    read = _cases(tmp_path, files)
    engine = ScriptedEngine([["Hello"]])

    results = [evaluate_cases(engine, read.cases, CaseRun()).cases for _ in range(2)]  # type: ignore[arg-type]
    said = [talk.said[0].split(" ") for talk in engine.talks]
    assert len({one for words in said for one in words}) == 4
    assert all(re.fullmatch(r"[0-9a-f-]{36}", uniqid) and re.fullmatch(r"\d{10}", digits) for uniqid, digits in said)
    assert [[result.outcome for result in run] for run in results] == [["passed", "skipped"]] * 2
    (first, _), (second, _) = results
    assert [one.messages[0].as_written for one in (first, second)] == ["$id $random10"] * 2
    assert first.given == second.given, "the same test"


@pytest.mark.parametrize(("said", "pattern"), [("$year, $years", r"\d{4}, \d{4}s"), ("$years", r"\$years")])
def test_without_settings_a_suite_that_calls_a_function_has_values(said: str, pattern: str, tmp_path: Path) -> None:
    (case,) = _cases(tmp_path, {"a.convo.txt": f"case\n\n#me\n{said}\n\n#bot\nHello\n"}).cases
    engine = ScriptedEngine([["Hello"]])

    run_case(engine, case, CaseRun())  # type: ignore[arg-type]  # a scripted engine
    assert re.fullmatch(pattern, engine.talks[0].said[0])


def test_a_condition_that_cannot_be_said_leaves_its_group_out(tmp_path: Path, golden: Golden) -> None:
    condition = 'CONDITIONAL_STEP_{}_BASED {{"jsonPath": "$.sourceData.a", "timeZone": "Nowhere", "value": 1}}'
    lines = [f"#bot\nHello\n{condition.format(kind)}\n" for kind in ("JSON_PATH", "JSON_PATH")]
    result = _judged(tmp_path, "\n".join(["case\n\n#me\nhi\n", *lines, "#bot\nMore\n"]), [["Hello", "More"]])
    assert [step.outcome for step in result.steps] == ["skipped", "passed"]
    assert result.steps[1].reason is None
    golden(result.steps[0].reason)

    line = condition.format("TIME")
    result = _judged(tmp_path / "other", f"case\n\n#me\nhi\n\n#bot\nHello\n{line}\n", [["Hello"]])
    golden(result.reason)


def test_a_pattern_that_takes_for_ever_fails_within_seconds(tmp_path: Path, golden: Golden) -> None:
    result = _judged(
        tmp_path, "case\n\n#me\nhi\n\n#bot\nCONVO_STEP_PARAMETERS matchingMode:regexp\n(a|aa)+$\n", [["a" * 60 + "!"]]
    )

    assert result.outcome == "failed"
    golden(result.steps[0].reason)


def test_a_conversation_that_expects_nothing_is_skipped(tmp_path: Path, golden: Golden) -> None:
    result = _judged(tmp_path, "case\n\n#me\nhi\n", [["Hello"]])

    assert result.outcome == "skipped"
    golden(result.reason)


def test_a_section_without_a_message_has_all_of_its_steps(tmp_path: Path) -> None:
    convo = "a\n\n#me\nhello\n\n#bot\nhi\nTEXT_CONTAINS_ANY h\n\n#bot\nwelcome\n"
    passed, silent = (_judged(tmp_path, convo, [said]) for said in (["hi", "welcome"], []))
    assert passed.passed
    assert [(one.kind, one.expected) for one in silent.steps] == [(one.kind, one.expected) for one in passed.steps]
    assert [one.outcome for one in silent.steps] == ["failed", "skipped", "skipped"]


def test_a_conversation_is_the_same_test_whatever_is_answered(tmp_path: Path) -> None:
    """A message that may be left out is a step where it was said, and after a failure; elsewhere it is none."""
    convo = "case\n\n#me\nhi\n\n#bot\nHello\n\n#bot\n?ten\n"

    def results(folder: str, text: str, *said: list[str]) -> list[CaseResult]:
        read = _cases(tmp_path / folder, {"a.convo.txt": text})
        sections = [evaluate_cases(ScriptedEngine([one]), read.cases, CaseRun()) for one in said]  # type: ignore[arg-type]
        return [section.cases[0] for section in sections]

    silent, told, wrong = results("a", convo, ["Hello"], ["Hello", "ten"], ["Bye"])
    assert [len(one.steps) for one in (silent, told, wrong)] == [1, 2, 2]
    (moved,) = results("b", convo.replace("case\n", "case\na description\n"), ["Hello"])
    for one in (told, wrong, moved):
        assert silent.tests_the_same_as(one)
        assert _expectation(silent) == _expectation(one)
    for other in (convo.replace("?ten", "ten"), convo.replace("?ten", "?eleven"), convo.replace("Hello", "!Hello")):
        (edited,) = results("c", other, ["Hello", "ten"])
        assert not silent.tests_the_same_as(edited)
        assert _expectation(silent) != _expectation(edited)


def _expectation(result: CaseResult) -> Hashable:
    section = EndToEnd(cases=(result,), passed=1, failed=0, skipped=0)
    (case,) = end_to_end_cases(structs.replace(report(), e2e=section))
    return case.expectation
