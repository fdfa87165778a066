"""An assistant that has no tests yet: what a change removes or edits is named all the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line

PIZZERIA = Path(__file__).parents[2] / "examples" / "pizzeria"
GOODBYE_RULE = """  - rule: Say goodbye
    steps:
      - intent: goodbye
      - action: utter_goodbye

"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(PIZZERIA, tmp_path / "bot", ignore=shutil.ignore_patterns("tests", "turncheck.yml"))
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    commit("base")
    return tmp_path / "bot"


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def commit(words: str) -> None:
    git("add", "-A")
    git("-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", words)


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def measured(*flags: str) -> tuple[int, dict[str, Any], str, str]:
    """Run against the commit before, and return exit code, comparison, headline and comment."""
    code = run_command_line(["run", "bot", "--evaluations", "validate", "--base", "HEAD~1", *flags])
    comparison = json.loads(Path("results/comparison.json").read_bytes())
    headline = json.loads(Path("results/verdict.json").read_bytes())["summary"]
    return code, comparison, headline, Path("results/comment.md").read_text()


def test_a_removed_rule_is_named_above_the_fold(repository: Path, golden: Golden) -> None:
    edited(repository / "data" / "rules.yml", GOODBYE_RULE, "")
    commit("change")

    code, comparison, headline, comment = measured()

    assert code == 0
    assert [(one["kind"], one["name"]) for one in comparison["removed_items"]] == [("rules", "Say goodbye")]
    assert "rule 'Say goodbye' removed" in headline
    golden(comment.partition("<details>")[0], only="Removed")


def test_an_edited_story_is_named_as_reached_by_no_test_without_a_share(repository: Path, golden: Golden) -> None:
    edited(repository / "data" / "stories.yml", "- action: utter_noted", "- action: utter_sorry")
    commit("change")

    _, comparison, _, comment = measured()

    assert [one["kind"] for one in comparison["changed_items"]] == ["stories"]
    golden(comment, only="(1 of 1)")
    assert "coverage.changed" not in {metric["name"] for metric in comparison["metrics"]}
    assert "Changed parts under test" not in comment


def test_how_much_tests_reach_is_not_measured_where_there_are_none(
    repository: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    edited(repository / "data" / "rules.yml", "Say goodbye", "Say farewell")
    commit("change")

    code, comparison, _, _ = measured("--thresholds", "coverage.rules >= 0.5")

    assert comparison["removed_items"] == []
    assert code == 0
    golden(capsys.readouterr().out, only="coverage")
    report = json.loads(Path("results/report.json").read_bytes())
    assert {kind["share"] for kind in report["coverage"].values()} == {None}


RULES = """version: "3.1"
rules:
- rule: Offer what is there
  condition:
  - slot_was_set:
    - service: pickup
  steps:
  - intent: ask_menu
  - action: utter_menu
  - or:
    - intent: affirm
    - intent: thank
  - action: utter_noted
  - action: utter_thank
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("    - service: pickup\n", "    - service: delivery\n", 6),
        ("  - action: utter_menu\n", "  - action: utter_price\n", 9),
        ("  - action: utter_menu\n", "  - action: utter_menu\n  - action: utter_price\n", 10),
        ("    - intent: thank\n", "    - intent: deny\n", 12),
        ("  - action: utter_noted\n", "", 13),
        ("  - action: utter_thank\n", "", 13),
        ("  steps:\n", "  wait_for_user_input: false\n  steps:\n", 3),
    ],
)
def test_a_changed_rule_is_where_its_first_changed_step_is(repository: Path, old: str, new: str, line: int) -> None:
    (repository / "data" / "more.yml").write_text(RULES)
    commit("a rule")
    edited(repository / "data" / "more.yml", old, new)
    commit("change")

    changed = [one for one in measured()[1]["changed_items"] if one["kind"] == "rules"]

    assert [(one["name"], one["location"]["path"], one["location"]["line"]) for one in changed] == [
        ("Offer what is there", "data/more.yml", line)
    ]
