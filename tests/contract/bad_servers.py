"""An action server that misbehaves: run as a program, ``bad_servers.py PORT HOW``, or in a thread of the test.

``HOW``, for each call of an action: ``dies`` (prints its last words and ends), ``hangs up`` (closes the connection
without an answer), ``breaks off`` (in the middle of one), ``drips`` (a byte every tenth of a
second), ``waits`` (a minute).
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ANSWER = b'{"events": [], "responses": [{"text": "done"}]}'


def server(port: int, how: str) -> ThreadingHTTPServer:
    """Return the server, not yet serving."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if how == "dies":
                sys.stderr.write("LAST WORDS\n")
                sys.stderr.flush()
                os._exit(3)
            if how == "waits":
                time.sleep(60)
            if how == "hangs up":
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(ANSWER)))
            self.end_headers()
            if how == "breaks off":
                self.wfile.write(ANSWER[:5])
                return
            for byte in ANSWER:
                self.wfile.write(bytes([byte]))
                time.sleep(0.1)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


@dataclass(frozen=True)
class Call:
    """A call that a server got."""

    method: str
    path: str
    body: bytes
    login: str | None


def answering(
    answers: Mapping[str, tuple[int, Mapping[str, str], bytes]], calls: list[Call] | None = None
) -> AbstractContextManager[str]:
    """Serve answers, ``(status, headers, body)`` by path, and note down the calls; yields the webhook's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if calls is not None:
                calls.append(Call(self.command, self.path, body, self.headers.get("Authorization")))
            status, headers, content = answers[self.path]
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815 - the name that the base looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return _running(ThreadingHTTPServer(("127.0.0.1", 0), Handler))


def serving(how: str) -> AbstractContextManager[str]:
    """Serve on a free port, and yield the webhook's address."""
    return _running(server(0, how))


@contextmanager
def _running(made: ThreadingHTTPServer) -> Iterator[str]:
    with made:
        made.daemon_threads = True
        made.handle_error = lambda *_: None  # type: ignore[method-assign]  # hung-up connections
        threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}/webhook"
        made.shutdown()


if __name__ == "__main__":
    server(int(sys.argv[1]), sys.argv[2]).serve_forever()
