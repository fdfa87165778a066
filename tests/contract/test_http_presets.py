"""The kinds of bots against stubs of the vendors' APIs, made from their published descriptions.

Direct Line: Microsoft's API reference (start a conversation, send an activity, receive activities with a watermark).
Dialogflow CX: ``google/cloud/dialogflow/cx/v3/session.proto``. Lex V2: AWS's own service model, which botocore has.
Voiceflow: the reference of the endpoint ``/state/user/{userID}/interact`` and of its traces. OpenAI: chat completions.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
import botocore.awsrequest
import botocore.config
import pytest
from fake_bot import Call, FakeBot, Reply, hold, result_of, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOKEN = "t0ken"
CASE = """\
test_cases:
- test_case: talk
  steps:
  - user: hi
  - bot: You said hi
  - user: book a table
  - bot: You said book a table
"""
FOR_WHOM = "  - slot_was_set:\n    - people: 2\n"


def _talk(
    folder: Path, answer: Callable[[Call], Reply], shape: str, *, cases: str = CASE, token: str = TOKEN
) -> tuple[FakeBot, Any]:
    fake = FakeBot(answer)
    with serving(fake):
        section = hold(folder, fake, cases, shape=shape, token=token)
    return fake, result_of(section, "talk")


def test_openai_gets_the_whole_dialogue(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        text = call.body["messages"][-1]["content"]
        message = {"role": "assistant", "content": f"You said {text}", "tool_calls": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return Reply({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})

    fake, talk = _talk(tmp_path, answer, "bot:\n  kind: openai\n  request: {body: {model: m}}\n")
    assert talk.outcome == "passed", talk
    assert fake.calls[0].path == "/v1/chat/completions"
    assert fake.calls[0].headers["Authorization"] == "Bearer t0ken"
    assert fake.calls[1].body == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "You said hi"},
            {"role": "user", "content": "book a table"},
        ],
    }


def test_openai_names_its_tools(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "book_table", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    cases = (
        "test_cases:\n- test_case: talk\n  steps:\n  - user: book\n    assertions:\n    - action_executed: book_table\n"
    )
    _, talk = _talk(
        tmp_path, lambda _: Reply({"choices": [{"message": message}]}), "bot: {kind: openai}\n", cases=cases
    )
    assert talk.outcome == "passed", talk


def test_direct_line_is_polled_until_the_bot_is_quiet(tmp_path: Path) -> None:
    activities: dict[str, list[dict[str, Any]]] = {}

    def answer(call: Call) -> Reply:
        path, _, query = call.path.partition("?")
        if path == "/v3/directline/conversations":
            name = f"c{len(activities)}"
            activities[name] = [{"type": "message", "id": f"{name}|0", "from": {"id": "bot"}, "text": "Welcome"}]
            return Reply({"conversationId": name, "token": "other", "expires_in": 1800, "streamUrl": "wss://…"}, 201)
        talk = activities[path.split("/")[4]]
        if call.method == "POST":
            talk.append({**call.body, "id": f"c|{len(talk)}"})
            talk.append({"type": "typing", "from": {"id": "bot"}})
            talk.append(
                {"type": "message", "from": {"id": "bot", "role": "bot"}, "text": f"You said {call.body['text']}"}
            )
            return Reply({"id": talk[-1].get("id", "c|x")})
        seen = int(query.partition("=")[2] or 0)
        return Reply({"activities": talk[seen : seen + 2], "watermark": str(min(seen + 2, len(talk)))})

    shape = "bot: {kind: directline, quiet: 100ms, wait: 2s}\n"
    cases = CASE.replace("  steps:\n", "  steps:\n  - bot: Welcome\n")
    fake, talk = _talk(tmp_path, answer, shape, cases=cases)
    assert talk.outcome == "passed", talk
    posts = [call for call in fake.calls if call.method == "POST"]
    assert [call.body and call.body["type"] for call in posts] == [None, "message", "message"]
    assert len(posts[1].body["from"]["id"]) == 36


def test_dialogflow_cx_names_intent_and_parameters(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        text = call.body["queryInput"]["text"]["text"]
        intent = {"intent": {"name": "projects/p/…", "displayName": "book"}, "matchType": "INTENT", "confidence": 0.9}
        nothing = {"matchType": "NO_MATCH", "confidence": 0.3, "event": "sys.no-match-default"}
        return Reply(
            {
                "responseId": "r",
                "queryResult": {
                    "text": text,
                    "languageCode": "en",
                    "parameters": {"people": 2.0} if "table" in text else {},
                    "responseMessages": [{"text": {"text": [f"You said {text}"], "allowPlaybackInterruption": False}}],
                    "currentPage": {"name": "…", "displayName": "Start Page"},
                    "match": intent if "table" in text else nothing,
                },
            }
        )

    fake, talk = _talk(tmp_path, answer, "bot: {kind: dialogflow-cx}\n", cases=CASE + FOR_WHOM)
    assert talk.outcome == "passed", talk
    session = (
        fake.calls[0].path.removeprefix("/sessions/").removesuffix("%3AdetectIntent").removesuffix(":detectIntent")
    )
    assert len(session) == 36
    assert fake.calls[0].body["queryInput"]["languageCode"] == "en"
    assert talk.messages[1].understood.intent == "book"
    assert talk.messages[0].understood is None


LEX = {
    "messages": [{"content": "You said hi", "contentType": "PlainText"}],
    "sessionState": {
        "dialogAction": {"type": "ElicitSlot", "slotToElicit": "people"},
        "intent": {"name": "Book", "slots": {"people": None}, "state": "InProgress"},
    },
    "interpretations": [
        {"intent": {"name": "Book", "slots": {"people": None}, "state": "InProgress"}, "nluConfidence": {"score": 0.8}},
        {"intent": {"name": "FallbackIntent", "slots": {}}},
    ],
    "requestAttributes": {},
    "sessionId": "x",
}


def _by_aws(session: str, text: str, reply: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return path and body of the call that AWS's own client makes, and what it reads of the reply."""
    client = boto3.client(
        "lexv2-runtime",
        region_name="eu-west-1",
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=botocore.config.Config(parameter_validation=True),
    )
    sent: list[Any] = []

    def instead(request: Any, **_: Any) -> Any:
        sent.append(request)
        raw = type("Raw", (), {"stream": lambda *_: iter([json.dumps(reply).encode()])})()
        return botocore.awsrequest.AWSResponse(request.url, 200, {"Content-Type": "application/json"}, raw)

    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register(f"before-send.{service}.RecognizeText", instead)
    read = client.recognize_text(
        botId="BOTBOTBOT1", botAliasId="ALIASALIA1", localeId="en_US", sessionId=session, text=text
    )
    read.pop("ResponseMetadata")
    path = sent[0].url.partition(".com")[2]
    return path, json.loads(sent[0].body), read


