"""Intents with fewer examples than folds: said wherever the figures stand, with the folds that would judge them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line

CONFIG = """
recipe: default.v1
assistant_id: bot
language: en
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
policies: []
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("config.yml").write_text(CONFIG)
    Path("domain.yml").write_text('version: "3.1"\nintents: [many, three, two]\n')
    Path("data").mkdir()
    return tmp_path


def write(sizes: dict[str, int]) -> None:
    blocks = [
        f"- intent: {intent}\n  examples: |\n" + "".join(f"    - {intent} {'abcdefgh'[n]}\n" for n in range(size))
        for intent, size in sizes.items()
    ]
    Path("data/nlu.yml").write_text('version: "3.1"\nnlu:\n' + "".join(blocks))


SAID = "2 intents were not judged, with fewer examples than folds (5): 'three' (3), 'two' (2). --folds 2 judges them."


def test_run_says_which_intents_were_not_judged(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    write({"many": 6, "more": 5, "three": 3, "two": 2})
    run_command_line(["run", "--baseline", "none", "-q"])
    assert f"Warning: {SAID}" in capsys.readouterr().out
    report = json.loads(Path("results/report.json").read_text())
    assert report["nlu"]["unjudged"] == [{"intent": "three", "examples": 3}, {"intent": "two", "examples": 2}]
    for name in ("comment.md", "summary.md"):
        told = Path("results", name).read_text()
        assert "2 intents were not judged" in told
        assert "--folds 2 judges them" in told
    root = ET.parse("results/junit.xml").getroot()  # noqa: S314  # our own output
    cases = {case.get("name"): case for case in root.iter("testcase")}
    skipped = cases["two"].find("skipped")
    assert skipped is not None
    golden(skipped.get("message"))
    assert (cases["two"].get("file"), cases["two"].get("line")) == ("data/nlu.yml", "25")
    assert cases["many"].find("skipped") is None


def test_an_intent_with_one_example_needs_more_of_them(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    write({"many": 6, "more": 5, "three": 3, "one": 1})
    assert run_command_line(["test", "nlu", "--cross-validation", "--no-plot"]) == 0
    said = capsys.readouterr().out
    golden(said, only="'three'")
    golden(said, only="--folds")
    assert run_command_line(["test", "nlu", "--cross-validation", "--no-plot", "--folds", "3"]) == 0
    said = capsys.readouterr().out
    golden(said, only="'one'")


def test_where_no_intent_can_be_judged_a_number_of_folds_that_works_is_named(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    write({"three": 3, "two": 2})
    assert run_command_line(["test", "nlu", "--cross-validation", "--no-plot"]) == 2
    golden(capsys.readouterr().err)
    assert run_command_line(["test", "nlu", "--cross-validation", "--no-plot", "--folds", "3"]) == 0
    run_command_line(["run", "--baseline", "none"])
    assert "--folds 3 would work" in capsys.readouterr().out
    write({"one": 1, "other": 1})
    assert run_command_line(["test", "nlu", "--cross-validation", "--no-plot"]) == 2
    golden(capsys.readouterr().err)


def test_nothing_is_said_where_all_are_judged(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write({"many": 6, "more": 5})
    run_command_line(["run", "--baseline", "none", "-q"])
    assert "not judged, with" not in capsys.readouterr().out
