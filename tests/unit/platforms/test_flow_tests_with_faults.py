"""A fault in a step of a test hides no other one, and all commands see the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flow_example import Edit, T, U, checked, example
from in_process import turncheck

DAY = "      - user: on Friday\n        assertions:\n"
WRONG = "          - slot_was_set:\n              - name: servce\n"
UNKNOWN = "      - user: on Friday\n        latency: 3\n        assertions:\n"
MISSPELT = "      - user: on Friday\n        asertion_order_enabled: true\n        assertions:\n"
HIDING: dict[str, Edit] = {
    "an unknown key": (T, DAY, f"{UNKNOWN}{WRONG}"),
    "a misspelt key": (T, DAY, f"{MISSPELT}{WRONG}"),
    "an unknown key of an assertion": (T, DAY, f"{DAY}          - bot_uttered: {{text_includes: Hello}}\n{WRONG}"),
    "an assertion that is not one": (T, DAY, f"{DAY}          - utter_ask_day\n{WRONG}"),
    "an unknown assertion": (T, DAY, f"{DAY}          - tool_called: calendar\n{WRONG}"),
}


@pytest.mark.parametrize("edit", HIDING.values(), ids=HIDING)
def test_what_is_right_of_a_step_is_judged(tmp_path: Path, edit: Edit) -> None:
    found = checked(example(tmp_path, edit)).findings
    assert [name.name for one in found for name in one.names if one.code == "flow-test-cannot-pass"] == ["servce"]


def test_the_same_goes_for_dialogue_understanding_tests(tmp_path: Path) -> None:
    asked = "      - user: when are you open?\n"
    edits = ((U, asked, f"{asked}        latency: 3\n"), (U, "StartFlow(opening_hours)", "StartFlow(hours)"))
    found = {one.code for one in checked(example(tmp_path, *edits)).findings}
    assert found == {
        "e2e-doubtful",
        "flow-test-cannot-pass",
    }


STUBS = "stub_custom_actions:\n  action_check_day:\n    events:\n    - {event: slot, name: rating, value: great}\n"
SEEN: dict[str, tuple[Edit, tuple[str, str]]] = {
    "an unknown key": ((T, DAY, UNKNOWN), ("e2e-doubtful", "warning")),
    "a misspelt key": ((T, DAY, MISSPELT), ("e2e-syntax", "error")),
    "a value of a stub": ((T, "metadata:\n  - web:", f"{STUBS}metadata:\n  - web:"), ("e2e-doubtful", "warning")),
}


@pytest.mark.parametrize(("edit", "expected"), SEEN.values(), ids=SEEN)
def test_a_run_and_the_checks_of_the_data_agree(tmp_path: Path, edit: Edit, expected: tuple[str, str]) -> None:
    bot = example(tmp_path / "bot", edit)
    report = tmp_path / "report.json"
    found = []
    for command in (
        ["data", "validate", "--json", str(report)],
        ["run", "--json", str(report), "--out", str(tmp_path)],
    ):
        code = turncheck(*command, "--project", str(bot)).returncode
        findings = json.loads(report.read_text(encoding="utf-8"))["validation"]["findings"]
        found.append((code, [(one["code"], one["severity"]) for one in findings]))
    assert found == [(int(expected[1] == "error"), [expected])] * 2
