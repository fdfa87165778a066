"""``turncheck test e2e`` and ``turncheck shell`` as whole commands, with a real rasa-sdk server."""

from __future__ import annotations

import io
import json
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import bad_servers
import pytest
import yaml
from action_servers import free_port, rasa_sdk_python
from golden_texts import Golden
from printed import passed_tests
from timing import Timing

from turncheck.cli import run_command_line
from turncheck.commands.e2e import Progress
from turncheck.messages.finding import Location
from turncheck.report.model import CaseResult

if TYPE_CHECKING:
    from pathlib import Path


def test_the_end_of_a_line_of_results_is_out_before_other_streams_say_more() -> None:
    buffer = io.BytesIO()
    progress = Progress(io.TextIOWrapper(buffer), 1)
    progress.finished(CaseResult(name="a", location=Location("tests/a.yml", 1), passed=True, outcome="passed"))
    progress.end()
    assert buffer.getvalue() == b"tests/a.yml . [100%]\n"


FILES = {
    "domain.yml": """
version: "3.1"
intents: [greet, order, give]
entities: [size]
slots:
  size: {type: text, mappings: [{type: from_entity, entity: size}]}
  price: {type: float, influence_conversation: false, mappings: [{type: custom}]}
forms:
  order_form: {required_slots: [size]}
responses:
  utter_greet: [{text: "Hello"}]
  utter_ask_size: [{text: "What size?"}]
  utter_price: [{text: "That is {price}"}]
actions: [action_price, validate_order_form]
""",
    "config.yml": "recipe: default.v1\nlanguage: en\npipeline: [{name: KeywordIntentClassifier}]\n"
    "policies: [{name: MemoizationPolicy}, {name: RulePolicy}]\n",
    "data/nlu.yml": 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hi\n    - hello\n',
    "data/rules.yml": """
version: "3.1"
rules:
- {rule: greet, steps: [{intent: greet}, {action: utter_greet}]}
- {rule: order, steps: [{intent: order}, {action: order_form}, {active_loop: order_form}]}
- rule: ordered
  condition: [{active_loop: order_form}]
  steps: [{action: order_form}, {active_loop: null}, {action: action_price}, {action: utter_price}]
""",
    "actions.py": """
from rasa_sdk import Action, FormValidationAction
from rasa_sdk.events import SlotSet


class Price(Action):
    def name(self):
        return "action_price"

    def run(self, dispatcher, tracker, domain):
        return [SlotSet("price", {"small": 5.5, "large": 8}[tracker.get_slot("size")])]


class Validate(FormValidationAction):
    def name(self):
        return "validate_order_form"

    def validate_size(self, value, dispatcher, tracker, domain):
        return {"size": value if value in ("small", "large") else None}
""",
    "tests/e2e_test_cases.yml": """
fixtures:
- known: [{size: large}]
test_cases:
- test_case: greets
  steps:
  - user: hello
  - utter: utter_greet
- test_case: orders
  steps:
  - user: /order
  - bot: What size?
  - user: '/give{"size": "purple"}'
  - slot_was_set: [{size: null}]
  - user: '/give{"size": "small"}'
  - slot_was_set: [{price: 5.5}]
  - bot: That is 5.5
- test_case: knows the size
  fixtures: [known]
  steps:
  - user: /order
    assertions:
    - slot_was_set: [{name: price, value: 8}]
    - action_executed: action_price
    - bot_uttered: {utter_name: utter_price, text_matches: "8"}
""",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sdk(port: int) -> list[str]:
    command = f"{rasa_sdk_python()} -m rasa_sdk --actions actions --port {port}"
    return ["--action-server", command, "--action-endpoint", f"http://127.0.0.1:{port}/webhook"]


@pytest.mark.usefixtures("project")
def test_without_a_server_cases_that_need_an_action_are_skipped_with_the_reason(
    capsys: pytest.CaptureFixture[str],
    golden: Golden,
) -> None:
    assert run_command_line(["test", "e2e", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "tests/e2e_test_cases.yml .ss [100%]" in shown
    golden(shown, only="skipped: ")
    assert passed_tests(shown) == {"End-to-end cases": "1/1"}


@pytest.mark.usefixtures("project")
def test_a_run_in_which_all_was_skipped_is_no_success(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["test", "e2e", "tests/e2e_test_cases.yml::orders"]) == 2
    golden(capsys.readouterr().err, only="Nothing")


@pytest.mark.follows(page="rasa-pro", sentence="Custom actions are run by the action server.")
def test_with_a_started_server_they_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["test", "e2e", "-o", "results.yml", "--json", "report.json", *sdk(free_port())]
    assert run_command_line(arguments) == 0
    shown = capsys.readouterr().out
    assert passed_tests(shown) == {"End-to-end cases": "3/3"}
    assert any(row.split() == ["bot_uttered", "1", "0", "0"] for row in shown.splitlines())
    results = yaml.safe_load((project / "results.yml").read_text())["test_results"]
    assert [entry["pass_status"] for entry in results] == [True, True, True]
    e2e = json.loads((project / "report.json").read_text())["e2e"]
    assert e2e["cases"][1]["actions"] == {"validate_order_form": "real", "action_price": "real"}
    assert e2e["exercised"]["forms"] == ["order_form"]


@pytest.mark.usefixtures("project")
def test_a_server_that_dies_is_an_error_of_the_cases_that_need_it(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    port = free_port()
    command = f"{sys.executable} {bad_servers.__file__} {port} dies"
    arguments = ["--action-server", command, "--action-endpoint", f"http://127.0.0.1:{port}/webhook"]
    assert run_command_line(["test", "e2e", "--quiet", "--workers", "1", *arguments]) == 1
    shown = capsys.readouterr()
    assert "tests/e2e_test_cases.yml .EE [100%]" in shown.out
    golden(shown.out, only="end-to-end case orders")
    assert passed_tests(shown.out) == {"End-to-end cases": "1/3"}
    golden(shown.err)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_at_once_with_what_was_finished(
    project: Path, number: signal.Signals, timing: Timing
) -> None:
    port = free_port()
    server = f"{sys.executable} {bad_servers.__file__} {port} waits"
    arguments = ["--action-server", server, "--action-endpoint", f"http://127.0.0.1:{port}/webhook", "-o", "r.yml"]
    process = subprocess.Popen(
        [sys.executable, "-m", "turncheck", "test", "e2e", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    shown = ""
    while not shown.endswith("e2e_test_cases.yml ."):  # the first case has passed
        shown += process.stdout.read(1)
    with timing.at_most(20, time.monotonic):
        process.send_signal(number)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert passed_tests(rest) == {"End-to-end cases": "1/1"}
    entries = yaml.safe_load((project / "r.yml").read_text())["test_results"]
    assert [entry["pass_status"] for entry in entries] == [True, False, False]
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0, "the action server was stopped"


@pytest.mark.follows(page="rasa-pro", sentence="A failed case ends with exit code 1.")
def test_a_failed_case_ends_with_1_and_shows_its_difference(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "tests" / "e2e_test_cases.yml"
    path.write_text(path.read_text().replace("utter: utter_greet", "bot: Hallo"))
    assert run_command_line(["test", "e2e", f"{path}::greets"]) == 1
    shown = capsys.readouterr().out
    assert "- bot: Hello\n?       ^\n+ bot: Hallo\n" in shown
    assert "end-to-end case greets: " in shown


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["missing.yml"],
            "missing.yml: There is no such file or folder of test cases. Write some, or name their files.",
        ),
        (["tests/e2e_test_cases.yml::gretes"], "Did you mean 'greets'?"),
        (["--domain", "missing.yml"], "'missing.yml' of --domain does not exist"),
        (["--action-endpoint", "nowhere"], "not an address of an action server"),
        (["--repeat", "0"], "--repeat: expected a whole number, at least 1 and at most 10000, not '0'"),
        (["--timeout", "soon"], "expected a number of seconds above 0, not 'soon'"),
    ],
)
@pytest.mark.follows(page="rasa-pro", sentence="Cases or files that are missing end the command with an error.")
def test_what_cannot_be_done_ends_with_2_and_says_why(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["test", "e2e", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("endpoints", "words"),
    [
        ("foo: [", "endpoints.yml:1"),
        ("action_endpoint: http://localhost:5055/webhook", "the endpoint 'action_endpoint' must be a mapping"),
        ("action_endpoint: http://localhost:5055/webhook", "Write `url: http://localhost:5055/webhook` below it."),
        ("action_endpoint: {url: 'http://localhost:1/', params: 5}", "'params' of 'action_endpoint' must be a map"),
    ],
)
def test_endpoints_that_cannot_be_read_are_no_missing_ones(
    project: Path, endpoints: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "endpoints.yml").write_text(endpoints)
    assert run_command_line(["test", "e2e"]) == 2
    assert words in capsys.readouterr().err


def test_an_endpoint_without_an_address_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "endpoints.yml").write_text("action_endpoint:\n  ulr: http://localhost:1/\n")
    assert run_command_line(["test", "e2e"]) == 0
    said = capsys.readouterr().err
    assert "endpoints.yml:2:3: warning: " in said
    assert "'url'" in said


def test_an_endpoint_that_nobody_reads_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "endpoints.yml").write_text("action_endpoints:\n  url: http://localhost:1/\n")
    assert run_command_line(["test", "e2e"]) == 0
    told = "endpoints.yml:1:1: warning: Nothing reads the key 'action_endpoints' of 'endpoints.yml'. Did you mean"
    assert told in capsys.readouterr().err


@pytest.mark.follows(page="rasa-pro", sentence="`-o` without a path writes `tests/e2e_results.yml`.")
def test_results_are_written_into_the_project(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    assert run_command_line(["test", "e2e", "--project", "..", "-o"]) == 0
    assert (project / "tests" / "e2e_results.yml").is_file()


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--channel", "slack"), "--channel is for the embedded engine"),
        (("--remote-storage", "models"), "--remote-storage does not go with --rasa-url"),
        (("--action-endpoint", "http://localhost:1/"), "--action-endpoint does not go with --rasa-url"),
    ],
)
def test_no_flag_is_dropped_in_silence(flags: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["test", "e2e", "--engine", "rasa", "--rasa-url", "http://localhost:1", *flags]) == 2
    assert words in capsys.readouterr().err


def test_mistakes_are_named_before_anything_runs(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    path = project / "tests" / "e2e_test_cases.yml"
    path.write_text(
        path.read_text().replace("- bot: What size?", "- bott: What size?").replace("{price: 5.5}", "{prize: 5}")
    )
    assert run_command_line(["test", "e2e"]) == 2
    shown = capsys.readouterr()
    golden(shown.err, only="tests/e2e_test_cases.yml:12:5")
    assert "'prize'" in shown.err
    assert shown.out == ""


def test_the_main_job_names_the_mistake_that_kept_the_cases_from_being_run(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    path = project / "tests" / "e2e_test_cases.yml"
    path.write_text(path.read_text().replace("- bot: What size?", "- bott: What size?"))
    assert run_command_line(["run", ".", "--evaluations", "e2e", "--out", "out"]) == 1
    golden(capsys.readouterr().out, only="tests/e2e_test_cases.yml:12:5")
    assert (project / "out" / "report.json").is_file()


@pytest.mark.usefixtures("project")
def test_the_shell_talks_through_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("/order\nhello\n"))
    arguments = ["shell", "--format", "jsonl", "--fixture", "size=large", *sdk(free_port())]
    assert run_command_line(arguments) == 0
    first, second = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert first["responses"] == [{"text": "That is 8"}]
    assert first["slots"]["price"] == 8
    assert first["events"][0]["name"] == "action_session_start"
    assert {"event": "slot", "metadata": {}, "name": "size", "value": "large"} in first["events"]
    assert (second["user"], second["responses"]) == ("hello", [{"text": "Hello"}])
