"""Stands in for Rasa's server where it is to fail on demand, with the recorded shapes; ``rasa_program.py`` starts it.

What is understood: the first word of a sentence is its intent. What is predicted: ``utter_<intent>`` after a message,
else listening. ``act NAME`` calls the action server for this action first, whatever comes of it. Faults are named by
the test.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = "3.6.21"
Json = Any
Fault = Any
"""An answer to give instead: a status with a reason, seconds to wait, "cut" (none at all), "break off" (its first
half), "drip" (a byte every tenth of a second), "die" (the process ends), or :class:`Raw`."""


@dataclass(frozen=True)
class Raw:
    """An answer byte by byte."""

    content: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)


@dataclass
class FakeRasa:
    """The server's state. ``fault``: asked with the path and the body of each call; ``None``: answer as usual."""

    token: str | None = None
    jwt: str | None = None
    model: str | None = "model.tar.gz"
    core: bool = True
    welcomes: bool = False
    action_endpoint: str = ""
    dead: frozenset[str] = frozenset()
    fault: Callable[[str, Json], Fault | None] = lambda _path, _body: None
    url: str = ""
    calls: list[tuple[str, str, Json]] = field(default_factory=list, repr=False)
    trackers: dict[str, list[Json]] = field(default_factory=dict, repr=False)
    most_at_once: int = 0
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str, body: Json) -> tuple[int, Json]:
        """Answer one call."""
        match method, path.split("/")[1:]:
            case "GET", ["version"]:
                return 200, {"version": VERSION, "minimum_compatible_version": VERSION}
            case _ if self.model is None:
                return 409, failure(409, "No agent loaded. To continue processing, a model needs to be loaded.")
            case "GET", ["status"]:
                return 200, {"model_file": self.model, "model_id": "m", "num_active_training_jobs": 0}
            case "PUT", ["model"]:
                self.model = body["model_file"]
                return 204, None
            case "POST", ["model", "parse"]:
                return 200, parsed(body["text"])
            case "POST", ["model", "predict"]:
                return self.predict(body)
            case "POST", ["webhooks", "rest", "webhook"]:
                return 200, self.talk(body)
            case "GET", ["conversations", sender, "tracker"]:
                return 200, self.state(sender)
            case "POST", ["conversations", sender, "tracker", "events"]:
                self.append(sender, body)
                return 200, self.state(sender)
            case _:
                return 404, failure(404, "not found")

    def predict(self, events: list[Json]) -> tuple[int, Json]:
        """Check the events, then predict."""
        if not all(map(is_accepted, events)):
            return 400, failure(400, "Failed to validate the events format.")
        return 200, predicted(events) if self.core else None

    def started(self) -> list[Json]:
        """The start of a session, with what a custom action says in it."""
        now = time.time()
        said = [bot_event("utter_welcome", timestamp=now)] if self.welcomes else []
        start = {"event": "action", "name": "action_session_start", "timestamp": now}
        listen = {"event": "action", "name": "action_listen", "timestamp": now}
        return [start, *said, {"event": "session_started", "timestamp": now}, listen]

    def state(self, sender: str) -> Json:
        """A conversation as the tracker's endpoint gives it; of one that has not begun the start, which is not kept."""
        events = self.trackers.get(sender) or self.started()
        slots = {event["name"]: event["value"] for event in events if event["event"] == "slot"}
        return {"sender_id": sender, "slots": slots, "events": events, "active_loop": {}}

    def append(self, sender: str, events: list[Json]) -> None:
        """Add events. They begin a conversation that has none where they are the start of a session, else none does."""
        before = self.trackers.get(sender, [])
        self.trackers[sender] = [*before, *({"timestamp": time.time(), **event} for event in events)]

    def talk(self, body: Json) -> list[Json]:
        """Answer a message with the response of its intent; of several sessions the last one goes on."""
        events = self.trackers.get(body["sender"]) or self.started()
        starts = [n for n, event in enumerate(events) if event.get("name") == "action_session_start"]
        parse = parsed(body["message"])
        response = "utter_wrong" if parse["intent"]["name"] in self.dead else f"utter_{parse['intent']['name']}"
        called = [{"event": "action", "name": body["message"].split()[1]}] if parse["intent"]["name"] == "act" else []
        if called:
            call = {"sender_id": body["sender"], "next_action": body["message"].split()[1], "tracker": {}}
            import requests  # the program is started many times, and rarely calls

            requests.post(self.action_endpoint, json=call, timeout=30)
        user = {"event": "user", "text": body["message"], "parse_data": parse, "message_id": str(time.time())}
        answer = [
            *called,
            {"event": "action", "name": response},
            bot_event(response),
            {"event": "action", "name": "action_listen"},
        ]
        if response == "utter_session_start":
            answer = self.started()
        now = time.time()
        new = [{"timestamp": now, **event} for event in (user, *answer)]
        self.trackers[body["sender"]] = [*events[starts[-1] if starts else 0 :], *new]
        return [{"recipient_id": body["sender"], "text": event["text"]} for event in answer if event["event"] == "bot"]

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Note how many calls are under way together."""
        with self._lock:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1


def bot_event(response: str, **more: Any) -> Json:
    """What is said with this response."""
    return {"event": "bot", "text": f"({response})", "data": {}, "metadata": {"utter_action": response}, **more}


def parsed(text: str) -> Json:
    """The first word is the intent; a message that begins with ``/`` names it."""
    intent = {"name": text.lstrip("/").split()[0].lower(), "confidence": 0.9}
    return {"text": text, "intent": intent, "entities": [], "intent_ranking": [intent], "text_tokens": []}


def is_accepted(event: Json) -> bool:
    """What Rasa's check of a user event asks for: a name is a text where there is one, an entity has a value."""
    understood = event.get("parse_data", {})
    named = isinstance(understood.get("intent", {}).get("name", ""), str)
    return named and all({"entity", "value"} <= entity.keys() for entity in understood.get("entities", ()))


