"""REST APIs of CI hosts: one session, complete paging, limited waiting, and a token that is sent nowhere else.

Subclasses add what differs between hosts (names, refusals, rate limits).
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Final, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from turncheck import __version__
from turncheck.ci.host import HostError
from turncheck.messages.plain_text import log_line, one_line
from turncheck.process.screen import Console, duration
from turncheck.web.addresses import HOW_TO_TRUST, Network, address_of, is_same_server, is_untrusted
from turncheck.web.exchange import (
    AnswerTooLargeError,
    Call,
    Redirect,
    RedirectRefusedError,
    copy_body,
    exchange,
    only_safe_redirects,
    read_body,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests

    from turncheck.process.environment import Secret

_Kind = TypeVar("_Kind")

PER_PAGE: Final = 100
FIRST_WAIT: Final = 2.0
SECONDARY_WAIT: Final = 60.0
_SECONDS: Final = 60.0
"""For a response with its complete body."""
_DOWNLOAD_SECONDS: Final = 300.0
_ATTEMPTS: Final = 5
OUT_OF_REACH: Final[set[str]] = set()
"""The APIs that did not answer a call of this process, however often it was tried: the next call is tried once."""
_JSON_LIMIT: Final = 64 * 1024 * 1024
_REASON_LIMIT: Final = 1024 * 1024
_MOST_PAGES: Final = 10_000
_MOST_PAGES_OF_COMMENTS: Final = 100
ASKING: Final = 300.0
PUBLISHING: Final = 300.0
"""Seconds that all calls of a run may take together: to find what it is compared with, and to publish its result."""
_LONG: Final = 10.0
"""After so many seconds a call is named that has no answer yet."""
_LEAST: Final = 1.0
_LONGEST_LINE: Final = 500
_BUSY: Final = frozenset({500, 502, 503, 504})


class RestError(HostError):
    """The API could not be asked, or refused. ``status`` is that of its response, ``None`` if there was none."""

    def __init__(self, what: str, *, status: int | None = None, hint: str | None = None) -> None:
        super().__init__(what, hint=hint)
        self.status = status


class RefusedError(RestError):
    """The token lacks the permission."""

    forbidden = True


class NotFoundError(RestError):
    """It does not exist, no longer exists, or the token may not see it (404, 410)."""


class AnswerLostError(RestError):
    """A request that creates something was sent, and whether it succeeded is unknown: check before sending it again."""


class TooLargeError(RestError):
    """The response is larger than the limit."""


def _say(text: str) -> None:
    Console().note(log_line(one_line(text, _LONGEST_LINE)))  # it may quote what the host says


class RetryBudget(Struct):
    """How long all calls may take together, with the waiting between them, in seconds.

    ``say`` is called with what is being waited for. It, clock and sleep can be replaced in tests.
    """

    left: float = 300.0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = _say
    spent: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be asked."""
        return self.left <= 0 < self.spent

    @property
    def used_up(self) -> str:
        """Why nothing more is asked."""
        return f"all calls together have taken {self.spent:.0f} s, and may not take longer"

    def limit(self, seconds: float) -> float:
        """Return how long a call may take that by itself may take this long."""
        return min(seconds, max(self.left, _LEAST))

    def wait(self, seconds: float, why: str) -> bool:
        """Say why, and wait; or return False at once if that would take longer than what is left."""
        if seconds > self.left:
            return False
        self.say(f"{why}: waiting for {duration(seconds)}")
        self.spend(seconds)
        self.sleep(seconds)
        return True

    def spend(self, seconds: float) -> None:
        """Count time that a call has taken, with or without success."""
        self.spent += seconds
        self.left = max(0.0, self.left - seconds)

    @contextmanager
    def watched(self, call: str) -> Iterator[None]:
        """Count the time of a call, and name it if it takes long."""
        begun = time.monotonic()
        timer = threading.Timer(_LONG, self.say, [f"Waiting for an answer to {call}"])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self.spend(time.monotonic() - begun)


