"""A bot that posts its messages to an address of ours: which calls are taken, and for which conversation."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from fake_bot import EXAMPLE, Call, FakeBot, Reply, hold, result_of, serving
from in_process import turncheck

from turncheck.engines.http.callback import listening
from turncheck.messages.errors import UserError
from turncheck.web.json_path import JsonPath

if TYPE_CHECKING:
    from pathlib import Path

OWN = """\
bot:
  request: {path: /chat, body: {session: "{session}", message: "{text}", reply_to: "{callback}"}}
  replies: $.text
  quiet: 100ms
  wait: 2s
"""
SHORT = OWN.replace("2s", "100ms")


def post(url: str, body: Any, *, method: str = "POST", length: int | None = None) -> int:
    """Post to an address and return the status."""
    parts = urlsplit(url)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = HTTPConnection(str(parts.hostname), parts.port or 80, timeout=5)
    try:
        headers = {"Content-Length": str(len(content) if length is None else length)}
        connection.request(method, parts.path, content, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_each_conversation_has_an_address_of_its_own(tmp_path: Path) -> None:
    statuses: list[int] = []

    def answer(call: Call) -> Reply:
        texts = ("You said", f"You said {call.body['message']}")
        statuses.extend(post(call.body["reply_to"], {"text": text}) for text in texts)
        return Reply(b"accepted", 202)

    cases = EXAMPLE.replace("  - bot: ", "  - bot: You said\n  - bot: ")
    with serving(FakeBot(answer)) as fake:
        section = hold(tmp_path, fake, cases, shape=OWN, at_once=3)
    assert section.passed == 3, section
    assert set(statuses) == {200}
    assert len({call.body["reply_to"] for call in fake.calls}) == 3


def test_rasas_callback_channel_has_one_address(tmp_path: Path) -> None:
    """The address is in the bot's `credentials.yml`; each call has a message and whom it is for."""
    shape = """\
bot:
  request: {path: /webhooks/callback/webhook, body: {sender: "{session}", message: "{text}"}}
  callback: {session: $.recipient_id}
  replies: $.text
  quiet: 100ms
  wait: 2s
"""
    (tmp_path / "tests").mkdir()
    (tmp_path / "turncheck.yml").write_text(f"engine: http\nrepeats: off\n{shape}")
    (tmp_path / "tests" / "e2e_test_cases.yml").write_text(EXAMPLE)
    with listening(None, None) as free:
        port = urlsplit(free.url).port
    address = f"http://localhost:{port}/bot"

    def answer(call: Call) -> Reply:
        sender = call.body["sender"]
        assert post(address, {"recipient_id": "somebody else", "text": "You said nothing"}) == 404
        assert post(address, {"recipient_id": sender, "text": f"You said {call.body['message']}"}) == 200
        return Reply(b"success")

    with serving(FakeBot(answer)) as fake:
        done = turncheck("run", "--bot-url", fake.url, "--bot-callback", address, "--baseline", "none", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed: 3 of 3" in done.stdout


SILENT = {
    "nothing comes": (None, "no message came for 0.1 s: nothing was posted to http://127.0.0.1:"),
    "what is not JSON": (b"Hello!", "the bot called back with what is not JSON (no JSON"),
    "another field": ({"texts": "x"}, "the answer has nothing at $.text; it has $.texts"),
    "a number": ({"text": 42}, "has the number 42 at `replies: $.text` (turncheck.yml:3:12)"),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_is_wrong_with_a_call_is_said(name: str, tmp_path: Path) -> None:
    body, expected = SILENT[name]

    def answer(call: Call) -> Reply:
        if body is not None:
            post(call.body["reply_to"], body)
        return Reply()

    with serving(FakeBot(answer)) as fake:
        one = result_of(hold(tmp_path, fake, shape=SHORT), "one")
    assert one.outcome in {"failed", "error"}
    assert expected in (one.reason or ""), one.reason


def test_a_web_page_is_not_waited_behind(tmp_path: Path) -> None:
    with serving(FakeBot(lambda _: Reply(b"<html>Log in</html>"))) as fake:
        one = result_of(hold(tmp_path, fake, shape=OWN), "one")
    assert one.outcome == "error"
    assert "a web page" in (one.reason or "")


def test_only_calls_for_a_conversation_are_taken() -> None:
    from queue import SimpleQueue

    inbox: SimpleQueue[Any] = SimpleQueue()
    with listening(None, JsonPath("$.to")) as callbacks:
        callbacks.expect("name", inbox)
        statuses = [
            post(f"{callbacks.url}/other", {}),
            post(callbacks.url, {"to": "other"}),
            post(callbacks.url, {}),
            post(callbacks.url, b"<"),
            post(f"{callbacks.url}/name", b"", method="GET"),
            post(f"{callbacks.url}/name", b"", length=10_000_000),
            post(f"{callbacks.url}/name", {"a": 1}),
            post(callbacks.url, {"to": "name"}),
        ]
    assert statuses == [404, 404, 404, 404, 501, 413, 200, 200]
    assert [inbox.get_nowait().content for _ in range(inbox.qsize())] == [{"a": 1}, {"to": "name"}]


@pytest.mark.parametrize(
    "url", ["https://ci.example", "ci.example:80", "http://a:b@ci.example", "http://ci.example/?x=1"]
)
def test_an_address_that_cannot_be_listened_at_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="not one that can be listened at"), listening(url, None):
        pass


def test_a_taken_port_is_refused() -> None:
    with listening(None, None) as first:
        again = listening(first.url, None)
        with pytest.raises(UserError, match="of --bot-callback"), again:
            pass


def test_a_token_that_the_bot_posts_is_not_reported(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        post(call.body["reply_to"], {"text": f"You said {call.headers['Authorization']}"})
        return Reply()

    with serving(FakeBot(answer)) as fake:
        one = result_of(hold(tmp_path, fake, shape=SHORT, token="s3cret-t0ken"), "one")
    assert one.steps[0].actual == "You said Bearer ***"
