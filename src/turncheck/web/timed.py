"""HTTP sessions whose calls end in time whatever the server does, and that read only the given part of the environment.

The timeout of ``requests`` applies to each read: a server that sends a byte now and then keeps a call open for ever.
Here the connection of a call that takes too long is shut down, so that no read waits any longer.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import contextmanager, suppress
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Self

import requests
from msgspec import Struct
from msgspec.structs import replace
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError
from urllib3.util import parse_url
from urllib3.util.ssl_ import create_urllib3_context

from turncheck.web.addresses import Network, Origin, is_http, is_https, is_loopback, login_of, origin_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from ssl import SSLContext

_CALL = threading.local()
"""``limit``: that of the current call of this thread."""
_IDLE_SECONDS: Final = 1.0
"""How long the thread that ends calls waits for the next one."""


class Limit:
    """Shuts down the connections of a call when its time is over."""

    def __init__(self, seconds: float) -> None:
        self.is_over = self.is_done = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        _CLOCK.add(time.monotonic() + seconds, self)

    def watch(self, opened: socket.socket | None) -> None:
        """Register a connection of the call."""
        with self._lock:
            if opened is not None and opened not in self._sockets:
                self._sockets.append(opened)
        if self.is_over:
            self.end()

    def done(self) -> None:
        """The call has ended: do not touch its connections, another call may reuse them."""
        with self._lock:
            self.is_done = True
            self._sockets = []

    def end(self) -> None:
        """The time is over, unless the call has ended."""
        with self._lock:
            self.is_over = self.is_over or not self.is_done
            for opened in self._sockets:
                with suppress(OSError):  # already closed
                    socket.socket.shutdown(opened, socket.SHUT_RDWR)  # for TLS the socket below it


class _Clock:
    """Ends limits when their time is over: one thread for all of them, which ends when there are none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._numbers = count()
        self._limits: list[tuple[float, int, Limit]] = []
        self._thread: threading.Thread | None = None
        self._wakes_at = 0.0

    def add(self, end: float, limit: Limit) -> None:
        """End the limit at this time."""
        with self._changed:
            self._forget_done()
            heappush(self._limits, (end, next(self._numbers), limit))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            elif end < self._wakes_at:  # it is hardly ever woken: a later call ends later
                self._changed.notify()

    def _run(self) -> None:
        while (limit := self._next()) is not None:
            limit.end()

    def _next(self) -> Limit | None:
        """Wait for the next limit whose time is over; ``None``: there has been none for a while."""
        idle_until = time.monotonic() + _IDLE_SECONDS
        with self._changed:
            while True:
                self._forget_done()
                end = self._limits[0][0] if self._limits else idle_until
                if (left := end - time.monotonic()) > 0:
                    self._wakes_at = end
                    self._changed.wait(left)
                    continue
                if self._limits:
                    return heappop(self._limits)[2]
                self._thread = None
                return None

    def _forget_done(self) -> None:
        while self._limits and self._limits[0][2].is_done:
            heappop(self._limits)


_CLOCK: _Clock


def _new_clock() -> None:
    global _CLOCK  # noqa: PLW0603
    _CLOCK = _Clock()


_new_clock()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_new_clock)  # that of the parent may have been in the middle of something


def _watch(opened: socket.socket | None) -> None:
    limit: Limit | None = getattr(_CALL, "limit", None)
    if limit is not None:
        limit.watch(opened)


class _WatchedHttp(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return _as_named(self, super()._new_conn())

    def connect(self) -> None:
        super().connect()
        _watch(self.sock)

    def request(self, *arguments: Any, **options: Any) -> None:
        _watch(self.sock)
        super().request(*arguments, **options)


class _WatchedHttps(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return _as_named(self, super()._new_conn())

    def connect(self) -> None:
        try:
            super().connect()
        except TimeoutError as error:  # from the handshake on, the connection exists
            raise ConnectTimeoutError(self, "the server does not speak TLS") from error
        _watch(self.sock)

    def request(self, *arguments: Any, **options: Any) -> None:
        _watch(self.sock)
        super().request(*arguments, **options)


def _as_named(connection: HTTPConnection, opened: socket.socket) -> socket.socket:
    """Return the connection just made, unless its host is called this machine's and the name led to another one.

    ``localhost`` and what ends with it are called, and believed, without a lookup; who resolves them may say otherwise.

    Raises:
        NewConnectionError: it did. Nothing has been sent.
    """
    if is_loopback(connection.host.lower().removesuffix(".")) and not is_loopback(opened.getpeername()[0]):
        opened.close()
        raise NewConnectionError(connection, "its name does not lead to this machine")
    return opened


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _WatchedHttp


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedHttps


_POOLS = {"http": _HttpPool, "https": _HttpsPool}


def _trusting(files: Sequence[str]) -> SSLContext:
    """Return a context with these certificates; ``requests`` adds those of ``verify``."""
    context = create_urllib3_context()
    for file in files:
        with suppress(OSError):  # as OpenSSL does: what cannot be read is not trusted
            context.load_verify_locations(file)
    return context


class _WatchedAdapter(HTTPAdapter):
    def __init__(self, more_ca_files: Sequence[str]) -> None:
        self._trusted: dict[str, Any] = {"ssl_context": _trusting(more_ca_files)} if more_ca_files else {}
        super().__init__()

    def get_connection_with_tls_context(
        self, request: requests.PreparedRequest, *arguments: Any, **options: Any
    ) -> Any:
        """Return connections to the server of the address, and to no other one but a proxy."""
        pool = super().get_connection_with_tls_context(request, *arguments, **options)
        url = str(request.url)
        if getattr(pool, "proxy", None) is None or is_https(url):  # plain http is sent to the proxy itself
            _ensure_same(url, pool.scheme, pool.host, pool.port)
        return pool

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **(options | self._trusted))
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **(options | self._trusted))
        manager.pool_classes_by_scheme = _POOLS
        return manager


