"""Custom actions by a real rasa-sdk server: what they do, and what happens when they fail, hang or refuse."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bad_servers
import pytest
from action_servers import action_server, free_port, rasa_sdk_python
from golden_texts import Golden
from timing import Timing

from turncheck.engines.action_server.server import (
    ActionEndpoint,
    HttpActionServer,
    NoActionServer,
    running_action_server,
)
from turncheck.engines.conversation import CustomAction
from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.messages.errors import UserError
from turncheck.process.environment import for_child
from turncheck.project.nlu_data import NluData
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.engines.conversation import Turn
    from turncheck.engines.embedded.conversation import EmbeddedConversations

DOMAIN = """
version: "3.1"
intents: [remember, crash, hang, refuse, order, give, secrets]
entities: [size]
slots:
  note: {type: text, influence_conversation: false, mappings: [{type: custom}]}
  size: {type: text, mappings: [{type: from_entity, entity: size, conditions: [{active_loop: order_form}]}]}
forms:
  order_form: {required_slots: [size]}
responses:
  utter_noted: [{text: "Noted {note}, {extra}"}]
  utter_ask_size: [{text: "What size?"}]
  utter_done: [{text: "Ordered a {size} one"}]
  utter_after: [{text: "After that"}]
actions: [action_remember, action_crash, action_hang, action_refuse, action_secrets, validate_order_form]
"""
RULES = """
version: "3.1"
rules:
- {rule: remember, steps: [{intent: remember}, {action: action_remember}]}
- {rule: crash, steps: [{intent: crash}, {action: action_crash}, {action: utter_after}]}
- {rule: hang, steps: [{intent: hang}, {action: action_hang}, {action: utter_after}]}
- {rule: refuse, steps: [{intent: refuse}, {action: action_refuse}, {action: utter_after}]}
- {rule: secrets, steps: [{intent: secrets}, {action: action_secrets}]}
- {rule: order, steps: [{intent: order}, {action: order_form}, {active_loop: order_form}]}
- rule: ordered
  condition: [{active_loop: order_form}]
  steps: [{action: order_form}, {active_loop: null}, {action: utter_done}]
"""
CONFIG = """
recipe: default.v1
language: en
pipeline: []
policies: [{name: RulePolicy}]
"""
ACTIONS = """
import os, time
from rasa_sdk import Action, FormValidationAction
from rasa_sdk.events import SlotSet
from rasa_sdk.interfaces import ActionExecutionRejection


class Remember(Action):
    def name(self):
        return "action_remember"

    def run(self, dispatcher, tracker, domain):
        assert tracker.latest_message["intent"]["name"] == "remember"
        assert "utter_noted" in domain["responses"]
        dispatcher.utter_message(response="utter_noted", extra="surely")
        dispatcher.utter_message(text="Pick", buttons=[{"title": "A", "payload": "/order"}], image="i.png")
        return [SlotSet("note", tracker.latest_message["text"])]


class Crash(Action):
    def name(self):
        return "action_crash"

    def run(self, dispatcher, tracker, domain):
        raise RuntimeError("on purpose")


class Hang(Action):
    def name(self):
        return "action_hang"

    def run(self, dispatcher, tracker, domain):
        time.sleep(3)


class Refuse(Action):
    def name(self):
        return "action_refuse"

    def run(self, dispatcher, tracker, domain):
        raise ActionExecutionRejection("action_refuse", "not now")


class Secrets(Action):
    def name(self):
        return "action_secrets"

    def run(self, dispatcher, tracker, domain):
        private = [name for name in os.environ if "TOKEN" in name or name.startswith("INPUT")]
        dispatcher.utter_message(text=" ".join(private) or "none")
        dispatcher.utter_message(text=os.environ.get("SHOP", ""))


class ValidateOrder(FormValidationAction):
    def name(self):
        return "validate_order_form"

    def validate_size(self, value, dispatcher, tracker, domain):
        if value in ("small", "large"):
            return {"size": value}
        dispatcher.utter_message(text=f"There is no {value} one")
        return {"size": None}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("assistant")
    for name, text in {
        "domain.yml": DOMAIN,
        "data/rules.yml": RULES,
        "config.yml": CONFIG,
        "actions.py": ACTIONS,
    }.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture(scope="module")
def webhook(project: Path) -> Iterator[str]:
    with action_server(project) as address:
        yield address


@pytest.fixture(scope="module")
def engine(project: Path) -> EmbeddedEngine:
    return EmbeddedEngine(replace(read_project(project), nlu=NluData()), seed=0)


@pytest.fixture
def served(engine: EmbeddedEngine, webhook: str) -> EmbeddedConversations:
    return engine.assistant(HttpActionServer(ActionEndpoint(webhook)))


def texts(turn: Turn) -> list[Any]:
    return [message.get("text") for message in turn.responses]


