"""Calls a Rasa server over its REST API: bounded in time and number, retried if that is safe, with failures in words.

Endpoints, shapes and answers are those of Rasa 3.6.21 (``rasa run --enable-api``; https://rasa.com/docs/rasa/http-api).
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from json import dumps, loads
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

import requests
from urllib3.exceptions import HTTPError

from turncheck.engines.rasa_server import answers
from turncheck.messages.errors import EngineError, PassingError
from turncheck.web.addresses import Network, origin_of, without_login
from turncheck.web.exchange import AnswerTooLargeError, Call, exchange, read_body
from turncheck.web.timed import session, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.engines.parse import Parse
    from turncheck.engines.rasa_server.answers import Prediction, Served, TrackerState
    from turncheck.messages.errors import UserError
    from turncheck.web.timed import Deadline

Read = TypeVar("Read")

TIMEOUT: Final = 60.0
"""Seconds for one answer."""
CONNECT_TIMEOUT: Final = 5.0
"""Seconds until a server that was never reached must be there, and must speak TLS if its address says so."""
_PROBE_SECONDS: Final = 3.0
ATTEMPTS: Final = 3
PAUSE: Final = 0.5
"""Seconds before the second attempt; doubled for each further one."""
CONCURRENCY: Final = 4
"""Calls under way at once: one server process answers one after the other anyway."""
MAX_ANSWER: Final = 64 * 1024 * 1024
SHOWN: Final = 200
"""The most characters of an answer that a message shows."""
_PASSING: Final = {429, 502, 503, 504}
"""Statuses that may be temporary."""


class ServerError(EngineError):
    """The server cannot be reached, refuses, or fails: nothing more can be measured with it.

    ``attempts``: how often a call that ends this way is made, if it may be repeated.
    """

    attempts = 1


class NoModelError(ServerError):
    """The server runs and has no model loaded."""


class CutError(ServerError, PassingError):
    """The connection was cut, or the server failed: this may be temporary."""

    attempts = ATTEMPTS


class FaultError(CutError):
    """The server had an internal error."""

    attempts = 2


class SlowAnswerError(ServerError):
    """The server did not answer in time."""

    attempts = ATTEMPTS


@dataclass(frozen=True, slots=True)
class Access:
    """The server's address and its credentials: a ``token`` (``?token=``) or a ``jwt`` (``Authorization: Bearer``).

    ``network``: how it is reached.
    """

    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    network: Network = field(default=Network(), repr=False)


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    reason: str
    leads_to: str
    body: bytes


class RasaClient:
    """A server's REST API. May be used by several threads; no more than ``at_once`` calls are under way together.

    ``name``: its address without name and password, as in messages. ``ended`` returns, for a server that is a process
    of ours, why it has ended.
    """

    def __init__(
        self,
        access: Access,
        *,
        at_once: int = CONCURRENCY,
        sleep: Callable[[float], None] = time.sleep,
        ended: Callable[[], UserError | None] | None = None,
    ) -> None:
        self._ended = ended
        self.access = access
        self.at_once = max(1, at_once)
        self._base = access.url.rstrip("/")
        self.name = without_login(self._base)
        self._sleep = sleep
        self._local = threading.local()
        self._places = threading.BoundedSemaphore(self.at_once)
        self._was_there = False

    # --- what it is asked ---------------------------------------------------------------------------------------------

    def version(self) -> str:
        """Return the server's version of Rasa."""
        return self.call("GET", "/version", "a version", answers.read_version)

    def served(self) -> Served:
        """Return the model that is loaded."""
        return self.call("GET", "/status", "the name of a model", answers.read_served)

    def parse(self, text: str) -> Parse:
        """Understand a sentence."""
        expected = "an intent and entities"
        return self.call("POST", "/model/parse", expected, lambda body: answers.read_parse(body, text), {"text": text})

    def predict(self, events: Sequence[Mapping[str, Any]]) -> Prediction | None:
        """Predict the next action after these events; ``None`` if the model has no dialogue part."""
        path, expected = "/model/predict", "the scores of actions"
        return self.call("POST", path, expected, answers.read_prediction, list(events), events="NONE")

    def load(self, model: str) -> None:
        """Have the server load another model, a file on its own disk."""
        self.call("PUT", "/model", "an empty answer", answers.read_nothing, {"model_file": model})

    def tracker(self, sender: str, *, until: Deadline | None = None) -> TrackerState:
        """Return a conversation with all its events.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = f"/conversations/{quote(sender, safe='')}/tracker", "a conversation"
        read = partial(answers.read_tracker, sender=sender, events="ALL")
        return self.call("GET", path, expected, read, events="ALL", until=until)

    def append_events(
        self, sender: str, events: Sequence[Mapping[str, Any]], *, until: Deadline | None = None
    ) -> TrackerState:
        """Add events to a conversation, and return it without them. Never repeated: it changes state.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = f"/conversations/{quote(sender, safe='')}/tracker/events", "a conversation"
        read = partial(answers.read_tracker, sender=sender, events="NONE")
        return self.call("POST", path, expected, read, list(events), events="NONE", repeatable=False, until=until)

    def say(
        self, sender: str, text: str, *, metadata: Mapping[str, Any] | None = None, until: Deadline | None = None
    ) -> list[Mapping[str, Any]]:
        """Send a message by the REST channel and return the assistant's answers. Never repeated: it changes state.

        Raises:
            SlowAnswerError: the deadline has passed.
        """
        path, expected = "/webhooks/rest/webhook", "a list of messages"
        message = {"sender": sender, "message": text} | ({"metadata": dict(metadata)} if metadata else {})
        return self.call("POST", path, expected, answers.read_messages, message, repeatable=False, until=until)

    # --- how it is asked ----------------------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        expected: str,
        read: Callable[[bytes], Read],
        json: Any = None,
        *,
        events: str | None = None,
        repeatable: bool = True,
        until: Deadline | None = None,
    ) -> Read:
        """Ask, and again if that is safe and may help; ``expected`` is, in words, what ``read`` expects of the answer.

        Raises:
            ServerError: there is no answer, or an unreadable one.
        """
        params = {"include_events": events} if events else {}
        attempt = 0
        while True:
            try:
                response = self._answer(method, path, json, params, until)
            except requests.ConnectTimeout:
                failure: ServerError = self._not_connected(path, until)
            except requests.Timeout:
                seconds = self.access.timeout if until is None else until.seconds
                what = f"does not answer {_shown(path)} within {seconds:g} seconds"
                failure = SlowAnswerError(f"the Rasa server at {self.name} {what}")
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, HTTPError) as error:
                failure = self._unreachable(error, path)
            except requests.RequestException as error:  # an invalid address, an answer that cannot be decoded
                raise self._failure(path, f"cannot be asked ({type(error).__name__})") from None
            else:
                self._was_there = True
                if response.status < requests.codes.multiple_choices:
                    return self._read(response, path, expected, read)
                failure = self._refused(response, path)
            attempt += 1
            ended = self._has_ended() if isinstance(failure, CutError) else None
            if ended is not None:
                raise CutError(ended.what, remedy=ended.remedy)  # of several servers the others are still there
            pause = PAUSE * 2 ** (attempt - 1)
            if not repeatable or attempt >= failure.attempts or (until is not None and until.left() <= pause):
                raise failure
            self._sleep(pause)

    def _answer(
        self, method: str, path: str, json: Any, params: Mapping[str, str], until: Deadline | None
    ) -> _Response:
        """Ask once. All of it, including the body, ends before the deadline."""
        token = {"token": self.access.token} if self.access.token else {}
        limit = self.access.timeout if until is None else until.left()
        if limit <= 0:
            raise requests.Timeout
        call = Call(
            method,
            self._base + path,
            {} if json is None else {"Content-Type": "application/json"},
            credentials={"Authorization": f"Bearer {self.access.jwt}"} if self.access.jwt else {},
            query={**params, **token},
            body=None if json is None else dumps(json, allow_nan=False).encode(),
        )
        connect = limit if self._was_there else CONNECT_TIMEOUT
        try:
            with self._places, exchange(self._session, call, limit, connect=connect) as response:
                body = read_body(response, MAX_ANSWER)
        except AnswerTooLargeError:
            raise self._failure(path, "answers with more than 64 MiB") from None
        leads_to = response.headers.get("Location", "").partition("?")[0]
        return _Response(response.status_code, response.reason or "", leads_to, body)

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
            made = self._local.session = session(self.access.network)
        return made

    def _read(self, response: _Response, path: str, expected: str, read: Callable[[bytes], Read]) -> Read:
        try:
            return read(response.body)
        except answers.UnreadableError as error:
            begins = self._shown(response.body.decode("utf-8", "replace"), SHOWN)
            what = f"answers {_shown(path)} with something other than {expected}: {error}"
            page = begins.startswith("<")
            raise ServerError(
                f"the Rasa server at {self.name} {what}. " + (f"It begins: {begins}" if begins else "It is empty."),
                remedy="That is a web page: is there a login or a proxy before the server, or is it another address?"
                if page
                else "Is this the address of a Rasa server (open source 3.x, or Pro)?",
            ) from None

    def _refused(self, response: _Response, path: str) -> ServerError:
        shown, status = _shown(path), response.status
        reason = self._reason(response)
        match status:
            case 401 | 403:
                return ServerError(
                    f"the Rasa server at {self.name} refuses {shown}: {reason}",
                    remedy="Give its token with --rasa-token, or an admin's JWT with --rasa-jwt.",
                )
            case _ if status < requests.codes.bad_request:
                to = self._shown(without_login(response.leads_to), SHOWN)
                return ServerError(
                    f"the Rasa server at {self.name} answers {shown} with a redirect ({status}{to and f' to {to}'})",
                    remedy="Give the address that it leads to. If that is a login page, give the server's own address.",
                )
            case 404 if path.startswith("/webhooks"):
                return ServerError(
                    f"the Rasa server at {self.name} has no {shown}",
                    remedy="Enable the REST channel in its credentials.yml (a line `rest:`), and start it again.",
                )
            case 404:
                return ServerError(
                    f"the Rasa server at {self.name} has no {shown}",
                    remedy="Start it with `rasa run --enable-api`. Or is this the wrong address?",
                )
            case 409:
                return NoModelError(
                    f"the Rasa server at {self.name} has no model loaded: {reason}",
                    remedy="Train one and start the server with it (`rasa run -m models`).",
                )
            case _:
                kind = CutError if status in _PASSING else FaultError if status == 500 else ServerError
                return kind(f"the Rasa server at {self.name} answers {shown} with {status}: {reason}")

    def _unreachable(self, error: Exception, path: str) -> ServerError:
        """Say why there is no connection. For a server that was there, the message is the same whichever call fails."""
        if isinstance(error, requests.exceptions.SSLError):
            return self._untrusted(error, path)
        if self._was_there:
            return CutError(
                f"the Rasa server at {self.name} answered before, and now refuses the connection or cuts it",
                remedy="Does it still run? Its log may show what happened.",
            )
        return self._failure(path, f"cannot be reached ({_kind(error)})", CutError)

    def _not_connected(self, path: str, until: Deadline | None) -> ServerError:
        """Say why no connection came about in time. A server that waits for HTTP never answers the beginning of TLS."""
        if self._base.startswith("https://") and not self._was_there and self._speaks_plain_http():
            return ServerError(
                f"the server at {self.name} does not speak TLS, but plain HTTP ({_shown(path)})",
                remedy="Write its address with http:// rather than https://.",
            )
        seconds = self.access.timeout if until is None else until.seconds
        if not self._was_there:
            seconds = min(seconds, CONNECT_TIMEOUT)
        return SlowAnswerError(
            f"the Rasa server at {self.name} cannot be reached within {seconds:g} seconds ({_shown(path)})",
            remedy="Is it running, and is the address right?",
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

    def _untrusted(self, error: Exception, path: str) -> ServerError:
        if "CERTIFICATE_VERIFY_FAILED" not in str(error):
            return ServerError(
                f"the server at {self.name} does not speak TLS, or not this version of it ({_shown(path)})",
                remedy="Is its address one with http:// rather than https://?",
            )
        return ServerError(
            f"the certificate of the Rasa server at {self.name} is not trusted ({_shown(path)})",
            remedy="Name the file of your certificates in the environment variable SSL_CERT_FILE.",
        )

    def _failure(self, path: str, what: str, kind: type[ServerError] | None = None) -> ServerError:
        return (kind or ServerError)(
            f"the Rasa server at {self.name} {what} ({_shown(path)})", remedy="Is it running, and is the address right?"
        )

    def _reason(self, response: _Response) -> str:
        """Return the message of a Rasa error, else the name of the status."""
        try:
            said = loads(response.body)
        except (ValueError, RecursionError):
            said = None
        message = said.get("message") if isinstance(said, dict) else None
        return self._shown(str(message or response.reason), 300) or "no reason given"

    def _shown(self, text: str, limit: int) -> str:
        """Return the beginning of foreign text, on one line, without the server's credentials."""
        for secret in filter(None, (self.access.token, self.access.jwt)):
            text = text.replace(secret, "***")
        line = " ".join(text.split())
        printable = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
        return printable if len(printable) <= limit else f"{printable[:limit]}…"


def _shown(path: str) -> str:
    """Return a path as in messages: a conversation's name differs from run to run."""
    return re.sub("(?<=/conversations/)[^/]+", "…", path)


def _kind(error: Exception) -> str:
    """Distinguish a server that was never there from one that went away, as far as the library says so."""
    text = str(error)
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy does not lead there"
    if "NameResolution" in text or "Name or service" in text:
        return "no such host"
    return "connection refused" if "refused" in text else "connection cut"
