"""Calls the platform's public API: bounded in time and size, within its rate limits, repeated if that may help.

Addresses and answers: the platform's documentation of its batch testing and Find Intent APIs.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from functools import cache
from json import dumps
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import requests
from urllib3.exceptions import HTTPError

from turncheck.messages.errors import EngineError, TransientError
from turncheck.platforms.kore.engine.answers import UnreadableError, read_json
from turncheck.process.environment import Secret, redact_all, remember
from turncheck.process.screen import duration
from turncheck.web import exchange, timed
from turncheck.web.addresses import HOW_TO_TRUST, Network, is_http, is_untrusted, origin_of, without_login
from turncheck.web.timed import was_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


# The platform's rate limits, kept by a clock: a number of calls within any minute, and within any hour.

WINDOWS: Final = ((60, 60.0), (1800, 3600.0))
"""The most calls, and the number of seconds that they count for."""
_A_CALL: Final = 1.0
"""Estimated seconds for one call."""


class Clock(msgspec.Struct, frozen=True):
    """The time, in seconds since any moment, and a way to wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class Pace(msgspec.Struct):
    """Spaces calls so that no window has more of them than allowed."""

    clock: Clock = msgspec.field(default_factory=Clock)
    share: int = 1
    """How many runs share the limits: each uses at most its share."""
    _lock: Lock = msgspec.field(default_factory=Lock)
    _calls: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=max(calls for calls, _ in WINDOWS)))

    def wait(self, say: Callable[[float], None] = lambda _seconds: None) -> None:
        """Wait until one more call may be made, and count it; ``say`` is called before with the number of seconds.

        Several threads may wait, each for its own turn.
        """
        with self._lock:
            now = self.clock.now()
            moment = _next(self._calls, now, self.share)
            self._calls.append(moment)
        if moment > now:
            say(moment - now)
            self.clock.sleep(moment - now)

    def seconds_for(self, calls: int) -> float:
        """Estimate how long this many further calls take, one after the other."""
        made, begin = deque(self._calls, self._calls.maxlen), self.clock.now()
        now = begin
        for _ in range(calls):
            now = _next(made, now, self.share)
            made.append(now)
            now += _A_CALL
        return now - begin


@cache
def pace_of(app: tuple[str, str], name: str, clock: Clock, share: int) -> Pace:  # noqa: ARG001 - whose it is
    """Return the pace shared by everything in this process that calls for an app, such as several assistants of a run.

    ``app``: its platform and its client id. ``name``: the limit's name, for kinds of calls with their own.
    """
    return Pace(clock, share)


