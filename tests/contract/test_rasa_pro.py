"""``run --engine rasa`` on an assistant of flows: a server of Rasa Pro, by the API that is documented for it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from fake_rasa import serving
from fake_rasa_pro import FakeRasaPro, action, cancelled, clarifies, command, completed, said, slot, started
from golden_texts import Golden
from in_process import turncheck
from msgspec import UnsetType

from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turncheck.report.model import CaseResult, Repeats, Report

EXAMPLE = Path(__file__).parents[2] / "examples" / "appointment"
HAIRCUT = "I would like to have my hair cut"
BOOKED, OPEN = "a known customer books a haircut", "when it is open"
BOOKS = [command(command="start flow", flow="book_appointment"), started("book_appointment")]
WAYS = {
    HAIRCUT: [[*BOOKS, slot("service", "haircut"), said("utter_ask_day")]],
    "on Friday": [[slot("day", "Friday"), action("action_check_day"), said("utter_ask_booking_confirmed")]],
    "/SetSlots(booking_confirmed=true)": [[said("utter_booked"), completed("book_appointment")]],
    "/SetSlots(service=shave)": [[*BOOKS, slot("service", "shave"), said("utter_ask_day")]],
    "Sunday, please": [[said("utter_day_taken"), said("utter_ask_day")]],
    "I can't come on Friday": [
        [started("cancel_appointment"), said("utter_cancelled"), started("give_feedback"), said("utter_ask_rating")]
    ],
    "5": [[said("utter_thanks", "Thank you!"), completed("give_feedback")]],
    "are you open on Saturdays?": [[started("opening_hours"), said("utter_opening_hours")]],
    "never mind": [[cancelled("book_appointment", "ask_day"), said("utter_flow_cancelled_rasa")]],
}
CASES = f"""\
test_cases:
- test_case: cancelled, and explained
  steps:
  - user: {HAIRCUT}
    assertions:
    - flow_started: {{operator: any, flow_ids: [opening_hours, book_appointment]}}
  - user: never mind
    assertions:
    - flow_cancelled: {{flow_id: book_appointment, flow_step_id: ask_day}}
    - bot_did_not_utter: {{utter_name: utter_booked}}
- test_case: grounded
  steps:
  - user: are you open on Saturdays?
    assertions:
    - flow_started: opening_hours
    - generative_response_is_grounded: {{threshold: 0.9}}
- test_case: offered
  steps:
  - user: are you open on Saturdays?
    assertions:
    - pattern_clarification_contains: [opening_hours]
