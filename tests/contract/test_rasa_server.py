"""The engine ``rasa`` against recorded answers of real servers, and against a server that fails on demand."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_rasa import FakeRasa, is_accepted, parsed, predicted, serving
from golden_texts import Golden
from timing import Timing

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.event_reading import from_json
from turncheck.dialogue.events import UserUttered
from turncheck.dialogue.tracker import Tracker
from turncheck.engines.rasa_server.client import Access, RasaClient, read_parse, read_prediction
from turncheck.engines.rasa_server.conversation import (
    RasaConversation,
    RasaConversations,
    RasaNlu,
    RasaPolicies,
    describe,
)
from turncheck.engines.remote import CutError, ServerError, SlowAnswerError
from turncheck.evaluations.e2e.steps import Exercised
from turncheck.messages.errors import EngineError, IncompleteError, TransientError, UserError
from turncheck.project.reader import read_project
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turncheck.engines.conversation import Turn

ORACLE = Path(__file__).parents[1] / "oracle"
INFO = EngineInfo(name="rasa", version="3.6.21")


def client(rasa: FakeRasa, **access: Any) -> RasaClient:
    return RasaClient(Access(rasa.url, **access), sleep=lambda _: None)


@pytest.fixture
def rasa() -> Iterator[FakeRasa]:
    with serving(FakeRasa()) as running:
        yield running


def recorded(name: str) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = json.loads((ORACLE / "http" / f"{name}.json").read_text("utf-8"))["samples"]
    return samples


# --- recorded answers ------------------------------------------------------------------------------------------------


def test_recorded_answers_about_sentences_are_read() -> None:
    answers = [sample["response"]["body"] for sample in recorded("model_parse") if sample["response"]["status"] == 200]
    order, free, tell = [read_parse(json.dumps(answer).encode(), answer["text"]) for answer in answers]
    assert order.intent.name == "order"
    assert [(entity.entity, entity.value, entity.start, entity.end) for entity in order.entities] == [
        ("drink", "tea", 6, 22)
    ]
    assert order.entities[0].extractor == "RegexMessageHandler"
    assert (free.intent.name, free.intent.confidence, free.ranking) == (None, 0.0, ())
    assert [entry.confidence for entry in tell.ranking] == [0.4]


def test_recorded_predictions_are_read() -> None:
    domain = DialogueDomain.of(read_project(ORACLE / "conversations" / "form_dynamic_slots" / "project"))
    samples = [sample for sample in recorded("model_predict") if sample["response"]["status"] == 200]
    assert samples
    for sample in samples:

        class Recorded(RasaClient):
            def predict(self, events: Any, answer: Any = sample["response"]["body"]) -> Any:
                assert isinstance(events, list)
                return read_prediction(json.dumps(answer).encode())

        tracker = Tracker(domain, "default")
        for event in sample["request"]["body"]:
            tracker.append(from_json(event))
        body = sample["response"]["body"]
        decision = RasaPolicies(Recorded(Access("http://nowhere")), domain).next(tracker)
        best = max(body["scores"], key=lambda entry: entry["score"])
        assert (decision.action, decision.policy, decision.confidence) == (
            best["action"],
            body["policy"],
            body["confidence"],
        )


# --- understanding ---------------------------------------------------------------------------------------------------


def test_answers_are_in_order_whatever_the_concurrency_and_no_more_calls_are_under_way_than_allowed() -> None:
    texts = [f"word{number} said" for number in range(40)]
    chance = random.Random(1)
    with serving(FakeRasa(fault=lambda _path, _body: chance.random() / 50)) as rasa:
        for at_once in (1, 3):
            rasa.most_at_once = 0
            nlu = RasaNlu(RasaClient(Access(rasa.url), at_once=at_once), INFO)
            assert [parse.intent.name for parse in nlu.parse(texts)] == [text.split()[0] for text in texts]
            assert rasa.most_at_once == at_once


def test_a_single_failure_is_overcome_by_asking_again(rasa: FakeRasa) -> None:
    for fault in ((500, "An unexpected error occurred."), (503, "busy"), "cut"):
        faults = [fault]
        rasa.fault = lambda _path, _body, faults=faults: faults.pop() if faults else None  # type: ignore[misc] # bound
        assert client(rasa).parse("greet you").intent.name == "greet"


def test_an_answer_that_breaks_off_is_asked_for_again(rasa: FakeRasa) -> None:
    faults = ["break off"]
    rasa.fault = lambda _path, _body: faults.pop() if faults else None
    assert client(rasa).parse("greet you").intent.name == "greet"


def test_an_answer_that_drips_is_waited_for_only_so_long(rasa: FakeRasa, timing: Timing) -> None:
    rasa.fault = lambda _path, _body: "drip"
    slow = pytest.raises(SlowAnswerError, match=r"does not answer /version within 0\.2 seconds")
    with timing.at_most(3, time.monotonic), slow:
        client(rasa, timeout=0.2).version()


def test_a_conversations_name_stands_in_no_message(rasa: FakeRasa) -> None:
    rasa.fault = lambda path, _body: (403, "no") if path.startswith("/conversations") else None
    with pytest.raises(ServerError, match="refuses /conversations/…/tracker: no"):
        client(rasa).tracker("turncheck-1-2")


def test_answers_before_a_failure_are_kept(rasa: FakeRasa) -> None:
    rasa.fault = lambda _path, body: (500, "An unexpected error occurred. Error: boom") if body["text"] == "c" else None
    with pytest.raises(IncompleteError, match=r"500: An unexpected error occurred\. Error: boom") as raised:
        RasaNlu(RasaClient(Access(rasa.url), at_once=1, sleep=lambda _: None), INFO).parse(["a", "b", "c", "d"])
    assert [None if parse is None else parse.text for parse in raised.value.finished] == ["a", "b", None, None]
    asked = [body["text"] for _, _, body in rasa.calls]
    assert asked == ["a", "b", "c", "c"], "a failed call is repeated once, and nothing is asked after it"


# --- failures in words -----------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_named(golden: Golden) -> None:
    with serving(FakeRasa()) as gone:
        pass
    with pytest.raises(ServerError, match=f"{gone.url}") as raised:
        describe(client(gone))
    golden(raised.value)


def listening(answer: Callable[[bytes], bytes]) -> tuple[int, list[bytes]]:
    """A server that reads a line, as Rasa does; where there is none yet, it waits. What it was sent is in the list."""
    server, received = socket.create_server(("127.0.0.1", 0)), list[bytes]()

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    def one(connection: socket.socket) -> None:
        with connection:
            received.append(connection.recv(65536))
            if reply := answer(received[-1]):
                connection.sendall(reply)
            else:
                time.sleep(20)

    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()[1], received


def test_plain_http_that_never_answers_the_beginning_of_tls_is_told_soon(
    monkeypatch: pytest.MonkeyPatch, timing: Timing, golden: Golden
) -> None:
    monkeypatch.setattr("turncheck.engines.remote.CONNECT_TIMEOUT", 0.3)
    hello = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
    port, received = listening(lambda sent: hello if sent.startswith(b"HEAD / HTTP/1.1\r\n") else b"")
    with timing.at_most(5, time.monotonic):
        access = Access(f"https://me:word@127.0.0.1:{port}", token="secret", jwt="a.b.c")
        with pytest.raises(ServerError) as raised:
            RasaClient(access, sleep=lambda _: None).version()
        golden(raised.value)
    plain = b"".join(sent for sent in received if sent.startswith(b"HEAD"))
    assert plain, "it was asked"
    assert [secret for secret in (b"secret", b"a.b.c", b"me:", b"Authorization") if secret in plain] == []


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"])
def test_a_server_that_begins_no_tls_and_speaks_no_http_is_not_reached(
    monkeypatch: pytest.MonkeyPatch, reply: bytes, golden: Golden
) -> None:
    monkeypatch.setattr("turncheck.engines.remote.CONNECT_TIMEOUT", 0.2)
    monkeypatch.setattr("turncheck.engines.remote._PROBE_SECONDS", 0.2)
    port, _ = listening(lambda sent: reply if sent.startswith(b"HEAD") else b"")
    with pytest.raises(SlowAnswerError, match=r"0\.2") as refused:
        RasaClient(Access(f"https://127.0.0.1:{port}"), sleep=lambda _: None).version()
    golden(refused.value)


def test_a_wrong_token_is_named_and_never_shown(rasa: FakeRasa) -> None:
    rasa.token = "right"
    assert describe(client(rasa, token="right")).version == "3.6.21"
    for access in ({"token": "wrong-secret"}, {}):
        with pytest.raises(ServerError, match="User is not authenticated") as raised:
            describe(client(rasa, **access))
        assert "--rasa-token" in str(raised.value)
        assert "wrong-secret" not in str(raised.value) + repr(raised.value) + repr(client(rasa, **access).access)


def test_a_login_in_the_address_is_used_and_never_shown(rasa: FakeRasa, golden: Golden) -> None:
    rasa.model = None
    address = rasa.url.replace("://", "://bot:hidden@")
    with pytest.raises(ServerError) as raised:
        describe(RasaClient(Access(address)))
    golden(raised.value)
    assert "hidden" not in str(raised.value) + repr(Access(address))


def test_a_jwt_opens_a_server_that_wants_one(rasa: FakeRasa) -> None:
    rasa.jwt = "a.b.c"
    assert describe(client(rasa, jwt="a.b.c")).model == "model.tar.gz"
    with pytest.raises(ServerError, match="not authenticated"):
        describe(client(rasa, jwt="a.b.d"))


def test_a_server_without_a_model_is_named(rasa: FakeRasa, golden: Golden) -> None:
    rasa.model = None
    with pytest.raises(ServerError) as raised:
        describe(client(rasa))
    golden(raised.value)
    assert len([path for _, path, _ in rasa.calls if path == "/status"]) == 1, "asking again brings no model"
    assert "rasa run -m models" in str(raised.value)


def test_a_model_without_policies_is_named(rasa: FakeRasa, golden: Golden) -> None:
    rasa.core = False
    domain = DialogueDomain.of(read_project(ORACLE / "conversations" / "form_dynamic_slots" / "project"))
    with pytest.raises(ServerError) as refused:
        RasaPolicies(client(rasa), domain).next(Tracker(domain, "x"))
    golden(refused.value)


def test_a_message_without_an_intent_and_an_entity_without_a_value_are_sent_as_accepted(
    rasa: FakeRasa,
) -> None:
    domain = DialogueDomain.of(read_project(ORACLE / "conversations" / "form_dynamic_slots" / "project"))
    texts = UserUttered(text="good bye my friend", intent={"name": None})
    entities = UserUttered(intent={"name": "greet", "full_retrieval_intent_name": None}, entities=({"entity": "city"},))
    for said, action in ((texts, "action_listen"), (entities, "utter_greet")):
        tracker = Tracker(domain, "x")
        tracker.append(said)
        assert RasaPolicies(client(rasa), domain).next(tracker).action == action
    assert "name" in texts.to_json()["parse_data"]["intent"], "this shape is what the fake, as the real one, refuses"
    assert not is_accepted(texts.to_json())
    assert not is_accepted(entities.to_json())


def test_a_server_without_its_api_is_named(rasa: FakeRasa) -> None:
    rasa.fault = lambda _path, _body: (404, "Requested URL /status not found")
    with pytest.raises(ServerError, match="has no /version") as raised:
        describe(client(rasa))
    assert "--enable-api" in str(raised.value)


def test_a_slow_answer_is_waited_for_only_so_long(rasa: FakeRasa, timing: Timing) -> None:
    rasa.fault = lambda _path, _body: 0.5
    slow = pytest.raises(SlowAnswerError, match=r"does not answer /version within 0.05 seconds")
    with timing.at_most(1.5, time.monotonic), slow:
        describe(client(rasa, timeout=0.05))


# --- conversations ---------------------------------------------------------------------------------------------------


def test_a_conversation_tells_each_turn_its_own_events(rasa: FakeRasa) -> None:
    conversation = RasaConversations(client(rasa), INFO).conversation(fixtures={"city": "Rome"})
    opening = conversation.open({"channel_id": 7})
    assert [event["event"] for event in opening.events] == ["action", "session_started", "action", "slot", "slot"]
    assert opening.slots == {"city": "Rome", "session_started_metadata": {"channel_id": 7}}
    first, second = conversation.say("greet me"), conversation.say("order this")
    assert [event["event"] for event in second.events] == ["user", "action", "bot", "action"]
    assert [response["text"] for response in (*first.responses, *second.responses)] == [
        "(utter_greet)",
        "(utter_order)",
    ]
    assert all(not {"timestamp", "message_id"} & set(event) for turn in (opening, first) for event in turn.events)


def test_validations_that_a_server_keeps_to_itself_have_run_with_their_form(rasa: FakeRasa) -> None:
    actions = ("validate_utter_order", "validate_other", "action_validate_slot_mappings")
    conversation = RasaConversations(client(rasa), INFO, actions=actions).conversation()
    assert conversation.open().unseen_actions == ()
    assert conversation.say("greet me").unseen_actions == ("action_validate_slot_mappings",)
    turn = conversation.say("order this")
    assert turn.unseen_actions == ("action_validate_slot_mappings", "validate_utter_order")
    assert "validate_utter_order" in Exercised().with_turn(turn).actions


def test_conversations_do_not_share_a_name(rasa: FakeRasa) -> None:
    engine = RasaConversations(client(rasa), INFO)
    for _ in range(3):
        engine.conversation().say("greet")
    RasaConversations(client(rasa), INFO).conversation().say("greet")
    assert len(rasa.trackers) == 4


def test_a_slow_turn_has_timed_out_and_others_go_on(rasa: FakeRasa, golden: Golden) -> None:
    rasa.fault = lambda path, body: 0.5 if path.startswith("/webhooks") and body["message"] == "slow" else None
    engine = RasaConversations(client(rasa), INFO)
    turn = engine.conversation(turn_timeout=0.1).say("slow")
    assert turn.timed_out
    golden(turn.stopped)
    assert not engine.conversation(turn_timeout=5).say("greet").timed_out


@pytest.mark.parametrize("path", ["/webhooks", "/conversations"])
def test_a_turn_ends_in_time_whatever_the_server_does(
    rasa: FakeRasa, path: str, timing: Timing, golden: Golden
) -> None:
    conversation = RasaConversations(client(rasa), INFO).conversation(turn_timeout=0.3)
    conversation.open()
    rasa.fault = lambda called, _body: "drip" if called.startswith(path) else None
    with timing.at_most(2, time.monotonic):
        turn = conversation.say("greet")
        assert turn.timed_out is True
        golden(turn.stopped)


@pytest.mark.parametrize("path", ["/tracker", "/tracker/events"])
@pytest.mark.parametrize("fault", ["drip", 0.5, "cut", (503, "busy")])
def test_the_opening_of_a_conversation_has_the_time_of_a_turn_for_all_its_calls(
    rasa: FakeRasa, path: str, fault: Any, timing: Timing, golden: Golden
) -> None:
    rasa.fault = lambda called, _body: fault if called.endswith(path) else None
    engine = RasaConversations(client(rasa), INFO)
    ways: list[Callable[[RasaConversation], Turn]] = [RasaConversation.open, lambda talk: talk.say("greet")]
    for begins in ways:
        with timing.at_most(1.5, time.monotonic):
            if isinstance(fault, (str, float)) and fault != "cut":
                turn = begins(engine.conversation(fixtures={"city": "Rome"}, turn_timeout=0.3))
                assert turn.timed_out
                golden(turn.stopped)
            else:
                with pytest.raises(TransientError):
                    begins(engine.conversation(fixtures={"city": "Rome"}, turn_timeout=0.3))
    assert not [path for _, path, _ in rasa.calls if path.startswith("/webhooks")], "nothing is said after it"


def test_calls_that_are_slow_together_are_over_in_the_time_of_a_turn(rasa: FakeRasa) -> None:
    rasa.fault = lambda _path, _body: 0.2
    turn = RasaConversations(client(rasa), INFO).conversation(turn_timeout=0.5).open()
    assert turn.timed_out
    assert len(rasa.calls) <= 3, "fewer where the machine stands still in between"


def test_a_conversation_that_the_server_has_forgotten_is_begun_anew(rasa: FakeRasa, golden: Golden) -> None:
    conversation = RasaConversations(client(rasa), INFO).conversation(fixtures={"city": "Rome"})
    conversation.open()
    rasa.trackers.clear()
    with pytest.raises(TransientError) as refused:
        conversation.say("greet")
    golden(refused.value)


@pytest.mark.parametrize("fault", ["cut", "break off", (500, "boom"), (503, "busy")])
def test_a_message_is_never_sent_twice_in_a_conversation(rasa: FakeRasa, fault: Any) -> None:
    rasa.fault = lambda path, _body: fault if path.startswith("/webhooks") else None
    with pytest.raises(TransientError, match=r"cuts it|50[03]"):
        RasaConversations(client(rasa), INFO).conversation().say("greet")
    assert sum(path.startswith("/webhooks") for _, path, _ in rasa.calls) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 409])
def test_a_server_that_refuses_a_message_is_not_asked_again(rasa: FakeRasa, status: int) -> None:
    rasa.fault = lambda path, _body: (status, "no") if path.startswith("/webhooks") else None
    with pytest.raises(EngineError) as raised:
        RasaConversations(client(rasa), INFO).conversation().say("greet")
    assert not isinstance(raised.value, TransientError)


def texts(turn: Turn) -> list[Any]:
    return [event["text"] for event in turn.events if event["event"] == "bot"]


def test_a_turn_after_a_new_session_is_read_though_the_one_before_is_dropped(rasa: FakeRasa) -> None:
    conversation = RasaConversations(client(rasa), INFO).conversation()
    conversation.open()
    assert texts(conversation.say("greet")) == ["(utter_greet)"]
    assert [event["event"] for event in conversation.say("/session_start").events][:3] == [
        "user",
        "action",
        "session_started",
    ]
    assert texts(conversation.say("bye")) == ["(utter_bye)"]
    assert texts(conversation.say("bye")) == ["(utter_bye)"]


@pytest.mark.parametrize("fixtures", [{}, {"city": "Rome"}])
def test_a_session_is_started_once_and_what_it_says_is_heard(rasa: FakeRasa, fixtures: dict[str, Any]) -> None:
    rasa.welcomes = True
    conversation = RasaConversations(client(rasa), INFO).conversation(fixtures=fixtures)
    opening = conversation.open()
    assert texts(opening) == ["(utter_welcome)"]
    assert [e["name"] for e in opening.events if e["event"] == "slot"] == list(fixtures)
    turn = conversation.say("greet")
    assert texts(turn) == ["(utter_greet)"]
    ((_, tracker),) = rasa.trackers.items()
    assert [event.get("name") for event in tracker].count("action_session_start") == 1
    assert [event["event"] for event in tracker[:3]] == ["action", "session_started", "bot"]


def test_stubs_cannot_be_given_to_a_running_server(rasa: FakeRasa) -> None:
    turn = RasaConversations(client(rasa), INFO).conversation(stubs={"action_pay": {"events": []}}).open()
    assert [(action.name, action.missing) for action in turn.custom_actions] == [("stub_custom_actions", True)]
    assert rasa.calls == []


def test_the_stand_in_answers_in_recorded_shapes() -> None:
    parse = next(sample["response"]["body"] for sample in recorded("model_parse"))
    assert set(parse) <= set(parsed("greet me"))
    prediction = next(sample["response"]["body"] for sample in recorded("model_predict"))
    assert set(prediction) == set(predicted([]))


def test_nobody_answers_for_a_server_of_ours_that_has_ended() -> None:
    """Another process may have taken its port: of the change, say, in place of the base's."""
    ended: list[UserError] = []
    rasa = FakeRasa()
    with serving(rasa):
        one = RasaClient(Access(rasa.url), sleep=lambda _: None, ended=lambda: ended[0] if ended else None)
        assert one.version()
        ended.append(UserError("the Rasa server ended with exit code 1"))
        with pytest.raises(CutError, match="code 1"):
            one.version()
