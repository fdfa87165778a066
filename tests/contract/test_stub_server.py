"""What is between a Rasa that is started here and its action server."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import bad_servers
import pytest
import requests
from action_servers import free_port
from golden_texts import Golden

from turncheck.engines.action_server.server import ActionEndpoint, HttpActionServer, Reply
from turncheck.engines.conversation import CustomAction
from turncheck.engines.rasa_server.process import StubServer, serving_stubs

if TYPE_CHECKING:
    from collections.abc import Iterator

STUB = {"events": [{"event": "slot", "name": "balance", "value": 5}], "responses": [{"text": "You have 5"}]}


@pytest.fixture
def stubs() -> Iterator[StubServer]:
    with serving_stubs(StubServer()) as server:
        yield server


def before(url: str, *responses: str) -> StubServer:
    """What stands before the action server at this address."""
    return StubServer(HttpActionServer(ActionEndpoint(url)), responses)


def call(server: StubServer, sender: str, action: str) -> requests.Response:
    return requests.post(server.url, json={"sender_id": sender, "next_action": action, "tracker": {}}, timeout=10)


def test_a_stub_stands_for_the_action_of_its_conversation_alone(stubs: StubServer, golden: Golden) -> None:
    stubs.stub("one", {"action_balance": STUB})
    assert call(stubs, "one", "action_balance").json() == STUB
    assert call(stubs, "two", "action_balance").status_code == 503
    assert stubs.take_notes("one") == (CustomAction("action_balance", "stubbed"),)
    assert stubs.take_notes("one") == ()
    (missing,) = stubs.take_notes("two")
    assert missing.outcome == "no server"
    golden(missing.reason)


def test_without_a_stub_validations_are_assumed_and_actions_are_missing(stubs: StubServer) -> None:
    stubs.stub("one", {})
    assert call(stubs, "one", "validate_form").json() == {"events": [], "responses": []}
    assert call(stubs, "one", "action_x").status_code == 503
    assert [(note.outcome, note.missing) for note in stubs.take_notes("one")] == [
        ("assumed", False),
        ("no server", True),
    ]


def test_all_other_calls_are_handed_on_as_they_came() -> None:
    seen: list[tuple[str, Any, Any]] = []

    class Behind(StubServer):
        def answer(self, body: bytes, query: str, headers: Any) -> Reply:
            seen.append((query, headers["X-Key"], body))
            return Reply(400, "text/json", b'{"error": "no", "action_name": "action_x"}')

    with serving_stubs(Behind()) as behind, serving_stubs(before(f"{behind.url}?a=1")) as server:
        answer = requests.post(f"{server.url}?token=t", json={"sender_id": "1"}, headers={"X-Key": "k"}, timeout=10)
    assert (answer.status_code, answer.headers["Content-Type"], answer.json()["error"]) == (400, "text/json", "no")
    assert [(note.outcome, note.reason) for note in server.take_notes("1")] == [("rejected", "no")]
    assert seen == [("a=1&token=t", "k", b'{"sender_id": "1"}')]


def test_a_server_behind_that_gives_no_answer_is_a_failure() -> None:
    with bad_servers.serving("hangs up") as behind, serving_stubs(before(behind)) as server:
        assert call(server, "one", "action_x").status_code == 503
    assert [note.outcome for note in server.take_notes("one")] == ["failed"]


OK = ("application/json", b'{"events": [], "responses": [{"response": "utter_x"}]}')
TOLD: list[tuple[int, str, bytes, str, str]] = [
    (200, *OK, "ran", ""),
    (500, "application/json", b'{"error": "out of order"}', "failed", "answered with status 500: out of order"),
    (200, "text/html", b"{}", "failed", "is not of JSON's type"),
    (200, "application/json", b'{"responses": [{"text": 5}]}', "failed", "responses[0].text must be a string"),
    (200, "application/json", b'{"responses": [{"response": "utter_y"}]}', "ran", "'utter_y', which the domain has no"),
]


@pytest.mark.parametrize(("status", "kind", "content", "outcome", "reason"), TOLD)
def test_what_became_of_an_action_is_noted_and_its_answer_goes_back_as_it_came(
    status: int, kind: str, content: bytes, outcome: str, reason: str
) -> None:
    class Behind(StubServer):
        def answer(self, body: bytes, query: str, headers: Any) -> Reply:
            return Reply(status, kind, content)

    with serving_stubs(Behind()) as behind, serving_stubs(before(behind.url, "utter_x")) as server:
        given = call(server, "one", "action_x")
    assert (given.status_code, given.headers["Content-Type"], given.content) == (status, kind, content)
    (note,) = server.take_notes("one")
    assert note.outcome == outcome
    assert reason in note.reason
    assert bool(reason) == bool(note.reason)


def test_a_server_that_was_seen_and_dies_before_its_first_call_is_gone() -> None:
    with serving_stubs(StubServer()) as behind:
        server, other, started = before(behind.url), before(behind.url), before(behind.url)
        server.look(was_there=False)
    other.look(was_there=False)
    started.look(was_there=True)
    for one in (server, other, started):
        with serving_stubs(one):
            call(one, "one", "action_x")
    notes = [note.outcome for one in (server, other, started) for note in one.take_notes("one")]
    assert notes == ["lost", "unreachable", "lost"]


def test_a_server_that_dies_of_an_action_is_gone_for_it() -> None:
    port = free_port()
    command = [sys.executable, bad_servers.__file__, str(port), "dies"]
    with (
        subprocess.Popen(command, stderr=subprocess.DEVNULL) as process,
        serving_stubs(before(f"http://127.0.0.1:{port}/webhook")) as server,
    ):
        assert server.behind is not None
        while not server.behind.was_there:
            server.look(was_there=False)
        assert call(server, "one", "action_x").status_code == 503
        assert process.wait(10) == 3
    assert [note.outcome for note in server.take_notes("one")] == ["lost"]


def test_a_server_behind_that_was_there_and_is_gone_is_told_from_one_that_never_was() -> None:
    with serving_stubs(StubServer()) as behind, serving_stubs(before(behind.url)) as server:
        behind.stub("one", {"action_x": STUB})
        assert call(server, "one", "action_x").json() == STUB
    with serving_stubs(server):
        call(server, "one", "action_x")
    with serving_stubs(before(behind.url)) as other:
        call(other, "one", "action_x")
    notes = [note.outcome for note in (*server.take_notes("one"), *other.take_notes("one"))]
    assert notes == ["ran", "lost", "unreachable"]


def test_what_is_no_call_is_refused(stubs: StubServer) -> None:
    assert requests.post(stubs.url, data=b"{", timeout=10).status_code == 400