def actions(turn: Turn) -> list[str]:
    return [event["name"] for event in turn.events if event["event"] == "action"]


def test_an_action_sets_slots_and_says_responses_of_the_domain_with_what_it_adds(served: EmbeddedConversations) -> None:
    turn = served.conversation().say("/remember")
    assert turn.responses == (
        {"text": "Noted None, surely"},
        {"text": "Pick", "buttons": [{"title": "A", "payload": "/order"}]},
        {"image": "i.png"},
    )
    assert turn.slots["note"] == "/remember"
    assert turn.custom_actions == (CustomAction("action_remember", "ran"),)


def test_a_form_validates_what_it_is_given(served: EmbeddedConversations) -> None:
    conversation = served.conversation()
    assert texts(conversation.say("/order")) == ["What size?"]
    assert texts(conversation.say('/give{"size": "purple"}')) == ["There is no purple one", "What size?"]
    turn = conversation.say('/give{"size": "large"}')
    assert texts(turn) == ["Ordered a large one"]
    assert turn.active_loop is None


def test_an_exception_in_an_action_is_as_if_it_had_done_nothing(served: EmbeddedConversations) -> None:
    turn = served.conversation().say("/crash")
    assert texts(turn) == ["After that"]
    (noted,) = turn.custom_actions
    assert noted.outcome == "failed"
    assert "status 500" in noted.reason
    assert "on purpose" in noted.reason


def test_an_action_that_refuses_lets_others_answer(served: EmbeddedConversations) -> None:
    turn = served.conversation().say("/refuse")
    assert "action_refuse" not in actions(turn)
    assert [event["name"] for event in turn.events if event["event"] == "action_execution_rejected"] == [
        "action_refuse"
    ]
    assert turn.custom_actions == (CustomAction("action_refuse", "rejected", "not now"),)


def test_a_hang_ends_when_the_turns_time_is_over(served: EmbeddedConversations, timing: Timing, golden: Golden) -> None:
    with timing.at_most(2, time.monotonic):
        turn = served.conversation(turn_timeout=0.5).say("/hang")
    golden(turn.stopped)
    assert [action.outcome for action in turn.custom_actions] == ["timed out"]
    time.sleep(3)  # rasa-sdk has one worker, which still sleeps: the tests that follow need it


def test_an_action_that_the_server_does_not_know_fails(engine: EmbeddedEngine, webhook: str) -> None:
    server = HttpActionServer(ActionEndpoint(webhook.replace("webhook", "elsewhere")))
    (noted,) = engine.assistant(server).conversation().say("/remember").custom_actions
    assert noted.outcome == "failed"


def test_without_a_server_the_conversation_goes_on_and_says_what_it_lacks(engine: EmbeddedEngine) -> None:
    turn = engine.assistant(NoActionServer()).conversation().say("/remember")
    assert actions(turn)[-2:] == ["action_remember", "action_listen"]
    (noted,) = turn.custom_actions
    assert noted.missing
    assert noted.outcome == "no server"


def test_a_server_that_is_not_there_is_told_from_none_at_all(engine: EmbeddedEngine) -> None:
    server = HttpActionServer(ActionEndpoint(f"http://127.0.0.1:{free_port()}/webhook"))
    (noted,) = engine.assistant(server).conversation().say("/remember").custom_actions
    assert noted.missing
    assert noted.outcome == "unreachable"


def noted_of(engine: EmbeddedEngine, address: str, timeout: float | None = None) -> CustomAction:
    served = engine.assistant(HttpActionServer(ActionEndpoint(address)))
    (noted,) = served.conversation(turn_timeout=timeout).say("/remember").custom_actions
    return noted


def test_a_server_that_hangs_up_on_an_action_failed_and_is_not_missing(engine: EmbeddedEngine, golden: Golden) -> None:
    for how in ("hangs up", "breaks off"):
        with bad_servers.serving(how) as address:
            noted = noted_of(engine, address)
        assert (noted.outcome, noted.missing) == ("failed", False)
        golden(noted.reason)


def test_a_server_that_was_there_and_is_gone_is_told_from_one_that_never_was(engine: EmbeddedEngine) -> None:
    with bad_servers.serving("hangs up") as address:
        served = engine.assistant(HttpActionServer(ActionEndpoint(address)))
    (noted,) = served.conversation().say("/remember").custom_actions
    assert noted.outcome == "lost"
    assert "is gone" in noted.reason


