"""One exchange with a server: sent, redirected as far as allowed, read up to a limit.

Credentials (a token, a login) are only sent to the server that they were given for: never to another host, port or
scheme, wherever it redirects to. Nothing goes from https to plain http.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, TypeVar
from urllib.parse import urljoin

import msgspec

from turncheck.messages.errors import UserError
from turncheck.web.addresses import HOW_TO_TRUST, Network, is_http, is_https, is_reference, is_safe, is_same_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests


MOST_REDIRECTS: Final = 5
CONNECT_SECONDS: Final = 10.0
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_MOVED_TO_GET: Final = frozenset({301, 302, 303})
_CHUNK: Final = 1 << 16


class RedirectRefusedError(Exception):
    """The server redirects to an address that is not followed; the message is the end of a sentence: "redirects to
    …"."""


class AnswerTooLargeError(Exception):
    """The response is larger than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"is larger than {limit >> 20} MiB")
        self.limit = limit


class Redirect(NamedTuple):
    """A redirect: the call that was redirected and the target."""

    method: str
    status: int
    source: str
    target: str


def to_https(hop: Redirect) -> str | None:
    """Follow only redirects to https."""
    return None if is_https(hop.target) else "an address that is not https"


def only_safe_redirects(hop: Redirect) -> str | None:
    """Follow only redirects to https or to this machine."""
    return None if is_safe(hop.target) else "an address that is not https"


def anywhere(hop: Redirect) -> str | None:  # noqa: ARG001 - one of several
    """Follow every redirect."""
    return None


@dataclass(frozen=True, slots=True)
class Call:
    """What is sent. ``credentials`` are headers that only the server of the first address gets; ``login`` likewise.

    ``query`` also belongs only to the first address.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    login: tuple[str, str] | None = field(default=None, repr=False)
    query: Mapping[str, str] | str = field(default="", repr=False)
    body: bytes | None = field(default=None, repr=False)


@contextmanager
def exchange(
    session: requests.Session,
    call: Call,
    seconds: float,
    *,
    follow: Callable[[Redirect], str | None] | None = None,
    connect: float = CONNECT_SECONDS,
    silence: float | None = None,
    most_redirects: int = MOST_REDIRECTS,
) -> Iterator[requests.Response]:
    """Send a call and yield the response, its body not read yet; the whole block ends within ``seconds``.

    Args:
        session: from :func:`turncheck.web.timed.session`.
        call: what is sent.
        seconds: the limit of everything: connecting, redirects, the body.
        follow: returns why a redirect is not followed; without it a redirect is a response like any other.
        connect: seconds until the connection has to be made.
        silence: seconds that the server may send nothing, if that is less than all of them.
        most_redirects: how many are followed at most.

    Raises:
        RedirectRefusedError: the target is not followed.
        requests.RequestException: there is no response, or not in time.
    """
    from turncheck.web.timed import within  # imports requests

    limits = (min(connect, seconds), seconds if silence is None else min(silence, seconds))
    with within(seconds):
        answer = _sent(session, call, call.method, call.url, limits)
        try:
            url, method = call.url, call.method
            for _ in range(most_redirects):
                target = answer.headers.get("Location")
                if follow is None or answer.status_code not in _MOVED or not target:
                    break
                hop = Redirect(method, answer.status_code, url, _joined(url, target))
                if refusal := _refused(hop) or follow(hop):
                    raise RedirectRefusedError(refusal)
                answer.close()
                url, method = hop.target, _next_method(hop)
                answer = _sent(session, call, method, url, limits)
            else:
                raise RedirectRefusedError("one address after another")
            yield answer
        finally:
            answer.close()


def _refused(hop: Redirect) -> str | None:
    if not is_http(hop.target):
        return "what is not an http address"
    if is_https(hop.source) and not is_https(hop.target):
        return "an address that is not https"
    return None


def _next_method(hop: Redirect) -> str:
    return "GET" if hop.status in _MOVED_TO_GET and hop.method != "HEAD" else hop.method


def _joined(url: str, target: str) -> str:
    try:
        return urljoin(url, target) if is_reference(target) else ""  # which would leave some characters out
    except ValueError:
        return ""


