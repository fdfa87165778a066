"""``turncheck calibrate --engines``: the same tests, asked of an engine here, of Rasa, of both versions of a bot."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines_example import PAGE as ENGINES_PAGE
from engines_example import compare_as_documented
from fake_kore import BOT, CLIENT, SECRET, FakeKore, refusal
from fake_kore import serving as serving_kore
from fake_rasa import FakeRasa
from fake_rasa import serving as serving_rasa
from golden_texts import Golden
from tools.make_pictures import NOTED, digest_of_page

from turncheck.cli import run_command_line
from turncheck.platforms.kore.engine.client import Clock

ROOT = Path(__file__).parents[2]
BIKES = ROOT / "examples" / "bike_workshop"
FOUR = ("embedded", "rasa", "kore:published", "kore:in-development")
CONFIG = """recipe: default.v1
assistant_id: a
language: en
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
"""
NLU = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - greet
- intent: bye
  examples: |
    - bye
    - so long
"""
TESTS = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - greet me
- intent: bye
  examples: |
    - bye now
    - so long then
"""
ANSWERS = """version: "3.1"
intents: [greet, bye]
responses:
  utter_greet:
  - text: hi
  utter_bye:
  - text: so long
"""
STORY = """version: "3.1"
stories:
- story: s
  steps:
  - user: greet me
    intent: greet
  - action: utter_greet
