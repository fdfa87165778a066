"""``bot:`` in ``turncheck.yml``: what it may say, and that it names neither a host nor a secret."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden

from turncheck.engines.http.answers import AnswerError, Matched, Said, read_answer
from turncheck.engines.http.signature import AwsKey, signed
from turncheck.messages.errors import UserError
from turncheck.settings.bot import Bot
from turncheck.settings.bot_placeholders import filled, filled_path, placeholders
from turncheck.settings.bot_presets import PRESETS
from turncheck.settings.file import read_settings_file
from turncheck.web.json_path import JsonPath, PathError, outline

if TYPE_CHECKING:
    from pathlib import Path

R = "bot:\n  request: "
BODY = 'body: {session: "{session}", message: "{text}"}'
GOOD = f"{R}{{path: /chat, {BODY}}}\n  replies: $.reply\n"


def shape(folder: Path, text: str) -> Bot:
    (folder / "turncheck.yml").write_text(text)
    bot: Bot = read_settings_file(folder).values["bot"]
    return bot


def test_what_is_not_written_has_its_default(tmp_path: Path) -> None:
    bot = shape(tmp_path, GOOD)
    assert (bot.kind, bot.request.method, bot.token.header, bot.token.prefix) == (
        "rest",
        "POST",
        "Authorization",
        "Bearer ",
    )
    assert bot.replies == JsonPath("$.reply")
    assert str(bot.replies.location) == "turncheck.yml:3:12"


@pytest.mark.parametrize("kind", sorted(set(PRESETS) - {"rest"}))
def test_a_kind_fills_in_everything(kind: str, tmp_path: Path) -> None:
    bot = shape(tmp_path, f"bot:\n  kind: {kind}\n")
    assert bot.kind == kind
    assert bot.request.path.startswith("/")


def test_what_is_written_comes_on_top_of_the_kind(tmp_path: Path) -> None:
    bot = shape(tmp_path, "bot:\n  kind: openai\n  request: {body: {model: small, temperature: 0}}\n")
    assert bot.request.body == {"messages": "{history}", "model": "small", "temperature": 0}
    assert bot.request.path == "/v1/chat/completions"


REFUSED: dict[str, tuple[str, str, str]] = {
    "a list": ("bot: [rest]\n", "1:6", "`bot` must be a map"),
    "nothing": ("bot:\n", "1:", "`bot` must be a map"),
    "unknown key": (f"{GOOD}  reply: $.x\n", "4:3", "'reply' is not a key of `bot`"),
    "unknown kind": ("bot: {kind: alexa}\n", "1:13", "'kind' must be rest or openai"),
    "no replies": (f"{R}{{path: /chat, {BODY}}}\n", "2:3", "needs the key 'replies'"),
    "no request": ("bot:\n  replies: $.x\n", "2:3", "needs the key 'request'"),
    "unknown method": (f"{R}{{method: DELETE, path: /c, {BODY}}}\n  replies: $\n", "2:21", "'method' must be GET"),
    "a host as path": (
        f"{R}{{path: 'https://evil.example/', {BODY}}}\n  replies: $\n",
        "2:19",
        "a host cannot be named",
    ),
    "a host without scheme": (
        f"{R}{{path: //evil.example/x, {BODY}}}\n  replies: $\n",
        "2:19",
        "a host cannot be named",
    ),
    "a host in the body": (
        R + '{path: /c, body: {s: "{session}", t: "{text}", cb: "http://evil.example"}}\n  replies: $\n',
        "2:63",
        "a host cannot be named",
    ),
    "a key for a host": (f"{GOOD}  host: bot.example\n", "4:3", "'host' is not a key of `bot`"),
    "a key for a url": (f"{GOOD}  url: https://bot.example\n", "4:3", "'url' is not a key of `bot`"),
    "a login": (f"{R}{{path: /@evil.example:80\\x, {BODY}}}\n  replies: $\n", "2:19", "is not a path"),
    "out of the address": (
        f"{R}{{path: /a/../../b, {BODY}}}\n  replies: $\n",
        "2:19",
        "leads out of the bot's address",
    ),
    "out of the address, encoded": (
        f"{R}{{path: /%2e%2E/admin, {BODY}}}\n  replies: $\n",
        "2:19",
        "leads out of the bot's address",
    ),
    "out of the address, encoded twice": (
        f"{R}{{path: '/a/..%252fadmin', {BODY}}}\n  replies: $\n",
        "2:19",
        "leads out of the bot's address",
    ),
    "out of the address by a parameter of a segment": (
        f"{R}{{path: '/..;x/admin', {BODY}}}\n  replies: $\n",
        "2:19",
        "leads out of the bot's address",
    ),
    "no slash": (f"{R}{{path: chat, {BODY}}}\n  replies: $\n", "2:19", "'chat' is not a path"),
    "a fragment": (f"{R}{{path: '/chat#x', {BODY}}}\n  replies: $\n", "2:19", "is not a path"),
    "a token": (f"{GOOD}  token: {{header: X-Key, value: abc}}\n", "4:26", "'value' is not a key of `token`"),
    "a token as text": (f"{GOOD}  token: abc\n", "4:10", "'token' must be a map"),
    "a secret in the body": (
        R + '{path: /c, body: {s: "{session}", t: "{text}", api_key: abc}}\n  replies: $\n',
        "2:68",
        "'api_key' would be a secret",
    ),
    "a secret in a header": (
        f"{R}{{path: /c, headers: {{X-Api-Key: abc}}, {BODY}}}\n  replies: $\n",
        "2:44",
        "'X-Api-Key' would be a secret",
    ),
    "the host as header": (
        f"{R}{{path: /c, headers: {{Host: x}}, {BODY}}}\n  replies: $\n",
        "2:39",
        "a host cannot be named here",
    ),
    "a header of the connection": (
        f"{R}{{path: /c, headers: {{Te: x}}, {BODY}}}\n  replies: $\n",
        "2:37",
        "the header 'Te' is not set here",
    ),
    "a header of two lines": (
        f'{R}{{path: /c, headers: {{X-A: "a\\r\\nHost: b"}}, {BODY}}}\n  replies: $\n',
        "2:38",
        "'X-A' is not a header",
    ),
    "the token as host": (f"{GOOD}  token: {{header: Host}}\n", "4:19", "'Host' is not a header for a token"),
    "unknown placeholder": (
        R + '{path: /c, body: {s: "{session}", t: "{txt}"}}\n  replies: $\n',
        "2:49",
        "unknown placeholder: 'txt' is not one of: text,",
    ),
    "no message": (R + '{path: /c, body: {s: "{session}"}}\n  replies: $\n', "2:12", "has the user's message"),
    "no session": (
        R + '{path: /c, body: {t: "{text}"}}\n  replies: $\n',
        "2:12",
        "to which conversation a message belongs",
    ),
    "no JSONPath": (f"{GOOD}  intent: nlu.intent\n", "4:11", "`intent` is not a JSONPath"),
    "a JSONPath that is not closed": (f"{GOOD}  intent: $.a[\n", "4:11", "`intent` is not a JSONPath"),
    "an extension": (f"{GOOD}  intent: $.a.~keys\n", "4:11", "`intent` is not a JSONPath"),
    "both fetched and posted": (
        f"{GOOD}  poll: {{path: /p}}\n  callback: {{session: $.id}}\n",
        "4:9",
        "either fetched (`poll`) or posted (`callback`)",
    ),
    "calls for nobody": (f"{GOOD}  callback: {{}}\n", "4:13", "`callback` must not be empty"),
    "entities without a path": (
        f"{GOOD}  entities: {{name: $.n}}\n",
        "4:13",
        "'entities' must be a JSONPath, or `path`",
    ),
    "no JSONPath within entities": (
        f"{GOOD}  entities: {{path: $.e, value: v}}\n",
        "4:32",
        "`value` is not a JSONPath",
    ),
    "no duration": (f"{GOOD}  poll: {{path: /p}}\n  quiet: soon\n", "5:10", "`quiet` is not a duration"),
    "no time": (f"{GOOD}  poll: {{path: /p}}\n  wait: 0s\n", "5:9", "`wait` is not a duration"),
    "an hour": (f"{GOOD}  poll: {{path: /p}}\n  wait: 60m\n", "5:9", "`wait` is not a duration"),
    "a session of nobody": (
        f"{GOOD}  session: {{open: {{path: /new}}}}\n",
        "4:19",
        "`open` neither has an `id` nor sends",
    ),
    "text in open": (
        f'{GOOD}  session: {{open: {{path: "/new/{{text}}", id: $.id}}}}\n',
        "4:26",
        "unknown placeholder: 'text'",
    ),
    "a map within a text": (
        R + '{path: /c, body: {s: "{session}", t: "{text}", c: "ctx={slots}"}}\n  replies: $\n',
        "2:62",
        "{slots} is a map: it cannot be part of a string",
    ),
    "a list within a text": (
        R + '{path: /c, body: {t: "H: {history}"}}\n  replies: $\n',
        "2:33",
        "{history} is a list: it cannot be part of a string",
    ),
    "a map within a text of a list": (
        R + '{path: /c, body: {s: "{session}", t: "{text}", c: ["{metadata} "]}}\n  replies: $\n',
        "2:62",
        "{metadata} is a map: it cannot be part of a string",
    ),
    "a map in a path": (
        R + '{path: "/c?x={slots}", body: {s: "{session}", t: "{text}"}}\n  replies: $\n',
        "2:19",
        "{slots} is a map: it cannot be part of a string",
    ),
    "a map in the path that begins a conversation": (
        f'{GOOD}  session: {{open: {{path: "/new/{{metadata}}", id: $.id}}}}\n',
        "4:26",
        "{metadata} is a map: it cannot be part of a string",
    ),
    "a brace that is none": (
        R + '{path: /c, body: {s: "{session}", t: "{text}", c: "a {curly} one"}}\n  replies: $\n',
        "2:62",
        "To send it as it is, write {{curly}}.",
    ),
    "a brace that is none in a path": (
        R + '{path: "/c/{curly}", body: {s: "{session}", t: "{text}"}}\n  replies: $\n',
        "2:19",
        "To send it as it is, write %7Bcurly%7D.",
    ),
    "a body of text": (
        R + '{path: "/c/{session}", body: "{text}"}\n  replies: $\n',
        "2:41",
        "`body` must be a map or a list",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_said_at_its_place(name: str, tmp_path: Path) -> None:
    text, place, expected = REFUSED[name]
    with pytest.raises(UserError) as caught:
        shape(tmp_path, text)
    assert expected in str(caught.value)
    assert str(caught.value).startswith(f"turncheck.yml:{place}")


def test_a_faulty_shape_of_the_base_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text("seed: 3\nbot: {kind: alexa}\n")
    assert read_settings_file(tmp_path, faulty=True).values == {"seed": 3}


def test_values_are_put_in_as_values(tmp_path: Path) -> None:
    template = {"a": "{text}", "b": ["{text}", 1], "c": "say {text}!", "d": "{metadata}", "e": "{}", "f": "{ text }"}
    hostile = '", "admin": true, "x": "{session}'
    assert filled(template, {"text": hostile, "metadata": {"k": 1}, "session": "s"}) == {
        "a": hostile,
        "b": [hostile, 1],
        "c": f"say {hostile}!",
        "d": {"k": 1},
        "e": "{}",
        "f": "{ text }",
    }
    assert (
        filled_path("/s/{session}/m?t={text}", {"session": "a/../b", "text": "ü&x=1"})
        == "/s/a%2F..%2Fb/m?t=%C3%BC%26x%3D1"
    )


def test_a_placeholder_in_two_braces_is_none() -> None:
    template = {"a": "{{text}}", "b": "{{text}} {text} {{{text}}", "c": '{"q":{text}}', "d": "{{A}}", "e": "{{a b}}"}
    assert filled(template, {"text": "{{x}}"}) == {
        "a": "{text}",
        "b": "{text} {{x}} {{text}",
        "c": '{"q":{{x}}}',
        "d": "{{A}}",
        "e": "{{a b}}",
    }
    assert placeholders(["{{text}}", "{{{slots}}}"]) == set()
    assert placeholders(["a{{text}", "{user}}"]) == {"text", "user"}


@pytest.mark.parametrize("cursor", [True, None, 7])
def test_a_value_within_a_text_is_written_as_json(cursor: Any) -> None:
    written = {True: "true", None: "null", 7: "7"}[cursor]
    assert filled("after {cursor}", {"cursor": cursor}) == f"after {written}"
    assert filled_path("/m?after={cursor}", {"cursor": cursor}) == f"/m?after={written}"


def test_what_is_for_later_messages_is_said_to_have_no_effect_where_none_comes_later(
    tmp_path: Path, golden: Golden
) -> None:
    bot = shape(tmp_path, f"{GOOD}  quiet: 2s\n")
    assert bot.quiet == 2
    (note,) = Matched(bot).nothing_at()
    assert "turncheck.yml:4:10" in note
    golden(note)
    poll = "  poll: {path: '/m?after={session}'}\n"
    assert Matched(shape(tmp_path, f"{GOOD}{poll}  quiet: 2s\n")).nothing_at() == ()
    assert Matched(shape(tmp_path, "bot: {kind: directline}\n")).nothing_at() == ()


@pytest.mark.parametrize(("answer", "notes"), [({"nlp": {"entities": []}}, 0), ({"nlp": {}}, 1), ({}, 1)])
def test_a_path_that_leads_to_an_empty_list_is_right(answer: Any, notes: int, tmp_path: Path) -> None:
    matched = Matched(shape(tmp_path, f"{GOOD}  entities: $.nlp.entities\n"))
    matched.note(Said(), answer)
    assert len(matched.nothing_at()) == notes


def test_a_session_a_path_and_an_intent_all_at_once(tmp_path: Path) -> None:
    text = """\