"""


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    folder = tmp_path / "salon"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("results"))
    return folder


@pytest.fixture(params=[True, False], ids=["with intents", "without intents"])
def rasa(request: pytest.FixtureRequest) -> Iterator[FakeRasaPro]:
    with serving(FakeRasaPro(ways=dict(WAYS), has_intent=request.param)) as running:
        assert isinstance(running, FakeRasaPro)
        yield running


def run(bot: Path, rasa: FakeRasaPro, *flags: str, out: str = "out") -> tuple[int, str, Report]:
    done = turncheck("run", bot, "--engine", "rasa", "--rasa-url", rasa.url, "--out", bot.parent / out, *flags)
    return done.returncode, done.stdout, decode((bot.parent / out / "report.json").read_bytes())


def cases_of(report: Report) -> dict[str, CaseResult]:
    assert report.e2e is not None
    return {case.name: case for case in report.e2e.cases}


def runs_of(case: CaseResult) -> Repeats:
    assert not isinstance(case.repeats, UnsetType)
    return case.repeats


def test_conversations_are_held_repeated_and_judged_by_answers_and_tracker(bot: Path, rasa: FakeRasaPro) -> None:
    code, _, report = run(bot, rasa)
    assert {case.outcome for case in cases_of(report).values()} == {"passed"}
    assert code == 0
    assert all(runs_of(case).runs == "PP" for case in cases_of(report).values())  # without a setting
    assert report.engine is not None
    assert (report.engine.name, report.engine.version) == ("rasa", "3.13.0")
    assert report.e2e is not None
    assert "start flow" in report.e2e.exercised["commands"]
    assert set(report.e2e.exercised["flows"]) == {
        *("book_appointment", "cancel_appointment", "give_feedback", "opening_hours"),
    }


def test_flows_are_asserted_and_what_needs_a_judge_is_not_judged_by_name(bot: Path, rasa: FakeRasaPro) -> None:
    (bot / "tests" / "more.yml").write_text(CASES, encoding="utf-8")
    _, told, report = run(bot, rasa)
    cases = cases_of(report)
    assert cases["cancelled, and explained"].outcome == "passed"
    for name, kind in (("grounded", "generative_response_is_grounded"), ("offered", "pattern_clarification_contains")):
        assert cases[name].outcome == "skipped"
        assert (cases[name].reason or "").startswith(f"{kind}: ")
        assert kind in told
    assert [step.outcome for step in cases["grounded"].steps] == ["passed", "skipped"]


@pytest.mark.parametrize(
    ("asserted", "offered", "outcome"),
    [
        ("[opening hours]", ["opening hours", "book an appointment"], "passed"),
        ("[opening hours]", ["book an appointment"], "failed"),
        ("{operator: any, flow_ids: [opening_hours, give_feedback]}", ["opening hours"], "passed"),
        ("{operator: all, flow_ids: [opening_hours, book_appointment]}", ["opening hours"], "skipped"),
    ],
)
def test_what_a_clarification_offers_is_read_from_the_stack(
    bot: Path, asserted: str, offered: list[str], outcome: str
) -> None:
    case = "test_cases:\n- test_case: offered\n  steps:\n  - user: hm\n    assertions:\n"
    case += f"    - pattern_clarification_contains: {asserted}\n"
    (bot / "tests" / "e2e_test_cases.yml").write_text(case, encoding="utf-8")
    ways = {"hm": [[clarifies(*offered), said("utter_clarification_options_rasa")]]}
    with serving(FakeRasaPro(ways=ways)) as rasa:
        assert isinstance(rasa, FakeRasaPro)
        _, _, report = run(bot, rasa)
    assert cases_of(report)["offered"].outcome == outcome


def test_a_model_that_wavers_is_flaky_and_one_that_forgot_a_flow_has_regressed(bot: Path, rasa: FakeRasaPro) -> None:
    wavering = {"are you open on Saturdays?": [*WAYS["are you open on Saturdays?"] * 9, [said("utter_ask_rephrase")]]}
    rasa.ways = {**WAYS, **wavering}
    run(bot, rasa, "--repeats", "first: 20, most: 30", out="base")
    base = bot.parent / "base" / "report.json"
    code, _, report = run(bot, rasa, "--repeats", "first: 20, most: 30", "--baseline", str(base), out="head")
    assert (code, runs_of(cases_of(report)[OPEN]).outcome) == (0, "flaky")
    rasa.ways = {**WAYS, HAIRCUT: [[command(command="clarify"), said("utter_ask_rephrase")]]}
    code, told, report = run(bot, rasa, "--baseline", str(base), out="broken")
    assert (code, runs_of(cases_of(report)[BOOKED]).outcome) == (1, "regressed")
    assert re.search(rf"'{HAIRCUT}' is .+ clarify; .+'start flow book_appointment'", told)


def test_a_dialogue_understanding_test_among_the_cases_is_not_run_as_one(bot: Path, rasa: FakeRasaPro) -> None:
    shutil.copy(bot / "dialogue_understanding_tests" / "booking.yml", bot / "tests" / "booking.yml")
    _, _, report = run(bot, rasa)
    cases = cases_of(report)
    skipped = [case for case in cases.values() if case.location.path == "tests/booking.yml"]
    assert [case.outcome for case in skipped] == ["skipped", "skipped"]
    assert cases[OPEN].outcome == "passed"
    assert all("test du" in (case.reason or "") for case in skipped)


def test_a_server_that_is_gone_is_no_reason_to_deny_that_files_were_checked(bot: Path, golden: Golden) -> None:
    done = turncheck("run", bot, "--engine", "rasa", "--rasa-url", "http://127.0.0.1:9", "--out", bot.parent / "out")
    assert done.returncode == 2, done.stdout
    golden(done.stdout, only="only files were checked")


BESIDE = {
    "config.yml": "recipe: default.v1\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\n"
    "- name: CompactLLMCommandGenerator\n  llm: {model_group: commands}\n"
    "policies:\n- name: FlowPolicy\n- name: RulePolicy\n",
    "data/nlu.yml": "nlu:\n- intent: thank\n  examples: |\n    - thanks\n    - thank you\n",
    "data/rules.yml": "rules:\n- rule: thanks\n  steps:\n  - intent: thank\n  - action: utter_thanks\n",
    "tests/test_stories.yml": "stories:\n- story: thanked\n  steps:\n  - user: thank you\n    intent: thank\n"
    "  - action: utter_thanks\n",
    "tests/test_nlu.yml": "nlu:\n- intent: thank\n  examples: |\n    - thanks a lot\n    - many thanks\n",
}


def test_what_is_beside_flows_is_judged_as_without_a_server(bot: Path, rasa: FakeRasaPro) -> None:
    for name, content in BESIDE.items():
        (bot / name).write_text(content)
    domain = bot / "domain.yml"
    domain.write_text(f"{domain.read_text()}\nintents: [thank]\n")
    base = bot.parent / "base"
    turncheck("run", bot, "--out", base)
    embedded = decode((base / "report.json").read_bytes())
    code, _, report = run(bot, rasa, "--baseline", str(base / "report.json"))
    assert (code, report.engine and report.engine.name) == (0, "rasa")
    assert embedded.core is not None
    assert [story.outcome for story in embedded.core.stories] == ["passed"]
    assert report.core == embedded.core
    assert {case.outcome for case in cases_of(report).values()} == {"passed"}
    assert not [path for _, path, _ in rasa.calls if path.startswith(("/model/parse", "/model/predict"))]


# --- Rasa Pro started from the project -------------------------------------------------------------------------------

COMMAND = shlex.join([sys.executable, str(Path(__file__).with_name("rasa_pro_program.py"))])


def run_command(bot: Path, *flags: str) -> tuple[Report, list[dict[str, Any]]]:
    """Run with the program, each case once, and return how it was called, too."""
    ways, calls = bot.parent / "ways.json", bot.parent / "calls.jsonl"
    ways.write_text(json.dumps(WAYS))
    with patch.dict(os.environ, {"WAYS": str(ways), "CALLS": str(calls)}):
        flags = ("--engine", "rasa", "--rasa-command", COMMAND, "--repeats", "off", *flags)
        turncheck("run", bot, "--out", bot.parent / "out", *flags)
    report = decode((bot.parent / "out" / "report.json").read_bytes())
    return report, [json.loads(line) for line in calls.read_text().splitlines()]


def in_folders(bot: Path) -> None:
    (bot / "domain").mkdir()
    (bot / "domain.yml").rename(bot / "domain" / "all.yml")
    (bot / "data" / "flows").mkdir()
    (bot / "data" / "flows.yml").rename(bot / "data" / "flows" / "all.yml")


def with_sentences(bot: Path) -> None:
    examples = "".join(f"    - thanks {number}\n" for number in range(4))
    (bot / "data" / "nlu.yml").write_text(f"nlu:\n- intent: thank\n  examples: |\n{examples}")
    (bot / "domain.yml").write_text(f"{(bot / 'domain.yml').read_text()}\nintents: [thank]\n")


@pytest.mark.parametrize("changed", [lambda _: None, in_folders, with_sentences], ids=["flows", "folders", "intents"])
def test_flows_are_trained_although_there_are_neither_stories_nor_rules(
    bot: Path, changed: Callable[[Path], None]
) -> None:
    changed(bot)
    report, calls = run_command(bot, "--evaluations", "e2e")
    assert {case.outcome for case in cases_of(report).values()} == {"passed"}
    assert "nlu" not in calls[0]["arguments"]


STUBBED = """\
stub_custom_actions:
  action_check_day: {events: [{event: slot, name: day_is_free, value: true}], responses: []}