def _sent(
    session: requests.Session, call: Call, method: str, url: str, limits: tuple[float, float]
) -> requests.Response:
    import requests  # the session's owner has

    own = is_same_server(url, call.url)
    options: dict[str, Any] = {}
    if own and call.login is not None:
        options["auth"] = call.login
    if url == call.url:
        options["params"] = call.query
    try:
        return session.request(
            method,
            url,
            headers={**call.headers, **(call.credentials if own else {})},
            data=call.body if method == call.method else None,
            timeout=limits,
            allow_redirects=False,
            stream=True,
            **options,
        )
    except requests.RequestException:
        raise
    except OSError as error:  # the file with trusted certificates is missing or invalid
        raise requests.exceptions.SSLError(str(error)) from error


def read_body(answer: requests.Response, limit: int) -> bytes:
    """Return the body of a response.

    Raises:
        AnswerTooLargeError: that is more than ``limit`` bytes.
    """
    body = bytearray()
    for chunk in _chunks(answer, limit):
        body += chunk
    return bytes(body)


def copy_body(answer: requests.Response, file: BinaryIO, limit: int) -> None:
    """Write the body of a response into a file.

    Raises:
        AnswerTooLargeError: that is more than ``limit`` bytes; ``file`` holds a part.
    """
    file.writelines(_chunks(answer, limit))


def _chunks(answer: requests.Response, limit: int) -> Iterator[bytes]:
    size = 0
    for chunk in answer.iter_content(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise AnswerTooLargeError(limit)
        yield chunk


def seconds_to_wait(retry_after: str, now: float) -> float | None:
    """Read ``Retry-After``: seconds, or a date (RFC 9110, 10.2.3); ``now``: the time since the epoch."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:300])  # more digits are no other answer: nobody waits so long
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def fetch(url: str, network: Network, *, seconds: float, limit: int) -> tuple[int, bytes]:
    """Fetch an address, and return the status and the body of the response.

    Raises:
        RedirectRefusedError: it redirects to an address that is not https.
        AnswerTooLargeError: there is more than ``limit`` bytes.
        requests.RequestException: there is no complete response within ``seconds``.
    """
    from turncheck.web.timed import session  # imports requests

    with session(network) as one, exchange(one, Call("GET", url), seconds, follow=to_https) as answer:
        return answer.status_code, read_body(answer, limit)


# Values of declared types from decoded JSON, in any number of threads.

Shape = TypeVar("Shape")
_LEARNING: Final = Lock()
_learnt: set[type[Any]] = set()


def typed(value: Any, shape: type[Shape]) -> Shape:
    """Return a decoded value as a value of this type.

    msgspec inspects a class when it first meets it. If two threads meet it at once, the second one sees half-finished
    information, and the process ends with a segmentation fault (seen with 0.22). So one thread inspects it before any
    converts.

    Raises: msgspec.ValidationError: it has another shape.
    """
    if shape not in _learnt:
        with _LEARNING:
            msgspec.json.Decoder(shape)
            _learnt.add(shape)
    return msgspec.convert(value, shape)


# Fetches the story file that ``--url`` names: only over https or from this machine, with limits of size and time.

LARGEST: Final = 10 << 20
SECONDS: Final = 30.0
"""Total time for the download, in seconds."""


def download(url: str, network: Network) -> bytes:
    """Fetch a file, following redirects to other https addresses.

    Raises:
        UserError: it is neither an https address nor one of this machine, cannot be reached, takes too long or holds
            too much.
    """
    import requests  # only for --url
    from urllib3.exceptions import HTTPError

    if not (is_http(url) and is_safe(url)):
        hint = "Give one that begins with https://; http:// is enough for a server on this machine."
        raise UserError("the address of --url is not an https address", hint=hint)
    try:
        status, body = fetch(url, network, seconds=SECONDS, limit=LARGEST)
    except RedirectRefusedError as error:
        raise UserError(f"the address of --url redirects to {error}") from None
    except AnswerTooLargeError as error:
        raise UserError(f"the file at --url {error}") from None
    except requests.exceptions.SSLError:
        raise UserError(
            "the certificate of --url is not trusted",
            hint=f"{HOW_TO_TRUST[0].upper()}{HOW_TO_TRUST[1:]}.",
        ) from None
    except requests.Timeout:
        raise UserError(f"the address of --url gave no complete answer within {SECONDS:g} seconds") from None
    except (requests.RequestException, HTTPError, OSError) as error:
        raise UserError(f"the address of --url cannot be reached: {type(error).__name__}") from None
    if status != 200:
        raise UserError(f"the address of --url answers with status {status}")
    return body
