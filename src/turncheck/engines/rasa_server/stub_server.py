"""A proxy between a Rasa that is started here and its action server, so that tests can stub custom actions.

Rasa has one action server for all conversations. This one answers for those whose actions are stubbed, and forwards
every other call unchanged: query and headers, which may contain credentials, are Rasa's own. The answer goes back
unchanged, too; the outcome of the action is recorded as in the embedded engine.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.event_reading import ShapeError
from turncheck.engines.action_server.server import CallFailedError, Reply, read_reply
from turncheck.engines.conversation import CustomAction
from turncheck.engines.embedded.actions.base import ActionRejectedError
from turncheck.engines.embedded.actions.custom import read_answer, stubbed, undefined_response

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from turncheck.engines.action_server.server import HttpActionServer

_JSON: Final = "application/json"
_OF_THE_CONNECTION: Final = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}
"""Headers that are not forwarded."""


class StubServer:
    """Knows which conversation's actions are stubbed, and the outcomes of all actions.

    ``behind`` is the action server, ``responses`` are the domain's, if known. It is thread-safe.
    """

    def __init__(self, behind: HttpActionServer | None = None, responses: Collection[str] | None = None) -> None:
        self.behind = behind
        self.url = ""
        self._responses = responses
        self._stubs: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        self._noted: dict[str, list[CustomAction]] = {}

    def look(self, *, was_there: bool) -> None:
        """Check whether the action server is there, before conversations begin; ``was_there``: it has been reached."""
        if self.behind is not None:
            self.behind.was_there = self.behind.was_there or was_there
            self.behind.look()

    def stub(self, sender: str, stubs: Mapping[str, Mapping[str, Any]]) -> None:
        """Use these stubs for the custom actions of a conversation."""
        self._stubs[sender] = stubs

    def take_notes(self, sender: str) -> tuple[CustomAction, ...]:
        """Return the outcomes of the conversation's actions since the last call."""
        return tuple(self._noted.pop(sender, ()))

    def answer(self, body: bytes, query: str, headers: Mapping[str, str]) -> Reply:
        """Answer a call of Rasa's."""
        call = json.loads(body)
        if not isinstance(call, dict):
            return _failed(400, "the call is not a JSON object")
        sender, name = str(call.get("sender_id")), str(call.get("next_action"))
        try:
            if sender not in self._stubs:
                reply = self._handed_on(name, body, query, headers)
                self._note(sender, _judged(name, reply, self._responses))
                return reply
            given, outcome, reason = stubbed(name, self._stubs[sender])
        except CallFailedError as error:
            self._note(sender, CustomAction(name, error.outcome, str(error)))
            return _failed(503, str(error))
        self._note(sender, CustomAction(name, outcome, reason))
        return Reply(200, _JSON, json.dumps({"events": [], "responses": [], **given}).encode())

    def _note(self, sender: str, action: CustomAction) -> None:
        self._noted.setdefault(sender, []).append(action)

    def _handed_on(self, name: str, body: bytes, query: str, headers: Mapping[str, str]) -> Reply:
        if self.behind is None:
            raise CallFailedError("no server", f"'{name}' was not run: no action server is configured")
        kept = {name: value for name, value in headers.items() if name.lower() not in _OF_THE_CONNECTION}
        return self.behind.send(name, body, query=query, headers=kept)


def _judged(name: str, reply: Reply, responses: Collection[str] | None) -> CustomAction:
    """Return the outcome of an action with this answer."""
    try:
        answer = read_answer(read_reply(name, reply))
    except ActionRejectedError as error:
        return CustomAction(name, "rejected", str(error))
    except CallFailedError as error:
        return CustomAction(name, error.outcome, str(error))
    except ShapeError as error:
        return CustomAction(name, "failed", f"'{name}' failed, its answer is malformed: {error}")
    return CustomAction(name, "ran", "" if responses is None else undefined_response(name, answer, responses))


def _failed(status: int, reason: str) -> Reply:
    return Reply(status, _JSON, json.dumps({"error": reason}).encode())


@contextmanager
def serving_stubs(server: StubServer) -> Iterator[StubServer]:
    """Serve on a free loopback port, which is then in ``url``."""
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
            reply = self.stubs.answer(body, self.path.partition("?")[2], dict(self.headers))
        except ValueError:
            reply = _failed(400, "the call is not JSON")
        self.send_response(reply.status)
        if reply.kind:
            self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        """It would not be read."""
