"""The JSON Schema of end-to-end cases says what the reader says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from turncheck.project.e2e_cases import ASSERTIONS, CASE_KEYS, FILE_KEYS, USER_KEYS, read_cases
from turncheck.project.e2e_model import STEP_KINDS

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "e2e_test_cases.schema.json").read_text())
VALID = [
    "test_cases: [{test_case: a, steps: [{user: a}, {bot: b}]}]",
    "test_cases: [{test_case: a, fixtures: f, steps: [{bot: b}]}]\nfixtures: [{f: {s: 1}}]",
    (
        "test_cases: [{test_case: a, fixtures: [f], metadata: m, steps: [{user: a, metadata: m}, {utter: utter_b}]}]\n"
        "fixtures: [{f: [{s: 1}, {t: null}]}]\nmetadata: [{m: {k: {d: 1}}}]"
    ),
    "test_cases: [{test_case: a, steps: [{user: a}, {slot_was_set: [s, {t: 1}]}, {slot_was_not_set: u}]}]",
    "test_cases: [{test_case: a, steps: [{user: a, assertions: [{bot_uttered: {utter_name: u}}]}]}]",
    (
        "stub_custom_actions: {action_a: {events: [], responses: [{text: x}]}}\n"
        "test_cases: [{test_case: a, steps: [{user: a}, {bot: b}]}]"
    ),
]
INVALID = [
    "test_case: []",
    "test_cases: [{test_case: a, step: []}]",
    "test_cases: [{test_case: a, steps: []}]",
    "test_cases: [{steps: [{user: a}]}]",
    "test_cases: [{test_case: a, steps: [{usr: a}]}]",
    "test_cases: [{test_case: a, steps: [{user: a}, {bot: [b]}]}]",
    "test_cases: [{test_case: a, steps: [a]}]",
    "test_cases: [{test_case: a, steps: [{user: a, assertions: [{flow_begun: b}]}]}]",
    "test_cases: [{test_case: a, steps: [{user: a, bots: b}]}]",
    "stub_custom_actions: {a: {event: []}}\ntest_cases: [{test_case: a, steps: [{user: a}, {bot: b}]}]",
    "fixtures: {f: 1}\ntest_cases: [{test_case: a, steps: [{user: a}, {bot: b}]}]",
]


def errors_of_reader(folder: Path, text: str) -> list[str]:
    (folder / "cases.yml").write_text(text)
    read = read_cases(folder, [folder / "cases.yml"])
    return [finding.message for finding in read.findings if finding.severity == "error"]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("text", VALID)
def test_what_is_right_is_right_for_both(tmp_path: Path, text: str) -> None:
    jsonschema.validate(yaml.safe_load(text), SCHEMA)
    assert errors_of_reader(tmp_path, text) == []


@pytest.mark.parametrize("text", INVALID)
def test_what_is_wrong_is_wrong_for_both(tmp_path: Path, text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), SCHEMA)
    assert errors_of_reader(tmp_path, text)


def test_both_know_the_same_keys() -> None:
    definitions = SCHEMA["$defs"]
    assert set(SCHEMA["properties"]) == set(FILE_KEYS)
    assert set(definitions["case"]["properties"]) == set(CASE_KEYS)
    assert set(definitions["user"]["properties"]) == set(USER_KEYS)
    assert set(definitions["expectation"]["properties"]) == set(STEP_KINDS)
    assert set(definitions["assertion"]["properties"]) == set(ASSERTIONS)