@pytest.mark.parametrize(
    ("kind", "body", "is_read"),
    [
        ("application/json", "{}", True),
        ("Application/problem+JSON; charset=latin-1", '{"responses": [{"text": "\xe9"}]}', True),
        ("application/json; charset=nonsense", "{}", True),
        ("text/html", "{}", False),
        ("", "{}", False),
        ("application/json", "\ufeff{}", False),
        ("application/json", "", False),
    ],
)
def test_an_answer_is_read_where_its_type_says_that_it_is_json_as_by_rasa(
    engine: EmbeddedEngine, kind: str, body: str, is_read: bool
) -> None:
    content = body.encode("latin-1" if "latin-1" in kind else "utf-8")
    with bad_servers.answering({"/webhook": (200, {"Content-Type": kind}, content)}) as address:
        served = engine.assistant(HttpActionServer(ActionEndpoint(address)))
        turn = served.conversation().say("/remember")
    assert [noted.outcome for noted in turn.custom_actions] == ["ran" if is_read else "failed"]
    assert [response["text"] for response in turn.responses] == (["é"] if "latin-1" in kind else [])


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_a_call_that_is_sent_on_is_followed_as_by_rasa(engine: EmbeddedEngine, status: int, method: str) -> None:
    calls: list[bad_servers.Call] = []
    json = {"Content-Type": "application/json"}
    answers = {"/webhook?token=t": (status, {"Location": "/moved"}, b""), "/moved": (200, json, b"{}")}
    with bad_servers.answering(answers, calls) as address:
        endpoint = ActionEndpoint(address, params={"token": "t"}, headers={"Authorization": "secret"})
        turn = engine.assistant(HttpActionServer(endpoint)).conversation().say("/remember")
    assert [noted.outcome for noted in turn.custom_actions] == ["ran"]
    assert [(call.method, call.path, bool(call.body), call.login) for call in calls] == [
        ("POST", "/webhook?token=t", True, "secret"),
        (method, "/moved", method == "POST", "secret"),
    ]


def test_a_call_that_is_sent_on_to_another_server_takes_no_login_along(engine: EmbeddedEngine) -> None:
    calls: list[bad_servers.Call] = []
    json = {"Content-Type": "application/json"}
    with (
        bad_servers.answering({"/webhook": (200, json, b"{}")}, calls) as other,
        bad_servers.answering({"/webhook": (307, {"Location": other}, b"")}) as address,
    ):
        endpoint = ActionEndpoint(address, headers={"authorization": "secret", "X-More": "more"})
        turn = engine.assistant(HttpActionServer(endpoint)).conversation().say("/remember")
    assert [noted.outcome for noted in turn.custom_actions] == ["ran"]
    assert [(call.method, call.login) for call in calls] == [("POST", None)]


def test_a_call_is_not_followed_to_a_host_that_is_not_allowed_nor_without_end(
    engine: EmbeddedEngine, golden: Golden
) -> None:
    with bad_servers.answering({"/webhook": (302, {"Location": "http://169.254.1.1/"}, b"")}) as address:
        server = HttpActionServer(ActionEndpoint(address), hosts=())
        (noted,) = engine.assistant(server).conversation().say("/remember").custom_actions
    assert noted.outcome == "failed"
    golden(noted.reason)
    with bad_servers.answering({"/webhook": (307, {"Location": "/webhook"}, b"")}) as address:
        noted = noted_of(engine, address)
    assert noted.outcome == "failed"
    golden(noted.reason)


@pytest.mark.parametrize(
    "target", ["http://[x", "http://h:port/", "file:///etc/passwd", f"http://{'a' * 70}.test/", "http://a..b/"]
)
def test_a_call_that_is_sent_on_to_no_address_failed(engine: EmbeddedEngine, target: str, golden: Golden) -> None:
    with bad_servers.answering({"/webhook": (307, {"Location": target}, b"")}) as address:
        noted = noted_of(engine, address)
    assert noted.outcome == "failed"
    golden(noted.reason)


def test_a_call_that_is_sent_on_to_nobody_failed_and_the_server_is_still_there(
    engine: EmbeddedEngine, golden: Golden
) -> None:
    target = "http://127.0.0.1:1/webhook?token=t"
    with bad_servers.answering({"/webhook": (307, {"Location": target}, b"")}) as address:
        noted = noted_of(engine, address)
    assert noted.outcome == "failed"
    assert target.partition("?")[0] in noted.reason
    golden(noted.reason)


def test_an_answer_that_cannot_be_unpacked_failed(engine: EmbeddedEngine, golden: Golden) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    with bad_servers.answering({"/webhook": (200, headers, b"not packed")}) as address:
        noted = noted_of(engine, address)
    golden(noted.reason)


def test_an_answer_that_drips_ends_when_the_turns_time_is_over(
    engine: EmbeddedEngine, timing: Timing, golden: Golden
) -> None:
    with bad_servers.serving("drips") as address, timing.at_most(2, time.monotonic):
        noted = noted_of(engine, address, timeout=0.5)
    assert noted == CustomAction("action_remember", "timed out", noted.reason)
    golden(noted.reason)


