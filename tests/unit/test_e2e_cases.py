"""Files of end-to-end cases: what is read, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from turncheck.project.e2e_cases import read_cases
from turncheck.project.e2e_model import Expectation

if TYPE_CHECKING:
    from turncheck.project.e2e_model import E2ECases


def read(tmp_path: Path, text: str, name: str = "cases.yml") -> E2ECases:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return read_cases(tmp_path, [path])


def faults(cases: E2ECases) -> list[str]:
    return [f"{f.location.line} {f.severity} {f.message} {f.hint}".strip() for f in cases.findings]


def steps(cases: E2ECases, turn: int = 0) -> list[tuple[str, str, object]]:
    return [(e.kind, e.name, e.value if e.has_value else "–") for e in cases.cases[0].turns[turn].expectations]


WHOLE = """
fixtures:
- premium:
  - membership: premium
  - logged_in: true
- guest: {membership: none}
metadata:
- phone: {device: phone, language: en}
- desk: {device: desk}
stub_custom_actions:
  action_check:
    events: [{event: slot, name: balance, value: 5}]
    responses: [{text: You have 5}]
  other::action_check: {}
test_cases:
- test_case: a
  fixtures: [premium, guest]
  metadata: phone
  steps:
  - bot: Welcome
  - user: I want to go
    metadata: desk
  - slot_was_set:
    - city: Rome
    - class
    - note: null
  - slot_was_not_set: [price]
  - utter: utter_ask
  - bot: When?
- test_case: other
  fixtures: guest
  steps:
  - user: yes
  - bot: 1.50
