"""What stands between a Rasa that is started here and its action server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bad_servers
import pytest
import requests

from turncheck.engines.base import CustomAction
from turncheck.engines.rasa_server.stub_server import StubServer, serving_stubs

if TYPE_CHECKING:
    from collections.abc import Iterator

STUB = {"events": [{"event": "slot", "name": "balance", "value": 5}], "responses": [{"text": "You have 5"}]}


@pytest.fixture
def stubs() -> Iterator[StubServer]:
    with serving_stubs(StubServer()) as server:
        yield server


def call(server: StubServer, sender: str, action: str) -> requests.Response:
    return requests.post(server.url, json={"sender_id": sender, "next_action": action, "tracker": {}}, timeout=10)


def test_a_stub_stands_for_the_action_of_its_conversation_alone(stubs: StubServer) -> None:
    stubs.stub("one", {"action_balance": STUB})
    assert call(stubs, "one", "action_balance").json() == STUB
    assert call(stubs, "two", "action_balance").status_code == 503
    assert stubs.take_notes("one") == (CustomAction("action_balance", "stubbed"),)
    assert stubs.take_notes("one") == ()
    (missing,) = stubs.take_notes("two")
    assert (missing.outcome, missing.reason) == (
        "no server",
        "'action_balance' was not run: no action server is configured",
    )


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
        def answer(self, body: bytes, query: str, headers: Any) -> tuple[int, bytes]:
            seen.append((query, headers["X-Key"], body))
            return 400, b'{"error": "no", "action_name": "action_x"}'

    with serving_stubs(Behind()) as behind, serving_stubs(StubServer(f"{behind.url}?a=1")) as server:
        answer = requests.post(f"{server.url}?token=t", json={"sender_id": "1"}, headers={"X-Key": "k"}, timeout=10)
    assert (answer.status_code, answer.json()["error"]) == (400, "no")
    assert seen == [("a=1&token=t", "k", b'{"sender_id": "1"}')]


def test_a_server_behind_that_gives_no_answer_is_a_failure() -> None:
    with bad_servers.serving("hangs up") as behind, serving_stubs(StubServer(behind)) as server:
        assert call(server, "one", "action_x").status_code == 503
    assert [note.outcome for note in server.take_notes("one")] == ["failed"]


def test_a_server_behind_that_was_there_and_is_gone_is_told_from_one_that_never_was() -> None:
    with serving_stubs(StubServer()) as behind, serving_stubs(StubServer(behind.url)) as server:
        behind.stub("one", {"action_x": STUB})
        assert call(server, "one", "action_x").json() == STUB
    with serving_stubs(server):
        call(server, "one", "action_x")
    with serving_stubs(StubServer(behind.url)) as other:
        call(other, "one", "action_x")
    assert [note.outcome for note in (*server.take_notes("one"), *other.take_notes("one"))] == ["lost", "unreachable"]


def test_what_is_no_call_is_refused(stubs: StubServer) -> None:
    assert requests.post(stubs.url, data=b"{", timeout=10).status_code == 400