bot:
  kind: rest     # rest, openai, directline, dialogflow-cx, lex-v2, voiceflow, rasa-rest: presets that fill in all below
  request: {method: POST, path: /chat, body: {session: "{session}", message: "{text}"}}
  replies: $.messages[*].text      # JSONPath by RFC 9535, with a kept library
  intent: $.nlu.intent             # optional: then intents are scored; likewise confidence, slots, tools, ended
  session: {open: {method: POST, path: /sessions, id: $.id}}    # default: an id of ours
  quiet: 1s                        # for answers that come later (directline, callbacks)
"""
    bot = shape(tmp_path, text)
    assert (bot.session.opened and bot.session.opened.path, bot.intent and bot.intent.text, bot.quiet) == (
        "/sessions",
        "$.nlu.intent",
        1.0,
    )


def rest(tmp_path: Path, more: str = "") -> Bot:
    return shape(tmp_path, f"{GOOD}{more}".replace("$.reply", "$.messages[*].text"))


@pytest.mark.parametrize(
    ("answer", "replies", "remark"),
    [
        ({"messages": []}, (), ""),
        ({"messages": None}, (), ""),
        ({"messages": [{"text": "a"}, {"text": None}, {"text": ""}, {"text": "b"}]}, ("a", "b"), ""),
        (
            {"messages": [{"image": "x"}]},
            (),
            "the answer has no message at $.messages[*].text; it has $.messages[*].image",
        ),
        ([], (), ""),
        (None, (), ""),
    ],
)
def test_silence_is_no_fault(answer: Any, replies: tuple[str, ...], remark: str, tmp_path: Path) -> None:
    said = read_answer(rest(tmp_path), answer)
    assert (said.replies, said.remark) == (
        replies,
        remark if "messages" in str(answer) and not replies and "image" in str(answer) else said.remark,
    )
    assert (remark == "") == (said.remark == "")


@pytest.mark.parametrize("answer", [{"message": "a"}, {"data": {"messages": []}}, "text", 3, [{"text": "a"}]])
def test_a_path_that_leads_nowhere_is_a_fault(answer: Any, tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(AnswerError, match="`replies") as refused:
        read_answer(rest(tmp_path), answer)
    golden(refused.value)


@pytest.mark.parametrize("confidence", [-0.1, 1.5, "0.9", True, [], 10**400])
def test_a_confidence_is_a_share(confidence: Any, tmp_path: Path, golden: Golden) -> None:
    bot = rest(tmp_path, "  intent: $.intent\n  confidence: $.score\n")
    with pytest.raises(AnswerError) as refused:
        read_answer(bot, {"messages": [], "intent": "a", "score": confidence})
    golden(refused.value)


def test_slots_may_be_below_their_entries(tmp_path: Path, golden: Golden) -> None:
    bot = rest(tmp_path, "  slots: {path: $.slots, value: $.value.of}\n")
    said = read_answer(bot, {"messages": [], "slots": {"a": {"value": {"of": 1}}, "b": None, "c": {}}})
    assert said.slots == {"a": 1, "b": None, "c": None}
    with pytest.raises(AnswerError) as refused:
        read_answer(bot, {"messages": [], "slots": ["a"]})
    golden(refused.value)


CITY = {"entity": "city", "value": "Rome"}


@pytest.mark.parametrize(
    ("shape_of_entities", "entities", "expected"),
    [
        ("$.entities", [CITY, {**CITY, "start": 3, "end": 7, "other": 1}], [CITY, {**CITY, "start": 3, "end": 7}]),
        ("$.entities[*]", [CITY], [CITY]),
        ("$.entities[*]", [CITY, CITY], [CITY, CITY]),
        ("$.entities", [], []),
        ("$.entities", None, []),
        ("$.nothing", [CITY], []),
        ("$.entities", [{"entity": "city"}], [{"entity": "city", "value": None}]),
        ("$.entities", {"city": "Rome", "people": 2.0, "none": None}, [CITY, {"entity": "people", "value": 2.0}]),
        ("$.entities", {"city": ["Rome", "Oslo"]}, [CITY, {"entity": "city", "value": "Oslo"}]),
        ("{path: $.entities, name: $.type, value: $.text}", [{"type": "city", "text": "Rome"}], [CITY]),
        ("{path: $.entities, value: $.value.of}", {"city": {"value": {"of": "Rome"}}, "people": None}, [CITY]),
    ],
)
def test_entities_may_be_a_list_or_a_map(shape_of_entities: str, entities: Any, expected: Any, tmp_path: Path) -> None:
    bot = rest(tmp_path, f"  entities: {shape_of_entities}\n")
    assert list(read_answer(bot, {"messages": [], "entities": entities}).entities) == expected


@pytest.mark.parametrize("entities", ["Rome", 3, ["Rome"], [{"name": "city"}], [{"entity": 3}], [[CITY]]])
def test_what_is_not_an_entity_is_a_fault(entities: Any, tmp_path: Path, golden: Golden) -> None:
    bot = rest(tmp_path, "  entities: $.entities\n")
    with pytest.raises(AnswerError, match="`entities") as refused:
        read_answer(bot, {"messages": [], "entities": entities})
    golden(refused.value)


def test_a_deep_answer_is_no_crash(tmp_path: Path) -> None:
    deep: Any = "end"
    for _ in range(900):
        deep = [deep]
    assert JsonPath("$..*").location.path == ""
    with pytest.raises(PathError):
        JsonPath("$..*").values(deep)
    assert outline(deep)


@pytest.mark.parametrize("answer", ["$[*].text", '{"messages": [{"text": "a"}]}', ""])
def test_a_text_is_no_document(answer: str) -> None:
    assert JsonPath("$.messages[*].text").values(answer) == []
    assert JsonPath("$").values(answer) == [answer]


def test_the_outline_is_short() -> None:
    answer = {f"key{number}": [{"x": 1}, {"y y": 2}] for number in range(100)}
    assert outline(answer) == (
        "$.key0[*].x, $.key0[*]['y y'], $.key1[*].x, $.key1[*]['y y'], $.key2[*].x, $.key2[*]['y y'], $.key3[*].x,"
        " $.key3[*]['y y'] and 192 more"
    )


AWS = AwsKey("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


@pytest.mark.parametrize(
    ("method", "signature"),
    [
        ("GET", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    ],
)
def test_calls_are_signed_as_aws_requires(method: str, signature: str) -> None:
    """Of AWS's own test suite for Signature Version 4: ``get-vanilla``, ``post-vanilla``."""
    headers = signed(
        AWS, method, "https://example.amazonaws.com/", b"", "service", datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    )
    assert headers["x-amz-date"] == "20150830T123600Z"
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
        f" SignedHeaders=host;x-amz-date, Signature={signature}"
    )


