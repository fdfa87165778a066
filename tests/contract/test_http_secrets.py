"""What a bot, or a Rasa server, is given as credentials is in nothing that is made of its answers."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from fake_bot import REST, Call, FakeBot, Reply, bot_of, conversations, serving

from turncheck.engines.http.engines import opened
from turncheck.engines.masking import Masks
from turncheck.engines.rasa_server.client import Access, RasaClient
from turncheck.messages.errors import UserError
from turncheck.process.environment import HIDDEN, Secret
from turncheck.project.reader import read_project
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHORT, MIXED = "tok1", 'ab/cd+ef=="gh&'
BEARER = "Authorization"


def said(call: Call, text: str) -> dict[str, Any]:
    return {"session": call.body["session"], "messages": [{"text": text}]}


def escaped(call: Call, sign: str, written: str) -> Reply:
    return Reply(json.dumps(said(call, call.headers[BEARER])).replace(sign, written).encode())


ECHOES: dict[str, tuple[str, Callable[[Call], Reply]]] = {
    "a short one": (SHORT, lambda call: Reply(said(call, f"You are {call.headers[BEARER]}"))),
    "a short one in an error": (SHORT, lambda call: Reply({"message": call.headers[BEARER]}, 400)),
    "an escaped slash": (MIXED, lambda call: escaped(call, "/", "\\/")),
    "an escaped plus": (MIXED, lambda call: escaped(call, "+", "\\u002b")),
    "an escaped letter": (MIXED, lambda call: escaped(call, "b", "\\u0062")),
    "an escaped letter after a byte order mark": (
        MIXED,
        lambda call: Reply(b"\xef\xbb\xbf" + escaped(call, "b", "\\u0062").content),
    ),
    "JSON within JSON": (MIXED, lambda call: Reply(said(call, json.dumps(call.headers)))),
    "a key": (MIXED, lambda call: Reply({call.headers[BEARER]: 1})),
    "a number": ("90210", lambda _: Reply({"messages": [{"text": 90210}]})),
    "base64": (MIXED, lambda call: Reply(said(call, b64encode(call.headers[BEARER][7:].encode()).decode()))),
    "a web page": (MIXED, lambda call: Reply(f"<p>Cannot POST {call.path}</p>".encode())),
    "a web page that is cut off": (MIXED, lambda call: Reply(b"<p>" + b" " * 1590 + call.path[6:].encode())),
    "HTML": (MIXED, lambda _: Reply(b"<p>ab&#x2F;cd&#43;ef==&quot;gh&amp;</p>")),
    "an error": (MIXED, lambda call: Reply({"message": f"Cannot POST {call.path}"}, 400)),
    "lower case": (MIXED, lambda call: Reply({"message": call.path.replace("%2F", "%2f")}, 400)),
    "a redirect": (MIXED, lambda call: Reply(b"", 302, (("Location", f"/x{call.path}"),))),
}


@pytest.mark.parametrize("name", ECHOES)
def test_a_token_is_hidden_however_it_is_repeated(name: str, tmp_path: Path) -> None:
    token, answer = ECHOES[name]
    fake = FakeBot(answer)
    with serving(fake):
        bot = bot_of(tmp_path, REST.replace("/chat", '"/chat/{token}"'))
        shown = turn_or_error(fake.url, bot, token)
    assert fake.calls[0].headers[BEARER] == f"Bearer {token}"
    assert "***" in shown
    beginnings = (token[:6], quote(token, safe="")[:8], b64encode(token.encode()).decode()[:8])
    assert [form for form in beginnings if form in shown] == []


def turn_or_error(url: str, bot: Any, token: str | None) -> str:
    try:
        turn = conversations(url, bot, token=token).conversation().say("hello")
    except UserError as error:
        return str(error)
    return f"{turn.responses} {turn.remarks} {turn.events}"


@pytest.mark.parametrize(
    ("login", "secret"), [("me:s3cret-pw", "s3cret-pw"), ("me:p%40ss%2Fw", "p@ss/w"), ("api-key-1:", "api-key-1")]
)
def test_a_login_is_hidden_however_it_is_repeated(login: str, secret: str, tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        return Reply(said(call, f"{call.headers[BEARER]} {secret} {quote(secret, safe='')} {call.headers}"))

    with serving(FakeBot(answer)) as fake:
        shown = turn_or_error(fake.url.replace("//", f"//{login}@"), bot_of(tmp_path), None)
    sent = fake.calls[0].headers[BEARER].removeprefix("Basic ")
    assert "Basic ***" in shown
    for form in (sent.rstrip("="), secret, quote(secret, safe="")):
        assert form not in shown


def test_what_a_rasa_server_repeats_is_hidden() -> None:
    answer = [{"recipient_id": "a", "text": "ab/cd+ef and s3cret-pw"}]
    with serving(FakeBot(lambda _: Reply(json.dumps(answer).replace("/", "\\/").encode()))) as fake:
        client = RasaClient(Access(fake.url.replace("//", "//me:s3cret-pw@"), token="ab/cd+ef"))
        assert client.say("a", "hello") == [{"recipient_id": "a", "text": "*** and ***"}]


@pytest.mark.parametrize("token", ["ü€-\U0001f511-key", "a b\\c'd<e>"])
def test_every_character_is_found_as_it_may_be_written(token: str) -> None:
    masks = Masks([token])
    for written in (token, json.dumps(token), json.dumps(json.dumps(token)), quote(token, safe="")):
        assert masks.text(written).strip('\\"') == "***"


def test_a_word_as_a_secret_leaves_the_names_of_keys() -> None:
    masks = Masks(["session", "onlylettersbutlong"])
    answer = {"sessionState": "my session", "Bearer session": 1, "xonlylettersbutlong": 2}
    assert masks.value(answer) == {"sessionState": "my ***", "Bearer ***": 1, "x***": 2}


def test_what_has_no_secret_stays_byte_for_byte() -> None:
    body = b'{"a":  1.50, "b": [12345678901234567890123, "\\u00fc"]}'
    assert Masks(["s3cret"]).body(body) == body
    assert Masks([]).body(b"x") == b"x"


def test_of_a_login_in_base64_the_login_is_a_secret_too() -> None:
    masks = Masks([b64encode(b"me:pa55word").decode().rstrip("=")])
    assert masks.text("You are me:pa55word, with pa55word") == f"You are {HIDDEN}, with {HIDDEN}"
    assert masks.text("me") == "me"
    for token in ("opaque-token", "YWJj", b64encode(b"no login").decode()):
        assert Masks([token]).text("abc no login opaque") == "abc no login opaque"


REFUSED = {
    "a short token": ({"bot_url": "http://x", "bot_token": "abc"}, "", "the value of --bot-token has fewer than 4"),
    "a short password": ({"bot_url": "http://me:abc@x"}, "", "the password in the address of --bot-url has fewer"),
    "a login and a token": ({"bot_url": "http://me:s3cret@x", "bot_token": "token"}, "", "--bot-url and --bot-token"),
    "a login of the base": (
        {"bot_url": "http://x", "bot_url_base": "http://me:s3cret@x", "bot_token": "token"},
        "",
        "the login in the address of --bot-url-base and --bot-token would be the same header",
    ),
    "another prefix": (
        {"bot_url": "http://me:s3cret@x", "bot_token": "token"},
        "  token: {header: authorization, prefix: 'Token '}\n",
        "would be the same header, Authorization",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_sent_or_hidden_is_refused(name: str, tmp_path: Path) -> None:
    flags, more, expected = REFUSED[name]
    with pytest.raises(UserError) as caught:
        open_engine(tmp_path, flags, more)
    assert expected in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_login_and_a_token_may_be_two_headers(tmp_path: Path) -> None:
    with serving(FakeBot(lambda call: Reply(said(call, "hello")))) as fake:
        flags = {"bot_url": fake.url.replace("//", "//me:s3cret@"), "bot_token": "token"}
        open_engine(tmp_path, flags, "  token: {header: X-Key, prefix: ''}\n", says="hello")
    headers = fake.calls[0].headers
    assert (headers["X-Key"], headers[BEARER]) == ("token", f"Basic {b64encode(b'me:s3cret').decode()}")


def open_engine(folder: Path, flags: dict[str, str], more: str, says: str = "") -> None:
    bot = bot_of(folder, REST + more)
    given = {name: Secret(value) if name == "bot_token" else value for name, value in flags.items()}
    with opened(Settings(engine="http", bot=bot, **given), read_project(folder), {}, None) as engine:  # type: ignore[arg-type]
        if says:
            engine.assistant(None).conversation().say(says)  # type: ignore[arg-type]
