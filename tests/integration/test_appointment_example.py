"""The example of flows: a run of it says what was judged and what was not, and a change is compared with its base."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from in_process import turncheck

EXAMPLE = Path(__file__).parents[2] / "examples" / "appointment"


@pytest.fixture
def assistant(tmp_path: Path) -> Path:
    """The example in a repository of its own, committed."""
    folder = tmp_path / "appointment"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    """Commit what is there."""
    for words in (["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *words], cwd=folder, check=True)


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


def compared(assistant: Path) -> dict[str, Any]:
    """The comparison of a run with the commit."""
    run(assistant, "--base", "HEAD")
    found: dict[str, Any] = json.loads((assistant.parent / "results" / "comparison.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize(
    ("file", "old", "new", "place"),
    [
        ("endpoints.yml", "gpt-4o-mini", "gpt-3", "model_groups[commands].models[0].model"),
        ("endpoints.yml", "model_groups:", "nlg: {type: rephrase}\nmodel_groups:", "nlg.type"),
        ("prompts/commands.jinja2", "commands", "three commands", "prompts/commands.jinja2"),
        ("endpoints.yml", "api_key: a", "api_key: b", None),
    ],
    ids=["model", "rephraser", "prompt", "key"],
)
def test_what_models_are_asked_with_is_named(assistant: Path, file: str, old: str, new: str, place: str | None) -> None:
    (assistant / "prompts").mkdir()
    (assistant / "prompts" / "commands.jinja2").write_text("Give commands:\n", encoding="utf-8")
    generator = "- name: CompactLLMCommandGenerator"
    change(assistant, "config.yml", generator, f"{generator}\n    prompt_template: prompts/commands.jinja2")
    change(assistant, "endpoints.yml", "gpt-4o-mini", "gpt-4o-mini\n        api_key: a")
    commit(assistant)
    change(assistant, file, old, new)
    changed = compared(assistant)["settings_changed"]
    assert [one["name"] for one in changed] == ([] if place is None else [f"models.{place}"])
    comment = (assistant.parent / "results" / "comment.md").read_text("utf-8")
    assert place is None or f"`{place}`" in comment
    assert ("nothing changed" in comment) is (place is None)


def test_a_renamed_action_is_known_by_its_code(assistant: Path) -> None:
    for file in ("domain.yml", "data/flows.yml", "actions/actions.py"):
        change(assistant, file, "action_check_day", "action_look_up_day")
    found = compared(assistant)["new_findings"]
    assert [[name["name"] for name in one["names"]] for one in found] == [["action_check_day", "action_look_up_day"]]


def test_a_renamed_action_without_code_is_known_by_its_place_in_the_flows(assistant: Path) -> None:
    shutil.rmtree(assistant / "actions")
    commit(assistant)
    for file in ("domain.yml", "data/flows.yml"):
        change(assistant, file, "action_check_day", "action_look_up_day")
    found = compared(assistant)["new_findings"]
    assert [[name["name"] for name in one["names"]] for one in found] == [["action_check_day", "action_look_up_day"]]


ROUTER = """pipeline:
  - name: WhitespaceTokenizer
  - name: CountVectorsFeaturizer
  - name: LogisticRegressionClassifier
  - name: {name}
    nlu_entry:
      sticky: [ask_balance]
      non_sticky: [chitchat]
    calm_entry:
      sticky: [book_it]
"""


def test_an_intent_that_a_router_keeps_by_its_old_name(assistant: Path) -> None:
    change(assistant, "config.yml", "pipeline:\n", ROUTER.format(name="IntentBasedRouter"))
    change(assistant, "domain.yml", "slots:\n", "intents: [ask_balance, chitchat, book_it]\nslots:\n")
    nlu = "nlu:\n" + "".join(
        f"- intent: {name}\n  examples: |\n    - please {said}\n    - {said} now\n"
        for name, said in (("ask_balance", "tell it"), ("chitchat", "how are you"), ("book_it", "come in"))
    )
    (assistant / "data" / "nlu.yml").write_text(nlu, encoding="utf-8")
    commit(assistant)
    for file in ("domain.yml", "data/nlu.yml"):
        change(assistant, file, "book_it", "make_appointment")
        change(assistant, file, "chitchat", "chitchats")
    found = {one["location"]["line"]: one for one in compared(assistant)["new_findings"]}
    assert {line: [name["name"] for name in one["names"]] for line, one in found.items()} == {
        11: ["chitchat", "chitchats"],
        13: ["book_it", "make_appointment"],
    }
    assert {one["severity"] for one in found.values()} == {"error"}
    assert {one["code"] for one in found.values()} == {"flow-router-intent-undefined"}


def test_what_an_llm_based_router_lists_is_no_intent(assistant: Path) -> None:
    change(assistant, "config.yml", "pipeline:\n", ROUTER.format(name="LLMBasedRouter"))
    change(assistant, "config.yml", "[book_it]", "handles everything about appointments")
    run(assistant)
    report = json.loads((assistant.parent / "results" / "report.json").read_text("utf-8"))
    codes = {one["code"] for one in report["validation"]["findings"]}
    assert "flow-router-intent-undefined" not in codes


def test_dialogue_understanding_tests_are_named_as_not_judged(assistant: Path) -> None:
    out = assistant.parent / "results"
    told = turncheck("run", ".", "--out", out, cwd=assistant).stdout
    for text in (told, (out / "summary.md").read_text("utf-8"), (out / "comment.md").read_text("utf-8")):
        assert "test du" in text
        assert "dialogue_understanding_tests/booking.yml:20" in text