def test_a_key_has_two_parts(golden: Golden) -> None:
    assert AwsKey.read("a:b:c:d") == AwsKey("a", "b", "c:d")
    for token in ("", "a", "a:", ":b"):
        with pytest.raises(UserError) as refused:
            AwsKey.read(token)
        golden(refused.value)


SENT = '  request: {path: "PATH", headers: {HEADERS}, body: {s: "{session}", t: "{text}", BODY}}'


def with_sent(folder: Path, place: str, written: str) -> Bot:
    parts = {"PATH": "/chat", "HEADERS": "X-A: b", "BODY": "a: b", "PREFIX": "'Bearer '"} | {place: written}
    text = f"bot:\n{SENT}\n  replies: $\n  token: {{header: X-T, prefix: PREFIX}}\n"
    for name, value in parts.items():
        text = text.replace(name, value)
    return shape(folder, text)


@pytest.mark.parametrize(
    ("place", "written", "what"),
    [
        ("PATH", "/chat?api_key=abc123def", "'api_key'"),
        ("PATH", "/chat?a=b&access%5Ftoken=abc", "'access_token'"),
        ("PATH", "/chat;token=abc?x=1", "'token'"),
        ("PATH", "/chat?key=AIzaSyA-0123456789012345678", "'key'"),
        ("PATH", "/chat?sig=abc", "'sig'"),
        ("PATH", "/chat?code=fX9Qq8jKfX9Qq8jKfX9Qq8==", "'code'"),
        ("PATH", "/sk-live-123456/chat", "a part of the path"),
        ("PATH", "/hooks/T0001/B0001/9f8e7d6c5b4a3928170699aa", "a part of the path"),
        ("PATH", "/chat?key=S3CR3Tkey", "'key'"),
        ("HEADERS", "X-Key: 9f8e7d6c5b4a39281706", "'X-Key'"),
        ("HEADERS", "X-Auth-Id: 9f8e7d6c5b4a39281706", "'X-Auth-Id'"),
        ("BODY", "key: {value: fX9-Qq8_jK7-fX9-Qq8_jK}", "'value'"),
        ("BODY", "pass: hunter2hunter2", "'pass'"),
        ("BODY", "userPass: correct-horse-battery", "'userPass'"),
        ("HEADERS", "Ocp-Apim-Subscription-Key: 0123456789abcdef", "'Ocp-Apim-Subscription-Key'"),
        ("HEADERS", 'X-Auth: "Bearer sk-abc"', "'X-Auth'"),
        ("HEADERS", "X-Auth: abc", "'X-Auth'"),
        ("HEADERS", 'X-Other: "Bearer abcdef"', "'X-Other'"),
        ("HEADERS", "X-Other: Basic dXNlcjpwYXNz", "'X-Other'"),
        ("HEADERS", "X-Other: token=abc", "'token'"),
        ("HEADERS", "X-Code: 123456, X-Secret: 123456", "'X-Secret'"),
        ("BODY", "password: 123456", "'password'"),
        ("BODY", "password: [abc]", "'password'"),
        ("BODY", "credentials: {password: [1.5]}", "'password'"),
        ("BODY", "client_secret: {value: abc}", "'value'"),
        ("BODY", "client-secret-value: abc", "'client-secret-value'"),
        ("BODY", "access_key: AKIAIOSFODNN7EXAMPLE", "'access_key'"),
        ("BODY", "id: AKIAIOSFODNN7EXAMPLE", "'id'"),
        ("BODY", "deep: [{accessKey: x}]", "'accessKey'"),
        ("BODY", 'note: "sk-abcdef-{session}"', "'note'"),
        ("BODY", "sk-abcdefghijklmnop: 1", "a key"),
        ("BODY", "deep: [{AKIAIOSFODNN7EXAMPLE: {a: b}}]", "a key"),
        ("BODY", "'Bearer abcdef': {}", "a key"),
        ("BODY", "'a?api_key=abc': 1", "'api_key'"),
        ("HEADERS", "X-A: b, ghp_0123456789abcdef: c", "a key"),
        ("PREFIX", "'Bearer sk-live-1234567890 '", "`prefix`"),
        ("PREFIX", "'Bearer abcdef'", "`prefix`"),
    ],
)
def test_a_secret_is_refused_wherever_it_is_sent(
    place: str, written: str, what: str, tmp_path: Path, golden: Golden
) -> None:
    with pytest.raises(UserError) as caught:
        with_sent(tmp_path, place, written)
    golden(caught.value.message)
    assert what in caught.value.message
    assert str(caught.value).startswith("turncheck.yml:4:" if place == "PREFIX" else "turncheck.yml:2:")


