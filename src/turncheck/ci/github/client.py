"""GitHub's REST API: one session, paging to the end, bounded patience, and a token that goes nowhere else.

Rules for retries and limits: GitHub's "Rate limits for the REST API" and "Best practices for using the REST API".
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from turncheck import __version__
from turncheck.ci.github.errors import (
    SEES_PRIVATE,
    AnswerLostError,
    GitHubError,
    MissingPermissionError,
    NotFoundError,
    TooLargeError,
)
from turncheck.web.addresses import origin_of
from turncheck.web.exchange import (
    AnswerTooLargeError,
    Call,
    Hop,
    RedirectRefusedError,
    copy_body,
    exchange,
    read_body,
    to_safe,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests

    from turncheck.process.secret import Secret
    from turncheck.web.network import Network

_Kind = TypeVar("_Kind")

PER_PAGE: Final = 100
_SECONDS: Final = 60.0
"""For an answer with all its content."""
_DOWNLOAD_SECONDS: Final = 300.0
_ATTEMPTS: Final = 5
_FIRST_WAIT: Final = 2.0
_SECONDARY_WAIT: Final = 60.0
_JSON_LIMIT: Final = 64 * 1024 * 1024
_REASON_LIMIT: Final = 1024 * 1024
_BUSY: Final = frozenset({500, 502, 503, 504})


@dataclass(slots=True)
class Patience:
    """How long all waiting may take together, in seconds; clock and sleep are given, for tests."""

    left: float = 300.0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def wait(self, seconds: float) -> bool:
        """Wait, or return False at once where that would take longer than is left."""
        if seconds > self.left:
            return False
        self.left -= seconds
        self.sleep(seconds)
        return True


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    body: Any = None
    accept: str = "application/vnd.github+json"
    needs: str | None = None
    """The line under ``permissions:`` that this takes."""
    seconds: float = _SECONDS

    @property
    def called(self) -> str:
        """How it is named in messages: no query, no token."""
        return f"{self.method} {urlsplit(self.url).path}"

    @property
    def creates(self) -> bool:
        """Whether sending it twice would do it twice."""
        return self.method == "POST"


class GitHubClient:
    """Asks the API of one host.

    Args:
        api_url: ``GITHUB_API_URL``, without a slash at the end.
        token: sent to that host alone; other hosts, to which downloads are redirected, never see it.
        patience: bounds the waiting for rate limits and for a server in trouble.
        network: how the host is reached.
    """

    def __init__(
        self,
        api_url: str,
        token: Secret | None,
        patience: Patience | None = None,
        network: Network | None = None,
    ) -> None:
        from turncheck.web.timed import session  # only where something is asked

        self.api_url = api_url
        self.token = token
        self.patience = patience or Patience()
        self._session = session(network)
        self._session.headers["User-Agent"] = f"turncheck/{__version__}"

    def get(self, path: str, kind: type[_Kind], *, needs: str | None = None, **parameters: Any) -> _Kind:
        """Return the document at a path, as the type it must have.

        Raises:
            GitHubError: it cannot be had; :class:`NotFoundError`, :class:`MissingPermissionError` where that is why.
        """
        request = _Request("GET", self._url(path, parameters), needs=needs)
        return _as(kind, self._json(request)[0], request)

    def pages(
        self, path: str, kind: type[_Kind], *, key: str | None = None, needs: str | None = None, **parameters: Any
    ) -> Iterator[_Kind]:
        """Return every item of a list, page after page as ``Link`` names them; ``key`` where the list is in an object.

        Raises:
            GitHubError: as :meth:`get`; also for a list that is none.
        """
        url: str | None = self._url(path, {"per_page": PER_PAGE, **parameters})
        while url is not None:
            request = _Request("GET", url, needs=needs)
            page, url = self._json(request)
            items = page.get(key) if key is not None and isinstance(page, dict) else page
            if not isinstance(items, list):
                raise GitHubError(f"GitHub's answer to {request.called} is no list")
            for item in items:
                yield _as(kind, item, request)

    def post(self, path: str, body: Mapping[str, Any], kind: type[_Kind], *, needs: str | None = None) -> _Kind:
        """Create something, and return it.

        Raises:
            AnswerLostError: it may have been created or not.
            GitHubError: it was not.
        """
        request = _Request("POST", self._url(path), body, needs=needs)
        return _as(kind, self._json(request)[0], request)

    def patch(self, path: str, body: Mapping[str, Any], *, needs: str | None = None) -> None:
        """Change something.

        Raises:
            GitHubError: as :meth:`get`.
        """
        self._json(_Request("PATCH", self._url(path), body, needs=needs))

    def delete(self, path: str, *, needs: str | None = None) -> None:
        """Remove something.

        Raises:
            GitHubError: as :meth:`get`.
        """
        self._json(_Request("DELETE", self._url(path), needs=needs))

    def download(self, path: str, file: BinaryIO, limit: int, *, needs: str | None = None) -> None:
        """Write what a path leads to into ``file``, at most ``limit`` bytes.

        Raises:
            TooLargeError: there is more than that; ``file`` holds a part.
            GitHubError: as :meth:`get`.
        """
        request = _Request("GET", self._url(path), accept="*/*", needs=needs, seconds=_DOWNLOAD_SECONDS)

        def read(answer: requests.Response) -> None:
            file.seek(0)  # an attempt before may have left a part
            file.truncate()
            copy_body(answer, file, limit)

        self._send(request, read)

    def _url(self, path: str, parameters: Mapping[str, Any] | None = None) -> str:
        given = {name: value for name, value in (parameters or {}).items() if value is not None}
        query = urlencode(given, errors="replace")  # a branch's name need not be UTF-8
        return f"{self.api_url}{path}" + (f"?{query}" if query else "")

    def _json(self, request: _Request) -> tuple[Any, str | None]:
        """Return the document and the address of the next page."""

        def read(answer: requests.Response) -> tuple[bytes, str | None]:
            return read_body(answer, _JSON_LIMIT), answer.links.get("next", {}).get("url")

        content, following = self._send(request, read)
        if not content:
            return None, None
        try:
            document = msgspec.json.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise GitHubError(f"GitHub's answer to {request.called} is not JSON") from None
        if following is not None and origin_of(following) != origin_of(self.api_url):
            raise GitHubError(f"GitHub's answer to {request.called} continues on another host")
        return document, following

    def _send(self, request: _Request, read: Callable[[requests.Response], _Kind]) -> _Kind:
        """Send it until there is an answer to go on with, and read that."""
        import requests
        from urllib3.exceptions import HTTPError

        trouble = ""
        for attempt in range(_ATTEMPTS):
            wait = float(_FIRST_WAIT * 2**attempt)
            try:
                with exchange(self._session, self._call(request), request.seconds, follow=_next_address) as answer:
                    if answer.ok:
                        return read(answer)
                    message = _message_of(answer)
            except AnswerTooLargeError as error:
                raise TooLargeError(f"what {request.called} gives {error}") from None
            except RedirectRefusedError as error:
                raise GitHubError(f"GitHub redirects {request.called} to {error}") from None
            except requests.exceptions.ConnectTimeout as error:
                trouble = _unreachable(request, error)  # nothing was sent
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                trouble = _unreachable(request, error)
                if request.creates:
                    raise AnswerLostError(trouble) from None
            except (requests.RequestException, HTTPError, OSError, ValueError) as error:
                # A proxy or a file of certificates that is none, say. Their own words may quote the token.
                raise GitHubError(f"{request.called} cannot be sent ({type(error).__name__})") from None
            else:
                trouble = f"GitHub answers {answer.status_code} to {request.called}: {message}"
                if answer.status_code in _BUSY and request.creates:
                    raise AnswerLostError(trouble, status=answer.status_code)
                advised = self._wait_of(answer, message, attempt)
                if advised is None:
                    raise _refusal(answer.status_code, message, trouble, request)
                wait = advised
            if attempt + 1 < _ATTEMPTS and not self.patience.wait(wait):
                raise GitHubError(f"{trouble} (waiting {wait:.0f} s more would be too long)")
        raise GitHubError(f"{trouble} (tried {_ATTEMPTS} times)")

    def _call(self, request: _Request) -> Call:
        own = {"X-GitHub-Api-Version": "2022-11-28"}
        if self.token is not None:
            own["Authorization"] = f"Bearer {self.token.reveal()}"
        headers = {"Accept": request.accept}
        body = None
        if request.body is not None:
            body = msgspec.json.encode(request.body)
            headers["Content-Type"] = "application/json"
        return Call(request.method, request.url, headers, credentials=own, body=body)

    def _wait_of(self, answer: requests.Response, message: str, attempt: int) -> float | None:
        """Seconds to wait before trying again; ``None`` where that would not help."""
        if answer.status_code in _BUSY:
            return float(_FIRST_WAIT * 2**attempt)
        if answer.status_code not in {403, 429}:
            return None
        after = answer.headers.get("retry-after", "")
        if after.isdecimal():
            return float(after)
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
            return max(1.0, float(reset) - self.patience.clock() + 1.0)
        if answer.status_code == 429 or "secondary rate limit" in message.lower():
            return float(_SECONDARY_WAIT * 2**attempt)
        return None


def _as(kind: type[_Kind], document: Any, request: _Request) -> _Kind:
    try:
        return msgspec.convert(document, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise GitHubError(f"GitHub's answer to {request.called} is not what it should be: {error}") from None


def _refusal(status: int, message: str, trouble: str, request: _Request) -> GitHubError:
    if status in {404, 410}:
        return NotFoundError(trouble, status=status, remedy=SEES_PRIVATE if status == 404 else None)
    if status == 401:
        return GitHubError(trouble, status=status, remedy="The token is wrong or has expired.")
    if status == 403 and "resource not accessible" in message.lower():
        return MissingPermissionError(trouble, needs=request.needs)
    return GitHubError(trouble, status=status)


def _unreachable(request: _Request, error: Exception) -> str:
    return f"GitHub cannot be reached for {request.called} ({type(error).__name__})"


def _next_address(hop: Hop) -> str | None:
    """What changes something is followed only to where it is sent whole again: on the same server."""
    if hop.method == "GET":
        return to_safe(hop)
    same = hop.status in {307, 308} and origin_of(hop.source) == origin_of(hop.target)
    return None if same else f"{hop.target.partition('?')[0]}, which is not followed with {hop.method}"


def _message_of(answer: requests.Response) -> str:
    """GitHub's own words, shortened; an error page of something in between has none."""
    try:
        document = msgspec.json.decode(read_body(answer, _REASON_LIMIT))
    except (AnswerTooLargeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return answer.reason or "no reason given"
    if not isinstance(document, dict):
        return answer.reason or "no reason given"
    errors = document.get("errors")
    listed = [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []
    details = [str(error.get("message") or error.get("code") or "") for error in listed]
    told = "; ".join(part for part in (str(document.get("message") or ""), *details[:3]) if part)
    return told[:500] or answer.reason or "no reason given"