def predicted(events: list[Json]) -> Json:
    """Utter the response of the intent, then listen."""
    last: Json = events[-1] if events else {"event": "none"}
    intent = last["parse_data"]["intent"].get("name") if last["event"] == "user" else None
    action = f"utter_{intent}" if intent else "action_listen"
    scores = [{"action": "action_back", "score": 0.0}, {"action": action, "score": 1.0}]
    return {"scores": scores, "policy": "RulePolicy", "confidence": 1.0, "tracker": {}}


def failure(status: int, message: str) -> Json:
    """An error in the shape of Rasa's."""
    return {"version": VERSION, "status": "failure", "message": message, "reason": "X", "details": {}, "code": status}


def _die() -> None:
    sys.stderr.write("LAST WORDS\n")
    sys.stderr.flush()
    os._exit(7)


class _Handler(BaseHTTPRequestHandler):
    rasa: FakeRasa
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written one after the other

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        address = urlsplit(self.path)
        self.rasa.calls.append((self.command, self.path, body))
        with self.rasa.counted():
            fault = self.rasa.fault(address.path, body)
            if fault == "cut":
                self.close_connection = True
                return
            if fault == "die":
                _die()
            self._manner = fault if fault in ("break off", "drip") else ""
            if isinstance(fault, float):
                time.sleep(fault)
            if isinstance(fault, Raw):
                self._send_raw(fault)
            elif isinstance(fault, tuple):
                self._send(fault[0], failure(*fault))
            elif not self._allowed(address.path, parse_qs(address.query)):
                self._send(401, failure(401, "User is not authenticated."))
            else:
                self._send(*self.rasa.answer(self.command, address.path, body))

    do_GET = do_POST = do_PUT = _answer  # noqa: N815 - named by the standard library

    def _allowed(self, path: str, query: dict[str, list[str]]) -> bool:
        if path == "/version" or path.startswith("/webhooks"):
            return True
        bearer = self.headers.get("Authorization")
        return (self.rasa.token is None or query.get("token") == [self.rasa.token]) and (
            self.rasa.jwt is None or bearer == f"Bearer {self.rasa.jwt}"
        )

    def _send(self, status: int, body: Json) -> None:
        content = b"" if status == 204 else json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self._manner == "drip":
                self._drip(content)
                return
            if self._manner == "break off":
                content, self.close_connection = content[: len(content) // 2], True
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # whoever asked did not wait

    def _send_raw(self, answer: Raw) -> None:
        self.send_response(answer.status)
        for name, value in (*answer.headers, ("Content-Length", str(len(answer.content)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.content)

    def _drip(self, content: bytes) -> None:
        for byte in content:
            self.wfile.write(bytes([byte]))
            time.sleep(0.1)

    def log_message(self, *_: Any) -> None:  # the test's output is its own
        pass


@contextmanager
def serving(rasa: FakeRasa, port: int = 0) -> Iterator[FakeRasa]:
    """Serve on a loopback port; ``url`` says which."""
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"rasa": rasa}))
    server.daemon_threads = True
    rasa.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield rasa
    finally:
        server.shutdown()
        server.server_close()
