"""Whatever a server answers, it is read as what it is, or is an error in words: nothing in between."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_rasa import FakeRasa, Raw, serving
from golden_texts import Golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.rasa_server.client import (
    Access,
    RasaClient,
    read_messages,
    read_parse,
    read_prediction,
    read_served,
    read_tracker,
    read_version,
)
from turncheck.engines.rasa_server.conversation import RasaConversations, RasaNlu, RasaPolicies, describe
from turncheck.engines.remote import ServerError, UnreadableError
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.evaluations.nlu.judging import evaluate_held_out
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_nlu, read_project, read_stories
from turncheck.report.codec import decode, encode
from turncheck.report.model import EngineInfo, ProjectInfo, Report, Source, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDED = Path(__file__).parents[1] / "oracle" / "http"
INFO = EngineInfo(name="rasa", version="3.6.21")


def recorded(name: str, method: str, path: str) -> list[Any]:
    """The bodies of the answers that were recorded for these calls."""
    samples = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))["samples"]
    return [
        sample["response"]["body"]
        for sample in samples
        if sample["response"]["status"] == 200
        and sample["request"]["method"] == method
        and sample["request"]["path"].startswith(path)
    ]


def trackers() -> list[Any]:
    """The recorded conversations with their events, all as that of the sender ``s``."""
    asked = [("conversations", "/conversations/"), ("rest_webhook", "/conversations/w2/tracker")]
    found = [body for name, path in asked for body in recorded(name, "GET", path)]
    return [{**body, "sender_id": "s"} for body in found if isinstance(body, dict) and body.get("events")]


Reader = Any
ENDPOINTS: dict[str, tuple[Reader, list[Any]]] = {
    "version": (read_version, recorded("server_info", "GET", "/version")),
    "status": (read_served, recorded("server_info", "GET", "/status")),
    "parse": (lambda body: read_parse(body, "a text"), recorded("model_parse", "POST", "/model/parse")),
    "predict": (read_prediction, recorded("model_predict", "POST", "/model/predict")),
    "tracker": (lambda body: read_tracker(body, "s", events="ALL"), trackers()),
    "webhook": (read_messages, recorded("rest_webhook", "POST", "/webhooks/")),
}


def test_every_recorded_answer_is_read() -> None:
    for name, (read, bodies) in ENDPOINTS.items():
        assert bodies, name
        for body in bodies:
            read(json.dumps(body).encode())
    for body in recorded("conversations", "POST", "/conversations/c1/tracker/events"):
        assert read_tracker(json.dumps(body).encode(), "c1", events="NONE").slots["drink"] == "tea"


# --- what is not an answer -------------------------------------------------------------------------------------------

PAGE = b"<!DOCTYPE html>\n<html><title>Sign in</title></html>"
NO_ANSWERS = [b"", b" ", PAGE, b"null", b"[]", b"{}", b'"ok"', b"5", b'["a"]', b"[[]]", b"\xff\xfe{}", b"[" * 100_000]
NO_ANSWERS += [
    b'{"a": NaN}',
    b'{"events": 1e999}',
    b'{"text": "\\ud800"',
    b'{"status": "ok"}',
    b'{"intent": {"name": "a"}}',
]


def readers() -> dict[str, Callable[[bytes], Any]]:
    return {name: read for name, (read, _) in ENDPOINTS.items()} | {
        "events": lambda body: read_tracker(body, "s", events="NONE")
    }


@pytest.mark.parametrize("name", sorted(readers()))
@pytest.mark.parametrize("body", NO_ANSWERS, ids=lambda body: repr(body[:20]))
def test_what_is_no_answer_is_not_read_as_one(name: str, body: bytes) -> None:
    if (name, body) in {("webhook", b"[]"), ("predict", b"null")}:  # nothing was said; the model knows no dialogue
        assert not readers()[name](body)
        return
    with pytest.raises(UnreadableError):
        readers()[name](body)


WRONG = [
    ("status", {"model_file": 5}),
    ("parse", {"intent": {"name": 5}, "entities": []}),
    ("parse", {"intent": {"name": "a", "confidence": "1.0"}, "entities": []}),
    ("parse", {"intent": {"name": "a"}, "entities": [{"start": 0, "end": 1}]}),
    ("parse", {"intent": {"name": "a"}, "entities": [{"start": -1, "end": 1, "entity": "e"}]}),
    ("parse", {"intent": {"name": "a"}, "entities": [{"start": 3, "end": 1, "entity": "e"}]}),
    ("parse", {"intent": {"name": "a"}, "entities": [], "text_tokens": [[1]]}),
    ("parse", {"intent": {"name": "a"}, "entities": [], "response_selector": {"faq": {"response": 3}}}),
    ("predict", {"scores": []}),
    ("predict", {"scores": [{"action": "a", "score": "1"}]}),
    ("tracker", {"sender_id": "s", "slots": {}}),
    ("tracker", {"sender_id": "s", "slots": {}, "events": None}),
    ("tracker", {"sender_id": "other", "slots": {}, "events": []}),
    ("tracker", {"sender_id": "s", "slots": [], "events": []}),
    ("tracker", {"sender_id": "s", "slots": {}, "events": [{"name": "a"}]}),
    ("tracker", {"sender_id": "s", "slots": {}, "events": [{"event": "slot", "name": "a"}]}),
    ("tracker", {"sender_id": "s", "slots": {}, "events": [{"event": "bot", "text": 3}]}),
    ("tracker", {"sender_id": "s", "slots": {}, "events": [{"event": "user", "text": "a"}]}),
    ("webhook", [{"text": 5}]),
    ("webhook", [{"buttons": ["a"]}]),
]


@pytest.mark.parametrize(("name", "body"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_type_deep_within_is_told_with_its_place(name: str, body: Any) -> None:
    with pytest.raises(UnreadableError, match=r"- at `\$|missing required field"):
        readers()[name](json.dumps(body).encode())


def test_the_place_in_an_event_is_told() -> None:
    body = {"sender_id": "s", "slots": {}, "events": [{"event": "restart"}, {"event": "slot", "name": 5, "value": 1}]}
    with pytest.raises(UnreadableError, match=r"Expected `str`, got `int` - at `\$\.events\[1\]\.name`"):
        readers()["tracker"](json.dumps(body).encode())


# --- anything at all --------------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def mutated(draw: st.DrawFn, bodies: list[Any]) -> bytes:
    """An answer with something else at one of its places, or cut off, or something else altogether."""
    document = json.loads(json.dumps(draw(st.sampled_from(bodies))))
    for _ in range(draw(st.integers(0, 2))):
        document = _changed(draw, document)
    content = json.dumps(document).encode()
    how = draw(st.sampled_from(["whole", "whole", "whole", "cut", "byte", "other"]))
    if how == "cut":
        return content[: draw(st.integers(0, len(content)))]
    if how == "byte" and content:
        place = draw(st.integers(0, len(content) - 1))
        return content[:place] + draw(st.binary(max_size=2)) + content[place + 1 :]
    return draw(st.binary(max_size=30)) if how == "other" else content


def _changed(draw: st.DrawFn, document: Any) -> Any:
    here = draw(st.booleans())
    if isinstance(document, dict) and document and not here:
        key = draw(st.sampled_from(sorted(document)))
        if draw(st.integers(0, 4)) == 0:
            return {name: value for name, value in document.items() if name != key}
        return {**document, key: _changed(draw, document[key])}
    if isinstance(document, list) and document and not here:
        place = draw(st.integers(0, len(document) - 1))
        return [*document[:place], _changed(draw, document[place]), *document[place + 1 :]]
    return draw(ANYTHING)


@pytest.mark.parametrize("name", sorted(ENDPOINTS))
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_an_answer_is_read_or_an_error_in_words(name: str, data: st.DataObject) -> None:
    body = data.draw(mutated(ENDPOINTS[name][1]))
    told = "read"
    try:
        readers()[name](body)
    except UnreadableError as error:
        told = str(error)
    assert told


# --- a whole evaluation, one call of which is answered by anything ----------------------------------------------------

DOMAIN = """\
version: "3.1"
intents: [greet, order]
entities: [what]
slots: {city: {type: text, mappings: [{type: custom}]}}
actions: [utter_greet, utter_order]
responses:
  utter_greet: [{text: (utter_greet)}]
  utter_order: [{text: (utter_order)}]
