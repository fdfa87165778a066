"""Whatever an action server answers ends in a verdict for every case: what Rasa takes counts, the rest has failed."""

from __future__ import annotations

import copy
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turncheck.commands.e2e import Progress, results_yaml
from turncheck.commands.shell import message_lines
from turncheck.engines.action_server.server import CallFailedError, Reply, read_reply
from turncheck.engines.embedded.actions.base import ActionRejectedError
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.render.case_differences import case_differences
from turncheck.render.results import render_results
from turncheck.report.codec import decode, encode
from turncheck.report.model import ProjectInfo, Report, Source, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from turncheck.engines.conversation import Turn
    from turncheck.project.e2e.model import E2ECases
    from turncheck.report.model import EndToEnd

FILES = {
    "config.yml": """
recipe: default.v1
language: en
pipeline: []
policies: [{name: MemoizationPolicy}, {name: TEDPolicy}, {name: RulePolicy}]
""",
    "domain.yml": """
version: "3.1"
intents: [go, tell, order, faq]
entities: [city]
slots:
  city: {type: text, mappings: [{type: from_entity, entity: city}]}
  open: {type: bool, mappings: [{type: custom}]}
  price: {type: float, min_value: 0, max_value: 9, mappings: [{type: custom}]}
  kind: {type: categorical, values: [a, b], mappings: [{type: custom}]}
  names: {type: list, mappings: [{type: custom}]}
  rest: {type: any, mappings: [{type: custom}]}
forms: {order_form: {required_slots: [city]}}
responses:
  utter_told: [{text: "It is {city} at {price}", buttons: [{title: A, payload: /go}]}]
  utter_ask_city: [{text: "Where?"}]
  utter_faq/one: [{text: "One"}]
  utter_after: [{text: "After"}]
actions: [action_any, utter_faq]
""",
    "data/rules.yml": """
version: "3.1"
rules:
- {rule: go, steps: [{intent: go}, {action: action_any}, {action: utter_after}]}
- {rule: tell, steps: [{intent: tell}, {action: utter_told}]}
- {rule: order, steps: [{intent: order}, {action: order_form}, {active_loop: order_form}]}
- rule: ordered
  condition: [{active_loop: order_form}]
  steps: [{action: order_form}, {active_loop: null}, {action: utter_told}]
stories:
- {story: s, steps: [{intent: go}, {action: action_any}, {action: utter_after}, {intent: tell}, {action: utter_told}]}
""",
    "data/nlu.yml": "version: '3.1'\nnlu: [{intent: faq/one, examples: '- one'}]\n",
    "tests/cases.yml": """
test_cases:
- test_case: steps
  steps:
  - user: /go
  - bot: Hello
  - slot_was_set: [city: Rome, price]
  - slot_was_not_set: [kind]
  - user: /tell
  - utter: utter_told
- test_case: assertions
  steps:
  - user: /go
    assertions:
    - bot_uttered: {text_matches: Hel+o, buttons: [{title: A, payload: /go}]}
    - slot_was_set: [{name: city, value: Rome}]
  - user: /order
    assertions: [{action_executed: order_form}]
- test_case: form
  steps:
  - user: /order
  - user: '/tell{"city": "Bonn"}'
  - slot_was_set: [city: Bonn]
- test_case: absent
  steps:
  - user: /go
    assertions:
    - bot_did_not_utter: {text_matches: never said, buttons: [{title: never}]}
    - slot_was_not_set: [{name: kind, value: never}]
  - user: /go
- test_case: other
  steps:
  - user: /tell
  - utter: utter_told
""",
}
VALID: dict[str, Any] = {
    "responses": [
        {
            "text": "Hello",
            "buttons": [{"title": "A", "payload": "/go"}],
            "elements": [],
            "custom": {},
            "template": None,
            "response": None,
            "image": None,
            "attachment": None,
        },
        {"response": "utter_told", "price": 4, "buttons": [{"title": "B", "payload": "/tell"}]},
        {"text": "x", "elements": [{"title": "t", "subtitle": "s", "buttons": []}], "quick_replies": [{"title": "q"}]},
        {"custom": {"any": ["thing"]}, "attachment": {"type": "video"}, "image": "i.png"},
    ],
    "events": [
        {"event": "slot", "name": "city", "value": "Rome", "timestamp": None},
        {"event": "slot", "name": "price", "value": 3.5, "timestamp": 12.0},
        {"event": "slot", "name": "open", "value": True},
        {"event": "slot", "name": "kind", "value": "a"},
        {"event": "slot", "name": "names", "value": ["x"]},
        {
            "event": "bot",
            "text": "Said",
            "data": {"buttons": [{"title": "C"}]},
            "metadata": {"utter_action": "utter_x"},
        },
        {"event": "action", "name": "action_any", "policy": None, "confidence": 1.0, "hide_rule_turn": False},
        {
            "event": "user",
            "text": "x",
            "input_channel": None,
            "message_id": None,
            "parse_data": {
                "text": "x",
                "intent": {"name": "tell", "confidence": 1.0},
                "intent_ranking": [{"name": "tell", "confidence": 1.0}],
                "entities": [{"entity": "city", "value": "Oslo", "start": 0, "end": 1, "role": None}],
                "response_selector": {
                    "all_retrieval_intents": ["faq"],
                    "faq": {"response": {"utter_action": "utter_faq/one"}},
                },
            },
        },
        {"event": "entities", "entities": [{"entity": "city", "value": "Bonn"}]},
        {"event": "user_featurization", "use_text_for_featurization": False},
        {"event": "active_loop", "name": "order_form"},
        {"event": "loop_interrupted", "is_interrupted": True},
        {"event": "action_execution_rejected", "name": "order_form", "policy": None, "confidence": None},
        {"event": "active_loop", "name": None},
        {"event": "agent", "text": "x", "data": None},
        {"event": "reminder", "intent": "go", "date_time": "2030-01-01T00:00:00", "name": "r", "entities": None},
        {"event": "cancel_reminder", "name": "r", "intent": None, "entities": None},
        {"event": "export", "path": None},
        {"event": "undo"},
        {"event": "pause"},
        {"event": "resume"},
        {"event": "followup", "name": "utter_faq"},
        {"event": "slot", "name": "requested_slot", "value": "city"},
        {"event": "reset_slots"},
    ],
}
"""All that an answer may hold, each with a value of the right type."""

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.sampled_from(["Hello", "city", "utter_told", "order_form", "{", "\ud83d", "action_listen", "/go"]),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(["event", "name", "text", "value", "buttons", "title", "x"]), below, max_size=3
        )
    ),
    max_leaves=6,
)