@pytest.mark.follows(page="rasa-pro", sentence="A stub replaces a custom action, which is not called.")
def test_stubs_stand_for_actions_and_nobody_is_called(engine: EmbeddedEngine) -> None:
    stub = {"events": [{"event": "slot", "name": "note", "value": 5}], "responses": [{"response": "utter_after"}]}
    conversation = engine.assistant(NoActionServer()).conversation(stubs={"action_remember": stub})
    turn = conversation.say("/remember")
    assert texts(turn) == ["After that"]
    assert turn.slots["note"] == 5
    assert turn.custom_actions == (CustomAction("action_remember", "stubbed"),)
    (noted,) = conversation.say("/crash").custom_actions
    assert noted.missing


def test_a_validation_without_a_stub_takes_what_it_is_given(engine: EmbeddedEngine) -> None:
    conversation = engine.assistant(NoActionServer()).conversation(stubs={})
    conversation.say("/order")
    turn = conversation.say('/give{"size": "purple"}')
    assert texts(turn) == ["Ordered a purple one"]
    assert {action.outcome for action in turn.custom_actions} == {"assumed"}


# --- a server that is started for the run -----------------------------------------------------------------------------


def sdk_command(port: int) -> str:
    return f"{rasa_sdk_python()} -m rasa_sdk --actions actions --port {port}"


def test_a_server_is_started_with_nothing_private_and_stopped_again(
    project: Path, engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INPUT_TOKEN", "secret")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    port = free_port()
    endpoint = ActionEndpoint(f"http://127.0.0.1:{port}/webhook")
    environment = for_child(os.environ, [("SHOP", "open")])
    with running_action_server(sdk_command(port), project, environment, say=print, endpoint=endpoint) as server:
        turn = engine.assistant(server).conversation().say("/secrets")
    assert texts(turn) == ["none", "open"]
    assert not HttpActionServer(endpoint).healthy()


def test_a_server_that_dies_shows_the_end_of_its_log(tmp_path: Path, golden: Golden) -> None:
    endpoint = ActionEndpoint(f"http://127.0.0.1:{free_port()}/webhook")
    command = f"{sys.executable} -c 'import sys; sys.exit(\"no such actions\")'"
    with (
        pytest.raises(UserError) as refused,
        running_action_server(command, tmp_path, {}, say=print, endpoint=endpoint),
    ):
        pass
    golden(refused.value)


def test_a_server_that_dies_in_the_run_shows_the_end_of_its_log(
    tmp_path: Path, engine: EmbeddedEngine, golden: Golden
) -> None:
    port, said = free_port(), list[str]()
    endpoint = ActionEndpoint(f"http://127.0.0.1:{port}/webhook")
    command = f"{sys.executable} {bad_servers.__file__} {port} dies"
    with running_action_server(command, tmp_path, {}, say=said.append, endpoint=endpoint) as server:
        served = engine.assistant(server)
        (first,) = served.conversation().say("/remember").custom_actions
        (second,) = served.conversation().say("/remember").custom_actions
    assert (first.outcome, second.outcome) == ("lost", "lost")
    golden(first.reason)
    golden(second.reason)
    golden(*said)


def test_a_server_that_never_answers_is_given_up(tmp_path: Path, golden: Golden) -> None:
    endpoint = ActionEndpoint(f"http://127.0.0.1:{free_port()}/webhook")
    command = f"{sys.executable} -c 'import time; time.sleep(60)'"
    with (
        pytest.raises(UserError) as refused,
        running_action_server(command, tmp_path, {}, say=print, endpoint=endpoint, start_seconds=0.5),
    ):
        pass
    golden(refused.value)


def test_a_command_that_cannot_be_run_is_an_error(tmp_path: Path, golden: Golden) -> None:
    endpoint = ActionEndpoint(f"http://127.0.0.1:{free_port()}/webhook")
    with (
        pytest.raises(UserError) as refused,
        running_action_server("no-such-program --x", tmp_path, {}, say=print, endpoint=endpoint),
    ):
        pass
    golden(refused.value)


def test_what_a_server_has_started_is_stopped_with_it(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "server.py").write_text(
        "import subprocess, sys\n"
        "for own in (True, False):\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=own)\n"
        "    print(child.pid, file=open('pids', 'a'), flush=True)\n"
        f"import runpy; sys.argv = ['x', '{port}', 'waits']\n"
        f"runpy.run_path({bad_servers.__file__!r}, run_name='__main__')\n"
    )
    endpoint = ActionEndpoint(f"http://127.0.0.1:{port}/webhook")
    with running_action_server(f"{sys.executable} server.py", tmp_path, {}, say=print, endpoint=endpoint):
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    end = time.monotonic() + 10
    while time.monotonic() < end and any(map(is_alive, pids)):
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def is_alive(pid: int) -> bool:
    """One that has ended and that nobody has waited for is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