class _Session(requests.Session):
    """Uses only the settings of ``network``, nothing else of the environment, and leaves redirects to
    :mod:`.exchange`."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.trust_env = False  # neither proxies nor .netrc, nor certificates
        self.verify = network.ca_file or True
        for scheme in ("http://", "https://"):
            self.mount(scheme, _WatchedAdapter(network.more_ca_files))

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        """Prepare only what is an address, and make sure that it still leads to the same server afterwards.

        Raises:
            requests.exceptions.InvalidURL: it is not an address, or its parsers disagree about the server.
        """
        given = str(request.url)
        if not is_http(given):
            raise requests.exceptions.InvalidURL("it is not an address that can be called")
        if request.auth is None:  # `requests` fails for a login that is not Latin-1
            request.auth = login_of(given)
        prepared = super().prepare_request(request)
        parts = parse_url(str(prepared.url))
        _ensure_same(given, parts.scheme, parts.host, parts.port)
        return prepared

    def get_redirect_target(self, resp: requests.Response) -> str | None:  # noqa: ARG002 - none is one
        """Treat no response as a redirect: ``requests`` parses the target even if it does not follow it, and may
        fail."""
        return None

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        """Use the proxy that the network has for this address."""
        settings = super().merge_environment_settings(url, proxies, stream, verify, cert)
        settings["proxies"] = self.network.proxies(str(url))
        return settings


def _ensure_same(url: str, scheme: str | None, host: str | None, port: int | None) -> None:
    """Make sure that an address is that of a server, as the parser that connects has it.

    Raises:
        requests.exceptions.InvalidURL: it is not.
    """
    bare = (host or "").removeprefix("[").removesuffix("]")
    if origin_of(url) != origin_of(Origin(scheme or "", bare, port).root):
        raise requests.exceptions.InvalidURL("it is not clear which server the address leads to")


def session(network: Network | None = None) -> requests.Session:
    """Return a session that reads nothing from the environment but what ``network`` holds. It follows no redirects."""
    return _Session(network or Network())


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the total time of the calls of this thread in the block, including their bodies.

    Raises:
        requests.Timeout: they took longer, however they ended.
    """
    limit = _CALL.limit = Limit(seconds)
    try:
        yield
    except (requests.RequestException, HTTPError, OSError) as error:
        if limit.is_over:
            raise requests.Timeout(f"no answer within {seconds:g} seconds") from error
        raise
    finally:
        _CALL.limit = None
        limit.done()
    if limit.is_over:  # a response that was cut off may look complete
        raise requests.Timeout(f"no answer within {seconds:g} seconds")


class Deadline(Struct, frozen=True):
    """The deadline of several calls together: ``seconds`` after it was set."""

    seconds: float
    end: float

    @classmethod
    def after(cls, seconds: float) -> Self:
        """Set a deadline."""
        return cls(seconds, time.monotonic() + seconds)

    def later(self, seconds: float) -> Self:
        """Return the same deadline, put off by so many seconds."""
        return replace(self, end=self.end + seconds)

    def left(self) -> float:
        """Return the seconds that are left, negative when it has passed."""
        return self.end - time.monotonic()


def was_refused(error: requests.ConnectionError) -> bool:
    """Whether no connection could be made: nothing listens there, or there is no such host."""
    from urllib3.exceptions import ProxyError  # rarely needed

    cause = error.args[0] if error.args else None
    reason = getattr(cause, "reason", cause)
    if isinstance(reason, ProxyError):
        reason = reason.original_error
    return isinstance(reason, NewConnectionError)