"""
SUITE = {"testCases": [{"input": "bye for today", "intent": "Bye"}, {"input": "=greet()", "intent": "greet"}]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {
        "config.yml": CONFIG,
        "domain.yml": 'version: "3.1"\nintents: [greet, bye]\n',
        "data/nlu.yml": NLU,
        "tests/test_nlu.yml": TESTS,
        "tests/smoke.json": json.dumps(SUITE),
    }
    for name, text in files.items():
        (tmp_path / "bot" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bot" / name).write_text(text)
    return tmp_path / "bot"


@pytest.fixture
def kore(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKore]:
    fake = FakeKore(
        intents={"greet me": ("greet",), "bye now": ("bye",), "so long then": ("bye",), "bye for today": ("bye",)},
        published={"greet me": ("Greet",), "bye now": ()},
    )
    monkeypatch.setattr("turncheck.platforms.kore.engine.engines.Clock", lambda: Clock(sleep=lambda _seconds: None))
    monkeypatch.setenv("TURNCHECK_KORE_CLIENT_SECRET", SECRET)
    with serving_kore(fake):
        yield fake


@pytest.fixture
def rasa() -> Iterator[FakeRasa]:
    with serving_rasa(FakeRasa()) as fake:
        yield fake


def compared(project: Path, kore: FakeKore, rasa: str, *arguments: str, engines: tuple[str, ...] = FOUR) -> int:
    of_kore = ("--kore-host", kore.url, "--kore-bot-id", BOT, "--kore-client-id", CLIENT, "--kore-bot-name", "Tea Shop")
    flags = ("--project", str(project), "--out", "out", "--rasa-url", rasa, *of_kore, *arguments)
    return run_command_line(["calibrate", "--engines", *engines, *flags])


def document() -> Any:
    return json.loads(Path("out/engines.json").read_text("utf-8"))


def test_every_engine_is_asked_every_test_side_by_side(
    project: Path, kore: FakeKore, rasa: FakeRasa, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert compared(project, kore, rasa.url) == 0
    made = document()
    got = {
        test["name"]: [answer and (answer["got"].lower(), answer["passed"]) for answer in test["answers"]]
        for test in made["tests"]
    }
    assert got == {
        "greet me": [("greet", True)] * 4,
        "bye now": [("bye", True), ("bye", True), ("no intent", False), ("bye", True)],
        "so long then": [("bye", True), ("so", False), ("bye", True), ("bye", True)],
        "bye for today": [("bye", True)] * 4,
        "=greet()": [("greet", True), ("=greet()", False), ("no intent", False), ("no intent", False)],
    }
    assert [test["agree"] for test in made["tests"]] == [True, False, False, True, False]
    assert (made["compared"], made["agreeing"]) == (5, 2)
    columns = {one["name"]: one for one in made["engines"]}
    assert [(one["right"], one["answered"]) for one in columns.values()] == [(5, 5), (3, 5), (3, 5), (4, 5)]
    assert [(one["worse"], one["better"], one["agreeing"]) for one in columns.values()] == [
        (0, 0, 0),
        (2, 0, 3),
        (2, 0, 3),
        (1, 0, 4),
    ]
    assert all(one["seconds"] > 0 for one in columns.values())
    assert columns["kore:published"]["engine"] == "kore published"
    asked = {call.query["fetchConfiguredTasks"] for call in kore.calls}
    assert asked == {"true", "false"}
    shown = capsys.readouterr().out
    golden(shown, only="engines")
    assert re.search(r"bot/tests/test_nlu\.yml:9(:\d+)?: sentence 'so long then', expected bye\n", shown)
    assert "    rasa: so (wrong, worse)\n" in shown


def test_the_csv_has_a_row_for_each_test_and_no_formula(project: Path, kore: FakeKore, rasa: FakeRasa) -> None:
    compared(project, kore, rasa.url)
    with Path("out/engines.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_text = {row["test"]: row for row in rows}
    assert list(by_text) == ["greet me", "bye now", "so long then", "bye for today", "'=greet()"]
    assert by_text["so long then"] | {"place": ""} == {
        "kind": "sentence",
        "suite": "",
        "test": "so long then",
        "place": "",
        "expected": "bye",
        "agree": "FALSE",
        "embedded": "bye",
        "embedded right": "TRUE",
        "embedded changed side": "",
        "rasa": "so",
        "rasa right": "FALSE",
        "rasa changed side": "worse",
        "kore:published": "bye",
        "kore:published right": "TRUE",
        "kore:published changed side": "",
        "kore:in-development": "bye",
        "kore:in-development right": "TRUE",
        "kore:in-development changed side": "",
    }
    assert by_text["'=greet()"]["rasa"] == "'=greet()"


def test_the_page_shows_the_same_and_runs_nothing(project: Path, kore: FakeKore, rasa: FakeRasa) -> None:
    (project / "tests" / "smoke.json").write_text(
        json.dumps({"testCases": [{"input": "<script>alert(1)</script>", "intent": "bye"}]})
    )
    compared(project, kore, rasa.url, "--thresholds", "agreement >= 0.1")
    page = Path("out/engines.html").read_text("utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page
    for words in (*FOUR, "so long then", "▼ worse", "agreement &gt;= 0.1", "The engines agree on"):
        assert words in page


def test_the_old_name_says_the_new_one(
    kore: FakeKore, rasa: FakeRasa, project: Path, golden: Golden, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["compare-engines", "--engines", "embedded", "rasa", "--project", str(project)]) == 2
    golden(capsys.readouterr().err.partition("\n")[0])


@pytest.mark.parametrize(
    "flags",
    [
        ("--out", "elsewhere"),
        ("--thresholds", "agreement >= 0.9"),
        ("--kore-host", "https://kore.example"),
        ("--engines", "embedded", "rasa", "--folds", "3"),
        ("--engines", "embedded", "rasa", "--results", "old"),
    ],
)
def test_a_flag_of_the_other_use_is_refused(
    flags: tuple[str, ...], golden: Golden, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["calibrate", *flags]) == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize("command", ["compare-engines", "calibrate"])
def test_the_help_promises_only_one_project(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([command, "--help"]) == 0
    described = " ".join(capsys.readouterr().out.split())
    assert "--project DIR the assistant's folder (default: .) -" in described


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        (["agreement >= 0.4"], 0),
        (["agreement >= 0.9"], 1),
        (["agreement[kore:in-development] >= 80%", "right[embedded] == 1"], 0),
        (["agreement >= 0.4", "right[rasa] > 0.6"], 1),
        (["agrement >= 0.4"], 2),
        (["agreement[rsa] >= 0.4"], 2),
        (["nlu.intents.f1 >= 0.4"], 2),
    ],
)
def test_a_gate_decides_on_the_exit_code(
    project: Path, kore: FakeKore, rasa: FakeRasa, rules: list[str], code: int
) -> None:
    assert compared(project, kore, rasa.url, "--thresholds", *rules) == code


def test_an_engine_that_cannot_be_reached_is_a_column_that_says_so(
    project: Path, kore: FakeKore, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert compared(project, kore, "http://127.0.0.1:9") == 0
    column = document()["engines"][1]
    assert column["answered"] == 0
    assert "127.0.0.1:9" in column["problem"]
    told = capsys.readouterr().out
    assert re.search(r"^right +5 of 5 \(100\.0 %\) +no answer +3 of 5", told, re.MULTILINE)
    assert len(re.findall(r"^rasa: .*127\.0\.0\.1:9", told, re.MULTILINE)) == 1
    assert "no answer" in Path("out/engines.html").read_text("utf-8")
    with Path("out/engines.csv").open(encoding="utf-8", newline="") as file:
        cells = {(row["rasa"], row["rasa right"], row["rasa changed side"]) for row in csv.DictReader(file)}
    assert cells == {(f"no answer: {column['problem']}", "", "")}
    capsys.readouterr()
    assert compared(project, kore, "http://127.0.0.1:9", "--thresholds", "agreement >= 0.1") == 2
    golden(capsys.readouterr().out, only="agreement")
    assert compared(project, kore, "http://127.0.0.1:9", "--thresholds", "agreement >= 0.9") == 1


def test_an_engine_that_gives_up_half_way_keeps_what_it_answered(
    project: Path, kore: FakeKore, rasa: FakeRasa, golden: Golden
) -> None:
    kore.fault = lambda _call: refusal(401, "Invalid SDK credentials", 4002) if len(kore.calls) > 2 else None
    assert compared(project, kore, rasa.url, engines=("rasa", "kore", "embedded")) == 0
    made = document()
    column = made["engines"][1]
    assert column["answered"] == 2
    golden(column["problem"])
    assert [one["compared"] for one in made["engines"]] == [0, 2, 5]


@pytest.mark.parametrize(
    ("engines", "told"),
    [
        (("embedded",), "at least two engines"),
        (("embedded", "embedded"), "each once"),
        (("embedded", "raza"), "there is no engine 'raza'"),
        (("embedded", "kore:draft"), "has no 'draft'"),
        (("embedded:x", "kore"), "the engine 'embedded' has no 'x'"),
    ],
)
def test_engines_that_there_are_not_are_refused(
    project: Path, kore: FakeKore, engines: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compared(project, kore, "http://127.0.0.1:9", engines=engines) == 2
    assert told in capsys.readouterr().err
    assert not Path("out").exists()


def test_without_tests_there_is_nothing_to_ask(
    project: Path, kore: FakeKore, rasa: FakeRasa, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    shutil.rmtree(project / "tests")
    assert compared(project, kore, rasa.url) == 2
    golden(capsys.readouterr().err)
    assert compared(project, kore, "http://127.0.0.1:9", engines=("rasa", "kore")) == 2


@pytest.mark.parametrize(
    ("file", "fault"),
    [("tests/test_nlu.yml", "a: ["), ("tests/test_more.yml", "stories: [{story: a, steps: 7}]")],
)
def test_tests_that_cannot_be_read_are_not_left_out(
    project: Path, kore: FakeKore, file: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (project / file).open("a") as tests:
        tests.write(f"\n{fault}\n")
    command = ("--thresholds", "agreement >= 0.1")
    assert compared(project, kore, "", *command, engines=("embedded", "kore")) == 2
    told = capsys.readouterr().err
    assert re.search(rf"error: .*{file}:\d+:\d+: the test (sentences|stories) cannot ", told)
    assert not Path("out").exists()
    assert compared(project, kore, "", *command, "--evaluations", "batch", engines=("embedded", "kore")) == 0


def test_stories_are_compared_by_whether_they_pass(project: Path, kore: FakeKore, rasa: FakeRasa) -> None:
    (project / "domain.yml").write_text(ANSWERS)
    rule = "- rule: {0}\n  steps:\n  - intent: {0}\n  - action: utter_{0}\n"
    (project / "data" / "rules.yml").write_text(
        'version: "3.1"\nrules:\n' + "".join(map(rule.format, ("greet", "bye")))
    )
    (project / "config.yml").write_text(CONFIG + "policies:\n- name: RulePolicy\n")
    (project / "tests" / "test_stories.yml").write_text(STORY)
    assert compared(project, kore, rasa.url, "--evaluations", "core", engines=("embedded", "rasa", "kore")) == 0
    (test,) = document()["tests"]
    assert (test["kind"], test["expected"]) == ("story", "passes")
    assert [answer and answer["got"] for answer in test["answers"]] == ["passes", "passes", None]
    assert "the engine 'kore' understands sentences" in document()["engines"][2]["left_out"]["core"]


# --- the documentation -----------------------------------------------------------------------------------------------


def test_the_documented_example_is_what_is_printed_and_drawn(tmp_path: Path) -> None:
    done = compare_as_documented(tmp_path)
    assert done.returncode == 1, done.stderr
    (documented,) = re.findall(r"```text\n(.*?)```", ENGINES_PAGE.read_text("utf-8"), re.DOTALL)
    seconds = re.compile(r"^seconds .*$", re.MULTILINE)
    assert seconds.sub("", done.stdout).split() == seconds.sub("", documented).split()
    drawn = digest_of_page((tmp_path / "out" / "engines.html").read_text("utf-8"))
    assert json.loads(NOTED.read_text("utf-8"))["compare-engines.png"] == drawn, "run `make pictures`, and look at it"