class Answers:
    """An action server that always answers the same."""

    selective_domain = True

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def look(self) -> None:
        """It is there."""

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Any:
        json.dumps(call)
        return copy.deepcopy(self.answer)


class Assistant:
    """An assistant and its cases; their own representation is too long for a counterexample."""

    def __init__(self, engine: EmbeddedEngine, cases: E2ECases) -> None:
        self.engine = engine
        self.cases = cases

    def __repr__(self) -> str:
        return "the assistant"


def assistant_of(folder: Path, *actions: str) -> Assistant:
    """Return the assistant of the files, with more actions."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("actions: [", f"actions: [{''.join(f'{action}, ' for action in actions)}"))
    engine = EmbeddedEngine(read_project(folder), seed=0)
    return Assistant(engine, read_cases(folder, [folder / "tests" / "cases.yml"]))


@pytest.fixture(scope="module")
def assistant(tmp_path_factory: pytest.TempPathFactory) -> Assistant:
    return assistant_of(tmp_path_factory.mktemp("assistant"))


@pytest.fixture(scope="module")
def validating(tmp_path_factory: pytest.TempPathFactory) -> Assistant:
    """Return an assistant that hands every slot to the action server to be validated, with its form's and without."""
    actions = ("validate_order_form", "action_validate_slot_mappings", "action_ask_city")
    return assistant_of(tmp_path_factory.mktemp("validating"), *actions)


@pytest.fixture(scope="module")
def engine(assistant: Assistant) -> EmbeddedEngine:
    return assistant.engine


def said(engine: EmbeddedEngine, answer: Any) -> Turn:
    return engine.assistant(Answers(answer)).conversation().say("/go")


def reason(engine: EmbeddedEngine, answer: Any) -> str:
    """Return why the action failed, without what all such reasons begin with; nothing where it ran."""
    noted = said(engine, answer).custom_actions[0]
    if noted.outcome == "ran":
        return ""
    assert noted.outcome == "failed"
    return noted.reason.removeprefix("'action_any' failed, its answer is malformed: ")