"""
NLU = 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - greet [you](what)\n    - hello\n'
STORIES = "stories:\n- story: one\n  steps:\n  - intent: greet\n    user: greet [you](what)\n  - action: utter_greet\n"
CASES = """\
fixtures:
- at: [{city: Rome}]
test_cases:
- test_case: one
  fixtures: [at]
  steps:
  - utter: utter_greet
  - user: greet you
  - bot: (utter_greet)
  - utter: utter_greet
  - slot_was_set: [{city: Rome}]
  - slot_was_not_set: [city]
- test_case: two
  steps:
  - user: order this
    assertions:
    - bot_uttered: {text_matches: order, buttons: [{title: a, payload: b}]}
    - action_executed: utter_order
    - slot_was_set: [{name: city, value: Rome}]
    - flow_started: a_flow
"""
FAKE = FakeRasa()
PATHS = {
    "/model/parse": [FAKE.answer("POST", "/model/parse", {"text": "greet you"})[1]],
    "/model/predict": [FAKE.answer("POST", "/model/predict", [])[1]],
    "/webhooks/rest/webhook": [
        FAKE.answer("POST", "/webhooks/rest/webhook", {"sender": "s", "message": "greet you"})[1],
        [{"recipient_id": "s", "buttons": [{"title": "a", "payload": "b"}], "custom": {"a": 1}}],
    ],
    "/tracker": [FAKE.state("s"), *ENDPOINTS["tracker"][1]],
    "/tracker/events": [FAKE.state("s")],
}


@pytest.fixture(scope="module")
def bot() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        files = {"domain.yml": DOMAIN, "nlu.yml": NLU, "test_stories.yml": STORIES, "cases.yml": CASES}
        for name, text in files.items():
            Path(folder, name).write_text(text)
        yield Path(folder)


@pytest.fixture(scope="module")
def rasa() -> Iterator[FakeRasa]:
    with serving(FakeRasa()) as running:
        yield running


def whole_evaluation(bot: Path, client: RasaClient, path: str) -> Report:
    """Measure by the endpoint at ``path``; what was finished is in the report where the server gave up."""
    project = read_project(bot)
    report = Report(tool=Tool(name="t", version="1"), project=ProjectInfo(name="b", root=""), source=Source(), seed=0)
    nlu = RasaNlu(client, INFO)
    try:
        if path == "/model/parse":
            section = evaluate_held_out(project, nlu, read_nlu([bot / "nlu.yml"], bot)[0]).section
            return Report(**{**fields(report), "nlu": section})
        if path == "/model/predict":
            stories = read_stories([bot / "test_stories.yml"], bot)[0]
            policies = RasaPolicies(client, DialogueDomain.of(project))
            return Report(**{**fields(report), "core": evaluate_stories(policies, stories, nlu=nlu, end_to_end=True)})
        cases = read_cases(bot, [bot / "cases.yml"]).cases
        engine = RasaConversations(client, INFO, has_flows=True)
        return Report(**{**fields(report), "e2e": evaluate_cases(engine, cases, CaseRun())})
    except IncompleteError as error:
        name = {"/model/parse": "nlu", "/model/predict": "core"}.get(path, "e2e")
        finished = getattr(error.finished, "section", error.finished)
        return Report(**{**fields(report), name: finished, "stopped": str(error)})
    except EngineError as error:
        return Report(**{**fields(report), "stopped": str(error)})


def fields(report: Report) -> dict[str, Any]:
    return {name: getattr(report, name) for name in report.__struct_fields__}


@pytest.mark.parametrize("path", sorted(PATHS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_evaluation_is_done_or_ends_in_words(bot: Path, rasa: FakeRasa, path: str, data: st.DataObject) -> None:
    body = data.draw(mutated(PATHS[path]))
    replaced = data.draw(st.integers(1, 3))
    calls = []

    def fault(called: str, _: Any) -> Raw | None:
        if called.endswith(path):
            calls.append(called)
        sender = called.split("/")[2].encode() if called.startswith("/conversations") else b"s"
        is_it = called.endswith(path) and len(calls) == replaced
        return Raw(body.replace(b'"sender_id": "s"', b'"sender_id": "%s"' % sender)) if is_it else None

    rasa.fault = fault
    rasa.calls.clear()
    rasa.trackers.clear()
    report = whole_evaluation(bot, RasaClient(Access(rasa.url), at_once=1, sleep=lambda _: None), path)
    assert decode(encode(report)) == report


# --- how it is told ---------------------------------------------------------------------------------------------------


def test_an_answer_that_is_none_is_told_with_its_address_and_how_it_begins(golden: Golden) -> None:
    rasa = FakeRasa(fault=lambda path, _: Raw(b'["a"]') if path.startswith("/webhooks") else None)
    with serving(rasa), pytest.raises(ServerError) as raised:
        RasaClient(Access(rasa.url)).say("s", "hello")
    golden(raised.value)


def test_a_login_page_is_told_as_a_page_and_shows_neither_secrets_nor_commands(golden: Golden) -> None:
    page = b"<html>\n::error::\x1b[31m our-token " + b"x" * 1000
    with serving(FakeRasa(fault=lambda *_: Raw(page))) as rasa, pytest.raises(ServerError) as raised:
        describe(RasaClient(Access(rasa.url, token="our-token")))
    told = str(raised.value)
    golden(told)
    assert "our-token" not in told
    assert "\x1b" not in told
    assert len(told) < 600
    assert not any(line.startswith("::") for line in told.splitlines())


def test_a_redirect_to_a_login_is_told_with_where_it_leads() -> None:
    headers = (("Location", "https://user:pass@login.example/start?token=our-token"),)
    with serving(FakeRasa(fault=lambda *_: Raw(b"", 302, headers))) as rasa, pytest.raises(ServerError) as raised:
        describe(RasaClient(Access(rasa.url)))
    assert "a redirect (302 to https://login.example/start)" in str(raised.value)
    assert "our-token" not in str(raised.value)


@pytest.mark.parametrize("status", [200, 201, 204, 206, 301, 304, 308, 400, 404, 405, 418, 429, 500, 502, 599])
def test_any_status_without_a_body_is_told(rasa: FakeRasa, status: int) -> None:
    rasa.fault = lambda *_: Raw(b"", status)
    with pytest.raises(ServerError) as raised:
        describe(RasaClient(Access(rasa.url), sleep=lambda _: None))
    assert "/version" in str(raised.value)
    assert not str(raised.value.message).endswith(": ")


@pytest.mark.parametrize(
    "headers",
    [(("Content-Encoding", "gzip"),), (("Content-Encoding", "deflate"),), (("Content-Type", "x" * 300),)],
)
def test_an_answer_in_another_encoding_than_it_says_is_told(headers: tuple[tuple[str, str], ...]) -> None:
    with serving(FakeRasa(fault=lambda *_: Raw(b"no gzip", 200, headers))) as rasa, pytest.raises(ServerError):
        describe(RasaClient(Access(rasa.url), sleep=lambda _: None))


def test_compressed_answers_are_read() -> None:
    import gzip  # for this test alone

    raw = Raw(gzip.compress(b'{"version": "3.6.21"}'), 200, (("Content-Encoding", "gzip"),))
    with serving(FakeRasa(fault=lambda *_: raw)) as rasa:
        assert RasaClient(Access(rasa.url)).version() == "3.6.21"


def test_https_where_http_is_spoken_is_told(golden: Golden) -> None:
    with serving(FakeRasa()) as rasa, pytest.raises(ServerError) as raised:
        describe(RasaClient(Access(rasa.url.replace("http:", "https:")), sleep=lambda _: None))
    golden(raised.value)
    assert "http://" in str(raised.value)
