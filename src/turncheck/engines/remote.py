"""Calls the server of an assistant: bounded in time and number, repeated if that is safe, with failures in words."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Final

import msgspec
import requests
from urllib3.exceptions import HTTPError

from turncheck.engines.masking import Masks
from turncheck.messages.errors import EngineError, TransientError, UserError
from turncheck.web.addresses import HOW_TO_TRUST, Network, is_untrusted, origin_of, without_login
from turncheck.web.exchange import AnswerTooLargeError, Call, exchange, read_body, seconds_to_wait
from turncheck.web.timed import Deadline, session, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


TIMEOUT: Final = 60.0
"""Seconds for one answer."""
CONNECT_TIMEOUT: Final = 5.0
"""Seconds until a server that was never reached must be there, and must speak TLS if its address says so."""
_PROBE_SECONDS: Final = 3.0
ATTEMPTS: Final = 3
PAUSE: Final = 0.5
"""Seconds before the second attempt; doubled for each further one."""
LONGEST_WAIT: Final = 600.0
"""Seconds of a run in which calls wait because the server asks for it, however many at the same time."""
SHOWN: Final = 200
"""The most characters of an answer that a message shows."""
_PASSING: Final = {502, 503, 504}
"""Statuses that may be temporary."""


class UnreadableError(ValueError):
    """An answer has an unexpected shape; the message says where."""


class ServerError(EngineError):
    """The server cannot be reached, refuses, or fails: nothing more can be measured with it.

    ``attempts``: how often a call that ends this way is made, if it may be repeated.
    """

    attempts = 1


class CutError(ServerError, TransientError):
    """The connection was cut, or the server failed: this may be temporary."""

    attempts = ATTEMPTS


class FaultError(CutError):
    """The server had an internal error."""

    attempts = 2


class SlowAnswerError(ServerError):
    """The server did not answer in time."""

    attempts = ATTEMPTS


class BusyError(CutError):
    """The server takes no more calls for now; ``wait``: for how many seconds, if it says so.

    It has not dealt with the call, which may be sent again whatever it asks for.
    """

    wait: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One call. ``path``: below the server's address, with its query; ``shown``: as in messages.

    ``credentials`` are headers, ``secret_query`` belongs to the query: neither is shown. ``repeatable``: sending it
    twice does no harm.
    """

    method: str
    path: str
    shown: str
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    repeatable: bool = True


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered; ``wait``: seconds after which it may be asked again, if it says so.

    ``asked`` and ``came``: when the call was sent, and when all of the answer was there, in seconds of a clock that
    never jumps.
    """

    status: int
    reason: str
    leads_to: str
    body: bytes
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    wait: float | None = None
    asked: float = 0.0
    came: float = 0.0


class RemoteClient:
    """A server's API. May be used by several threads; no more than ``at_once`` calls are under way together.

    ``noun``: what it is, as in messages; ``name``: its address without name and password. ``ended`` returns, for a
    server that is a process of ours, why it has ended. ``secrets``, and the login of the address, are in no message and
    in no answer.
    """

    noun = "server"
    most_bytes = 64 << 20

    def __init__(
        self,
        url: str,
        network: Network,
        secrets: Sequence[str] = (),
        *,
        at_once: int = 1,
        timeout: float = TIMEOUT,
        sleep: Callable[[float], None] = time.sleep,
        ended: Callable[[], UserError | None] | None = None,
    ) -> None:
        self._ended = ended
        self.at_once = max(1, at_once)
        self.timeout = timeout
        self._network = network
        self.masks = Masks(secrets, url)
        self._base = url.rstrip("/")
        self.name = without_login(self._base)
        self._sleep = sleep
        self._local = threading.local()
        self._places = threading.BoundedSemaphore(self.at_once)
        self._was_there = False
        self._keeps_connections = True
        self._waited = self._waits_until = 0.0
        self._waiting = threading.Lock()

    def ask(self, question: Question, until: Deadline | None = None) -> Response:
        """Ask, and again if that is safe and may help; waiting as the server asks for does not count as its time.

        Raises:
            ServerError: there is no answer, or one that is not a success.
        """
        attempt, waited = 0, 0.0
        while True:
            try:
                response = self._answer(question, until)
            except requests.ConnectTimeout:
                failure: ServerError = self._not_connected(question, until)
            except requests.Timeout:
                seconds = self.timeout if until is None else until.seconds
                what = f"does not answer {question.shown} within {seconds:g} seconds"
                failure = SlowAnswerError(f"the {self.noun} at {self.name} {what}")
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, HTTPError) as error:
                self._keeps_connections = False  # it may cut those that it offers to keep: each call has its own now
                failure = self._unreachable(error, question)
            except requests.RequestException as error:  # an invalid address, an answer that cannot be decoded
                raise self._failure(question, f"cannot be asked ({type(error).__name__})") from None
            else:
                self._was_there = True
                if self._ended is not None and (ended := self._ended()) is not None:
                    raise CutError(f"{ended.message}, and another process answers at its address", hint=ended.hint)
                if response.status < requests.codes.multiple_choices:
                    return response
                failure = self.refused(response, question)
            attempt += 1
            ended = self._has_ended() if isinstance(failure, CutError) else None
            if ended is not None:
                raise CutError(ended.message, hint=ended.hint)  # of several servers the others are still there
            if isinstance(failure, BusyError):
                pause = self._allowed_wait(failure, attempt, waited)
                waited += pause
                until = None if until is None else until.later(pause)
            else:
                pause = PAUSE * 2 ** (attempt - 1)
                if not question.repeatable or attempt >= failure.attempts:
                    raise failure
                if until is not None and until.left() <= pause:
                    raise failure
            self._sleep(pause)

    def refused(self, response: Response, question: Question) -> ServerError:
        """Return the error for an answer that is not a success."""
        status, what = response.status, f"answers {question.shown} with {response.status}: {self._reason(response)}"
        if status == requests.codes.too_many_requests:
            busy = BusyError(f"the {self.noun} at {self.name} {what}")
            busy.wait = response.wait
            return busy
        kind = CutError if status in _PASSING else FaultError if status == 500 else ServerError
        return kind(f"the {self.noun} at {self.name} {what}")

    def shown(self, text: str, limit: int = SHOWN) -> str:
        """Return the beginning of foreign text, on one line, without the server's credentials."""
        line = " ".join(self.masks.text(text).split())
        printable = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
        return printable if len(printable) <= limit else f"{printable[:limit]}…"

    def redirected(self, response: Response, question: Question) -> ServerError:
        """Return the error for a redirect: none is followed."""
        to = self.shown(without_login(response.leads_to))
        return ServerError(
            f"the {self.noun} at {self.name} answers {question.shown} with a redirect"
            f" ({response.status}{to and f' to {to}'})",
            hint="Give the address that it leads to. If that is a login page, give the server's own address.",
        )

    # --- one attempt --------------------------------------------------------------------------------------------------

    def _answer(self, question: Question, until: Deadline | None) -> Response:
        """Ask once. All of it, including the body, ends before the deadline."""
        limit = self.timeout if until is None else until.left()
        if limit <= 0:
            raise requests.Timeout
        call = Call(
            question.method,
            self._base + question.path,
            question.headers,
            credentials=question.credentials,
            query=question.query,
            body=question.body,
        )
        connect = limit if self._was_there else CONNECT_TIMEOUT
        if not self._keeps_connections:
            self._session.close()
        try:
            with self._places:
                made = self._session
                asked = time.monotonic()
                with exchange(made, call, limit, connect=connect) as answer:
                    content = read_body(answer, self.most_bytes)
                came = time.monotonic()
            body = self.masks.body(content)
        except AnswerTooLargeError:
            raise self.too_large(question) from None
        leads_to = self.masks.text(answer.headers.get("Location", "")).partition("?")[0]
        wait = seconds_to_wait(answer.headers.get("Retry-After", ""), datetime.now(UTC).timestamp())
        return Response(answer.status_code, answer.reason or "", leads_to, body, _cookies(answer), wait, asked, came)

    def too_large(self, question: Question) -> UserError:
        """Return the error for an answer that is larger than the limit."""
        return self._failure(question, f"answers with more than {self.most_bytes >> 20} MiB")

    def _allowed_wait(self, busy: BusyError, attempt: int, waited: float) -> float:
        pause = PAUSE * 2 ** min(attempt, 8) if busy.wait is None else max(busy.wait, PAUSE)
        with self._waiting:
            until = max(self._waits_until, time.monotonic() + pause)
            more = min(pause, until - self._waits_until)  # what is waited for already is not waited for twice
            is_allowed = max(self._waited + more, waited + pause) <= LONGEST_WAIT
            if is_allowed:
                self._waited, self._waits_until = self._waited + more, until
        if not is_allowed:
            asks = "" if busy.wait is None else f" It asks to wait for {busy.wait:,.0f} seconds:"
            what = f"{busy.message}.{asks} a run waits for {LONGEST_WAIT:,.0f} seconds in all at most"
            raise ServerError(what, hint="Does something else ask it? Try again later, or ask it less at once.")
        return pause

    def _has_ended(self) -> UserError | None:
        """Return why the server has ended, if it is a process of ours; it may take a moment until that is known."""
        if self._ended is None:
            return None
        for _ in range(5):
            if ended := self._ended():
                return ended
            time.sleep(0.1)
        return None

    @property
    def _session(self) -> requests.Session:
        made: requests.Session | None = getattr(self._local, "session", None)
        if made is None:
            made = self._local.session = session(self._network)
            # Conversations share connections, and nothing else.
            made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        return made

    # --- what went wrong, in words ------------------------------------------------------------------------------------

    def _unreachable(self, error: Exception, question: Question) -> ServerError:
        """Say why there is no connection. For a server that was there, the message is the same whichever call fails."""
        if isinstance(error, requests.exceptions.SSLError):
            return self._untrusted(error, question)
        if self._was_there:
            return CutError(
                f"the {self.noun} at {self.name} answered before, and now refuses the connection or cuts it",
                hint="Does it still run? Its log may show what happened.",
            )
        return self._failure(question, f"cannot be reached ({_kind(error)})", CutError)

    def _not_connected(self, question: Question, until: Deadline | None) -> ServerError:
        """Say why no connection came about in time. A server that waits for HTTP never answers the beginning of TLS."""
        if self._base.startswith("https://") and not self._was_there and self._speaks_plain_http():
            return ServerError(
                f"the server at {self.name} does not speak TLS, but plain HTTP ({question.shown})",
                hint="Write its address with http:// rather than https://.",
            )
        seconds = self.timeout if until is None else until.seconds
        if not self._was_there:
            seconds = min(seconds, CONNECT_TIMEOUT)
        return SlowAnswerError(
            f"the {self.noun} at {self.name} cannot be reached within {seconds:g} seconds ({question.shown})",
            hint="Is it running, and is the address right?",
        )

    def _speaks_plain_http(self) -> bool:
        """Do not send or show anything: the listener has not proved its identity."""
        place = f"{origin_of(self._base)._replace(scheme='http').root}/"
        try:
            with within(_PROBE_SECONDS), session() as one:
                status = one.head(place, timeout=_PROBE_SECONDS, allow_redirects=False).status_code
        except (requests.RequestException, OSError):
            return False
        return status != HTTPStatus.BAD_REQUEST  # a TLS server may say so in plain HTTP

    def _untrusted(self, error: Exception, question: Question) -> ServerError:
        if not is_untrusted(error):
            return ServerError(
                f"the server at {self.name} does not speak TLS, or not this version of it ({question.shown})",
                hint="Is its address one with http:// rather than https://?",
            )
        return ServerError(
            f"the certificate of the {self.noun} at {self.name} is not trusted ({question.shown})",
            hint=f"{HOW_TO_TRUST[0].upper()}{HOW_TO_TRUST[1:]}.",
        )

    def _failure(self, question: Question, what: str, kind: type[ServerError] | None = None) -> ServerError:
        return (kind or ServerError)(
            f"the {self.noun} at {self.name} {what} ({question.shown})",
            hint="Is it running, and is the address right?",
        )

    def _reason(self, response: Response) -> str:
        """Return the message of an error, else the name of the status."""
        try:
            said = decoded(response.body)
        except UnreadableError:
            said = None
        names = ("message", "error", "detail", "title") if isinstance(said, dict) else ()
        message = next((said[name] for name in names if said.get(name)), None)
        if isinstance(message, dict):
            message = message.get("message")
        return self.shown(str(message or response.reason), 300) or "no reason given"


def decoded(body: bytes) -> Any:
    """Decode JSON strictly: no NaN, no number beyond a float, no lone surrogates, no unlimited depth.

    Raises:
        UnreadableError: it is something else.
    """
    if not body.strip():
        raise UnreadableError("an empty answer")
    try:
        return msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))  # a byte order mark may be ignored (RFC 8259)
    except UnicodeDecodeError:
        raise UnreadableError("no UTF-8") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise UnreadableError(f"no JSON: {error}") from None


def _cookies(answer: requests.Response) -> dict[str, str]:
    """Return the cookies that an answer sets."""
    lines = getattr(answer.raw, "headers", None)
    cookies: SimpleCookie = SimpleCookie()
    for line in lines.getlist("Set-Cookie") if lines is not None else ():
        try:
            cookies.load(line)
        except CookieError:
            continue  # as browsers do
    return {name: morsel.coded_value for name, morsel in cookies.items()}


def _kind(error: Exception) -> str:
    """Distinguish a server that was never there from one that went away, as far as the library says so."""
    text = str(error)
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy does not lead there"
    if "NameResolution" in text or "Name or service" in text:
        return "no such host"
    return "connection refused" if "refused" in text else "connection cut"