test_cases:
- test_case: stubbed
  steps:
  - user: on Friday
  - utter: utter_ask_booking_confirmed
"""


def test_custom_actions_that_rasa_runs_itself_are_left_to_it_and_a_case_with_stubs_is_not_judged(bot: Path) -> None:
    (bot / "tests" / "stubbed.yml").write_text(STUBBED)
    report, calls = run_command(bot)
    assert calls[-1]["endpoints"]["action_endpoint"] == {"actions_module": "actions"}
    cases = cases_of(report)
    assert (cases[BOOKED].outcome, cases["stubbed"].outcome) == ("passed", "skipped")
    assert "actions_module" in (cases["stubbed"].reason or "")


def test_a_named_action_server_takes_the_place_of_the_module_so_that_stubs_are_used(bot: Path) -> None:
    (bot / "tests" / "stubbed.yml").write_text(STUBBED)
    report, calls = run_command(bot, "--action-endpoint", "http://127.0.0.1:9/webhook")
    assert list(calls[-1]["endpoints"]["action_endpoint"]) == ["url"]
    case = cases_of(report)["stubbed"]
    assert (case.outcome, case.actions) == ("passed", {"action_check_day": "stubbed"})


def test_dialogue_understanding_tests_of_their_own_folder_are_named_as_not_judged(bot: Path, rasa: FakeRasaPro) -> None:
    _, told, report = run(bot, rasa)
    assert len(cases_of(report)) == 4
    out = bot.parent / "out"
    for text in (told, *((out / name).read_text("utf-8") for name in ("summary.md", "comment.md"))):
        assert re.search(r"2 dialogue\s+understanding", text)
        assert "dialogue_understanding_tests/booking.yml:6" in text
