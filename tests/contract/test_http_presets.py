"""The kinds of bots against stubs of the vendors' APIs, whose descriptions have all that is asked and answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import botocore.awsrequest
import botocore.config
import pytest
from described_apis import DescribedBot, faults_of
from fake_bot import Call, FakeBot, Reply, hold, result_of, serving

if TYPE_CHECKING:
    from collections.abc import Callable

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
    folder: Path,
    kind: str,
    answer: Callable[[Call], Reply],
    more: str = "",
    *,
    cases: str = CASE,
    token: str = TOKEN,
    below: str = "",
) -> tuple[FakeBot, Any]:
    """Hold a conversation with a stub of a known API; ``below``: what the bot's address has after the host."""
    described = DescribedBot(kind, answer)
    fake = FakeBot(described)
    with serving(fake):
        fake.url += below
        section = hold(folder, fake, cases, shape=f"bot:\n  kind: {kind}\n{more}", token=token)
    assert described.faults == []
    return fake, result_of(section, "talk")


MODEL = "  request: {body: {model: m}}\n"


def _completion(message: dict[str, Any], reason: str) -> Reply:
    said = {"role": "assistant", "content": None, "refusal": None, **message}
    choice = {"index": 0, "message": said, "finish_reason": reason, "logprobs": None}
    return Reply({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})


def test_openai_gets_the_whole_dialogue(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        text = call.body["messages"][-1]["content"]
        return _completion({"content": f"You said {text}"}, "stop")

    fake, talk = _talk(tmp_path, "openai", answer, MODEL)
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
    cases = (
        "test_cases:\n- test_case: talk\n  steps:\n  - user: book\n    assertions:\n    - action_executed: book_table\n"
    )
    said = _completion({"tool_calls": [call]}, "tool_calls")
    _, talk = _talk(tmp_path, "openai", lambda _: said, MODEL, cases=cases)
    assert talk.outcome == "passed", talk


@pytest.mark.parametrize(
    "message",
    [
        {"refusal": "You said hi"},
        {"content": "", "refusal": "You said hi"},
    ],
)
def test_openai_may_refuse(message: dict[str, Any], tmp_path: Path) -> None:
    cases = "test_cases:\n- test_case: talk\n  steps:\n  - user: hi\n  - bot: You said hi\n"
    _, talk = _talk(tmp_path, "openai", lambda _: _completion(message, "stop"), MODEL, cases=cases)
    assert talk.outcome == "passed", talk


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "text", "text": "You "}, {"type": "text", "text": "said hi"}],
        [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "You said hi"}],
        [{"type": "refusal", "refusal": "You said hi"}],
    ],
)
def test_the_parts_of_a_message_are_one_text(parts: list[dict[str, str]], tmp_path: Path) -> None:
    """Servers with OpenAI's API have them, although its description has only strings."""
    cases = "test_cases:\n- test_case: talk\n  steps:\n  - user: hi\n  - bot: You said hi\n"
    fake = FakeBot(lambda _: _completion({"content": parts}, "stop"))
    with serving(fake):
        section = hold(tmp_path, fake, cases, shape=f"bot:\n  kind: openai\n{MODEL}", token=TOKEN)
    assert result_of(section, "talk").outcome == "passed"


_BUTTON = {"type": "imBack", "title": "Orders", "value": "show orders"}


