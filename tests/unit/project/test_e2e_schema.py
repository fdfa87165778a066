"""The JSON Schema of end-to-end cases says what the reader says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from turncheck.dialogue.event_reading import _READERS, ShapeError
from turncheck.engines.embedded.actions.custom import read_answer
from turncheck.evaluations.e2e.case import NEEDS_FLOWS, NEEDS_JUDGE
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import STEP_KINDS
from turncheck.project.e2e.shapes import ASSERTIONS, EVENT_SHAPES, EXPECTATION, MESSAGE_KEYS, schema

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "e2e_test_cases.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
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
    "test_cases: [{test_case: a, steps: [{user: a, assertions: []}]}]",
    "test_cases: [{test_case: a, steps: [{user: a, assertions: [{bot_uttered: {text_matchs: b}}]}]}]",
    "test_cases: [{test_case: a, steps: [{user: a, assertions: [{slot_was_set: [{name: a, valu: b}]}]}]}]",
    "test_cases: [{test_case: a, steps: [{user: a, assertion_order_enabled: 'yes'}]}]",
    "test_cases: [{test_case: a, steps: [{user: a, assertion_order_enabled: true}, {bot: b}]}]",
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
    VALIDATOR.validate(yaml.safe_load(text))
    assert errors_of_reader(tmp_path, text) == []


@pytest.mark.slow
@pytest.mark.parametrize("text", INVALID)
def test_what_is_wrong_is_wrong_for_both(tmp_path: Path, text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(yaml.safe_load(text))
    assert errors_of_reader(tmp_path, text)


def test_the_committed_schema_is_the_one_of_the_shapes() -> None:
    """Write the new one with: python tools/write_schemas.py"""
    assert json.loads(json.dumps(schema())) == SCHEMA


def test_the_shapes_have_all_kinds_of_steps() -> None:
    assert set(EXPECTATION.keys) == set(STEP_KINDS)
    assert set(ASSERTIONS) >= {*NEEDS_FLOWS, *NEEDS_JUDGE}


ASSERTION = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "", "(", "1.50"]),
    lambda below: (
        st.lists(below, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "value", "utter_name", "buttons", "title", "x"]), below, max_size=2)
    ),
    max_leaves=5,
)


@pytest.mark.slow
@given(st.sampled_from(sorted(ASSERTIONS)), ASSERTION)
def test_reader_and_schema_agree_on_whatever_is_asserted(folder: Path, kind: str, value: object) -> None:
    document = {"test_cases": [{"test_case": "a", "steps": [{"user": "a", "assertions": [{kind: value}]}]}]}
    is_valid = VALIDATOR.is_valid(document)
    faults = [fault for fault in errors_of_reader(folder, json.dumps(document)) if "regular expression" not in fault]
    assert is_valid == (not faults), faults


STUBBED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.just("a"),
    lambda below: (
        st.lists(below, max_size=2)
        | st.dictionaries(st.sampled_from([*sorted(MESSAGE_KEYS), "name", "value", "title", "x"]), below, max_size=2)
    ),
    max_leaves=5,
)


def stubbing(**returned: object) -> dict[str, object]:
    cases = [{"test_case": "a", "steps": [{"user": "a"}, {"bot": "b"}]}]
    return {"stub_custom_actions": {"action_a": returned}, "test_cases": cases}


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from([*sorted(MESSAGE_KEYS), "x"]), STUBBED, max_size=3))
def test_reader_schema_and_action_agree_on_whatever_is_stubbed_as_a_message(
    folder: Path, message: dict[str, object]
) -> None:
    agreed(folder, {"responses": [message]})


@pytest.mark.slow
@given(st.sampled_from([*_READERS, "x"]), st.data())
def test_reader_schema_and_action_agree_on_whatever_is_stubbed_as_an_event(
    folder: Path, kind: str, data: st.DataObject
) -> None:
    keys = sorted(EVENT_SHAPES[kind].keys) if kind in EVENT_SHAPES else ["name"]
    event = data.draw(st.dictionaries(st.sampled_from([*keys, "x"]), STUBBED, max_size=5))
    agreed(folder, {"events": [{**event, "event": kind}]})


def agreed(folder: Path, answer: dict[str, object]) -> None:
    """Reader and schema say the same; what they take, an action may answer."""
    document = stubbing(**answer)
    is_valid = VALIDATOR.is_valid(document)
    faults = errors_of_reader(folder, json.dumps(document))
    assert is_valid == (not faults), faults
    if is_valid:
        problem = ""
        try:
            read_answer(answer)
        except ShapeError as error:
            problem = str(error)
        assert problem in {"", "events[0] needs a 'name' or an 'action_text'"}  # which check_cases finds


def test_every_kind_of_event_may_be_stubbed() -> None:
    assert set(EVENT_SHAPES) == set(_READERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases")
