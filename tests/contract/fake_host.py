"""What the fakes of hosts share: a server on loopback that can be told to fail, and to let others act in between."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import tarfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Seen:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    queries: dict[str, list[str]] = field(default_factory=dict)
    """The query with every value of a name."""


@dataclass
class Answer:
    """What is sent back; ``close`` drops the connection instead."""

    status: int = 200
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    close: bool = False
    broken: bool = False
    """Only half of it arrives."""


@dataclass
class Trouble:
    """An answer given instead of the right one, once; ``after`` the work was done."""

    method: str
    path: str
    answer: Answer
    after: bool = False
    times: int = 1


class FakeHost:
    """Answers one request at a time, and keeps what it has seen. A host says what it works on each with."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.troubles: list[Trouble] = []
        self.log: list[Seen] = []
        self.before: Callable[[Seen], None] | None = None
        """Called before each request is worked on: another run, acting in between."""

    def answer(self, seen: Seen) -> Answer:
        """Answer one request, or give the trouble that waits for it."""
        with self.lock:
            self.log.append(seen)
            if self.before is not None:
                self.before(seen)
            trouble = next((t for t in self.troubles if t.method == seen.method and re.search(t.path, seen.path)), None)
            if trouble is not None:
                trouble.times -= 1
                if trouble.times <= 0:
                    self.troubles.remove(trouble)
                if trouble.after:
                    self._work(seen)
                return trouble.answer
            return self._work(seen)

    def _work(self, seen: Seen) -> Answer:
        raise NotImplementedError


def serve(answer: Callable[[Seen], Answer]) -> ThreadingHTTPServer:
    """Listen on loopback and answer by a function."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: two would wait for each other

        def handle_any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(length)
            parts = urlsplit(self.path)
            queries = parse_qs(parts.query)
            query = {name: values[0] for name, values in queries.items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            typed = headers.get("content-type", "").startswith("application/json")
            body = (json.loads(raw) if typed else raw) if raw else None
            self.send(answer(Seen(self.command, parts.path, query, headers, body, queries)))

        def send(self, given: Answer) -> None:
            if given.close:
                self.close_connection = True
                return
            content = given.content
            if content is None:
                content = b"" if given.document is None else json.dumps(given.document).encode()
            self.send_response(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            if given.content is None and content:
                self.send_header("Content-Type", "application/json; charset=utf-8")
            if given.status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if given.broken:
                content, self.close_connection = content[: len(content) // 2], True
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815  # as http.server wants it

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

        def log_error(self, format: str, *arguments: Any) -> None:  # noqa: A002 - as http.server names it
            """Say what is no request of HTTP: no client of ours sends such, and the answer does not name it."""
            what = f"{format % arguments}, {self.requestline!r} from {self.client_address}"
            sys.stderr.write(f"{self.server.server_address}: {what}\n")

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # connections that wait beyond are reset by some systems

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


def tip_of(branch: str) -> str:
    """The newest commit of a branch."""
    return hashlib.sha1(branch.encode(), usedforsecurity=False).hexdigest()


def files_in(archive: bytes) -> list[str]:
    """The paths of the files and links in the archive of a repository, without its own folder."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as packed:
        return [one.name.partition("/")[2] for one in packed if not one.isdir()]
