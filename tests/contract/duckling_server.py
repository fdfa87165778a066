"""A server that speaks Duckling's protocol: ``POST /parse``, a form in, a list out."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AMOUNT = {
    "body": "20 euro",
    "start": 4,
    "end": 11,
    "dim": "amount-of-money",
    "latent": False,
    "value": {"value": 20, "type": "value", "unit": "EUR"},
}
INTERVAL = {
    "body": "from 3 to 5",
    "start": 12,
    "end": 23,
    "dim": "time",
    "latent": False,
    "value": {
        "type": "interval",
        "from": {"value": "2025-01-01T15:00:00.000Z", "grain": "hour"},
        "to": {"value": "2025-01-01T18:00:00.000Z", "grain": "hour"},
        "values": [],
    },
}


class DucklingServer(ThreadingHTTPServer):
    """Answers as Duckling's example server does, with what it is told to; remembers the forms."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.forms: list[dict[str, str]] = []
        self.answer: tuple[int, bytes] = (200, json.dumps([AMOUNT, INTERVAL]).encode())
        self.answer_to: Callable[[str], bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: DucklingServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        assert self.path == "/parse"
        assert self.headers["Content-Type"].startswith("application/x-www-form-urlencoded")
        self.server.forms.append({name: values[0] for name, values in parse_qs(body).items()})
        status, content = self.server.answer
        if self.server.answer_to is not None:
            content = self.server.answer_to(self.server.forms[-1]["text"])
        self.send_response(status)
        self.send_header("Location", "http://example.com/")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Stay quiet."""


@contextmanager
def duckling() -> Iterator[DucklingServer]:
    server = DucklingServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
