"""Files of end-to-end cases: what is read, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import Expectation, MessageAsserted, SlotAsserted

if TYPE_CHECKING:
    from turncheck.project.e2e.model import E2ECases


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


@pytest.mark.follows(page="rasa-pro", sentence="A case has a name and steps, and may have fixtures and metadata.")
@pytest.mark.follows(page="rasa-pro", sentence="A stub can be limited to one case: `case::action`.")
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


@pytest.mark.follows(page="rasa-pro", sentence="One case of a file is run as `file.yml::name`.")
def test_a_case_is_named_behind_two_colons(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "cases.yml").write_text(WHOLE)
    cases = read_cases(tmp_path, [Path(f"{tmp_path}/cases.yml::other")])
    assert [case.name for case in cases.cases] == ["other"]
    for whole in (f"{tmp_path}/cases.yml", str(tmp_path)):
        for paths in ([whole, f"{tmp_path}/cases.yml::other"], [f"{tmp_path}/./cases.yml::other", whole]):
            assert read_cases(tmp_path, paths).cases == read_cases(tmp_path, [whole]).cases
    unknown = read_cases(tmp_path, [Path(f"{tmp_path}/cases.yml::otter")])
    golden(faults(unknown)[0])


def test_a_case_may_be_named_like_a_path(tmp_path: Path) -> None:
    name = "visit http://x//y/ ::twice"
    (tmp_path / "cases.yml").write_text(f"test_cases: [{{test_case: '{name}', steps: [{{user: a}}, {{bot: b}}]}}]")
    cases = read_cases(tmp_path, [f"{tmp_path}/cases.yml::{name}"])
    assert ([case.name for case in cases.cases], cases.findings) == ([name], ())


@pytest.mark.follows(page="rasa-pro", sentence="A folder of cases is read with all that is below it.")
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


@pytest.mark.follows(page="rasa-pro", sentence="Fixtures may be in `conftest.yml`; the nearest one wins.")
def test_shared_fixtures_are_found_and_the_nearest_wins(tmp_path: Path) -> None:
    (tmp_path / "conftest.yml").write_text("fixtures: [{far: {a: 1}}, {both: {a: far}}]")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.yml").write_text("fixtures: [{both: {a: near}}]")
    text = "test_cases: [{test_case: x, fixtures: [far, both], steps: [{user: a}, {bot: b}]}]"
    cases = read(tmp_path, text, "tests/cases.yml")
    assert faults(cases) == []
    assert cases.cases[0].slots == {"a": "near"}


USES_SHARED = "test_cases: [{test_case: x, fixtures: [shared], steps: [{user: a}, {bot: b}]}]"


@pytest.fixture
def sharing(tmp_path: Path) -> Path:
    """A project whose cases, two folders below, use a fixture of the folder between."""
    cases = tmp_path / "bot" / "tests" / "e2e" / "deep" / "cases.yml"
    cases.parent.mkdir(parents=True)
    cases.write_text(USES_SHARED)
    (tmp_path / "bot" / "tests" / "e2e" / "conftest.yml").write_text("fixtures: [{shared: {a: 1}}]")
    return tmp_path


@pytest.mark.parametrize(
    ("place", "project", "cases"),
    [
        ("bot/tests", "..", "e2e"),
        ("bot/tests", "..", "../tests/e2e/deep/cases.yml"),
        ("bot/tests/e2e/deep", "../../..", "cases.yml"),
        (".", "bot/../bot", "bot/tests/e2e"),
        (".", "link", "bot/tests/e2e"),
        (".", "bot", "link/tests/e2e"),
        (".", "other", "bot/tests/e2e"),
    ],
)
def test_shared_fixtures_are_found_however_the_project_is_named(
    sharing: Path, monkeypatch: pytest.MonkeyPatch, place: str, project: str, cases: str
) -> None:
    (sharing / "link").symlink_to("bot")
    (sharing / "other").mkdir()
    monkeypatch.chdir(sharing / place)
    read = read_cases(Path(project), [Path(cases)])
    assert faults(read) == []
    assert read.cases[0].slots == {"a": 1}


def test_nothing_above_the_project_is_shared(sharing: Path, golden: Golden) -> None:
    read = read_cases(sharing / "bot" / "tests" / "e2e" / "deep", [sharing / "bot" / "tests" / "e2e" / "deep"])
    golden(faults(read)[0])


def test_files_outside_the_project_share_with_each_other(tmp_path: Path) -> None:
    (tmp_path / "bots" / "bot").mkdir(parents=True)
    (tmp_path / "bots" / "elsewhere" / "deep").mkdir(parents=True)
    for place, name in ((".", "above"), ("bots", "both"), ("bots/elsewhere", "own"), ("bots/bot", "project")):
        (tmp_path / place / "conftest.yml").write_text(f"fixtures: [{{{name}: {{a: 1}}}}]")
    cases = tmp_path / "bots" / "elsewhere" / "deep" / "cases.yml"
    for name, is_found in (("own", True), ("both", True), ("above", False), ("project", False)):
        cases.write_text(USES_SHARED.replace("shared", name))
        assert (faults(read_cases(tmp_path / "bots" / "bot", [cases])) == []) is is_found, name


def test_a_shared_file_leads_nowhere_else(sharing: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yml").write_text("fixtures: [{shared: {a: 1}}]")
    (sharing / "bot" / "tests" / "conftest.yml").symlink_to(tmp_path / "secret.yml")
    (fault,) = read_cases(sharing / "bot", [sharing / "bot" / "tests"]).findings
    assert fault.code == "file-outside-project"


@pytest.mark.parametrize(
    ("shared", "fault"),
    [
        (
            "fixtures: [{shared: {a: 1}}]\nfixture: 3",
            "conftest.yml:2 'fixture' is not a key of conftest.yml. Allowed: ",
        ),
        (
            "fixtures: [{shared: {a: 1}}]\nmetadata: []",
            "conftest.yml:2 'metadata' is not a key of conftest.yml. Allowed: ",
        ),
        ("fixtures: [{shared: {a: 1}}, {other: 1}]", "conftest.yml:1 "),
        ("- fixtures: []", "conftest.yml:1 the file must be a map."),
        ("fixtures: [", "conftest.yml:1 "),
    ],
)
def test_a_mistake_in_a_shared_file_is_told_once_with_its_line(tmp_path: Path, shared: str, fault: str) -> None:
    (tmp_path / "conftest.yml").write_text(shared)
    for name in ("one.yml", "two.yml"):
        (tmp_path / name).write_text(USES_SHARED)
    found = [f for f in read_cases(tmp_path, [tmp_path]).findings if f.location.path == "conftest.yml"]
    (one,) = [f"{f.location.path}:{f.location.line} {f.message} {f.hint}" for f in found if f.severity == "error"]
    assert one.startswith(fault)


@pytest.mark.parametrize("shared", ["", "llm_judge: {llm: {model: x}}", "version: 1\nfixtures: null"])
def test_a_shared_file_need_not_hold_fixtures(tmp_path: Path, shared: str) -> None:
    (tmp_path / "conftest.yml").write_text(shared)
    assert faults(read(tmp_path, "test_cases: [{test_case: x, steps: [{user: a}, {bot: b}]}]")) == []


def test_hidden_files_of_a_folder_are_not_read_unless_named(tmp_path: Path) -> None:
    (tmp_path / "tests" / ".trash").mkdir(parents=True)
    names = ("a.yml", ".b.yml", ".trash/c.yml")
    for name in names:
        (tmp_path / "tests" / name).write_text("test_cases: [{test_case: x, steps: [{user: a}, {bot: b}]}]")
    (tmp_path / "tests" / ".#a.yml").symlink_to("nobody@nowhere.1")
    read = read_cases(tmp_path, [tmp_path / "tests"])
    assert (read.files, read.findings) == (("tests/a.yml",), ())
    assert [case.key for case in read_cases(tmp_path, [tmp_path / "tests" / ".b.yml"]).cases] == ["tests/.b.yml::x"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("test_cases:\n- test_case: x\n  step: []", "3 error 'step' is not a key of a test case. Allowed: test_case"),
        ("test_case: []", "1 error 'cases.yml' has no key 'test_cases'."),
        ("test_cases:\n- steps: [{user: a}]", "2 error A test case needs the key 'test_case'."),
        ("test_cases:\n- test_case: x", "2 error A test case needs the key 'steps'."),
        (
            "test_cases:\n- test_case: x\n  steps:\n  - usr: a",
            "4 error 'usr' is not a key of a step. Allowed: user, bot",
        ),
        ("test_cases:\n- test_case: x\n  fixtures: y\n  steps: [{user: a}, {bot: b}]", "3 error There is no entry 'y'"),
        ("test_cases:\n- test_case: x\n  steps:\n  - user: a\n  - bot: [b]", "5 error 'bot' must be a string."),
        (
            "test_cases:\n- test_case: x\n  steps:\n  - user: a\n  - slot_was_set:",
            "5 error 'slot_was_set' must be a list of slots",
        ),
        (
            "test_cases:\n- test_case: x\n  steps:\n  - user: a\n    assertions: [{flow_begun: x}]",
            "'flow_begun' is not a key",
        ),
        (
            "fixtures: [{a: {b: 1}}]\ntest_cases:\n- test_case: x\n  steps: [{user: a}, {bot: b}]",
            "1 warning No test case",
        ),
        ("test_cases:\n- test_case: x\n  steps: [{user: a}, {user: b}, {bot: c}]", "3 warning Nothing is expected"),
        ("test_cases:\n- test_case: x\n  steps: [{user: a}]", "2 warning The test case 'x' expects nothing."),
        ("test_cases:\n- 5", "2 error An entry of 'test_cases' must be a map. Allowed: test_case"),
        ("test_cases:\n  a: b", "2 error 'test_cases' must be a list."),
        ("stub_custom_actions: {a: 1}\ntest_cases: []", "1 error 'a' must be a map. Allowed: events"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, fault: str) -> None:
    assert any(fault in found for found in faults(read(tmp_path, text))), faults(read(tmp_path, text))


ASSERTED = "test_cases:\n- test_case: x\n  steps:\n  - user: a\n    assertions:\n    - "


@pytest.mark.parametrize(
    ("assertion", "fault"),
    [
        (
            "bot_uttered: {text_matchs: b}",
            "'text_matchs' is not a key of the assertion 'bot_uttered'. Allowed: utter_name, text_matches, bu",
        ),
        ("bot_uttered: {text_matchs: b}", "Did you mean 'text_matches'?"),
        ("bot_uttered:", "'bot_uttered' must be a map. Allowed: utter_name"),
        ("bot_uttered: {}", "The assertion 'bot_uttered' must not be empty. Allowed: utter_name"),
        ("bot_uttered: hello", "Allowed: utter_name, text_matches, buttons."),
        (
            "bot_uttered: {utter_name: b, buttons: null}",
            "'buttons' must be a list of buttons. Allowed: title, payload.",
        ),
        ("bot_uttered: {utter_name: b, buttons: []}", "'buttons' must have an entry."),
        ("bot_uttered: {buttons: [{titel: b}]}", "'titel' is not a key of a button. Allowed: title, payload. Did you"),
        ("bot_uttered: {text_matches: [b]}", "'text_matches' must be a string."),
        ("bot_uttered: {text_matches: ''}", "'text_matches' must not be empty."),
        ('bot_uttered: {text_matches: "You (have"}', "'text_matches' is not a regular expression: missing ), unter"),
        ('bot_uttered: {text_matches: "*C"}', r"The text itself is searched for by: \*C"),
        ("bot_uttered: {text_matches: '((a{999}){999}){999}'}", "it repeats more than can be searched for."),
        ("bot_did_not_utter: {uter_name: b}", "'uter_name' is not a key of the assertion 'bot_did_not_utter'."),
        (
            "slot_was_set: [{name: tier, valu: 1}]",
            "'valu' is not a key of a slot of an assertion. Allowed: name, value.",
        ),
        ("slot_was_set: [{value: 1}]", "A slot of an assertion needs the key 'name'."),
        ("slot_was_set: [{tier: gold}]", "'tier' is not a key of a slot of an assertion."),
        ("slot_was_set: [tier]", "An entry of 'slot_was_set' must be a map. Allowed: name, value."),
        ("slot_was_set: []", "'slot_was_set' must have an entry."),
        ("slot_was_not_set:", "'slot_was_not_set' must be a list of slots"),
        ("action_executed: [a]", "'action_executed' must be a name."),
        ("action_executed:", "'action_executed' must be a name."),
        (
            "flow_completed: {flow: a}",
            "'flow' is not a key of the assertion 'flow_completed'. Allowed: flow_id, flow_step_id.",
        ),
        ("flow_started: {operator: any}", "The assertion 'flow_started' needs the key 'flow_ids'."),
        ("pattern_clarification_contains: a", "must be a list of the flows' names, or a map with 'flow_ids'."),
        ("generative_response_is_relevant: {threshold: 2}", "'threshold' must be a number from 0 to 1."),
        ("generative_response_is_relevant: {threshold: true}", "'threshold' must be a number from 0 to 1."),
        ("generative_response_is_grounded: {treshold: 1}", "Did you mean 'threshold'?"),
        ("{action_executed: a, bot_uttered: {utter_name: b}}", "An assertion must have a single key."),
    ],
)
def test_a_mistake_in_an_assertion_is_named_with_its_line(tmp_path: Path, assertion: str, fault: str) -> None:
    found = faults(read(tmp_path, ASSERTED + assertion))
    assert any(fault in one for one in found), found
    assert all(one.startswith("6 error") for one in found)


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ("user: a\n    metadata: {a: 1}", "'metadata' must be a name, or a list of names."),
        ("user: a\n    assertions: []", "'assertions' must have an entry."),
        ("user: a\n    assertion_order_enabled: yes please", "'assertion_order_enabled' must be true or false."),
        ("user: a\n    assertion_order_enabled: 5", "'assertion_order_enabled' must be true or false."),
        ("user:", "'user' must be a string."),
        ("{}", "A step must not be empty."),
        ("slot_was_not_set: []", "'slot_was_not_set' must have an entry."),
        ("slot_was_set: [null]", "An entry of 'slot_was_set' must be a slot, or a slot and its value."),
        ("slot_was_set: [{}]", "An entry of 'slot_was_set' must be a slot with its value."),
        ("utter: ''", "'utter' must not be empty."),
        ("[a]", "An entry of 'steps' must be a map, such as"),
    ],
)
def test_a_mistake_in_a_step_is_named_with_its_line(tmp_path: Path, step: str, fault: str) -> None:
    found = faults(read(tmp_path, f"test_cases:\n- test_case: x\n  steps:\n  - {step}"))
    assert any(fault in one for one in found), found


@pytest.mark.parametrize("word", ["true", "True", "TRUE"])
def test_every_way_to_write_true_is_true(tmp_path: Path, word: str) -> None:
    text = f"{ASSERTED}action_executed: a\n    assertion_order_enabled: {word}"
    cases = read(tmp_path, text)
    assert faults(cases) == []
    assert cases.cases[0].turns[0].ordered


def test_a_name_is_what_stands_in_the_file(tmp_path: Path) -> None:
    case = "- test_case: {}\n  steps: [{{user: a}}, {{bot: b}}]\n"
    cases = read(tmp_path, f"test_cases:\n{case.format('1.50')}{case.format('1.5')}{case.format('yes')}")
    assert faults(cases) == []
    assert [one.name for one in cases.cases] == ["1.50", "1.5", "yes"]


def test_all_mistakes_are_named_at_once_and_doubts_are_not(tmp_path: Path, golden: Golden) -> None:
    text = """
