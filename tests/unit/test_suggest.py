"""Suggested tests pass now, and notice what no test notices; nothing is overwritten, and no truth is invented."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from test_strength import CASES, STORIES, small_bot

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.evaluation.strength.assistant import Workshop
from turncheck.evaluation.strength.strength import StrengthRun, evaluate_strength
from turncheck.evaluation.strength.suggest import REVIEW, cases_text, suggest
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project, read_story_files
from turncheck.report.model import Strength
from turncheck.validation.project_tests import ProjectTests

WORKSHOP = Workshop(EmbeddedNluTrainer(), 42)


def the_tests(root: Path, *cases: str) -> ProjectTests:
    stories = read_story_files([root / "tests/test_stories.yml"], root)[0]
    return ProjectTests(stories, (), read_cases(root, [str(root / "tests" / name) for name in cases]).cases)


def measured(root: Path, tests: ProjectTests) -> Strength:
    return evaluate_strength(read_project(root), WORKSHOP, tests, StrengthRun(workers=1))


def test_suggested_cases_bring_the_score_up(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    before = measured(root, the_tests(root))
    found = suggest(read_project(root), WORKSHOP, the_tests(root), before, 42)

    assert found.cases
    path = root / "tests" / "e2e_suggested_1.yml"
    path.write_text(cases_text(found.cases), encoding="utf-8")
    after = measured(root, the_tests(root, path.name))

    assert before.score is not None
    assert after.score is not None
    assert after.score >= before.score + 0.2
    named = {(kill.operator, kill.what) for one in found.cases for kill in one.kills}
    killed = {(one.operator, one.what) for one in after.mutants if one.by == "case"}
    assert named <= killed


def test_they_are_marked_and_say_what_they_would_notice(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    found = suggest(read_project(root), WORKSHOP, the_tests(root), measured(root, the_tests(root)), 42)
    text = cases_text(found.cases)

    assert text.startswith(f"# {REVIEW}")
    assert "# Would notice: 'utter_hello' says something else (domain.yml:12:3)" in text
    (hello,) = [case for case in yaml.safe_load(text)["test_cases"] if "say hello" in case["test_case"]]
    assert {"bot": "Hello there"} in hello["steps"]


def test_missing_sentences_are_a_task_and_no_truth(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    found = suggest(read_project(root), WORKSHOP, the_tests(root), measured(root, the_tests(root)), 42)

    assert {task.intent for task in found.tasks} == {"greet", "bye", "book"}
    assert all(other != task.intent for task in found.tasks for _, other in task.near)


def test_files_are_written_beside_those_that_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = small_bot(tmp_path, test_stories=STORIES, e2e_test_cases=CASES)
    command = ["suggest", "--project", str(root), "--workers", "1", "-q"]

    assert run_command_line(command) == 0
    assert "would notice" in capsys.readouterr().out
    assert not list(root.glob("tests/*suggested*"))
    assert run_command_line([*command, "--write"]) == 0
    first = (root / "tests" / "e2e_suggested_1.yml").read_text("utf-8")
    assert run_command_line([*command, "--write"]) == 0
    assert (root / "tests" / "e2e_suggested_1.yml").read_text("utf-8") == first
    assert (root / "tests" / "e2e_suggested_2.yml").is_file()
    assert (root / "tests" / "e2e_test_cases.yml").read_text("utf-8") == CASES.lstrip()
