"""Listens for the messages of a bot that posts them to an address, instead of answering with them.

Only what is meant for a conversation under way is taken: its address ends with a random name, or the message has the
conversation's id.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.engines.remote import UnreadableError, decoded
from turncheck.messages.errors import UserError
from turncheck.web.addresses import address_of, is_loopback
from turncheck.web.json_path import PathError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from queue import SimpleQueue

    from turncheck.web.json_path import JsonPath

_MOST_BYTES: Final = 1 << 20
_SECONDS: Final = 10.0
"""How long a bot may take to send one call."""
_MOST_WAITING: Final = 1_000
"""No conversation has more calls that are not read yet."""
_MOST_CALLS: Final = 200
"""No more calls are served at the same time."""


class Posted(Struct, frozen=True):
    """What the bot has posted: the JSON, or what is wrong with it. ``at``: when, by a clock that never jumps."""

    content: Any = None
    fault: str = ""
    at: float = 0.0


@dataclass(eq=False)
class Callbacks:
    """Where calls are awaited: ``url``, as the bot reaches it. ``session``: where a call has the conversation's id.

    ``clean`` takes secrets out of what is posted. ``stray``: what the last call was that is meant for no conversation.
    """

    url: str
    session: JsonPath | None = None
    clean: Callable[[bytes], bytes] = bytes
    stray: str = ""
    _inboxes: dict[str, SimpleQueue[Posted]] = field(default_factory=dict)

    def expect(self, name: str, inbox: SimpleQueue[Posted]) -> None:
        """Take the calls for a conversation: its name ends their address, or is its id."""
        self._inboxes[name] = inbox

    def take(self, name: str, body: bytes) -> int:
        """Put a call into the inbox of its conversation, and return the status of the answer; ``name``: "" for none."""
        inbox = self._inboxes.get(name) if name else None
        try:
            content = decoded(self.clean(body))
            if not name and self.session is not None:
                name = str(self.session.value(content))
                inbox = self._inboxes.get(name)
        except (UnreadableError, PathError) as error:
            return self._put(inbox, Posted(fault=f"the bot called back with what is not JSON ({error})"), "", 400)
        return self._put(inbox, Posted(content, at=time.monotonic()), name, 200)

    def _put(self, inbox: SimpleQueue[Posted] | None, posted: Posted, name: str, status: int) -> int:
        if inbox is None:
            self.stray = posted.fault or f"the bot called back for an unknown conversation: '{name[:80]}'"
            return 404
        if inbox.qsize() >= _MOST_WAITING:
            return 429
        inbox.put(posted)
        return status


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 100
    callbacks: Callbacks
    below: str

    def __init__(self, place: tuple[str, int]) -> None:
        super().__init__(place, _Handler)
        self._places = threading.BoundedSemaphore(_MOST_CALLS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a call, unless there are too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve it in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A call that was cut is not ours to mend."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS
    server: _Server

    def do_POST(self) -> None:
        """Take a call."""
        length = self.headers.get("Content-Length", "")
        path = self.path.partition("?")[0]
        if not path.startswith(f"{self.server.below}/") and path != self.server.below:
            return self._answer(404)
        if not length.isascii() or not length.isdigit() or int(length) > _MOST_BYTES:
            self.server.callbacks.stray = f"a call came without its length, or of more than {_MOST_BYTES >> 20} MiB"
            return self._answer(413)
        place = path.removeprefix(self.server.below).strip("/")
        return self._answer(self.server.callbacks.take(place, self.rfile.read(int(length))))

    def _answer(self, status: int) -> None:
        self.close_connection = status != 200
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if status != 200:
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def listening(
    url: str | None, session: JsonPath | None, clean: Callable[[bytes], bytes] = bytes
) -> Iterator[Callbacks]:
    """Listen at an address; ``None``: at a free port of this machine, which only this machine reaches.

    Raises:
        UserError: it is no address, or its port is taken.
    """
    address = address_of(url or "http://127.0.0.1:80")
    if address is None or address.origin.scheme != "http" or address.login is not None or address.query:
        raise UserError(
            "the address of --bot-callback is not one that can be listened at",
            hint="Write it as http://HOST:PORT, as the bot reaches this machine.",
        )
    is_local = is_loopback(address.origin.host)
    port = 0 if url is None else address.origin.port or 80
    try:
        server = _Server(("127.0.0.1" if is_local else "", port))
    except OSError as error:
        raise UserError(
            f"nothing can listen at port {port} of --bot-callback: {error.strerror or error}",
            hint="Does something else use it? Give another one.",
        ) from None
    below = address.path.rstrip("/")
    server.below = below
    server.callbacks = Callbacks(
        f"http://127.0.0.1:{server.server_address[1]}" if url is None else address.origin.root + below, session, clean
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield server.callbacks
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