@pytest.mark.parametrize(
    ("place", "written"),
    [
        ("PATH", "/chat?url=http%3A%2F%2Fevil.example"),
        ("PATH", "/chat?url=http%253A%252F%252Fevil.example"),
        ("PATH", "/chat?url=%2F%2Fevil.example"),
        ("PATH", "/chat?url=//evil.example"),
        ("HEADERS", 'X-To: "https:%2F%2Fevil.example"'),
        ("BODY", 'to: "http%3a%2f%2fevil.example"'),
        ("BODY", "'https://evil.example/x': 1"),
        ("BODY", "deep: [{'//evil.example': {a: b}}]"),
        ("BODY", "'https%3A//evil.example': 1"),
        ("BODY", "host: evil.example"),
        ("BODY", "webhook: evil.example:8080/x"),
        ("BODY", "webhook: 'https:evil.example/x'"),
        ("BODY", "note: 'HTTPS:/evil.example'"),
        ("BODY", 'note: "ht\\ntps://evil.example"'),
        ("BODY", 'note: "https:\\t\\\\evil.example"'),
        ("BODY", "note: 'wss:evil.example'"),
        ("BODY", "callback_url: evil.example"),
        ("BODY", "callbackUrl: www.evil.example/x?y=1"),
        ("BODY", "serviceURL: evil.example."),
        ("BODY", "webhook: {address: evil.example}"),
        ("BODY", "callback: {value: evil.example}"),
        ("BODY", "hosts: [a, evil.example]"),
        ("BODY", "reply: {webhooks: [{host_name: evil.example}]}"),
        ("BODY", "host: 10.0.0.1"),
        ("BODY", "host: intranet"),
        ("BODY", "deep: [{HostName: [2130706433]}]"),
        ("BODY", "uri: 'x{session}'"),
        ("HEADERS", "URL: page.html"),
        ("PATH", "/chat?host=museum"),
        ("BODY", "endpoint: '[::1]:80/x'"),
        ("BODY", "host: 'localhost:9000'"),
        ("BODY", "url: me@evil.example/x"),
        ("BODY", "host: evil%2Eexample"),
        ("BODY", "host: '{session}.evil.example'"),
        ("HEADERS", "X-Callback: evil.example"),
        ("PATH", "/chat?webhook=evil.example"),
        ("PATH", "/chat?a=b&callbackUrl=evil.example:80"),
    ],
)
def test_a_host_is_refused_however_it_is_encoded(place: str, written: str, tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as caught:
        with_sent(tmp_path, place, written)
    golden(caught.value)


@pytest.mark.parametrize(
    ("place", "written"),
    [
        ("PATH", "/chat?api_key={token}&session_token={session}&q=a%2Fb"),
        ("PATH", "/sk-SK/chat?lang=sk-SK"),
        ("PATH", "/chat?code=SUMMER-2026&q=a"),
        ("PATH", "/webhook/550e8400-e29b-41d4-a716-446655440000/chat?key=color"),
        ("PATH", "/bots/9f8e7d6c5b4a3928170699aa/chat"),
        ("HEADERS", "X-Key: value, X-Pass: full, X-Auth-Id: abc, Idempotency-Key: abc1def2ghi3"),
        ("BODY", "sort_key: a1b2c3d4e5f6, boarding_pass: B1C2D3E4F5"),
        ("BODY", "key: preferred_contact_method_2, sort_key: 2026-11-26T10:00:00Z, pass: true, boarding_pass: yes"),
        ("BODY", "key: iso_3166_country_code, routingKey: mp3player, public_key: 9f8e7d6c5b4a39281706, monkey: a1"),
        ("HEADERS", "X-Plan: Basic, Idempotency-Key: abc, Accept-Language: sk-SK"),
        ("BODY", "max_tokens: 100, max_token: 5, password: null, stream_token: false, author: me"),
        (
            "BODY",
            'auth: "{token}", deep: {keys: [a, "{token}"]}, key: name, plan: Basic plan, languageCode: sk, id: asia',
        ),
        ("BODY", 'token: "{token}", secret: ["{token}"], password: ""'),
        ("BODY", "languages: [de-AT, sk-SK], version: 1.2.3, file: notes.md, href: page.html, to: me@shop.example"),
        (
            "BODY",
            "domain: banking.cards, module: app.main, ghost: a b, target: museum, server_version: 1.2.3, server: ''",
        ),
        ("BODY", "callback: me@shop.example, url: /a/b, uri: '{session}', host: null, webhook: {type: a.bc}"),
        ("BODY", "text: 'see shop.example', note: 'http: not found', server: see shop.example, host_count: 3, url: ''"),
        ("BODY", "'shop.example': 1, 'a/b': 2, sk-SK: 3, key-1: 4, basic: 5"),
        ("PATH", "/chat?endpoint=museum&url=%2Fa&file=a.bc&version=1.2.3"),
        ("PREFIX", "'Token token='"),
        ("PREFIX", "'AWS4-HMAC-SHA256 '"),
        ("PREFIX", "''"),
    ],
)
def test_what_only_resembles_a_secret_is_sent(place: str, written: str, tmp_path: Path) -> None:
    assert with_sent(tmp_path, place, written).kind == "rest"
