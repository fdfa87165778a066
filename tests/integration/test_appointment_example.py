"""The example of flows: a run of it says what was judged and what was not, and a change is compared with its base."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from golden_texts import Golden
from in_process import turncheck

EXAMPLE = Path(__file__).parents[2] / "examples" / "appointment"


@pytest.fixture
def assistant(tmp_path: Path) -> Path:
    """The example in a repository of its own, committed."""
    folder = tmp_path / "appointment"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words], cwd=folder, check=True)
    return folder


def run(assistant: Path, *more: str) -> tuple[int, dict[str, object]]:
    """The exit code and the verdict of a run."""
    out = assistant.parent / "results"
    done = turncheck("run", ".", "--out", out, *more, cwd=assistant)
    return done.returncode, json.loads((out / "verdict.json").read_text("utf-8"))


def change(assistant: Path, file: str, old: str, new: str) -> None:
    """Replace text in a file."""
    text = (assistant / file).read_text(encoding="utf-8")
    assert old in text
    (assistant / file).write_text(text.replace(old, new), encoding="utf-8")


def test_the_example_passes_with_a_reservation(assistant: Path, golden: Golden) -> None:
    code, verdict = run(assistant)
    assert code == 0
    golden(verdict["reservation"])
    golden(str(verdict["summary"]))


def test_a_renamed_response_is_one_error_with_all_its_places(assistant: Path, golden: Golden) -> None:
    change(assistant, "domain.yml", "utter_booked", "utter_is_booked")
    code, verdict = run(assistant, "--base", "HEAD")
    assert code == 1
    golden(str(verdict["summary"]))


def test_a_test_that_is_gone_and_a_condition_that_was_turned(assistant: Path, golden: Golden) -> None:
    change(assistant, "tests/e2e_test_cases.yml", "  - test_case: when it is open", "  - test_case: when it opens")
    change(assistant, "tests/e2e_test_cases.yml", "are you open on Saturdays?", "are you open on Mondays?")
    change(assistant, "tests/e2e_test_cases.yml", "- utter: utter_opening_hours", "- utter: utter_sorry")
    change(assistant, "data/flows.yml", "if: slots.day_is_free", "if: not slots.day_is_free")
    code, verdict = run(assistant, "--base", "HEAD")
    comparison = json.loads((assistant.parent / "results" / "comparison.json").read_text("utf-8"))
    assert code == 1
    assert [finding["code"] for finding in comparison["new_findings"]] == ["flow-condition-turned"]
    golden(str(verdict["summary"]))


@pytest.mark.parametrize("line", ["  opening_hours:", "flows:", "    steps:"])
def test_flows_of_a_file_that_cannot_be_read_are_not_removed(assistant: Path, line: str) -> None:
    change(assistant, "data/flows.yml", f"{line}\n", f"{line} [\n")
    code, _ = run(assistant, "--base", "HEAD")
    results = assistant.parent / "results"
    unread = json.loads((results / "report.json").read_text("utf-8"))["unread"]
    assert code == 1
    assert {(one["location"]["path"], one["part"]) for one in unread} == {("data/flows.yml", "flows")}
    assert "was at" not in (results / "comment.md").read_text("utf-8")


def test_steps_that_no_test_reaches_are_named_one_by_one(assistant: Path) -> None:
    change(assistant, "data/flows.yml", "utter_opening_hours", "utter_opening_hours\n      - action: utter_sorry")
    run(assistant, "--base", "HEAD")
    comment = (assistant.parent / "results" / "comment.md").read_text("utf-8")
    assert "`opening_hours: action utter_sorry` · `data/flows.yml:49`" in comment


STUBS = """stub_custom_actions:
  {action}:
    events:
      - event: slot
        name: {slot}
        value: true
    responses:
      - response: {response}
test_cases:"""


@pytest.mark.parametrize(
    ("action", "slot", "response", "wrong"),
    [
        ("action_chek_day", "day_is_free", "utter_booked", "action_chek_day"),
        ("action_check_day", "day_is_fre", "utter_booked", "day_is_fre"),
        ("action_check_day", "day_is_free", "utter_bookd", "utter_bookd"),
        ("action_check_day", "day_is_free", "utter_booked", None),
    ],
)
def test_stubs_are_held_against_the_domain(
    assistant: Path, action: str, slot: str, response: str, wrong: str | None
) -> None:
    stubs = STUBS.format(action=action, slot=slot, response=response)
    change(assistant, "tests/e2e_test_cases.yml", "test_cases:", stubs)
    run(assistant)
    report = json.loads((assistant.parent / "results" / "report.json").read_text("utf-8"))
    found = [one["names"][0]["name"] for one in report["validation"]["findings"]]
    assert found == ([] if wrong is None else [wrong])


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("tests/e2e_test_cases.yml", 'phone_number: "017012345"', 'phone_number: "1"'),
        ("tests/e2e_test_cases.yml", "channel: web", "channel: phone"),
        ("tests/e2e_test_cases.yml", "text_matches: Thank you", "text_matches: .*"),
        ("dialogue_understanding_tests/booking.yml", "SetSlot(service, haircut)", "SetSlot(service, shave)"),
    ],
    ids=["fixture", "metadata", "pattern", "command"],
)
def test_a_test_that_says_less_is_edited_where_nothing_runs_it(assistant: Path, file: str, old: str, new: str) -> None:
    change(assistant, file, old, new)
    run(assistant, "--base", "HEAD")
    comparison = json.loads((assistant.parent / "results" / "comparison.json").read_text("utf-8"))
    assert {one["location"]["path"] for one in comparison["consistency"]["edited"]} == {file}
