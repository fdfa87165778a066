"""Stands between a Rasa that is started here and its action server, so that tests can stub custom actions.

Rasa has one action server for all conversations. This one answers for those whose actions are stubbed, and hands every
other call on, as it came: query and headers, which may hold a login, are Rasa's own.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from turncheck.engines.base import CustomAction
from turncheck.engines.embedded.actions.custom import stubbed
from turncheck.engines.embedded.actions.server import CallFailedError
from turncheck.environment import without_login

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HAND_ON_SECONDS: Final = 300.0
"""As long as Rasa waits for an action."""
_OF_THE_CONNECTION: Final = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
"""Headers that are not handed on."""

Answer = tuple[int, bytes]


class StubServer:
    """Knows which conversation's actions are stubbed, and what became of those and of calls without an answer.

    ``behind`` is the action server's address. May be asked by several threads.
    """

    def __init__(self, behind: str | None = None, ca_file: str | None = None) -> None:
        self.behind = behind
        self.url = ""
        self._ca_file = ca_file
        self._was_there = False
        self._stubs: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        self._noted: dict[str, list[CustomAction]] = {}

    def stub(self, sender: str, stubs: Mapping[str, Mapping[str, Any]]) -> None:
        """Have these stand for the custom actions of a conversation."""
        self._stubs[sender] = stubs

    def take_notes(self, sender: str) -> tuple[CustomAction, ...]:
        """Return what became of the conversation's actions since the last time."""
        return tuple(self._noted.pop(sender, ()))

    def answer(self, body: bytes, query: str, headers: Mapping[str, str]) -> Answer:
        """Answer a call of Rasa's: status and body."""
        call = json.loads(body)
        if not isinstance(call, dict):
            return _failed(400, "the call is no JSON object")
        sender, name = str(call.get("sender_id")), str(call.get("next_action"))
        try:
            if sender not in self._stubs:
                return self._handed_on(name, body, query, headers)
            given, outcome, reason = stubbed(name, self._stubs[sender])
        except CallFailedError as error:
            self._note(sender, CustomAction(name, error.outcome, str(error)))
            return _failed(503, str(error))
        self._note(sender, CustomAction(name, outcome, reason))
        return 200, json.dumps({"events": [], "responses": [], **given}).encode()

    def _note(self, sender: str, action: CustomAction) -> None:
        self._noted.setdefault(sender, []).append(action)

    def _handed_on(self, name: str, body: bytes, query: str, headers: Mapping[str, str]) -> Answer:
        if self.behind is None:
            raise CallFailedError("no server", f"'{name}' was not run: no action server is configured")
        import requests  # noqa: PLC0415 - only where a call is handed on

        from turncheck.engines.timed_http import session, was_refused, within  # noqa: PLC0415

        kept = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION}
        address = urlsplit(self.behind)
        both = "&".join(part for part in (address.query, query) if part)
        try:
            with within(HAND_ON_SECONDS), session(ca_file=self._ca_file) as one:
                url = address._replace(query=both).geturl()
                given = one.post(url, data=body, headers=kept, timeout=HAND_ON_SECONDS, allow_redirects=False)
                self._was_there = True
                return given.status_code, given.content
        except requests.ConnectionError as error:
            place = without_login(self.behind)
            if not was_refused(error):
                raise CallFailedError("failed", f"'{name}' failed, the action server cut the connection") from error
            if self._was_there:
                raise CallFailedError("lost", f"the action server at {place} is gone: '{name}' was not run") from error
            raise CallFailedError("unreachable", f"no action server answers at {place}") from error
        except (requests.RequestException, OSError) as error:
            raise CallFailedError("failed", f"'{name}' got no answer ({type(error).__name__})") from error


def _failed(status: int, reason: str) -> Answer:
    return status, json.dumps({"error": reason}).encode()


@contextmanager
def serving_stubs(server: StubServer) -> Iterator[StubServer]:
    """Serve on a free loopback port, which ``url`` then names."""
    handler = type("Handler", (_Handler,), {"stubs": server})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        listening.daemon_threads = True
        server.url = f"http://127.0.0.1:{listening.server_port}/webhook"
        threading.Thread(target=listening.serve_forever, args=(0.1,), daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown()


class _Handler(BaseHTTPRequestHandler):
    stubs: StubServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            status, content = self.stubs.answer(body, urlsplit(self.path).query, dict(self.headers))
        except ValueError:
            status, content = _failed(400, "the call is no JSON")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""
