"""``test X`` measures as ``run`` does: the same cache, the same trust in a stand-in, the same engine in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line

CONFIG = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
policies:
- name: MemoizationPolicy
- name: RulePolicy
"""
DOMAIN = """\
version: "3.1"
intents: [greet, bye]
responses:
  utter_hello: [{text: Hello}]
  utter_bye: [{text: Bye}]
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi there
    - good morning
- intent: bye
  examples: |
    - bye
    - see you
    - farewell
"""
STORIES = """\
version: "3.1"
stories:
- story: greeting
  steps:
  - intent: greet
  - action: utter_hello
  - intent: bye
  - action: utter_bye
"""
TESTS = STORIES.replace("intent: greet", "user: hello\n    intent: greet").replace(
    "intent: bye", "user: bye\n    intent: bye"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "bot"
    files = {"config.yml": CONFIG, "domain.yml": DOMAIN, "data/nlu.yml": NLU, "data/stories.yml": STORIES}
    for name, content in {**files, "tests/test_stories.yml": TESTS}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def report_of(project: Path, *words: str) -> dict[str, Any]:
    path = project.parent / "report.json"
    plots = [] if words[0] == "robustness" else ["--no-plot", "--out", str(project.parent / "results")]
    assert not run_command_line(["test", *words, "--project", str(project), *plots, "--json", str(path)])
    report: dict[str, Any] = json.loads(path.read_bytes())
    del report["timings"]
    return report


@pytest.mark.parametrize(
    "words",
    [("nlu", "--cross-validation", "--folds", "2"), ("nlu",), ("core", "--e2e"), ("robustness", "--folds", "2")],
)
def test_what_did_not_change_is_taken_from_the_cache(
    project: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    trained = report_of(project, *words, "--no-cache")
    assert "cache" not in capsys.readouterr().err
    first = report_of(project, *words)
    assert "cache" not in capsys.readouterr().err
    second = report_of(project, *words)
    golden(capsys.readouterr().err, only="cache")
    assert trained == first == second


def test_a_command_takes_what_a_run_has_kept(project: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    run_command_line(["run", str(project), "--out", str(project.parent / "run"), "--baseline", "none"])
    capsys.readouterr()
    report_of(project, "core", "--e2e")
    golden(capsys.readouterr().err, only="cache")


def test_folds_of_other_sentences_are_trained(project: Path) -> None:
    """What is kept is about the project's own sentences."""
    other = project.parent / "other.yml"
    words = ("nlu", "--cross-validation", "--folds", "2", "--nlu", str(other))
    other.write_text(NLU, encoding="utf-8")
    before = report_of(project, *words)
    other.write_text(NLU.replace("- farewell", "- good morning to you"), encoding="utf-8")
    after = report_of(project, *words)
    assert [one["text"] for one in before["nlu"]["predictions"]] != [one["text"] for one in after["nlu"]["predictions"]]
    assert after == report_of(project, *words, "--no-cache")


def test_a_comparison_with_the_own_rasa_is_told_by_every_command(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """As in a run: not that there is none."""
    file = project / ".turncheck" / "calibration.json"
    file.parent.mkdir()
    file.write_text("nothing of the kind", encoding="utf-8")
    report = report_of(project, "nlu")
    printed = capsys.readouterr().out
    golden(printed, only="with your Rasa")
    assert report["trust"]["problem"]


def test_the_report_says_of_each_component_what_is_done_with_it(project: Path) -> None:
    configured = report_of(project, "nlu", "--cross-validation", "--folds", "2")["engine"]["configured"]
    assert "DIETClassifier" in [one["name"] for one in configured]


CASES = """\
test_cases:
- test_case: greeting
  steps:
  - user: hello
  - utter: utter_hello
"""


def test_where_nothing_understands_sentences_that_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "data" / "nlu.yml").unlink()
    cases = project / "cases.yml"
    cases.write_text(CASES, encoding="utf-8")
    report_of(project, "core", "--e2e")
    words = "The project has no NLU examples: only messages such as /greet are understood."
    assert words in capsys.readouterr().err
    assert run_command_line(["test", "e2e", str(cases), "--project", str(project)]) == 1
    assert words in capsys.readouterr().err


def test_robustness_needs_no_stories(project: Path) -> None:
    """Neither alone nor in a run: it is about sentences."""
    (project / "data" / "stories.yml").write_text("stories: [", encoding="utf-8")
    out = project.parent / "out"
    run_command_line(
        ["run", str(project), "--evaluations", "robustness", "--folds", "2", "--out", str(out), "--baseline", "none"]
    )
    in_run = json.loads((out / "report.json").read_bytes())["robustness"]
    assert in_run == report_of(project, "robustness", "--folds", "2")["robustness"]


def test_a_second_question_is_answered_by_what_was_trained_for_the_first(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    words = ["parse", "hello", "--project", str(project)]
    assert not run_command_line(words)
    first = capsys.readouterr()
    assert not run_command_line(words)
    second = capsys.readouterr()
    assert "cache" not in first.err
    golden(second.err, only="cache")
    assert second.out == first.out