# --- any answer -------------------------------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in below for place in places(item, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """Draw a valid answer of one or two things with a value replaced, or left out, at one or two places."""
    answer: Any = {key: draw(st.lists(st.sampled_from(items), min_size=1, max_size=3)) for key, items in VALID.items()}
    answer = copy.deepcopy(answer)
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(places(answer)))
        if not path:
            return draw(ANYTHING)
        holder = answer
        for key in path[:-1]:
            holder = holder[key]
        if draw(st.booleans()) or isinstance(holder, list):
            holder[path[-1]] = draw(ANYTHING)
        else:
            del holder[path[-1]]
    return answer


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answer=ANYTHING | mutated() | mutated())
def test_any_answer_ends_in_a_verdict_for_every_case(assistant: Assistant, answer: Any) -> None:
    result = judged(assistant, answer)
    assert result.cases[-1].outcome == "passed"
    for message in said(assistant.engine, answer).responses:
        assert json.dumps(message).encode()
        assert all(line.encode() for line in message_lines(message))


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answer=ANYTHING | mutated() | mutated())
def test_any_answer_to_a_validation_ends_in_a_verdict_for_every_case(validating: Assistant, answer: Any) -> None:
    judged(validating, answer)


def judged(assistant: Assistant, answer: Any) -> EndToEnd:
    """Run the cases with this answer to every call; all that is made of the result can be written."""
    output = io.StringIO()
    progress = Progress(output, len(assistant.cases.cases))
    served = assistant.engine.assistant(Answers(answer))
    result = evaluate_cases(served, assistant.cases.cases, CaseRun(), progress.finished)
    assert {case.outcome for case in result.cases} <= {"passed", "failed"}
    report = Report(
        tool=Tool(name="turncheck", version="0"),
        project=ProjectInfo(name="p"),
        source=Source(),
        seed=0,
        engine=assistant.engine.info(),
        e2e=result,
    )
    assert decode(encode(report)).e2e == result
    assert case_differences(result.cases).encode()
    assert render_results(report).encode()
    assert results_yaml(assistant.cases.cases, result)
    return result


@given(
    status=st.sampled_from([200, 204, 302, 400, 404, 500]),
    kind=st.sampled_from(["application/json", "text/html", "", "application/json; charset=hex"])
    | st.text(st.characters(min_codepoint=32, max_codepoint=126)).map("application/json; charset={}".format),
    body=st.binary()
    | ANYTHING.map(lambda value: json.dumps(value).encode())
    | st.integers(1, 5000).map(lambda depth: b"[" * depth)
    | st.just(b'{"action_name": {}, "error": "\\ud83d"}'),
)
def test_any_body_is_json_or_a_failure_in_words(status: int, kind: str, body: bytes) -> None:
    told = ""
    try:
        read_reply("action_any", Reply(status, kind, body))
    except (CallFailedError, ActionRejectedError) as error:
        told = str(error)
    assert len(told.encode()) < 3000


# --- what Rasa takes, and what makes it fail --------------------------------------------------------------------------


def test_all_that_an_answer_may_hold_is_taken(engine: EmbeddedEngine) -> None:
    for key, items in VALID.items():
        for item in items:
            assert reason(engine, {key: [item]}) == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "it must be an object, not null"),
        ([], "it must be an object, not a list"),
        ({"responses": 5}, "responses must be a list of objects, not a number"),
        ({"responses": [{}, 5]}, "responses[1] must be an object, not a number"),
        ({"responses": [{"text": 5}]}, "responses[0].text must be a string, not a number"),
        ({"responses": [{"text": "x", "buttons": 5}]}, "responses[0].buttons must be a list, not a number"),
        (
            {"responses": [{"response": "utter_told", "buttons": 7}]},
            "responses[0].buttons must be a list, not a number",
        ),
        ({"responses": [{"response": "utter_told", "text": 7}]}, "responses[0].text must be a string, not a number"),
        ({"responses": [{"response": ["a"]}]}, "responses[0].response must be a response's name, not a list"),
        (
            {"responses": [{"response": "utter_told", "tracker": 1}]},
            "responses[0].tracker is a name that Rasa itself uses",
        ),
        ({"responses": [{"elements": 3}]}, "responses[0]: its elements must be a list of objects"),
        ({"responses": [{"elements": [3]}]}, "responses[0]: its elements must be a list of objects"),
        ({"events": None}, "events must be a list of objects, not null"),
        ({"events": [{}]}, "events[0] needs the key 'event'"),
        ({"events": [{"event": 5}]}, "events[0].event must be a string, not a number"),
        ({"events": [{"event": "slto"}]}, "events[0].event: there is no kind of event 'slto'"),
        ({"events": [{"event": "slot", "name": "city"}]}, "events[0] needs the key 'value'"),
        ({"events": [{"event": "slot", "name": ["a"], "value": 1}]}, "events[0].name must be a string, not a list"),
        (
            {"events": [{"event": "slot", "name": "city", "value": 1, "timestamp": "x"}]},
            "events[0].timestamp must be a",
        ),
        ({"events": [{"event": "action", "name": {}}]}, "events[0].name must be a string, not an object"),
        ({"events": [{"event": "action"}]}, "events[0] needs a 'name' or an 'action_text'"),
        ({"events": [{"event": "active_loop", "name": [1]}]}, "events[0].name must be a string, not a list"),
        ({"events": [{"event": "bot", "data": 7}]}, "events[0].data must be an object, not a number"),
        ({"events": [{"event": "bot", "metadata": 7}]}, "events[0].metadata must be an object, not a number"),
        ({"events": [{"event": "bot", "metadata": {"text": 7}}]}, "events[0]: its text must be a string"),
        ({"events": [{"event": "bot", "data": {"elements": 7}}]}, "events[0]: its elements must be a list of objects"),
        ({"events": [{"event": "user", "parse_data": 7}]}, "events[0].parse_data must be an object, not a number"),
        (
            {"events": [{"event": "user", "parse_data": {"entities": [5]}}]},
            "events[0].parse_data.entities[0] must be an object, not a number",
        ),
        ({"events": [{"event": "user", "parse_data": {"intent": 5}}]}, "events[0].parse_data.intent must be an object"),
        ({"events": [{"event": "entities", "entities": 5}]}, "events[0].entities must be a list of objects"),
        ({"events": [{"event": "reminder", "intent": "go"}]}, "events[0] needs the key 'date_time'"),
        (
            {"events": [{"event": "user", "parse_data": {"intent": {"name": None}}}]},
            "events[0].parse_data.intent.name must be a string, not null",
        ),
    ],
)
def test_what_makes_rasa_fail_the_action_fails_it_with_its_place(engine: EmbeddedEngine, answer: Any, why: str) -> None:
    turn = said(engine, answer)
    assert reason(engine, answer).startswith(why)
    assert [message["text"] for message in turn.responses] == ["After"]