def _next(made: Sequence[float], now: float, share: int) -> float:
    """Return when the next call may be made, after those that were ``made``, in a ``share``-th of the limits.

    If more runs share a limit than it has calls, each makes one call in a multiple of its seconds.
    """
    limits = [(max(1, most // share), seconds * max(1.0, share / most)) for most, seconds in WINDOWS]
    return max([now, *(made[-most] + seconds for most, seconds in limits if len(made) >= most)])


# The platform's access token: a JWT, signed here (HS256, RFC 7515 and 7518), short-lived, never shown.

LIFETIME: Final = 600.0
"""Seconds that a token is valid."""
_SPARE: Final = 60.0
"""A token is replaced this many seconds before it expires: the server's clock may be fast."""
_SUBJECT: Final = "turncheck"


class Tokens:
    """The tokens of one run: each has its own identity (``jti``); a new one is created before the last one expires."""

    def __init__(self, client_id: str, secret: Secret, now: Callable[[], float] = time.time) -> None:
        self._client_id = client_id
        self._secret = secret
        self._now = now
        self._token = ""
        self._end = 0.0

    def current(self) -> str:
        """Return a token that is valid now."""
        if self._now() >= self._end - _SPARE:
            self.renew()
        return self._token

    def renew(self) -> None:
        """Create a new one, even if the last one is still valid."""
        self._end = self._now() + LIFETIME
        claims = {"appId": self._client_id, "sub": _SUBJECT, "jti": uuid.uuid4().hex, "exp": int(self._end)}
        self._token = signed(claims, self._secret)
        remember(self._token)


def signed(claims: dict[str, Any], secret: Secret) -> str:
    """Return the claims as a JWT, signed with the secret."""
    content = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
    signature = hmac.new(secret.reveal().encode(), content.encode(), hashlib.sha256).digest()
    return f"{content}.{_base64(signature)}"


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


Read = TypeVar("Read")

TIMEOUT: Final = 60.0
"""Seconds for one answer."""
DOWNLOAD_SECONDS: Final = 300.0
ATTEMPTS: Final = 3
PAUSE: Final = 1.0
"""Seconds before the second attempt; doubled for each further one."""
LONGEST_PAUSE: Final = 60.0
LONGEST_WAIT: Final = 600.0
"""The most seconds in total that the platform may delay a run's calls by its rate limit. Our own calls are spaced: it
is reached only if something else asks as well, and for how long that goes on, nobody knows."""
MAX_ANSWER: Final = 16 << 20
MAX_DOWNLOAD: Final = 256 << 20
SHOWN: Final = 500
"""The most characters of an answer that a message shows."""
_RATE_LIMIT: Final = "rate limit"
_LINK: Final = re.compile(r"""https?:[\\/]+[^\s"'<>]*""", re.IGNORECASE)
_LINK_BEGINS: Final = re.compile(r"(ur[il]\W{0,3}:)|https?:|:[\\/]{2}", re.IGNORECASE)
"""The start of a link, or of its key, in an unexpected answer: where it ends is not known."""
_OUTDATED: Final = "invalid jwt token"
"""The platform's words for an expired token."""


class KoreError(EngineError):
    """The platform cannot be reached, or denies access: nothing more can be asked."""


class KoreRunError(KoreError):
    """The platform did not finish a task, or the result is not available; other calls may still work."""


class KoreCancelledError(KoreRunError):
    """The run was cancelled on the platform, or deleted there before it ended."""


class KoreRefusedError(EngineError):
    """The platform refuses this one call; ``status``: that of its answer."""

    def __init__(self, what: str, *, status: int, hint: str | None = None) -> None:
        super().__init__(what, hint=hint)
        self.status = status

    @property
    def is_gone(self) -> bool:
        """Whether what the call is about does not exist there (any more)."""
        return self.status in {400, 404} and "not found" in self.message.lower()


class KoreFaultError(TransientError):
    """The platform failed in this one call, repeatedly."""


@dataclass(frozen=True, slots=True)
class Access:
    """The platform's address, the assistant, and the credentials.

    ``language``: the one of the assistant's languages to test; ``None``: its default. ``network``: how the
    platform is reached.
    """

    host: str
    bot_id: str
    client_id: str
    client_secret: Secret = field(repr=False)
    language: str | None = None
    network: Network = field(default=Network(), repr=False)


class Question(msgspec.Struct, frozen=True):
    """A call. ``what``: the request in words, after "… cannot be reached when it was asked to".

    ``is_repeatable``: whether it may be sent again if it is not known to have arrived. ``pace``: the name of the limit
    that it counts for, if it has its own. ``seconds``: the time limit for an answer.
    """

    method: str
    path: str
    what: str
    json: Any = None
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    content: tuple[str, bytes] | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    is_repeatable: bool = True
    pace: str = ""
    seconds: float = TIMEOUT

    @property
    def body(self) -> tuple[str, bytes] | None:
        """Media type and bytes of what is sent."""
        if self.content is not None or self.json is None:
            return self.content
        return "application/json", dumps(self.json, allow_nan=False).encode()


class _LimitError(Exception):
    """The platform's rate limit is reached; ``retry_after``: seconds, if it says so."""

    def __init__(self, retry_after: float | None) -> None:
        super().__init__()
        self.retry_after = retry_after


class _OutdatedError(Exception):
    """The token is no longer valid."""


class _MayPassError(Exception):
    """There is no answer, or a broken one: the next attempt may succeed.

    ``failure``: the error if not. ``may_have_arrived``: whether the call may have been executed nevertheless.
    """

    def __init__(self, failure: EngineError, *, may_have_arrived: bool = True) -> None:
        super().__init__()
        self.failure = failure
        self.may_have_arrived = may_have_arrived


class KoreClient:
    """The platform's API for one assistant, with one call at a time.

    ``name``: the host's address, as in messages. ``say`` is called with what a waiting user should know.
    """

    def __init__(
        self,
        access: Access,
        *,
        clock: Clock | None = None,
        share: int = 1,
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.access = access
        self.clock = clock or Clock()
        self._share = share
        self.say = say
        self.name = without_login(access.host.rstrip("/"))
        self.tokens = Tokens(access.client_id, access.client_secret)
        self._base = access.host.rstrip("/")
        self._was_there = False
        self._waited = 0.0
        """Seconds that all calls have waited as the platform told them to."""
        self._session: requests.Session | None = None

    def pace(self, name: str = "") -> Pace:
        """Return the limit that calls count for; without a name, that of all calls without their own limit."""
        return pace_of((self._base, self.access.client_id), name, self.clock, self._share)

    def ask(self, question: Question, read: Callable[[Any], Read]) -> Read:
        """Ask, wait as the platform's rate limit requires, and try again if that may help.

        Raises:
            KoreError: nothing more can be asked.
            KoreRefusedError: this one call is refused.
            KoreFaultError: there is no answer to this one call, or no readable one.
        """
        attempts, waited, is_renewed = 0, 0.0, False
        while True:
            self.pace(question.pace).wait(self._report_pause)
            try:
                return self._asked(question, read)
            except _LimitError as limit:
                waited = self._wait(limit.retry_after, waited, question)
            except _OutdatedError:
                if is_renewed:
                    raise self._locked_out("Invalid JWT token", 401) from None
                is_renewed = True
                self.tokens.renew()
            except _MayPassError as error:
                attempts += 1
                is_safe = question.is_repeatable or not error.may_have_arrived
                if not is_safe or attempts >= ATTEMPTS:
                    raise error.failure from None
                self.clock.sleep(PAUSE * 2 ** (attempts - 1))

    def download(self, link: str, what: str) -> bytes:
        """Return what is at a signed link. The request has no token, and the link is never shown.

        Raises:
            KoreRunError: it is not available.
        """
        if not is_http(link):
            raise KoreRunError(f"the platform's link to {what} is not an http address")
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self.clock.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                with exchange.exchange(
                    self._http, exchange.Call("GET", link), DOWNLOAD_SECONDS, follow=exchange.anywhere
                ) as response:
                    status, body = response.status_code, exchange.read_body(response, MAX_DOWNLOAD)
            except exchange.RedirectRefusedError as error:
                raise KoreRunError(f"the platform's link to {what} redirects to {error}") from None
            except exchange.AnswerTooLargeError as error:
                raise KoreRunError(f"{what}, as the platform's link has it, {error}") from None
            except (requests.RequestException, HTTPError, OSError) as error:
                why = f"cannot be fetched ({type(error).__name__})"
                if is_untrusted(error):
                    why = f"cannot be fetched, since its certificate is not trusted ({HOW_TO_TRUST}),"
                    break
                continue
            if status == 200:
                return body
            why = f"cannot be fetched (status {status})"
            if status < 500 and status != 429:
                break
        raise KoreRunError(f"{what} {why} by the link that the platform gives")

    # --- one attempt --------------------------------------------------------------------------------------------------

    def _asked(self, question: Question, read: Callable[[Any], Read]) -> Read:
        status, body, headers = self._sent(question)
        self._was_there = True
        answer, unreadable = None, None
        try:
            answer = read_json(body)
        except UnreadableError as error:
            unreadable = error
        reason = self._reason(answer, body)
        if _is_limited(status, answer, reason):
            raise _LimitError(exchange.seconds_to_wait(headers.get("Retry-After", ""), time.time()))
        has_answer = isinstance(answer, dict) and "response" in answer and "/findIntent" in question.path
        if status >= 300 and not (status == 400 and has_answer):
            raise self._refused(question, status, reason, headers.get("Location", ""))
        try:
            if unreadable is not None:
                raise unreadable
            return read(answer)
        except UnreadableError as error:
            what = (
                f"the platform at {self.name} gave an unexpected answer when it was asked to {question.what}: {error}"
            )
            raise _MayPassError(KoreFaultError(f"{what}. It begins: {reason}" if reason else what)) from None

    def _sent(self, question: Question) -> tuple[int, bytes, Mapping[str, str]]:
        """Send it once, and return status, body and headers."""
        media, content = question.body or ("", None)
        headers = {"Accept": "application/json", **({"Content-Type": media} if media else {}), **question.headers}
        if self.access.language:
            headers["bot-language"] = self.access.language
        call = exchange.Call(
            question.method,
            self._base + question.path,
            headers,
            credentials={"auth": self.tokens.current()},
            query=question.query,
            body=content,
        )
        try:
            with exchange.exchange(self._http, call, question.seconds) as response:
                return response.status_code, exchange.read_body(response, MAX_ANSWER), response.headers
        except exchange.AnswerTooLargeError as error:
            raise KoreFaultError(f"the platform's answer when it was asked to {question.what} {error}") from None
        except requests.exceptions.SSLError:
            raise KoreError(
                f"the platform at {self.name} cannot be trusted: its certificate is not valid here, or it has no TLS",
                hint=f"{HOW_TO_TRUST[0].upper()}{HOW_TO_TRUST[1:]}.",
            ) from None
        except requests.ConnectTimeout:
            raise self._unreachable("it does not answer") from None
        except requests.Timeout:
            failure = KoreFaultError(
                f"the platform at {self.name} did not answer within {question.seconds:g} seconds"
                f" when it was asked to {question.what}"
            )
            raise _MayPassError(failure) from None
        except requests.ConnectionError as error:
            if was_refused(error) or isinstance(error, requests.exceptions.ProxyError):
                raise self._unreachable("no such host, or nobody listens there") from None
            raise self._broken(question) from None
        except (requests.RequestException, HTTPError, OSError):
            raise self._broken(question) from None

    def _broken(self, question: Question) -> _MayPassError:
        what = f"the platform at {self.name} cut the connection when it was asked to {question.what}"
        return _MayPassError(KoreFaultError(what))

    def _unreachable(self, why: str) -> Exception:
        error = KoreError(
            f"the platform at {self.name} cannot be reached: {why}",
            hint="Is --kore-host right, and can it be reached from here?",
        )
        return _MayPassError(error, may_have_arrived=False) if self._was_there else error

    def _refused(self, question: Question, status: int, reason: str, leads_to: str) -> Exception:
        """Return the error for an unsuccessful answer."""
        what = f"the platform at {self.name} answers {status} when it was asked to {question.what}"
        if status == 401 and _OUTDATED in reason.lower():
            return _OutdatedError()
        if status in {401, 403}:
            return self._locked_out(reason, status)
        if status < 400:
            target = shown(origin_of(leads_to).host, 200)
            return KoreError(
                f"{what}: a redirect{target and f' to {target}'}", hint="Give the address that it leads to."
            )
        if status >= 500:
            return _MayPassError(KoreFaultError(f"{what}: {reason or 'no reason given'}"))
        hint = "Is --kore-host the address of the platform?" if status == 404 else None
        return KoreRefusedError(f"{what}: {reason or 'no reason given'}", status=status, hint=hint)

    def _locked_out(self, reason: str, status: int) -> KoreError:
        return KoreError(
            f"the platform at {self.name} refuses the credentials ({status}: {reason or 'no reason given'})",
            hint="Check three things: the client id and its secret; the bot id; whether the app's scopes are"
            " published (they take effect only after the bot is published). This machine's clock must be right, too.",
        )

    # --- waiting and words --------------------------------------------------------------------------------------------

    def _wait(self, retry_after: float | None, waited: float, question: Question) -> float:
        """Wait as long as the platform says, else longer each time; return how long this call has waited so far."""
        pause = min(max(PAUSE, waited), LONGEST_PAUSE) if retry_after is None else retry_after
        if self._waited + pause > LONGEST_WAIT:
            after = f" after {duration(self._waited)} of waiting" if self._waited else ""
            asks = "" if retry_after is None else f" and asks to wait for {duration(retry_after)}"
            raise KoreError(
                f"the platform at {self.name} answers that its rate limit is reached{after}{asks}"
                f" (it was asked to {question.what}); a run waits for {duration(LONGEST_WAIT)} at most",
                hint="Does something else ask this assistant? Try again later.",
            )
        self.say(f"The platform's rate limit is reached: waiting for {duration(pause)}.")
        self._waited += pause
        self.clock.sleep(pause)
        return waited + pause

    def _report_pause(self, seconds: float) -> None:
        shared = f", which {self._share} shards share" if self._share > 1 else ""
        self.say(f"Waiting for {duration(seconds)}: the platform takes 60 calls a minute, and 1,800 an hour{shared}.")

    @property
    def _http(self) -> requests.Session:
        if self._session is None:
            self._session = timed.session(self.access.network)
        return self._session

    @staticmethod
    def _reason(answer: Any, body: bytes) -> str:
        """Return what the platform says about an error, else the beginning of its answer, up to a link in it."""
        if words := message_of(answer):
            return shown(words)
        text = body[: 4 * SHOWN].decode("utf-8", "replace")
        link = None if text.lstrip().startswith("<") else _LINK_BEGINS.search(text)
        return shown(text if link is None else f"{text[: max(link.start(), link.end(1))]} (a link) …")


def shown(text: str, limit: int = SHOWN) -> str:
    """Return the beginning of what the platform wrote, on one line, without secrets and signed links."""
    line = " ".join(redact_all(_LINK.sub("(a link)", text)).split())
    printable = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line)
    return printable if len(printable) <= limit else f"{printable[:limit]}…"


def message_of(answer: Any) -> str:
    """Return the message of an error: ``errors[].msg``, else ``message``; ``""`` if there is none."""
    if not isinstance(answer, dict):
        return ""
    errors = answer.get("errors")
    entries = [entry for entry in errors if isinstance(entry, dict)] if isinstance(errors, list) else []
    words = [str(entry["msg"]) for entry in entries if isinstance(entry.get("msg"), str)]
    words += [answer[key] for key in ("message", "msg", "error") if isinstance(answer.get(key), str)]
    return "; ".join(words)


def _is_limited(status: int, answer: Any, reason: str) -> bool:
    """Whether the rate limit is reached: by the status, or by the message of an error with any status.

    What an answer repeats from the call (an utterance, a suite's name) may contain the same words, and is ignored.
    """
    words = message_of(answer) if answer is not None or status < 300 else reason
    return status == 429 or _RATE_LIMIT in words.lower()
