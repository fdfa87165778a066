"""``turncheck test batch``: exit codes, what is printed, what is written."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from printed import passed_tests

from turncheck.cli import run_command_line
from turncheck.report.codec import decode

EXPORTS = Path(__file__).parents[2] / "oracle" / "kore" / "exports"
CONFIG = """recipe: default.v1
assistant_id: a
language: en
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
- name: RegexEntityExtractor
"""
DATA = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
- intent: order_tea
  examples: |
    - buy
- intent: book
  examples: |
    - to [Rome](city) please
- lookup: city
  examples: |
    - Rome
    - Oslo
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "bot"
    (folder / "data").mkdir(parents=True)
    (folder / "config.yml").write_text(CONFIG)
    (folder / "domain.yml").write_text('version: "3.1"\nintents: [greet, order_tea, book]\nentities: [city]\n')
    (folder / "data" / "nlu.yml").write_text(DATA)
    return folder


def run(*arguments: object) -> int:
    return run_command_line(["test", "batch", *map(str, arguments)])


def write(path: Path, *cases: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"testCases": cases}), encoding="utf-8")
    return path


RIGHT = {"input": "hello you", "intent": "Greet"}
WRONG = {"input": "=buy me this", "intent": "Book"}
CITY = {
    "input": "to Oslo please",
    "intent": "None",
    "entities": [{"entityName": "city", "entityValue": "Oslo"}],
    "entityOrder": ["city"],
}


def test_it_ends_with_0_where_all_pass_and_with_1_where_one_fails(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = write(tmp_path / "smoke.json", RIGHT)
    assert run(suite, "--project", project, "--json", tmp_path / "r.json", "--name", "Weekly", "--notes", "a note") == 0
    assert "\nWeekly " in capsys.readouterr().out
    report = decode((tmp_path / "r.json").read_bytes())
    assert report.batch is not None
    (judged,) = report.batch.suites
    assert (judged.name, judged.notes, judged.counts.tp, judged.passed) == ("Weekly", "a note", 1, 1)
    assert report.batch.kinds["dialog"].covered == 1
    assert report.batch.kinds["dialog"].total == 3
    assert run(write(tmp_path / "b.json", RIGHT, WRONG, CITY), "--project", project) == 1
    out = capsys.readouterr().out
    assert "batch case '=buy me this': expected Book, got order_tea" in out
    assert passed_tests(out) == {"Batch cases": "2/3"}


def test_the_results_are_written_in_the_platforms_layout_safe_for_spreadsheets(project: Path, tmp_path: Path) -> None:
    suite = write(tmp_path / "smoke.json", WRONG, CITY)
    for flag, first in ((), "'=buy me this"), (("--raw-csv",), "=buy me this"):
        run(suite, "--project", project, "--csv", tmp_path / "out.csv", "--out", tmp_path / "out", *flag)
        with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        header = next(place for place, row in enumerate(rows) if row[:1] == ["Utterance"])
        assert ["Report name:", "smoke"] in rows[:header]
        assert ["False Positive (FP):", "50"] in rows[:header]
        assert rows[header + 1][:6] == [first, "Book", "order_tea", "", "", "False Positive"]
        assert rows[header + 2][5:12] == ["True Negative", "city", "Oslo", "Oslo", "TRUE", "city", "city"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.json", "junit.xml", "batch", ".gitignore"}
    assert 'name="=buy me this"' in (tmp_path / "out" / "junit.xml").read_text(encoding="utf-8")


def test_suites_of_the_project_are_found(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project / "tests" / "one.json", RIGHT)
    write(project / "batch" / "two.json", RIGHT)
    assert run("--project", project) == 0
    out = capsys.readouterr().out
    assert "\none " in out
    assert "\ntwo " in out


@pytest.mark.parametrize(
    ("cases", "told"),
    [
        ('{"testCases": [{"input": "x", "intent": "A||B"}]}', "bad.json:1:42: "),
        ("[]", "bad.json:1:1: "),
        ("{“testCases”: []}", "bad.json:1:2: "),
    ],
)
def test_a_suite_with_a_fault_ends_it_with_2_and_its_place(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], cases: str, told: str
) -> None:
    (tmp_path / "bad.json").write_text(cases, encoding="utf-8")
    assert run(tmp_path / "bad.json", "--project", project) == 2
    assert f"{tmp_path}/{told}" in capsys.readouterr().err


def test_without_suites_and_with_too_long_notes_nothing_is_done(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run("--project", project) == 2
    golden(capsys.readouterr().err)
    suite = write(tmp_path / "smoke.json", RIGHT)
    assert run(suite, "--project", project, "--notes", "x" * 1025) == 2
    assert run(tmp_path / "missing.json", "--project", project) == 2
    assert "missing.json" in capsys.readouterr().err


def test_an_unknown_name_is_told_with_what_was_meant(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run(write(tmp_path / "a.json", {"input": "hello", "intent": "gret"}), "--project", project) == 1
    golden(capsys.readouterr().err)


def test_an_intent_called_none_is_told(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "domain.yml").write_text('version: "3.1"\nintents: [greet, none]\n')
    run(write(tmp_path / "a.json", RIGHT, {"input": "xyz", "intent": "None"}), "--project", project)
    assert "(suite-none-is-an-intent)" in capsys.readouterr().err


def test_a_trait_is_not_evaluated_by_an_engine_that_knows_none(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    trait = {"input": "hurry", "intent": "trait: Urgent"}
    assert run(write(tmp_path / "a.json", RIGHT, trait), "--project", project) == 1
    golden(capsys.readouterr().out, only="not evaluated")
    assert run(write(tmp_path / "b.json", trait), "--project", project) == 2


@pytest.mark.follows(
    page="kore-batch", sentence="The report has the thresholds of each engine, by its mode: ml, faq, or, cs."
)
def test_the_csv_says_what_is_known_of_the_assistant(tmp_path: Path) -> None:
    definition = json.loads((EXPORTS / "tea_shop" / "botDefinition.json").read_text("utf-8"))
    definition["localeData"]["en"]["confidenceConfigs"] = [
        {"mode": "rr", "threshold": 0},
        {"mode": "or", "minThreshold": 0.4, "isActive": False},
        {"mode": "faq", "pathCoverage": 50, "suggestionsCount": 2},
        {"mode": "cs", "wordCoverage": 60, "isActive": True, "isFMThreshold": False},
        {"mode": "ml", "minThreshold": 0.3, "maxThreshold": "80", "exactMatchThreshold": 95},
        {"mode": None},
        "x",
    ]
    (tmp_path / "botDefinition.json").write_text(json.dumps(definition), "utf-8")
    (tmp_path / "s.csv").write_text("input,intent\nstop it,Cancel Order\n", "utf-8")
    run(tmp_path / "s.csv", "--project", tmp_path, "--csv", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        block = [tuple(row) for row in csv.reader(file) if len(row) == 2]
    assert block[2] == ("Bot Language:", "en")
    place = block.index(("Threshold Setting:", ""))
    assert block[place + 1 : place + 13] == [
        ("Mode:", "ml"),
        ("minThreshold:", "0.3"),
        ("exactMatchThreshold:", "95"),
        ("Mode:", "faq"),
        ("suggestionsCount:", "2"),
        ("pathCoverage:", "50"),
        ("Mode:", "or"),
        ("minThreshold:", "0.4"),
        ("isActive:", "false"),
        ("Mode:", "cs"),
        ("isActive:", "true"),
        ("wordCoverage:", "60"),
    ]
    key, tested = block[place + 13]
    assert key == "Last Tested:"
    assert abs((datetime.now(UTC) - datetime.fromisoformat(tested)).total_seconds()) < 600
