"""Batch suites in JSON and CSV: what is read, and what is wrong with a file, where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from documentation import ROOT, fences
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from small_project import write_project

from turncheck.cli import run_command_line
from turncheck.messages.finding import Finding, Location
from turncheck.project.batch.model import Suite, SuiteCase, Suites, comparable
from turncheck.project.batch.reader import HowToRead, decode, find_mistaken_suites, find_suites, read_suites
from turncheck.project.batch.rules import brace_for_pipe, components_of, items_of, read_intent
from turncheck.project.reader import read_project
from turncheck.validation.catalogue_suites import SUITE_CHECKS
from turncheck.validation.checks import Check

ORACLE = Path(__file__).parents[2] / "oracle" / "kore" / "suites"
EXPECTED: dict[str, dict[str, Any]] = json.loads((ORACLE / "expected.json").read_text(encoding="utf-8"))


def read(root: Path, text: str | bytes, name: str = "a.json", **how: Any) -> Suites:
    content = text if isinstance(text, bytes) else text.encode()
    (root / name).write_bytes(content)
    return read_suites(root, [root / name], HowToRead(**how))


def suite_of(cases: object) -> str:
    return json.dumps({"testCases": cases}, ensure_ascii=False)


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(one.code, str(one.location)) for one in findings]


def as_expected(case: SuiteCase) -> dict[str, Any]:
    made: dict[str, Any] = {"input": case.text, "intents": list(case.intents), "parent": list(case.parent)}
    made |= {"order": list(case.order), "bots": list(case.bots), "trait": case.is_trait}
    made["entities"] = [{"name": one.name, "values": list(one.values)} for one in case.entities]
    return {key: value for key, value in made.items() if value or key in {"input", "intents"}}


def holds(found: Finding, expected: dict[str, Any]) -> bool:
    first, last = expected["within"]
    line = found.location.line or 0
    return found.code == expected["code"] and first <= line <= last and bool(found.hint)


@pytest.mark.parametrize(("language", "name", "cases"), [("json", "a.json", 6), ("text", "a.csv", 2)])
def test_the_suites_of_the_manual_are_read(language: str, name: str, cases: int, tmp_path: Path) -> None:
    (text,) = [one.text for one in fences(ROOT / "docs" / "kore.md") if one.language == language]
    suites = read(tmp_path, text, name)
    assert not suites.errors
    assert not suites.findings
    (suite,) = suites.suites
    assert len(suite.cases) == cases


@pytest.mark.parametrize("name", EXPECTED)
def test_a_suite_is_read_or_refused_as_expected(name: str) -> None:
    expected = EXPECTED[name]
    suites = read_suites(ORACLE, [ORACLE / name])
    warnings = [one for one in suites.findings if one.severity == "warning"]
    if error := expected.get("error"):
        (found,) = suites.errors
        assert holds(found, error)
        assert found.location.line == error["line"]
        assert error.get("column") in {None, found.location.column}
        assert not suites.suites
        return
    (suite,) = suites.suites
    assert [as_expected(case) for case in suite.cases] == expected["cases"]
    assert len(warnings) == len(suites.findings) == len(expected.get("warnings", ()))
    for one in expected.get("warnings", ()):
        assert sum(holds(found, one) for found in warnings) >= 1
    upload = read_suites(ORACLE, [ORACLE / name], HowToRead(upload=True))
    assert [one.code for one in upload.errors] == [one["code"] for one in [expected.get("upload_error")] if one]


def test_two_suites_of_one_name_are_reported(tmp_path: Path) -> None:
    """A gate could mean either; on the platform the second would replace the first."""
    (tmp_path / "more").mkdir()
    for name in ("a.json", "more/a.csv", "more/b.csv"):
        content = suite_of([{"input": "x", "intent": "A"}]) if name.endswith("json") else "input,intent\nx,A\n"
        (tmp_path / name).write_text(content, "utf-8")
    found = read_suites(tmp_path, [tmp_path]).findings
    assert [(one.code, one.severity, str(one.location)) for one in found] == [
        ("suite-same-name", "warning", "more/a.csv")
    ]
    assert read_suites(tmp_path, [tmp_path / "a.json", tmp_path / "more" / "b.csv"]).findings == ()


@pytest.mark.follows(
    page="kore-batch",
    sentence="The page's sample of a composite entity is not JSON: its faults are reported with line and column.",
)
def test_all_faults_of_the_manuals_composite_sample_are_named_with_line_and_column(tmp_path: Path) -> None:
    text = """{
  "testCases": [
    {
      "input": "book a flight",
      "intent": "Book Flight",
      “entities”: [
        {
          "entityValue": "City:Hyderabad|Date:2018-07-06}Curr:1200 INR",
          "entityName": "Trip",
        }
      ]
    }
}
"""
    assert told(read(tmp_path, text).findings) == [
        ("suite-typographic-quote", "a.json:6:7"),
        ("suite-not-json", "a.json:9:31"),
        ("suite-not-json", "a.json:13:1"),
        ("suite-bad-value", "a.json:8:57"),
    ]


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ({"input": 5, "intent": "A"}, "suite-bad-value"),
        ({"input": "  ", "intent": "A"}, "suite-input-missing"),
        ({"input": None, "intent": "A"}, "suite-input-missing"),
        ({"input": "x", "intent": "A", "entities": {}}, "suite-bad-value"),
        ({"input": "x", "intent": "A", "entities": ["City"]}, "suite-bad-value"),
        ({"input": "x", "intent": "A", "entities": [{"entityName": "City", "entityValue": 3}]}, "suite-bad-value"),
        (
            {"input": "x", "intent": "A", "entities": [{"entityName": "", "entityValue": "3"}]},
            "suite-entity-incomplete",
        ),
        ({"input": "x", "intent": "A", "entityOrder": "City"}, "suite-bad-value"),
        ({"input": "x", "intent": "A", "entityOrder": [1]}, "suite-bad-value"),
    ],
)
def test_a_wrong_value_is_refused_once_with_its_place(tmp_path: Path, case: Any, code: str) -> None:
    (found,) = read(tmp_path, suite_of([{"input": "fine", "intent": "A"}, case])).findings
    assert (found.code, found.severity, found.location.line) == (code, "error", 1)
    assert found.hint


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "Utterance,Fulfillment Type,Expected Intent\nhold on,Conversation Intent,ConversationIntent-Hold\n"),
        (
            "a.json",
            suite_of([{"Utterance": "hold on", "fulfilmentType": "x", "expectedIntent": "ConversationIntent-Hold"}]),
        ),
    ],
)
def test_a_suite_for_dialog_gpt_is_read_by_its_own_names(tmp_path: Path, name: str, text: str) -> None:
    suites = read(tmp_path, text, name)
    assert not suites.findings
    assert suites.suites[0].cases == (SuiteCase("hold on", ("ConversationIntent-Hold",)),)


def test_what_templates_leave_empty_is_no_fault(tmp_path: Path) -> None:
    empty: dict[str, Any] = {"input": "x", "intent": "A", "parentIntent": "", "botName": None, "entityOrder": []}
    empty["entities"] = [{"entityName": "", "entityValue": ""}]
    suites = read(tmp_path, suite_of([empty]))
    assert not suites.findings
    assert suites.suites == (Suite("a", "a.json", (SuiteCase("x", ("A",)),)),)


def test_a_suite_bears_the_name_of_its_file_unless_another_is_given(tmp_path: Path) -> None:
    text = suite_of([{"input": "x", "intent": "A"}])
    assert read(tmp_path, text, "smoke.v2.json").suites[0].name == "smoke.v2"
    named = read(tmp_path, text, name="b.json", description="weekly").suites[0]
    assert (named.name, named.description) == ("b", "weekly")


@pytest.mark.follows(
    page="kore-batch", sentence="Names of intents are three to five plain words. (Advice with `--strict`.)"
)
def test_strictly_unknown_keys_are_errors_and_advice_on_names_is_given(tmp_path: Path) -> None:
    text = suite_of([{"input": "x", "intent": "I want to pay my bill", "extra": 1}])
    assert [one.severity for one in read(tmp_path, text).findings] == ["warning"]
    assert [(one.code, one.severity) for one in read(tmp_path, text, strict=True).findings] == [
        ("suite-unknown-key", "error")
    ]
    for name, advised in (
        ("I want to pay my bill", ["info"]),
        ("Pay my bill#1", ["info"]),
        ("the and of", ["info"]),
        ("Track_The_Order", ["info"]),
        ("What is the fee for an order?", []),
        ("Pay my bill", []),
        ("Theory and", ["info"]),
        ("Another thesis", []),
    ):
        found = read(tmp_path, suite_of([{"input": "x", "intent": name}]), strict=True).findings
        assert [one.severity for one in found if one.code == "suite-name-style"] == advised
        assert not read(tmp_path, suite_of([{"input": "x", "intent": name}])).findings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sep=;\ninput;intent\nbuy, now;A\n", ["buy, now"]),
        ("input,intent\n\n,\nbuy,A\n\n", ["buy"]),
        ('intent,input\nA,"say ""hi""\r\nnow"\n', ['say "hi"\r\nnow']),
        ('input, intent\n  "a, b" , A\n', ["a, b"]),
        ("input,intent\rbuy,A\rstop,B\r", ["buy", "stop"]),
        ("input,intent\nbuy,A\nbuy,A\nbuy,B\n", ["buy", "buy"]),
        ("input,intent\n“hello”,A\n", ["“hello”"]),
    ],
)
def test_csv_as_spreadsheets_write_it(tmp_path: Path, text: str, expected: list[str]) -> None:
    suites = read(tmp_path, text, "a.csv")
    assert [case.text for suite in suites.suites for case in suite.cases] == expected
    assert {one.code for one in suites.findings} <= {"suite-contradiction"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input,intent,input\nx,A,y\n", [("suite-header", "a.csv:1:14")]),
        ("Input,Intent\nx,A\n", [("suite-header", "a.csv:1:1")]),
        ("input,intent,note\nx,A,y\n", [("suite-unknown-key", "a.csv:1:14")]),
        ("input,intent\nx,A\n,B\n", [("suite-input-missing", "a.csv:3:1")]),
        ('input,intent\nx,A\n"y,B\nz,C\n', [("suite-open-quote", "a.csv:3:1")]),
        ("input,intent\nx,A\ny,B,C,D\n", [("suite-extra-field", "a.csv:3:5")]),
        ('input,intent\n"x"y,A\n', [("suite-stray-quote", "a.csv:2:4")]),
    ],
)
def test_each_fault_of_csv_has_its_place(tmp_path: Path, text: str, expected: list[tuple[str, str]]) -> None:
    assert told(read(tmp_path, text, "a.csv").findings) == expected


def test_encodings_that_spreadsheets_save_are_read_with_a_warning(tmp_path: Path) -> None:
    text = "input,intent\nthé,A\n"
    for content, place in ((text.encode("cp1252"), "a.csv:2:3"), (text.encode("utf-16"), "a.csv:1:1")):
        suites = read(tmp_path, content, "a.csv")
        assert [case.text for suite in suites.suites for case in suite.cases] == ["thé"]
        assert told(suites.findings) == [("suite-encoding", place)]
    assert told(read(tmp_path, b"input,intent\nth\x81\xe9,A\n", "a.csv").findings) == [("file-not-utf8", "a.csv:2:3")]


def test_an_utterance_contradicts_itself_only_where_the_intents_exclude_each_other(tmp_path: Path) -> None:
    def codes(*cases: dict[str, str]) -> list[str]:
        return [
            one.code for one in read(tmp_path, suite_of([{"input": "stop  it", **case} for case in cases])).findings
        ]

    assert codes({"intent": "A"}, {"intent": "B"}) == ["suite-contradiction"] * 2
    assert codes({"intent": "A"}, {"intent": "None"}) == ["suite-contradiction"] * 2
    assert not codes({"intent": "A | B"}, {"intent": "b"})
    assert not codes({"intent": "A"}, {"intent": "trait: B"})
    assert not codes({"intent": "A", "parentIntent": "P"}, {"intent": "B"})


def test_suites_are_found_by_their_content(tmp_path: Path) -> None:
    for folder in ("tests/deep", "batch", "data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "smoke.json").write_text(suite_of([{"input": "x", "intent": "A"}]))
    (tmp_path / "tests" / "package.json").write_text("{}")
    (tmp_path / "batch" / "a.csv").write_text("intent;input\nA;x\n")
    (tmp_path / "batch" / "cities.csv").write_text("city,country\nRome,Italy\n")
    (tmp_path / "data" / "b.csv").write_text("input,intent\nx,A\n")
    assert [Path(path).name for path in find_suites(tmp_path)] == ["a.csv", "smoke.json"]
    assert [suite.name for suite in read_suites(tmp_path, [tmp_path / "batch"]).suites] == ["a"]
    assert not [file for file in read_project(tmp_path).files if file.path.endswith(".csv")]


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("tests/x.csv", "utterance;intnt\nbuy tea;Order Tea\n", "'utterance' should be 'input'."),
        ("batch/x.csv", '\ufeff"Inptu","intent"\nbuy tea,Order Tea\n', "'Inptu' should be 'input'."),
        ("tests/deep/x.csv", "text\texpected intent\nbuy tea\tOrder Tea\n", "'text' should be 'input'."),
        ("tests/x.json", '{"test_cases": [{"input": "x", "intent": "A"}]}', "'test_cases' should be 'testCases'."),
        ("batch/x.json", '{"testcases": [{"input": "x"}]}', "'testcases' should be 'testCases'."),
        ("tests/x.csv", "input,intent\nx,A\n", None),
        ("tests/x.csv", "city,country\nRome,Italy\n", None),
        ("tests/x.csv", "utterance,label\nhello,greeting\n", None),
        ("tests/x.csv", "", None),
        ("tests/x.json", '{"test_cases": [{"name": "x"}]}', None),
        ("data/x.csv", "utterance;intnt\nbuy tea;Order Tea\n", None),
    ],
)
def test_a_file_that_is_nearly_a_suite_is_reported(tmp_path: Path, name: str, content: str, hint: str | None) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding="utf-8")
    found = list(find_mistaken_suites(tmp_path))
    assert [(one.code, one.severity, one.location.path, one.hint) for one in found] == (
        [] if hint is None else [("suite-not-recognised", "warning", name, hint)]
    )


def test_a_run_shows_a_file_that_is_nearly_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_project(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "x.csv").write_text("utterance;intnt\nhello;greet\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    run_command_line(["run", "--evaluations", "validate"])
    report = json.loads((tmp_path / "results" / "report.json").read_bytes())
    assert [
        one["location"]["path"] for one in report["validation"]["findings"] if one["code"] == "suite-not-recognised"
    ] == ["tests/x.csv"]


@pytest.mark.parametrize("check", SUITE_CHECKS, ids=lambda check: check.code)
def test_the_manuals_examples_are_wrong_and_right(tmp_path: Path, check: Check) -> None:
    elsewhere = {"suite-unknown-name", "suite-disabled-name", "suite-none-is-an-intent"}
    if check.code in elsewhere or not check.wrong.startswith(("{", "[", "input,", "utterance,")):
        return
    for text, is_wrong in ((check.wrong, True), (check.right, False)):
        name = "a.json" if text.startswith(("{", "[")) else "a.csv"
        suites = read(tmp_path, text, name, strict=check.severity == "info")
        found = {one.code: one.severity for one in suites.findings}
        assert found.get(check.code) == (check.severity if is_wrong else None)


def test_a_path_that_is_missing_or_no_suite_by_its_ending_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("testCases: []")
    found = read_suites(tmp_path, [tmp_path / "b.json", tmp_path / "a.yml"])
    assert told(found.errors) == [("suite-not-found", "b.json"), ("suite-not-found", "a.yml")]


def test_fields_are_taken_apart() -> None:
    assert read_intent("TRAIT :A || B: c").names == ("A", "B: c")
    assert read_intent("a|b | ").names == ("a", "b")
    assert components_of("City:Oslo|At:12:30") == (("City", "Oslo"), ("At", "12:30"))
    assert components_of("Lyon|Lille") == components_of("At:12:30") == components_of("a:1||b:2") == ()
    assert items_of("green || black") == ("green", "black")
    assert brace_for_pipe("T\\d{4}") is brace_for_pipe("a:b{2}c:d") is None
    assert comparable("  Book__Flight\u00a0now ") == "book flight now"


WORDS = [
    "testCases",
    "input",
    "intent",
    "entities",
    "entityName",
    "entityValue",
    "entityOrder",
    "botName",
    "parentIntent",
    "trait:",
    "None",
    "x",
]
FILE_PARTS = st.sampled_from([*WORDS, *'"“”{}[],:;|> ', "||", "\n", "\r\n", "\t"])


@given(st.lists(FILE_PARTS | st.text(max_size=3), max_size=40).map("".join), st.sampled_from(["a.json", "a.csv"]))
def test_whatever_a_file_holds_is_read_or_refused_with_a_place(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str
) -> None:
    suites = read(tmp_path_factory.getbasetemp(), text.encode("utf-8", "replace"), name)
    assert bool(suites.suites) != bool(suites.errors)
    for found in suites.findings:
        assert found.code.startswith(("suite-", "file-"))
        assert found.location.line is not None
        assert found.message.endswith((".", "…"))


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(content: bytes) -> None:
    source, findings = decode("a.csv", content)
    assert source is not None or [one.code for one in findings] == ["file-not-utf8"]
    assert Location("a.csv").path == "a.csv"


def test_a_column_or_key_of_another_case_is_named(tmp_path: Path) -> None:
    csv = "\ufeffIntent;Input;Entity Name\r\nPay;zahle, bitte;Betrag\r\n"
    (refused,) = read(tmp_path, csv, "a.csv").findings
    assert (refused.code, refused.hint.partition(" Write")[0]) == ("suite-header", "'Input' should be 'input'.")
    (refused,) = read(tmp_path, '{"testCases": [{"Input": "hi", "intent": "A"}]}').errors
    assert (refused.code, refused.hint) == ("suite-input-missing", "'Input' should be 'input'.")


@pytest.mark.parametrize("name", ["notes.txt", "notes.tsv", "notes.md", "notes.csv"])
def test_a_named_file_that_is_no_suite_says_what_it_was_read_as(name: str, tmp_path: Path, golden: Golden) -> None:
    (refused,) = read(tmp_path, "what we said\nmore of it\n", name).findings
    golden(refused.message)


def test_a_value_under_a_column_without_a_name_is_refused(tmp_path: Path) -> None:
    (refused,) = read(tmp_path, "input,intent,,\nhi,A,,\nho,B,x,\n", "a.csv").findings
    assert (refused.code, refused.location.line, refused.location.column) == ("suite-extra-field", 3, 6)


def test_suites_for_dialog_gpt_have_one_app_for_several_intents(tmp_path: Path) -> None:
    csv = "Utterance,Fulfillment Type,Expected Intent,Linked App\nhi,Multi Intent,A|B|C|D,App1\nho,No Intent,,\n"
    assert read(tmp_path, csv, "a.csv").findings == ()


def test_keys_that_are_misspelt_are_named_where_something_is_missing(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"name": "x", "foo": 1, "testCases": [{"input": "a", "intent": "A", "entities": ['
        '{"entityName": "City", "entityvalue": "Oslo"}, {"Name": "City"}]}]}'
    )
    found = read_suites(tmp_path, [path]).findings
    assert [one.code for one in found] == ["suite-entity-incomplete", "suite-entity-incomplete"]
    golden(*(f"{one.message} {one.hint}" for one in found))
    path.write_text('{"name": "x", "foo": 1, "testCases": [{"input": "a", "intent": "A"}]}')
    hints = [(one.code, one.message, one.hint) for one in read_suites(tmp_path, [path]).findings]
    assert [code for code, _, _ in hints] == ["suite-unknown-key"] * 2
    assert "--name" in hints[0][2]
    assert hints[1][2] == "Remove it."


def test_a_long_value_without_components_is_read_in_time_that_grows_with_it() -> None:
    value = "- " * 50_000  # each place to begin was tried: minutes
    assert components_of(f"{value}|{value}") == ()
    assert brace_for_pipe(value) is None
    assert components_of(" City :Oslo|:At:12:30") == ()
    assert components_of(" City :Oslo| At:12:30") == (("City", "Oslo"), ("At", "12:30"))