fixtures: [{f: {s: 1}}]
test_cases:
- test_case: a
  steps: [{usr: a}]
- test_case: b
  fixtures: g
  steps: [{user: a}, {bott: b}, {utter: utter_c}]
- test_case: b
  steps: [{user: a}, {bot: b}]
"""
    cases = read(tmp_path, text)
    golden(*(fault.partition(". ")[0] for fault in faults(cases)))


def test_what_an_assertion_asks_for_is_typed(tmp_path: Path) -> None:
    text = f"""{ASSERTED}slot_was_set: {{name: a, value: null}}
    - slot_was_not_set: [{{name: 5}}]
    - bot_uttered: {{text_matches: 1.50, buttons: [{{title: 7}}]}}
    - action_executed: yes
"""
    cases = read(tmp_path, text)
    assert faults(cases) == []
    assert [assertion.wanted for assertion in cases.cases[0].turns[0].assertions] == [
        (SlotAsserted("a", None, has_value=True),),
        (SlotAsserted("5"),),
        MessageAsserted(None, "1.50", ({"title": "7"},)),
        "yes",
    ]


def test_a_stub_for_a_case_that_is_not_there_is_an_error(tmp_path: Path, golden: Golden) -> None:
    text = "stub_custom_actions: {ther::action_a: {}}\ntest_cases: [{test_case: other, steps: [{user: a}, {bot: b}]}]"
    golden(*faults(read(tmp_path, text)))


@pytest.mark.parametrize(
    ("stub", "fault"),
    [
        ("{event: []}", "'event' is not a key of a stub. Allowed: events, responses."),
        ("{events: {}}", "'events' must be a list of events."),
        ("{events: [{name: a}]}", "An event needs the key 'event'."),
        ("{events: [{event: []}]}", "'event' must be a string. Allowed: slot, followup,"),
        ("{events: [{event: slto}]}", "'slto' is not a kind of event. Allowed: slot, followup,"),
        ("{events: [{event: slto}]}", "Did you mean 'slot'?"),
        ("{events: [slot]}", "An entry of 'events' must be a map, such as 'event: slot'. It needs the key 'event'."),
        ("{responses: [hello]}", "An entry of 'responses' must be a map, such as 'text: …' or 'response: …'."),
        ("{responses: [{}]}", "A message must not be empty."),
        ("", "'a' must be a map. Allowed: events"),
    ],
)
def test_a_mistake_in_a_stub_is_named(tmp_path: Path, stub: str, fault: str) -> None:
    text = f"stub_custom_actions:\n  a: {stub}\ntest_cases: [{{test_case: x, steps: [{{user: a}}, {{bot: b}}]}}]"
    found = faults(read(tmp_path, text))
    assert any(fault in one for one in found), found


@pytest.mark.parametrize(
    ("kind", "returned", "fault"),
    [
        ("responses", "text: 5", "5 error 'text' must be a string, or nothing. In quotes it is one: \"5\"."),
        ("responses", "text: hi\n      buttons: 5", "6 error 'buttons' must be a list of buttons, each with a 'title'"),
        ("responses", "text: hi\n      buttons: [5]", "6 error An entry of 'buttons' must be a map. Allowed: title"),
        ("responses", "text: hi\n      buttons: [{titel: A}]", "6 error A button needs the key 'title'."),
        ("responses", "txet: hi", "5 error 'txet' is not a key of a message. Allowed: response, text, buttons,"),
        ("responses", "image: i.png\n      txet: hi", "6 error 'txet' is not a key of a message. Allowed: response, "),
        ("responses", "txet: hi", "Did you mean 'text'?"),
        ("responses", "response: [utter_a]", "5 error 'response' must be a name, or nothing."),
        ("responses", "response: ''", "5 error 'response' must not be empty."),
        ("responses", "elements: 3", "5 error 'elements' must be a list of maps."),
        ("responses", "elements: [3]", "5 error An entry of 'elements' must be a map."),
        ("events", "event: slot\n      nmae: a\n      value: 1", "6 error 'nmae' is not a key of the event 'slot'."),
        ("events", "event: slot\n      nmae: a\n      value: 1", "Did you mean 'name'?"),
        ("events", "event: slot\n      name: a", "5 error The event 'slot' needs the key 'value'."),
        ("events", "event: slot\n      name: 5\n      value: 1", "6 error 'name' must be a name. In quotes"),
        ("events", "event: action\n      name: {}", "6 error 'name' must be a string, or nothing."),
        ("events", "event: active_loop\n      name: [1]", "6 error 'name' must be a string, or nothing."),
        ("events", "event: bot\n      data: 7", "6 error 'data' must be a map. Allowed: buttons,"),
        ("events", "event: bot\n      data: {buttons: 5}", "6 error 'buttons' must be a list of buttons"),
        ("events", "event: bot\n      metadata: 5", "6 error 'metadata' must be a map."),
        ("events", "event: user\n      text: hi", "5 error The event 'user' needs the key 'parse_data'."),
        ("events", "event: user\n      parse_data: {entities: [5]}", "6 error An entry of 'entities' must be a map."),
        ("events", "event: user\n      parse_data: {intent: 5}", "6 error 'intent' must be a map."),
        ("events", "event: reminder\n      intent: a", "5 error The event 'reminder' needs the key 'date_time'."),
        ("events", "event: reset_slots\n      timestamp: now", "6 error 'timestamp' must be a number."),
    ],
)
def test_a_mistake_in_what_a_stub_returns_is_named_with_its_line(
    tmp_path: Path, kind: str, returned: str, fault: str
) -> None:
    text = f"""test_cases: [{{test_case: x, steps: [{{user: a}}, {{bot: b}}]}}]