"""


def test_all_that_a_file_may_hold_is_read(tmp_path: Path) -> None:
    cases = read(tmp_path, WHOLE)
    assert faults(cases) == []
    first, second = cases.cases
    assert first.slots == {"membership": "none", "logged_in": True}
    assert [turn.user for turn in first.turns] == [None, "I want to go"]
    assert first.turns[1].metadata == {"device": "desk", "language": "en"}
    assert first.stubs == {
        "action_check": {
            "events": [{"event": "slot", "name": "balance", "value": 5}],
            "responses": [{"text": "You have 5"}],
        }
    }
    assert second.stubs == {"action_check": {"events": [], "responses": []}}
    assert steps(cases, 0) == [("bot", "Welcome", "–")]
    assert steps(cases, 1) == [
        ("slot_was_set", "city", "Rome"),
        ("slot_was_set", "class", "–"),
        ("slot_was_set", "note", None),
        ("slot_was_not_set", "price", "–"),
        ("utter", "utter_ask", "–"),
        ("bot", "When?", "–"),
    ]
    assert first.turns[1].expectations[0].location.line == 24


def test_words_and_numbers_are_the_texts_they_look_like(tmp_path: Path) -> None:
    turn = read(tmp_path, WHOLE).cases[1].turns[0]
    assert turn.user == "yes"
    assert turn.expectations[0].name == "1.50"


def test_a_case_is_named_behind_two_colons(tmp_path: Path) -> None:
    (tmp_path / "cases.yml").write_text(WHOLE)
    cases = read_cases(tmp_path, [Path(f"{tmp_path}/cases.yml::other")])
    assert [case.name for case in cases.cases] == ["other"]
    unknown = read_cases(tmp_path, [Path(f"{tmp_path}/cases.yml::otter")])
    assert "has no test case 'otter'. Did you mean 'other'?" in faults(unknown)[0]


def test_a_folder_is_read_without_results_and_shared_files(tmp_path: Path) -> None:
    case = "test_cases: [{test_case: x, steps: [{user: a}, {bot: b}]}]"
    for name, text in {
        "tests/b.yml": case,
        "tests/deep/a.yml": case,
        "tests/e2e_results.yml": "test_results: []",
        "tests/conftest.yml": "fixtures: []",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    cases = read_cases(tmp_path, [tmp_path / "tests"])
    assert [case.key for case in cases.cases] == ["tests/b.yml::x", "tests/deep/a.yml::x"]
    assert cases.findings == ()


def test_shared_fixtures_are_found_and_the_nearest_wins(tmp_path: Path) -> None:
    (tmp_path / "conftest.yml").write_text("fixtures: [{far: {a: 1}}, {both: {a: far}}]")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.yml").write_text("fixtures: [{both: {a: near}}]")
    text = "test_cases: [{test_case: x, fixtures: [far, both], steps: [{user: a}, {bot: b}]}]"
    cases = read(tmp_path, text, "tests/cases.yml")
    assert faults(cases) == []
    assert cases.cases[0].slots == {"a": "near"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("test_cases:\n- test_case: x\n  step: []", "3 error 'step' is no key of a test case. Allowed: test_case"),
        ("test_case: []", "1 error 'cases.yml' has no key 'test_cases'."),
        ("test_cases:\n- steps: [{user: a}]", "2 error A test case needs a name"),
        ("test_cases:\n- test_case: x", "2 error The test case 'x' has no steps."),
        ("test_cases:\n- test_case: x\n  steps:\n  - usr: a", "4 error 'usr' is no key of a step. Allowed: user, bot"),
        ("test_cases:\n- test_case: x\n  fixtures: y\n  steps: [{user: a}, {bot: b}]", "3 error There is no entry 'y'"),
        ("test_cases:\n- test_case: x\n  steps:\n  - user: a\n  - bot: [b]", "5 error 'bot' must be a text."),
        ("test_cases:\n- test_case: x\n  steps:\n  - user: a\n  - slot_was_set:", "5 error 'slot_was_set' must list"),
        (
            "test_cases:\n- test_case: x\n  steps:\n  - user: a\n    assertions: [{flow_begun: x}]",
            "'flow_begun' is no key",
        ),
        (
            "fixtures: [{a: {b: 1}}]\ntest_cases:\n- test_case: x\n  steps: [{user: a}, {bot: b}]",
            "1 warning No test case",
        ),
        ("test_cases:\n- test_case: x\n  steps: [{user: a}, {user: b}, {bot: c}]", "3 warning Nothing is expected"),
        ("test_cases:\n- test_case: x\n  steps: [{user: a}]", "2 warning The test case 'x' expects nothing."),
        ("test_cases:\n- 5", "2 error A test case must be a map"),
        ("test_cases:\n  a: b", "2 error 'test_cases' must be a list."),
        ("stub_custom_actions: {a: 1}\ntest_cases: []", "1 error The stub of 'a' must be a map."),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    assert any(fault in found for found in faults(read(tmp_path, text))), faults(read(tmp_path, text))


def test_two_cases_of_one_name_are_an_error(tmp_path: Path) -> None:
    case = "- test_case: x\n  steps: [{user: a}, {bot: b}]\n"
    assert faults(read(tmp_path, f"test_cases:\n{case}{case}")) == [
        "4 error There are two test cases 'x'; the first stands in line 2."
    ]


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    assert read_cases(tmp_path, [tmp_path / "none.yml"]).findings[0].code == "e2e-not-found"


def test_assertions_push_other_steps_aside(tmp_path: Path) -> None:
    text = """
test_cases:
- test_case: x
  steps:
  - user: a
    assertion_order_enabled: true
    assertions:
    - action_executed: action_a
    - slot_was_set: [{name: b, value: 1}]
  - bot: c
"""
    cases = read(tmp_path, text)
    turn = cases.cases[0].turns[0]
    assert turn.ordered
    assert [assertion.kind for assertion in turn.assertions] == ["action_executed", "slot_was_set"]
    assert turn.expectations == ()
    assert faults(cases) == ["10 warning A user step with assertions ignores the other steps."]


KEYS = ("test_cases", "test_case", "steps", "user", "bot", "slot_was_set", "fixtures", "metadata", "assertions", "x")
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
CONTENT = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(KEYS), below, max_size=3),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@given(CONTENT)
def test_whatever_a_file_holds_it_is_read_or_found_faulty(folder: Path, content: object) -> None:
    (folder / "cases.yml").write_text(yaml.safe_dump({"test_cases": content}))
    cases = read_cases(folder, [folder / "cases.yml"])
    assert all(isinstance(e, Expectation) for case in cases.cases for turn in case.turns for e in turn.expectations)
