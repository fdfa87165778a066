"""Small servers on this machine that answer as a test says: over TLS with a certificate of their own, or without."""

from __future__ import annotations

import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import trustme

from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, where it leads to, content; byte by byte where there is a pause (in seconds) between them."""

    status: int = 200
    location: str = ""
    body: bytes = b""
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs: its address, how it is reached, and what it was asked so far."""

    address: str
    network: Network
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    """Method, path, headers (names in lower case), body."""


@contextmanager
def serving(answers: Mapping[str, Answer], *, tls: bool = True) -> Iterator[Served]:
    """Serve these answers by path."""
    with TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        network = Network()
        if tls:
            authority = trustme.CA()
            authority.cert_pem.write_to_path(f"{folder}/ca.pem")
            network = Network(ca_file=f"{folder}/ca.pem")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert("127.0.0.1").configure_cert(context)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        served = Served(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}", network)
        server.RequestHandlerClass = _handler(answers, served)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # connections that were cut on purpose
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield served
        finally:
            server.shutdown()


def _handler(answers: Mapping[str, Answer], served: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            served.requests.append((self.command, self.path, headers, self.rfile.read(length)))
            answer = answers.get(self.path.partition("?")[0], Answer(404))
            self.send_response(answer.status)
            if answer.location:
                self.send_header("Location", answer.location)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            for piece in [bytes([byte]) for byte in answer.body] if answer.pause else [answer.body]:
                try:
                    self.wfile.write(piece)
                except OSError:
                    return
                time.sleep(answer.pause)

        do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815 - names of the standard library

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
