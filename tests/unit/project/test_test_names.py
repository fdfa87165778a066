"""Names that only tests use, and keys of their steps that nobody reads: told by `data validate`, errors in a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_project import DOMAIN, write_project

from turncheck.cli import run_command_line
from turncheck.commands.validate import Request, check_project
from turncheck.project.reader import read_project
from turncheck.project.testfiles import find_e2e_cases, find_test_nlu, find_test_stories

STORIES = "tests/test_stories.yml"
CASES = "tests/e2e_test_cases.yml"


def story(*steps: str) -> str:
    return 'version: "3.1"\nstories:\n- story: told\n  steps:\n' + "".join(f"  - {step}\n" for step in steps)


def case(*steps: str) -> str:
    return "test_cases:\n- test_case: told\n  steps:\n" + "".join(f"  - {step}\n" for step in steps)


def told(project: Path, *, strict: bool) -> list[str]:
    checked = check_project(Request(project=project, strict=strict)).validated
    return [f"{f.severity} {f.location} {f.code}: {f.message}" for f in checked.findings if "tests/" in f.location.path]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path)
    (tmp_path / "tests").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("message", "unknown"),
    [
        ('/ordr{"size": "large"}', ["ordr"]),
        ('/order{"sise": "large"}', ["sise"]),
        ("/faqs/hours", ["faqs"]),
        ('/gret{"sise": 1, "towns": 2}', ["gret", "sise", "towns"]),
        ('/order{"size": "large"}', []),
        ("/restart", []),
        ("/faq/hours", []),
        ("/greet@0.9", []),
        ("hello /ordr", []),
        ("/ordr{size}", []),
    ],
)
def test_a_case_may_send_what_a_button_sends(message: str, unknown: list[str], project: Path) -> None:
    (project / CASES).write_text(case(json.dumps({"user": message}), "utter: utter_greet"), encoding="utf-8")
    found = told(project, strict=True)
    assert sorted(one.split("'")[1] for one in found) == sorted(unknown)
    assert all(one.startswith(f"warning {CASES}:4:5 e2e-unknown-name: ") for one in found)


SAID = 'version: "3.1"\nstories:\n- story: by text\n  steps:\n  - user: so long\n  - bot: See you soon\n'


NOBODY = 'version: "3.1"\nnlu:\n- intent: nobody\n  examples: |\n    - hello to all of you\n'


@pytest.mark.parametrize(
    ("steps", "found", "meant"),
    [
        (
            ["intent: greet", "action: utter_gone"],
            "6:5 test-action-undefined: A test names the response 'utter_gone'",
            "",
        ),
        (["intent: greet", "action: utter_gret"], "6:5 test-action-undefined: ", "utter_greet"),
        (
            ["intent: greet", "action: action_baek"],
            "6:5 test-action-undefined: A test names the action '",
            "action_bake",
        ),
        (["user: hello\n    intent: gret", "action: utter_greet"], "5:5 test-intent-undefined: ", "greet"),
        (["intent: gret", "action: utter_greet"], "5:5 test-name-undefined: A test names the intent 'gret'", "greet"),
        (
            ["intent: greet", "slot_was_set:\n    - sise: large"],
            "7:7 test-name-undefined: A test names the slot",
            "size",
        ),
        (["intent: greet", "active_loop: piza_form"], "6:5 test-name-undefined: A test names the form", "pizza_form"),
        (["user: hi\n    intent: faq/x", "action: utter_faq"], "5:5 test-intent-undefined: A test names the", ""),
        (["intent: faq/x", "action: utter_faq"], "5:5 test-name-undefined: A test names the intent 'faq/x'", ""),
        (["or: [{intent: faq/x}, {intent: faq/hours}]", "action: utter_faq"], "5:11 test-name-undefined: ", ""),
        (["user: /faq/hour", "action: utter_faq"], "5:5 test-name-undefined: ", "faq/hours"),
        (["user: /gret", "action: utter_greet"], "5:5 test-name-undefined: A test names the intent 'gret'", "greet"),
        (["intent: greet/x", "action: utter_greet"], "5:5 test-name-undefined: A test names the intent 'greet/x'", ""),
        (["intent: greet", "bot: Hello again!"], "6:5 test-action-undefined: A test names the bot message", ""),
        (["intent: greet", "bot: See you sooon"], "6:5 test-action-undefined: ", "See you soon"),
        (["intent: greet", "acton: utter_greet"], "6:5 schema-violation: ", "action"),
        (["intent: greet\n    entites: []", "action: utter_greet"], "6:5 schema-violation: ", "entities"),
        (["intent: greet\n    action: utter_greet"], "6:5 schema-violation: ", ""),
    ],
)
def test_what_only_a_test_story_names_is_a_note_beside_rasa_and_strictly_shown(
    steps: list[str], found: str, meant: str, project: Path
) -> None:
    (project / "data" / "texts.yml").write_text(SAID, encoding="utf-8")
    (project / STORIES).write_text(story(*steps), encoding="utf-8")
    is_told(project, f"{STORIES}:{found}", f"Did you mean '{meant}'?" if meant else "")


@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        (CASES, case("user: hello", "utter: utter_gone"), "5:5 test-action-undefined: A test names the response"),
        (CASES, case("user: hello", "slot_was_set:\n    - sise: large"), "6:7 e2e-unknown-name: "),
        (CASES, case("user: hello", "uter: utter_greet"), "5:5 e2e-syntax: "),
        ("tests/test_nlu.yml", NOBODY, "5:7 test-intent-undefined: A test names the intent 'nobody'"),
        ("tests/test_nlu.yml", NOBODY.replace("nobody", "faq/nobody"), "5:7 test-intent-undefined: A test names the"),
        ("tests/test_nlu.yml", "nlu:\n- intent: a\n b: [\n", "3:2 yaml-syntax: "),
    ],
)
def test_so_is_what_cases_and_test_sentences_name(file: str, content: str, found: str, project: Path) -> None:
    (project / file).write_text(content, encoding="utf-8")
    is_told(project, f"{file}:{found}")


def is_told(project: Path, found: str, ends: str = "") -> None:
    (note,) = told(project, strict=False)
    assert note.startswith(f"info {found}")
    assert note.endswith(ends or ".")
    assert run_command_line(["data", "validate", "--project", str(project), "--fail-on-warnings"]) == 0
    (shown,) = told(project, strict=True)
    assert shown.partition(" ")[2] == note.partition(" ")[2]
    assert shown.split()[0] == ("warning" if "test-name-" in shown else "error")


def test_an_action_with_a_key_of_a_retrieval_intent_is_told_what_runs(project: Path) -> None:
    rules = project / "data" / "faq_rules.yml"
    rule = 'version: "3.1"\nrules:\n- rule: faq\n  steps:\n  - intent: faq\n  - action: utter_faq\n'
    rules.write_text(rule, encoding="utf-8")
    (project / STORIES).write_text(story("intent: faq/hours", "action: utter_faq/hours"), encoding="utf-8")
    found = "6:5 test-action-undefined: A test names the response 'utter_faq/hours' as an action; "
    is_told(project, f"{STORIES}:{found}")

    rules.write_text(rule.replace("utter_faq", "utter_faq/hours"), encoding="utf-8")
    assert told(project, strict=True) == [], "what stories say themselves can be said"


def test_what_is_defined_is_not_told(project: Path) -> None:
    steps = ("intent: faq/hours", "action: utter_faq", "intent: order", "action: pizza_form", "active_loop: pizza_form")
    more = (
        "slot_was_set:\n    - requested_slot: size",
        "active_loop: null",
        "action: action_listen",
        "bot: See you soon",
    )
    (project / "data" / "texts.yml").write_text(SAID, encoding="utf-8")
    (project / STORIES).write_text(story(*steps, *more), encoding="utf-8")
    (project / CASES).write_text(case("user: hello", "utter: utter_faq/hours"), encoding="utf-8")
    assert told(project, strict=True) == []
    assert find_test_stories(project)
    assert find_e2e_cases(project)
    assert not find_test_nlu(project)


@pytest.mark.parametrize(
    ("slot", "value", "is_told"),
    [
        ("{type: bool, mappings: [{type: custom}]}", "yes", True),
        ("{type: float, mappings: [{type: custom}]}", "cheap", True),
        ("{type: categorical, values: [a, b], mappings: [{type: custom}]}", "c", True),
        ("{type: bool, mappings: [{type: custom}]}", "true", False),
        ("{type: bool, influence_conversation: false, mappings: [{type: custom}]}", "yes", False),
        ("{type: text, mappings: [{type: custom}]}", "yes", False),
        ("{type: categorical, values: [a, b], mappings: [{type: custom}]}", "A", False),
        ("{type: categorical, values: [a, b], mappings: [{type: custom}]}", "null", False),
    ],
)
def test_a_test_sets_a_slot_to_what_it_holds(slot: str, value: str, is_told: bool, project: Path) -> None:
    (project / "domain.yml").write_text(DOMAIN.replace("\nslots:\n", f"\nslots:\n  extra: {slot}\n"), encoding="utf-8")
    steps = ("intent: greet", f"slot_was_set:\n    - extra: {value}", "action: utter_greet")
    (project / STORIES).write_text(story(*steps), encoding="utf-8")
    told_there = [one.partition(": ")[0] for one in told(project, strict=True)]
    assert told_there == [f"warning {STORIES}:7:7 slot-value-undefined"] * is_told


def test_without_a_whole_domain_nothing_is_called_undefined(project: Path) -> None:
    (project / STORIES).write_text(story("intent: greet", "action: utter_gone"), encoding="utf-8")
    (project / "domain.yml").write_text(DOMAIN + "more: [\n", encoding="utf-8")
    assert "domain" in read_project(project).unreadable
    assert told(project, strict=True) == []


def test_in_a_run_a_test_that_can_never_pass_is_an_error_and_told_once(project: Path, tmp_path: Path) -> None:
    (project / CASES).write_text(case("user: hello there", "utter: utter_gone"), encoding="utf-8")
    out = tmp_path / "out"
    assert run_command_line(["run", str(project), "--evaluations", "validate", "e2e", "--out", str(out), "-q"]) == 1
    report = json.loads((out / "report.json").read_text())
    found = [f["code"] for f in report["validation"]["findings"] if f["location"]["path"] == CASES]
    assert found == ["test-sentence-in-training", "test-action-undefined"]
    assert report["validation"]["counts"]["error"] == 1
    assert report["e2e"]["failed"] == 1  # the case is run all the same