class Request(Struct, frozen=True):
    """A request: ``needs`` is the permission that the token must have, in the host's own words."""

    method: str
    url: str
    body: Any = None
    accept: str = "application/json"
    needs: str | None = None
    seconds: float = _SECONDS
    elsewhere: bool = False
    """Whether another server may serve it: downloads are often stored elsewhere."""

    @property
    def called(self) -> str:
        """Its name in messages, without query and token."""
        address = address_of(self.url)
        return f"{self.method} {address.path if address else 'what is not an address'}"

    @property
    def creates(self) -> bool:
        """Whether sending it twice would have its effect twice."""
        return self.method == "POST"

    def follows(self, hop: Redirect) -> str | None:
        """Why a redirect is not followed: a request that changes something is only redirected with its method and
        body."""
        if hop.method == "GET" and self.elsewhere:
            return only_safe_redirects(hop)
        if not is_same_server(hop.source, hop.target):
            return f"{hop.target.partition('?')[0]}, which is another server"
        if hop.method == "GET" or hop.status in {307, 308}:
            return None
        return f"{hop.target.partition('?')[0]}, which is not followed with {hop.method}"


class RestClient:
    """Asks the API of one host.

    Args:
        api_url: prefix of every path, without a slash at the end.
        token: only sent to that host; other hosts, to which downloads are redirected, never see it.
        patience: limits the waiting for rate limits and server errors.
        network: how the host is reached.
    """

    host: ClassVar[str]
    accepts: ClassVar[str] = "application/json"
    refuses_with: ClassVar[frozenset[int]] = frozenset()
    """Statuses below 400 that nevertheless refuse a request."""

    def __init__(
        self,
        api_url: str,
        token: Secret | None,
        patience: RetryBudget | None = None,
        network: Network | None = None,
    ) -> None:
        from turncheck.web.timed import session  # only where something is asked

        self.api_url = api_url
        self.token = token
        self.patience = patience or RetryBudget()
        self._session = session(network)
        self._session.headers["User-Agent"] = f"turncheck/{__version__}"

    # --- what is each host's own -------------------------------------------------------------------------------------

    def credentials(self) -> dict[str, str]:
        """Return the headers that only the API's own server gets."""
        return {"Authorization": f"Bearer {self.token.reveal()}"} if self.token is not None else {}

    def message_of(self, document: Any) -> str:
        """Return the host's own message in the response that refuses a request; "" if it has none."""
        return str(document.get("message") or "") if isinstance(document, dict) else ""

    def advised_wait(self, answer: requests.Response, message: str, attempt: int) -> float | None:  # noqa: ARG002
        """Return the seconds to wait after a 403 or 429; ``None`` if that would not help."""
        after = answer.headers.get("retry-after", "")
        if after.isdecimal():
            return float(after)
        return float(SECONDARY_WAIT * 2**attempt) if answer.status_code == 429 else None

    def refusal(self, status: int, message: str, trouble: str, request: Request) -> RestError:  # noqa: ARG002
        """Return the error for a response that refuses a request."""
        if status in {404, 410}:
            return NotFoundError(trouble, status=status)
        if status == 401:
            return RestError(trouble, status=status, hint="The token is wrong or has expired.")
        if status == 403:
            hint = f"The token must be allowed to: {request.needs}." if request.needs else None
            return RefusedError(trouble, status=status, hint=hint)
        return RestError(trouble, status=status)

    def following(self, page: Any, answer_links: Mapping[str, Any]) -> str | None:  # noqa: ARG002
        """Return the address of the next page."""
        url = answer_links.get("next", {}).get("url")
        return str(url) if url else None

    # --- what is asked -----------------------------------------------------------------------------------------------

    def get(self, path: str, kind: type[_Kind], *, needs: str | None = None, **parameters: Any) -> _Kind:
        """Return the document at a path, as the type it must have.

        Raises:
            RestError: it cannot be had; :class:`NotFoundError`, :class:`RefusedError` where that is why.
        """
        request = self._request("GET", path, parameters, needs=needs)
        return self._as(kind, self._json(request)[0], request)

    def pages(
        self, path: str, kind: type[_Kind], *, listed: str | None = None, needs: str | None = None, **parameters: Any
    ) -> Iterator[_Kind]:
        """Return every item of a list, page after page; ``listed`` where the list is in an object.

        Raises:
            RestError: as :meth:`get`; also for an answer that is not a list.
        """
        return self._pages(self._request("GET", path, parameters, needs=needs), kind, listed, _MOST_PAGES)

    def comments(
        self, path: str, kind: type[_Kind], *, listed: str | None = None, needs: str | None = None, **parameters: Any
    ) -> Iterator[_Kind]:
        """Return every comment of a list, as :meth:`pages`: one's own are among the first ones, and nobody reads more.

        Raises:
            RestError: as :meth:`pages`; also for more than 100 pages.
        """
        return self._pages(self._request("GET", path, parameters, needs=needs), kind, listed, _MOST_PAGES_OF_COMMENTS)

    def _pages(self, request: Request, kind: type[_Kind], listed: str | None, most: int) -> Iterator[_Kind]:
        seen = {request.url}
        while True:
            page, url = self._json(request)
            items = page.get(listed) if listed is not None and isinstance(page, dict) else page
            if not isinstance(items, list):
                raise RestError(f"{self.host}'s answer to {request.called} is not a list")
            for item in items:
                yield self._as(kind, item, request)
            if url is None:
                return
            if url in seen or len(seen) >= most:
                raise RestError(f"{self.host}'s answer to {request.called} has no end ({len(seen):,} pages)")
            seen.add(url)
            request = Request("GET", url, accept=self.accepts, needs=request.needs)

    def post(self, path: str, body: Any, kind: type[_Kind], *, needs: str | None = None) -> _Kind:
        """Create something, and return it.

        Raises:
            AnswerLostError: it may have been created or not.
            RestError: it was not.
        """
        request = self._request("POST", path, body=body, needs=needs)
        return self._as(kind, self._json(request)[0], request)

    def patch(self, path: str, body: Any, *, needs: str | None = None) -> None:
        """Change something.

        Raises:
            RestError: as :meth:`get`.
        """
        self._json(self._request("PATCH", path, body=body, needs=needs))

    def put(self, path: str, body: Any, *, needs: str | None = None) -> None:
        """Replace something.

        Raises:
            RestError: as :meth:`get`.
        """
        self._json(self._request("PUT", path, body=body, needs=needs))

    def delete(self, path: str, *, needs: str | None = None) -> None:
        """Remove something.

        Raises:
            RestError: as :meth:`get`.
        """
        self._json(self._request("DELETE", path, needs=needs))

    def download(
        self, path: str, file: BinaryIO, limit: int, /, *, needs: str | None = None, **parameters: Any
    ) -> None:
        """Write what a path leads to into ``file``, at most ``limit`` bytes.

        Raises:
            TooLargeError: there is more than that; ``file`` holds a part.
            RestError: as :meth:`get`.
        """
        url = self._url(path, parameters)
        request = Request("GET", url, accept="*/*", needs=needs, seconds=_DOWNLOAD_SECONDS, elsewhere=True)

        def read(answer: requests.Response) -> None:
            file.seek(0)  # an earlier attempt may have left a part
            file.truncate()
            copy_body(answer, file, limit)

        self._send(request, read)

    # --- how it is sent ----------------------------------------------------------------------------------------------

    def _request(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        body: Any = None,
        needs: str | None = None,
    ) -> Request:
        return Request(method, self._url(path, parameters), body, accept=self.accepts, needs=needs)

    def _url(self, path: str, parameters: Mapping[str, Any] | None = None) -> str:
        given = {name: value for name, value in (parameters or {}).items() if value is not None}
        query = urlencode(given, doseq=True, errors="replace")  # a branch's name need not be UTF-8
        return f"{self.api_url}{path}" + (f"?{query}" if query else "")

    def _json(self, request: Request) -> tuple[Any, str | None]:
        """Return the document and the address of the next page."""

        def read(answer: requests.Response) -> tuple[bytes, Mapping[str, Any]]:
            return read_body(answer, _JSON_LIMIT), answer.links

        content, links = self._send(request, read)
        if not content:
            return None, None
        try:
            document = msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise RestError(f"{self.host}'s answer to {request.called} is not JSON") from None
        following = self.following(document, links)
        if following is not None and not is_same_server(following, self.api_url):
            raise RestError(f"{self.host}'s answer to {request.called} continues on another host")
        return document, following

    def _send(self, request: Request, read: Callable[[requests.Response], _Kind]) -> _Kind:
        """Send it until there is a usable response, and read that."""
        import requests
        from urllib3.exceptions import HTTPError

        trouble, answered = "", False
        attempts = 1 if self.api_url in OUT_OF_REACH else _ATTEMPTS
        for attempt in range(attempts):
            wait = float(FIRST_WAIT * 2**attempt)
            if self.patience.is_over:
                raise RestError(f"{self.host} cannot be reached for {request.called}: {self.patience.used_up}")
            seconds, answered = self.patience.limit(request.seconds), False
            try:
                with (
                    self.patience.watched(f"{request.called} ({self.host})"),
                    exchange(self._session, self._call(request), seconds, follow=request.follows) as answer,
                ):
                    answered = True
                    OUT_OF_REACH.discard(self.api_url)
                    if answer.ok and answer.status_code not in self.refuses_with:
                        return read(answer)
                    message = self._words_of(answer)
            except AnswerTooLargeError as error:
                raise TooLargeError(f"what {request.called} gives {error}") from None
            except RedirectRefusedError as error:
                raise RestError(f"{self.host} redirects {request.called} to {error}") from None
            except requests.exceptions.ConnectTimeout as error:
                trouble = self._unreachable(request, error)  # nothing was sent
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                trouble = self._unreachable(request, error)
                if request.creates:
                    raise AnswerLostError(trouble) from None
            except (requests.RequestException, HTTPError, OSError, ValueError) as error:
                # An invalid proxy or certificate file, say. Its message may quote the token.
                raise RestError(f"{request.called} cannot be sent ({type(error).__name__})") from None
            else:
                trouble = f"{self.host} answers {answer.status_code} to {request.called}: {message}"
                if answer.status_code in _BUSY and request.creates:
                    raise AnswerLostError(trouble, status=answer.status_code)
                advised = self._wait_of(answer, message, attempt)
                if advised is None:
                    raise self.refusal(answer.status_code, message, trouble, request)
                wait = advised
            if attempt + 1 < attempts and not self.patience.wait(wait, f"{trouble}, attempt {attempt + 1}"):
                raise RestError(f"{trouble} (waiting {wait:.0f} s more would be too long)")
        raise self._given_up(trouble, attempts, answered=answered)

    def _given_up(self, trouble: str, attempts: int, *, answered: bool) -> RestError:
        if not answered:
            OUT_OF_REACH.add(self.api_url)
        return RestError(f"{trouble} (tried {attempts} times)" if attempts > 1 else trouble)

    def _call(self, request: Request) -> Call:
        headers = {"Accept": request.accept}
        body = None
        if request.body is not None:
            body = msgspec.json.encode(request.body)
            headers["Content-Type"] = "application/json"
        return Call(request.method, request.url, headers, credentials=self.credentials(), body=body)

    def _wait_of(self, answer: requests.Response, message: str, attempt: int) -> float | None:
        """Seconds to wait before trying again; ``None`` if that would not help."""
        if answer.status_code in _BUSY:
            return float(FIRST_WAIT * 2**attempt)
        return self.advised_wait(answer, message, attempt) if answer.status_code in {403, 429} else None

    def _as(self, kind: type[_Kind], document: Any, request: Request) -> _Kind:
        try:
            return typed(document, kind)
        except (msgspec.ValidationError, RecursionError) as error:
            raise RestError(f"{self.host}'s answer to {request.called} is not what it should be: {error}") from None

    def _unreachable(self, request: Request, error: Exception) -> str:
        """Say that there was no answer.

        Raises:
            RestError: the certificate is not trusted: nothing was sent, and trying again does not help.
        """
        if is_untrusted(error):
            raise RestError(
                f"the certificate of {self.host} is not trusted, so {request.called} cannot be sent: {HOW_TO_TRUST}"
            ) from None
        return f"{self.host} cannot be reached for {request.called} ({type(error).__name__})"

    def _words_of(self, answer: requests.Response) -> str:
        """The host's own message, shortened; an error page of a proxy has none."""
        try:
            words = self.message_of(msgspec.json.decode(read_body(answer, _REASON_LIMIT)))
        except (AnswerTooLargeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            words = ""
        return words[:500] or answer.reason or "no reason given"