@pytest.mark.parametrize(
    "shown",
    [
        {"suggestedActions": {"to": [], "actions": [_BUTTON]}},
        {"attachments": [{"contentType": "application/vnd.microsoft.card.hero", "content": {"buttons": [_BUTTON]}}]},
        {"attachments": [{"contentType": "x", "content": {"text": "a"}}, {"content": {"buttons": [_BUTTON]}}]},
    ],
)
def test_direct_line_has_buttons_beside_the_text_and_in_cards(shown: dict[str, Any], tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        if call.path == "/v3/directline/conversations":
            return Reply({"conversationId": "c"}, 201)
        if call.method == "POST":
            return Reply({"id": "c|0"})
        said = {"type": "message", "id": "c|1", "from": {"id": "museum"}, "text": "What do you want?", **shown}
        has_begun = any(one.method == "POST" and one.body for one in fake.calls)
        seen = call.path.partition("watermark=")[2] == "1"
        return Reply({"activities": [said] if has_begun and not seen else [], "watermark": "1" if has_begun else "0"})

    cases = (
        "test_cases:\n- test_case: talk\n  steps:\n  - user: hi\n    assertions:\n    - bot_uttered:\n"
        "        text_matches: What do you want\n        buttons:\n"
        "        - title: Orders\n          payload: show orders\n"
    )
    fake = FakeBot(answer)
    with serving(fake):
        section = hold(tmp_path, fake, cases, shape="bot: {kind: directline, quiet: 50ms, wait: 2s}\n", token=TOKEN)
    assert result_of(section, "talk").outcome == "passed", section


@pytest.mark.parametrize("names_roles", [True, False])
def test_direct_line_is_polled_until_the_bot_is_quiet(names_roles: bool, tmp_path: Path) -> None:
    """What the user said comes back among the activities; the service need not say whose role that is."""
    activities: dict[str, list[dict[str, Any]]] = {}

    def sent(number: str, who: dict[str, Any], kind: str = "message", **more: str) -> None:
        talk = activities[number]
        sender = who if names_roles else {key: value for key, value in who.items() if key != "role"}
        own = {"id": f"{number}|{len(talk):07}", "conversation": {"id": number}}
        talk.append({"type": kind, **own, "from": sender, **more})

    def answer(call: Call) -> Reply:
        path, _, query = call.path.partition("?")
        bot = {"id": "museum", "name": "Museum", "role": "bot"}
        if path == "/v3/directline/conversations":
            name = f"c{len(activities)}"
            activities[name] = []
            sent(name, bot, text="Welcome")
            more = {"token": "other", "expires_in": 1800, "streamUrl": "wss://…"}
            return Reply({"conversationId": name, **more}, 201)
        name = path.split("/")[4]
        if call.method == "POST":
            sent(name, call.body["from"], text=call.body["text"])
            posted = activities[name][-1]["id"]
            sent(name, bot, "event", name="sent")
            sent(name, bot, text=f"You said {call.body['text']}")
            return Reply({"id": posted})
        seen, talk = int(query.partition("=")[2] or 0), activities[name]
        return Reply({"activities": talk[seen : seen + 2], "watermark": str(min(seen + 2, len(talk)))})

    cases = CASE.replace("  steps:\n", "  steps:\n  - bot: Welcome\n")
    fake, talk = _talk(tmp_path, "directline", answer, "  quiet: 100ms\n  wait: 2s\n", cases=cases)
    assert talk.outcome == "passed", talk
    posts = [call for call in fake.calls if call.method == "POST"]
    assert [call.body and call.body["type"] for call in posts] == [None, "message", "message"]
    assert len({call.body["from"]["id"] for call in posts[1:]}) == 1
    assert {call.headers["Authorization"] for call in fake.calls} == {"Bearer t0ken"}


def test_direct_line_may_end_a_conversation(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        if call.path == "/v3/directline/conversations":
            return Reply({"conversationId": "c"}, 201)
        if call.method == "POST":
            return Reply(status=204)
        over = {"type": "endOfConversation", "id": "c|1", "from": {"id": "museum"}, "code": "completedSuccessfully"}
        has_begun = any(call.method == "POST" and call.body for call in fakes[0].calls)
        return Reply({"activities": [over] if has_begun else [], "watermark": "1"})

    described = DescribedBot("directline", answer)
    fakes = [FakeBot(described)]
    with serving(fakes[0]):
        shape = "bot: {kind: directline, quiet: 50ms, wait: 2s}\n"
        talk = result_of(hold(tmp_path, fakes[0], shape=shape, token=TOKEN), "one")
    assert described.faults == []
    assert talk.outcome == "failed"
    assert not [call for call in fakes[0].calls if call.method == "POST" and call.body and call.body["text"] != "one"][
        2:
    ]


def test_dialogflow_cx_names_intent_and_parameters(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        text = call.body["queryInput"]["text"]["text"]
        intent = {"intent": {"name": "projects/p/…", "displayName": "book"}, "matchType": "INTENT", "confidence": 0.9}
        nothing = {"matchType": "NO_MATCH", "confidence": 0.3, "event": "sys.no-match-default"}
        words = {"text": [f"You said {text}"], "allowPlaybackInterruption": False}
        return Reply(
            {
                "responseId": "r",
                "queryResult": {
                    "text": text,
                    "languageCode": "en",
                    "parameters": {"people": 2.0} if "table" in text else {},
                    "responseMessages": [{"text": words, "responseType": "HANDLER_PROMPT"}],
                    "currentPage": {"name": "…", "displayName": "Start Page"},
                    "match": intent if "table" in text else nothing,
                },
            }
        )

    agent = "/v3/projects/p/locations/europe-west1/agents/8e3f"
    fake, talk = _talk(tmp_path, "dialogflow-cx", answer, cases=CASE + FOR_WHOM, below=agent)
    assert talk.outcome == "passed", talk
    session = fake.calls[0].path.removeprefix(f"{agent}/sessions/").removesuffix(":detectIntent")
    assert len(session) == 36
    assert fake.calls[0].body["queryInput"]["languageCode"] == "en"
    assert talk.messages[1].understood.intent == "book"
    assert talk.messages[0].understood is None


ORACLE = Path(__file__).parents[1] / "oracle" / "http"
LEX_BOT = "/bots/BOTBOTBOT1/botAliases/ALIASALIA1/botLocales/en_US"
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
    fake, talk = _talk(tmp_path, "lex-v2", answer, cases=cases, token="AKID:secret:session", below=LEX_BOT)
    assert talk.outcome == "passed", talk
    assert talk.messages[0].understood.intent == "Book"
    call = fake.calls[0]
    path, body, read = _by_aws(call.path.split("/")[-2], "hi", LEX)
    assert path == call.path
    assert body == call.body
    assert read == LEX, "the stub answers as AWS's service model has it"
    assert call.headers["x-amz-security-token"] == "session"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in call.headers["Authorization"]


def test_a_session_with_lex_goes_on_when_an_intent_closes_also_without_a_word(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        closed = {"dialogAction": {"type": "Close"}, "intent": {"name": "Book", "state": "Fulfilled"}}
        said = [{"content": f"You said {call.body['text']}", "contentType": "PlainText"}]
        messages = {} if call.body["text"] == "hm" else {"messages": said}
        known = {key: value for key, value in LEX.items() if key != "messages"}
        return Reply({**known, **messages, "sessionState": closed, "sessionId": call.path.split("/")[-2]})

    cases = f"{CASE}  - user: hm\n  - bot: Yes?\n"
    fake, talk = _talk(tmp_path, "lex-v2", answer, cases=cases, token="a:b", below=LEX_BOT)
    assert len(fake.calls) == 3
    assert [step.outcome for step in talk.steps] == ["passed", "passed", "failed"]


def test_voiceflow_is_launched_first(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        action = call.body["action"]
        text = "Welcome" if action["type"] == "launch" else f"You said {action['payload']}"
        slate = {"id": "s", "content": [{"children": [{"text": text}]}], "messageDelayMilliseconds": 1000}
        said = {"type": "text", "time": 1, "payload": {"slate": slate, "message": text, "delay": 1000}}
        return Reply([{"type": "path", "payload": {"path": "default"}}, said])

    cases = CASE.replace("  steps:\n", "  steps:\n  - bot: Welcome\n")
    fake, talk = _talk(tmp_path, "voiceflow", answer, cases=cases, token="VF.DM.x")
    assert talk.outcome == "passed", talk
    assert {call.headers["Authorization"] for call in fake.calls} == {"VF.DM.x"}
    assert len({call.path for call in fake.calls}) == 1


def test_rasas_rest_channel(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        return Reply([{"recipient_id": call.body["sender"], "text": f"You said {call.body['message']}"}])

    cases = CASE.replace("test_cases:", "metadata:\n- vip:\n    tier: gold\ntest_cases:").replace(
        "  - user: hi\n", "  - user: hi\n    metadata: vip\n"
    )
    fake, talk = _talk(tmp_path, "rasa-rest", answer, cases=cases)
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
    said = Reply({"reply": "Hello", "state": {"name": "Ada", "age": None}})
    with serving(FakeBot(lambda _: said)) as fake:
        talk = result_of(hold(tmp_path, fake, cases, shape=bot), "talk")
    assert talk.outcome == outcome
    assert talk.steps[0].outcome == "passed"
    if outcome == "skipped":
        assert "`slots` under `bot:`" in (talk.reason or "")


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
    fake = FakeBot(lambda _: Reply({"reply": "Hello", "choices": choices}))
    with serving(fake):
        talk = result_of(hold(tmp_path, fake, cases, shape=bot), "talk")
    assert talk.outcome == outcome, talk
    assert outcome == "passed" or "`buttons` under `bot:`" in (talk.reason or "")


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
    with serving(FakeBot(lambda _: Reply({"reply": "Hello"}))) as fake:
        talk = result_of(hold(tmp_path, fake, cases, shape=bot), "talk")
    assert talk.outcome == "skipped"
    assert "{slots}" in (talk.reason or "")
    takes = bot.replace(body, body + ', state: "{slots}"')
    with serving(FakeBot(lambda _: Reply({"reply": "Hello"}))) as fake:
        talk = result_of(hold(tmp_path, fake, cases, shape=takes), "talk")
    assert talk.outcome == "passed"
    assert fake.calls[0].body["state"] == {"tier": "gold"}


SAMPLES = json.loads((ORACLE / "rest_webhook.json").read_text())["samples"]


def test_the_description_of_the_rest_channel_is_what_rasa_answered() -> None:
    """The other descriptions are the vendors' own. Rasa also takes calls without a sender or a message."""
    pairs = [(sample["request"], sample["response"]) for sample in SAMPLES]
    good = [pair for pair in pairs if pair[1]["status"] == 200 and {"sender", "message"} <= {*(pair[0]["body"] or {})}]
    assert len(good) > 3
    for asked, answered in good:
        call = Call(asked["method"], asked["path"], {}, asked["body"])
        assert faults_of("rasa-rest", call, Reply(answered["body"])) == [], asked


@pytest.mark.parametrize("kind", ["openai", "directline", "dialogflow-cx", "lex-v2", "voiceflow", "rasa-rest"])
def test_what_a_description_does_not_have_is_found(kind: str) -> None:
    places = {
        "openai": "/v1/chat/completions",
        "directline": "/v3/directline/conversations/c/activities",
        "dialogflow-cx": "/v3/projects/p/locations/l/agents/a/sessions/s:detectIntent",
        "lex-v2": f"{LEX_BOT}/sessions/s1/text",
        "voiceflow": "/state/user/u/interact",
        "rasa-rest": "/webhooks/rest/webhook",
    }
    assert faults_of(kind, Call("POST", places[kind], {}, {"txt": "hi"}), Reply({"said": "hi"}))
    assert faults_of(kind, Call("POST", f"{places[kind]}/x", {}, {}), Reply({})) == [
        f"there is no POST {places[kind]}/x"
    ]