@pytest.mark.parametrize(
    ("response", "messages"),
    [
        ({"text": 0}, []),
        ({"text": "x", "buttons": ["Yes", "No"]}, [{"text": "x", "buttons": ["Yes", "No"]}]),
        ({"text": "x", "buttons": {"title": "Yes"}}, [{"text": "x", "buttons": ["title"]}]),
        ({"text": "x", "quick_replies": 8}, [{"text": "x", "buttons": 8}]),
        ({"custom": 5}, [{"custom": 5}]),
        ({"image": 6}, [{"image": 6}]),
        ({"response": 5}, []),
        ({"text": "half \ud83d"}, [{"text": "half \ufffd"}]),
    ],
)
def test_what_rasa_sends_is_sent(engine: EmbeddedEngine, response: dict[str, Any], messages: list[Any]) -> None:
    assert reason(engine, {"responses": [response]}) == ""
    assert list(said(engine, {"responses": [response]}).responses)[:-1] == messages


def test_a_follow_up_action_that_is_none_is_passed_over_and_told(engine: EmbeddedEngine, golden: Golden) -> None:
    for name in ("nope", 5):
        turn = said(engine, {"events": [{"event": "followup", "name": name}]})
        assert turn.custom_actions[0].outcome == "ran"
        golden(*turn.remarks)
    assert said(engine, {"events": [{"event": "followup", "name": None}]}).remarks == ()


@pytest.mark.parametrize(("asked", "fails"), [(["city"], True), ({}, True), (5, False), ("city", False)])
def test_a_form_that_asks_for_what_is_no_slots_name_fails_as_in_rasa(
    engine: EmbeddedEngine, asked: Any, golden: Golden, *, fails: bool
) -> None:
    events = [
        {"event": "slot", "name": "requested_slot", "value": asked},
        {"event": "active_loop", "name": "order_form"},
        {"event": "followup", "name": "action_listen"},
    ]
    conversation = engine.assistant(Answers({"events": events})).conversation()
    conversation.say("/go")
    turn = conversation.say("/order")
    assert len(turn.remarks) == (1 if fails else 0)
    golden(*turn.remarks)


def test_an_answer_that_is_nested_without_end_failed(engine: EmbeddedEngine, golden: Golden) -> None:
    value: Any = None
    for _ in range(200):
        value = [value]
    answer = {"events": [{"event": "slot", "name": "rest", "value": value}]}
    golden(reason(engine, answer))


def test_a_number_beyond_all_measure_is_a_slots_value_that_no_policy_sees(engine: EmbeddedEngine) -> None:
    turn = said(engine, {"events": [{"event": "slot", "name": "price", "value": 10**400}]})
    assert turn.slots["price"] == 10**400
    assert turn.stopped is None