stub_custom_actions:
  action_a:
    {kind}:
    - {returned}"""
    found = faults(read(tmp_path, text))
    assert any(fault in one for one in found), found


def test_a_stub_may_hold_what_an_action_server_writes(tmp_path: Path) -> None:
    text = """
stub_custom_actions:
  action_a:
    responses:
    - {text: hi, buttons: [], elements: [], custom: {}, template: null, response: null, image: null, attachment: null}
    - {response: utter_a, city: Rome, price: 5}
    - {text: yes, buttons: [{title: A, payload: /a, type: web_url}]}
    - {custom: [1, {a: b}], attachment: {type: video}}
    events:
    - {event: slot, timestamp: null, name: a, value: {any: [thing]}}
    - {event: slot, timestamp: 12.5, name: a, value: null, metadata: {}}
    - {event: reset_slots, timestamp: null}
    - {event: form, name: null}
    - {event: bot, text: null, data: {}, metadata: null}
    - {event: user, text: hi, parse_data: {intent: {name: a, confidence: 1}, entities: []}}
test_cases: [{test_case: x, steps: [{user: a}, {bot: b}]}]
"""
    cases = read(tmp_path, text)
    assert faults(cases) == []
    (stub,) = cases.stubs
    assert stub.responses[1].at("price").line == 6
    assert stub.events[0].content["value"] == {"any": ["thing"]}


def test_an_order_without_assertions_is_an_error(tmp_path: Path, golden: Golden) -> None:
    text = """test_cases:
- test_case: x
  steps:
  - user: a
    assertion_order_enabled: true
  - bot: b
"""
    golden(*faults(read(tmp_path, text)))


@pytest.mark.follows(page="rasa-pro", sentence="Names of cases are unique in a file.")
def test_two_cases_of_one_name_are_an_error(tmp_path: Path, golden: Golden) -> None:
    case = "- test_case: x\n  steps: [{user: a}, {bot: b}]\n"
    golden(*faults(read(tmp_path, f"test_cases:\n{case}{case}")))


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    missing = read_cases(tmp_path, [tmp_path / "none.yml"]).findings[0]
    assert (missing.code, missing.location.path) == ("e2e-not-found", "none.yml")


@pytest.mark.follows(page="rasa-pro", sentence="A step with assertions is judged only by them.")
def test_assertions_push_other_steps_aside(tmp_path: Path, golden: Golden) -> None:
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
    golden(*faults(cases))


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