def test_lex_is_asked_as_awss_own_client_asks(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        slots = {"people": {"shape": "Scalar", "value": {"originalValue": "two", "interpretedValue": "2"}}}
        state = {**LEX["sessionState"], "intent": {"name": "Book", "slots": slots}}  # type: ignore[dict-item]
        said = [{"content": f"You said {call.body['text']}", "contentType": "PlainText"}]
        more = {"sessionState": state} if "table" in call.body["text"] else {}
        return Reply({**LEX, **more, "messages": said, "sessionId": call.path.split("/")[-2]})

    cases = CASE + '  - slot_was_set:\n    - people: "2"\n'
    fake, talk = _talk(tmp_path, answer, "bot: {kind: lex-v2}\n", cases=cases, token="AKID:secret:session")
    assert talk.outcome == "passed", talk
    assert talk.messages[0].understood.intent == "Book"
    call = fake.calls[0]
    path, body, read = _by_aws(call.path.split("/")[-2], "hi", LEX)
    assert path == f"/bots/BOTBOTBOT1/botAliases/ALIASALIA1/botLocales/en_US{call.path}"
    assert body == call.body
    assert read == LEX, "the stub answers as AWS's service model has it"
    assert call.headers["x-amz-security-token"] == "session"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in call.headers["Authorization"]


def test_lex_may_end_a_conversation(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        closed = {"dialogAction": {"type": "Close"}, "intent": {"name": "Book", "state": "Fulfilled"}}
        return Reply({**LEX, "sessionState": closed, "sessionId": call.path.split("/")[-2]})

    fake, talk = _talk(tmp_path, answer, "bot: {kind: lex-v2}\n", token="a:b")
    assert len(fake.calls) == 1
    assert talk.outcome == "failed"


def test_voiceflow_is_launched_first(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        action = call.body["action"]
        text = "Welcome" if action["type"] == "launch" else f"You said {action['payload']}"
        slate = {"id": "s", "content": [{"children": [{"text": text}]}], "messageDelayMilliseconds": 1000}
        said = {"type": "text", "time": 1, "payload": {"slate": slate, "message": text, "delay": 1000}}
        return Reply([{"type": "path", "payload": {"path": "default"}}, said])

    cases = CASE.replace("  steps:\n", "  steps:\n  - bot: Welcome\n")
    fake, talk = _talk(tmp_path, answer, "bot: {kind: voiceflow}\n", cases=cases, token="VF.DM.x")
    assert talk.outcome == "passed", talk
    assert {call.headers["Authorization"] for call in fake.calls} == {"VF.DM.x"}
    assert len({call.path for call in fake.calls}) == 1


def test_rasas_rest_channel(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        return Reply([{"recipient_id": call.body["sender"], "text": f"You said {call.body['message']}"}])

    cases = CASE.replace("test_cases:", "metadata:\n- vip:\n    tier: gold\ntest_cases:").replace(
        "  - user: hi\n", "  - user: hi\n    metadata: vip\n"
    )
    fake, talk = _talk(tmp_path, answer, "bot: {kind: rasa-rest}\n", cases=cases)
    assert talk.outcome == "passed", talk
    assert fake.calls[0].body["metadata"] == {"tier": "gold"}


@pytest.mark.parametrize(("shape", "outcome"), [("", "skipped"), ("  slots: $.state\n  tools: $.ran\n", "passed")])
def test_what_an_answer_does_not_say_is_not_judged(shape: str, outcome: str, tmp_path: Path) -> None:
    cases = """\
test_cases:
- test_case: talk
  steps:
  - user: hi
  - bot: Hello
  - slot_was_set:
    - name: Ada
  - slot_was_not_set:
    - age
"""
    bot = 'bot:\n  request: {path: /c, body: {s: "{session}", t: "{text}"}}\n  replies: $.reply\n' + shape
    _, talk = _talk(
        tmp_path, lambda _: Reply({"reply": "Hello", "state": {"name": "Ada", "age": None}}), bot, cases=cases
    )
    assert talk.outcome == outcome
    assert talk.steps[0].outcome == "passed"
    if outcome == "skipped":
        assert "`slots` under `bot:`" in talk.reason


@pytest.mark.parametrize(("shape", "outcome"), [("", "skipped"), ("  buttons: $.choices[*]\n", "passed")])
def test_buttons_are_judged_where_the_answers_have_them(shape: str, outcome: str, tmp_path: Path) -> None:
    cases = """\
test_cases:
- test_case: talk
  steps:
  - user: hi
    assertions:
    - bot_uttered:
        buttons:
        - title: Tea
          payload: /tea
"""
    bot = 'bot:\n  request: {path: /c, body: {s: "{session}", t: "{text}"}}\n  replies: $.reply\n' + shape
    choices = [{"title": "Tea", "payload": "/tea"}]
    _, talk = _talk(tmp_path, lambda _: Reply({"reply": "Hello", "choices": choices}), bot, cases=cases)
    assert talk.outcome == outcome, talk
    assert outcome == "passed" or "`buttons` under `bot:`" in talk.reason


def test_fixtures_are_sent_where_the_bot_takes_them(tmp_path: Path) -> None:
    cases = """\
fixtures:
- vip:
  - tier: gold
test_cases:
- test_case: talk
  fixtures: [vip]
  steps:
  - user: hi
  - bot: Hello
"""
    body = 'body: {s: "{session}", t: "{text}"'
    bot = f"bot:\n  request: {{path: /c, {body}}}}}\n  replies: $.reply\n"
    _, talk = _talk(tmp_path, lambda _: Reply({"reply": "Hello"}), bot, cases=cases)
    assert talk.outcome == "skipped"
    assert "{slots}" in talk.reason
    takes = bot.replace(body, body + ', state: "{slots}"')
    fake, talk = _talk(tmp_path, lambda _: Reply({"reply": "Hello"}), takes, cases=cases)
    assert talk.outcome == "passed"
    assert fake.calls[0].body["state"] == {"tier": "gold"}
