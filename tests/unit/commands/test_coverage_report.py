"""``test e2e --coverage-report``: which steps of flows, stories and rules the cases reach, in Rasa Pro's files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from golden_texts import Golden
from small_project import write_project

from turncheck.cli import run_command_line
from turncheck.commands.coverage_report import table, walked_paths, write_coverage_report
from turncheck.engines.conversation import Turn
from turncheck.evaluations.e2e.case import CaseOutcome
from turncheck.evaluations.e2e.steps import Exercised, with_update
from turncheck.messages.finding import Location
from turncheck.project.e2e.cases import read_cases
from turncheck.project.model import Project
from turncheck.project.reader import read_project
from turncheck.report.model import CaseResult

FLOWS = """\
flows:
  transfer:
    description: Transfer money.
    steps:
    - collect: amount
      next:
      - if: slots.amount > 100
        then:
        - action: action_check
          next: END
      - else: END
    - id: thanks
      action: utter_done
  greet:
    description: Say hello.
    steps:
    - action: utter_hello
    - link: transfer
"""
COLUMNS = ["Flow Name", "Coverage", "Num Steps", "Missing Steps", "Line Numbers"]


def turn(*events: dict[str, Any]) -> Turn:
    return Turn("hi", (), {}, None, events)


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"event": kind, **more}


def heard(*commands: str) -> dict[str, Any]:
    found = [{"command": command} for command in commands]
    return event("user", parse_data={"intent": {"name": None}, "entities": [], "commands": found})


@pytest.fixture
def calm(tmp_path: Path) -> Project:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "flows.yml").write_text(FLOWS)
    (tmp_path / "domain.yml").write_text("version: '3.1'\n")
    (tmp_path / "config.yml").write_text("policies:\n- name: FlowPolicy\n")
    return read_project(tmp_path)


def rows_of(path: Path) -> dict[str, list[str]]:
    rows = list(csv.reader(path.read_text().splitlines()))
    assert rows[0] == COLUMNS
    return {row[0]: row[1:] for row in rows[1:]}


@pytest.mark.follows(
    page="rasa-pro",
    sentence="The coverage report has the share of each flow's steps that tests reach, and their number.",
)
@pytest.mark.follows(
    page="rasa-pro",
    sentence="The coverage report lists the missing steps with their lines, and has a row for the total.",
)
def test_each_flow_has_its_share_and_the_lines_of_what_is_missing(calm: Project) -> None:
    walked = Exercised().with_turn(
        turn(event("flow_started", flow_id="transfer"), event("slot", name="amount", value=5))
    )
    assert table(walked_paths(calm, walked)) == [
        tuple(COLUMNS),
        ("data/flows.yml::transfer", "33.33%", "3", "2", "[9-10, 12-13]"),
        ("data/flows.yml::greet", "0.00%", "2", "2", "[17-17, 18-18]"),
        ("Total", "20.00%", "5", "4", ""),
    ]


def test_a_step_is_reached_if_the_stack_had_it_or_what_it_does_happened(calm: Project) -> None:
    def missing(*events: dict[str, Any]) -> dict[str, int]:
        paths = walked_paths(calm, Exercised().with_turn(turn(*events)))
        return {path.name.rpartition("::")[2]: len(path.missing) for path in paths}

    def stack(*changes: dict[str, Any]) -> dict[str, Any]:
        return event("stack", update=json.dumps(changes))

    transfer = event("flow_started", flow_id="transfer")
    ran = event("action", name="action_check", policy=None)
    assert missing(ran) == {"transfer": 3, "greet": 2}  # in no flow that was started
    assert missing(transfer, ran) == {"transfer": 2, "greet": 2}
    assert missing(transfer, event("flow_started", flow_id="greet")) == {"transfer": 3, "greet": 1}
    frame = {"frame_id": "x", "flow_id": "transfer", "step_id": "START"}
    begun = stack({"op": "add", "path": "/0", "value": frame})
    assert missing(begun) == {"transfer": 3, "greet": 2}
    assert missing(begun, stack({"op": "replace", "path": "/0/step_id", "value": "0_collect_amount"}))["transfer"] == 2
    assert missing(begun, stack({"op": "replace", "path": "/0/step_id", "value": "thanks"}))["transfer"] == 2


def test_the_stack_is_followed_through_its_changes() -> None:
    frame = {"flow_id": "a", "step_id": "1"}
    one = with_update((), json.dumps([{"op": "add", "path": "/0", "value": frame}]))
    assert one == (("a", "1"),)
    two = with_update(one, [{"op": "add", "path": "/-", "value": {"flow_id": "b", "step_id": "2"}}])
    assert two == (("a", "1"), ("b", "2"))
    assert with_update(two, [{"op": "remove", "path": "/0"}]) == (("b", "2"),)
    assert with_update(two, [{"op": "replace", "path": "", "value": []}]) == ()
    for unreadable in ("{", None, 5, [{"op": "add"}], [{"op": "remove", "path": "/7"}], [7]):
        assert with_update(two, unreadable) == two


@pytest.mark.follows(
    page="rasa-pro", sentence="Coverage is reported separately for tests that pass and tests that fail."
)
@pytest.mark.follows(page="rasa-pro", sentence="The commands that tests reach are drawn as histograms.")
def test_what_passed_and_what_failed_have_files_of_their_own(calm: Project, tmp_path: Path, golden: Golden) -> None:
    cases = tmp_path / "cases.yml"
    cases.write_text(
        "fixtures:\n- rich:\n  - amount: 5\ntest_cases:\n- test_case: good\n  fixtures: [rich]\n  steps:\n"
        "  - user: hi\n  - bot: hello\n- test_case: bad\n  steps:\n  - user: hi\n  - bot: hello\n"
    )
    read = read_cases(tmp_path, [cases]).cases
    greeted = Exercised().with_turn(
        turn(
            heard("start flow", "set slot"), event("flow_started", flow_id="greet"), event("action", name="utter_hello")
        )
    )
    outcomes = [
        CaseOutcome(CaseResult(name="good", location=Location("c"), passed=True, outcome="passed"), greeted),
        CaseOutcome(CaseResult(name="bad", location=Location("c"), passed=False, outcome="failed"), Exercised()),
    ]
    shown = write_coverage_report(calm, read, outcomes, tmp_path / "out")
    golden(shown, only="passed")
    golden(shown, only="failed")
    out = tmp_path / "out"
    assert rows_of(out / "coverage_report_for_passed_tests.csv")["data/flows.yml::greet"][0] == "50.00%"
    assert rows_of(out / "coverage_report_for_failed_tests.csv")["Total"][0] == "0.00%"
    assert (out / "commands_histogram_for_passed_tests.png").read_bytes().startswith(b"\x89PNG")
    assert not (out / "commands_histogram_for_failed_tests.png").exists()
    (again,) = read_cases(tmp_path, [out / "passed.yml"]).cases
    assert (again.name, again.slots, again.source) == ("good", {"amount": 5}, read[0].source)
    assert [entry["test_case"] for entry in yaml.safe_load((out / "failed.yml").read_text())["test_cases"]] == ["bad"]


@pytest.mark.follows(
    page="rasa-pro",
    sentence=(
        "`--coverage-report` writes the report to `e2e_coverage_results` in the assistant's folder, and prints it."
    ),
)
@pytest.mark.follows(page="rasa-pro", sentence="`--coverage-output-path` names another folder.")
def test_the_command_shows_and_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    project = write_project(tmp_path / "bot")
    (project / "tests").mkdir(exist_ok=True)
    (project / "tests" / "e2e_test_cases.yml").write_text(
        "test_cases:\n- test_case: hello\n  steps:\n  - user: hello\n  - utter: utter_greet\n"
    )
    command = ["test", "e2e", "--project", str(project), str(project / "tests" / "e2e_test_cases.yml")]
    assert run_command_line([*command, "--coverage-report"]) == 0
    golden(capsys.readouterr().out, only="Coverage")
    rows = rows_of(project / "e2e_coverage_results" / "coverage_report_for_passed_tests.csv")
    assert rows["data/stories.yml::greet and order"][:3] == ["33.33%", "6", "4"]
    assert rows["data/rules.yml::say goodbye"][0] == "0.00%"
    assert run_command_line([*command, "--coverage-report", "--coverage-output-path", str(tmp_path / "there")]) == 0
    assert rows_of(tmp_path / "there" / "coverage_report_for_passed_tests.csv") == rows


@pytest.mark.parametrize("flags", [(), ("--coverage-output-path", "there")])
def test_cases_that_were_written_with_their_coverage_are_no_tests_that_were_forgotten(
    flags: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    golden: Golden,
) -> None:
    monkeypatch.chdir(write_project(tmp_path / "bot"))
    Path("tests").mkdir(exist_ok=True)
    case = "test_cases:\n- test_case: hello\n  steps:\n  - user: hello\n  - utter: utter_greet\n"
    Path("tests/e2e_test_cases.yml").write_text(case)
    assert run_command_line(["test", "e2e", "--coverage-report", *flags]) == 0
    Path("more").mkdir()
    Path("more/passed.yml").write_text(case)
    capsys.readouterr()
    assert run_command_line(["test", "e2e"]) == 0
    forgotten = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Not run:")]
    golden(*forgotten)


def test_a_coverage_folder_among_the_tests_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    project = write_project(tmp_path / "bot")
    (project / "tests").mkdir(exist_ok=True)
    (project / "tests" / "e2e_test_cases.yml").write_text("test_cases: []\n")
    command = ["test", "e2e", "--project", str(project), "--coverage-report"]
    assert run_command_line([*command, "--coverage-output-path", str(project / "tests" / "cov")]) == 2
    golden(capsys.readouterr().err)
