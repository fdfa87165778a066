"""Calls a bot over HTTP; see :mod:`turncheck.engines.remote` for limits, retries and failures."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from json import dumps
from typing import TYPE_CHECKING, Any, Final

import requests
from urllib3.exceptions import ProtocolError

from turncheck.engines import remote
from turncheck.engines.http.answers import error_text
from turncheck.engines.http.signature import AwsKey, signed
from turncheck.engines.measuring import TRACE_HEADER
from turncheck.messages.errors import EngineError, UnansweredError, UserError
from turncheck.messages.plain_text import whole_characters
from turncheck.settings.bot import leads_out
from turncheck.settings.bot_placeholders import filled, filled_path
from turncheck.web.addresses import Network
from turncheck.web.timed import was_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.engines.measuring import Watch
    from turncheck.settings.bot import Bot, BotRequest
    from turncheck.web.timed import Deadline

MOST_FAULTS: Final = 10
"""After this many turns in a row without a usable answer no more are sent."""
_MOST_BYTES: Final = 8 << 20
_ALTOGETHER: Final = frozenset({502, 503, 504, 500})


class TurnFailedError(UserError):
    """One turn has no usable answer: its case is an error, and others go on."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where a bot is, and the token for it."""

    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    timeout: float = remote.TIMEOUT
    network: Network = field(default=Network(), repr=False)


class _RefusedTurnError(remote.ServerError):
    """The bot refuses this one call."""


class _TooLargeError(remote.ServerError):
    """This one answer is too large."""


class UnansweredServerError(remote.ServerError, UnansweredError):
    """The bot failed in one conversation, which may go well the next time."""

    attempts = 3


class BotClient(remote.RemoteClient):
    """A bot's API, as its shape says."""

    noun = "bot"
    most_bytes = _MOST_BYTES

    def __init__(
        self, access: Access, bot: Bot, *, at_once: int = 1, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.access = access
        self.bot = bot
        self._key = AwsKey.read(access.token or "") if bot.token.signature else None
        secrets = [access.token] if access.token else []
        if self._key is not None:
            secrets = [secret for secret in (access.token, self._key.secret, self._key.session) if secret]
        super().__init__(access.url, access.network, secrets, at_once=at_once, timeout=access.timeout, sleep=sleep)
        self.pause = sleep
        self._faults = self.unusable = 0
        self._has_answered = False
        self._lock = threading.Lock()

    def send(
        self,
        request: BotRequest,
        values: Mapping[str, Any],
        until: Deadline | None,
        *,
        cookies: dict[str, str] | None = None,
        repeatable: bool = False,
        may_be_empty: bool = False,
        may_be_text: bool = False,
        watch: Watch | None = None,
    ) -> Any:
        """Send a request with these values in its placeholders, and return the answer's JSON.

        ``cookies``: those of the conversation, to which the answer's are added. ``may_be_empty``: an answer without
        content is ``None``. ``may_be_text``: so is one that is not JSON, unless it is a web page. ``watch``: measures
        the turn, whose trace the call belongs to.

        Raises:
            TurnFailedError: it is not a usable answer.
            ServerError: there is none, and there will be none.
        """
        filled_in = whole_characters({"token": self.access.token or "", **values})
        question = self._question(request, filled_in, cookies or {}, repeatable)
        begun = time.monotonic()
        if watch is not None:
            others = {name: value for name, value in question.headers.items() if name.lower() != TRACE_HEADER}
            question = replace(question, headers={**others, **watch.header()})
        try:
            response = self.ask(question, until)
        except (_RefusedTurnError, _TooLargeError) as error:
            raise self.fault(error.message) from None
        except UnansweredServerError:
            self.note_unusable()
            raise
        if watch is not None:
            watch.call(begun, response)
        if cookies is not None:
            cookies.update(response.cookies)
        if may_be_empty and not response.body.strip():
            return None
        try:
            answer = remote.decoded(response.body)
        except remote.UnreadableError as error:
            if may_be_text and not response.body.lstrip().startswith(b"<"):
                return None
            raise self.fault(self._unreadable(question, response, str(error))) from None
        return answer

    def is_usable(self) -> None:
        """Note that an answer could be used."""
        with self._lock:
            self._faults, self._has_answered = 0, True

    def note_unusable(self) -> None:
        """Note that there was no usable answer."""
        with self._lock:
            self.unusable += 1

    def fault(self, what: str) -> UserError:
        """Return the error for a turn without a usable answer; after many in a row, that of a bot that has none."""
        self.note_unusable()
        with self._lock:
            self._faults += 1
            too_many = self._faults >= MOST_FAULTS
        if too_many:
            return EngineError(what, hint=f"It is the {MOST_FAULTS}th turn in a row without a usable answer.")
        return TurnFailedError(what)

    def refused(self, response: remote.Response, question: remote.Question) -> remote.ServerError:
        """Return the error for an answer that is not a success: it may only be about this one call."""
        status = response.status
        what = f"the bot at {self.name} answers {question.shown} with {status}: {self._reason(response)}"
        if 300 <= status < 400:
            return self.redirected(response, question)
        if status == 401 or (status == 403 and not self._has_answered):
            hint = "Give its token with --bot-token; `token` under `bot:` says into which header it goes."
            return remote.ServerError(
                f"the bot at {self.name} refuses {question.shown}: {self._reason(response)}", hint=hint
            )
        if status in {404, 405} and not self._has_answered:
            hint = "Are --bot-url, and `path` and `method` under `bot:`, right?"
            return remote.ServerError(what, location=None, hint=hint)
        if status in {404, 410}:
            return _RefusedTurnError(f"{what}. Has it forgotten the conversation?")
        if status == requests.codes.too_many_requests:
            return super().refused(response, question)
        if status in _ALTOGETHER:
            failure = UnansweredServerError(what)
            failure.attempts = 2 if status == 500 else 3
            return failure
        return _RefusedTurnError(what)

    def _reason(self, response: remote.Response) -> str:
        """Return the message of an error; if it is not JSON, the name of the status and how it begins."""
        try:
            text = error_text(remote.decoded(response.body))
        except remote.UnreadableError:
            text = ""
        if text:
            return self.shown(text, 300)
        named = self.shown(response.reason) or "no reason given"
        begins = self.shown(response.body[: 8 * remote.SHOWN].decode("utf-8", "replace"))
        return f"{named}. It says: {begins}" if begins and not begins.startswith(("<", "{}", "[]")) else named

    def too_large(self, question: remote.Question) -> UserError:
        """Return the error for an answer that is larger than the limit: it is only about this one call."""
        return _TooLargeError(
            f"the bot at {self.name} answers {question.shown} with more than {self.most_bytes >> 20} MiB"
        )

    def _unreachable(self, error: Exception, question: remote.Question) -> remote.ServerError:
        """Distinguish a bot that is gone from one answer that was cut off, or that cannot be decoded."""
        if isinstance(error, requests.exceptions.ContentDecodingError):
            return _RefusedTurnError(f"the bot at {self.name} answers {question.shown} with what cannot be decoded")
        if (fault := _fault_of_http(error)) is not None:
            what = f"the bot at {self.name} answers {question.shown} with what is not HTTP ({self.shown(fault)})"
            return _RefusedTurnError(what)
        is_gone = isinstance(error, requests.ConnectionError) and was_refused(error)
        if isinstance(error, requests.exceptions.SSLError) or is_gone or not self._was_there:
            return super()._unreachable(error, question)
        return UnansweredServerError(f"the bot at {self.name} cut the connection when it was asked {question.shown}")

    def _unreadable(self, question: remote.Question, response: remote.Response, why: str) -> str:
        begins = self.shown(response.body[: 8 * remote.SHOWN].decode("utf-8", "replace"))
        what = f"the bot at {self.name} answers {question.shown} with what is not JSON"
        if not begins:
            return f"{what}: it is empty"
        if begins.startswith(("data:", "event:")):
            return f"{what}, but a stream of events: let it answer as a whole (`stream: false`). It begins: {begins}"
        if begins.startswith("<"):
            return f"{what}, but a web page (is there a login or a proxy before it?). It begins: {begins}"
        return f"{what} ({why}). It begins: {begins}"

    def _question(
        self, request: BotRequest, values: Mapping[str, Any], cookies: Mapping[str, str], repeatable: bool
    ) -> remote.Question:
        path = filled_path(request.path, values)
        if leads_out(path):  # by what a placeholder stands for
            raise remote.ServerError(
                f"'{self.shown(path)}' leads out of the bot's address, which a message or an id may not do"
            )
        if path == "/":  # the address itself, to which the bot need not answer with a slash more
            path = ""
        body = b"" if request.body is None else dumps(filled(request.body, values), allow_nan=False).encode()
        headers = {"Accept": "application/json", **filled(request.headers, {})}
        if body:
            headers = {"Content-Type": "application/json", **headers}
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        return remote.Question(
            request.method,
            path,
            f"{request.method} {request.path}",
            body or None,
            headers,
            self._credentials(request.method, path, body),
            repeatable=repeatable,
        )

    def _credentials(self, method: str, path: str, body: bytes) -> dict[str, str]:
        token = self.bot.token
        if self._key is not None:
            return signed(self._key, method, self._base + path, body, token.service, datetime.now(UTC))
        return {token.header: f"{token.prefix}{self.access.token}"} if self.access.token else {}


def _fault_of_http(error: Exception) -> str | None:
    """Return what is wrong with an answer that is not HTTP; ``None``: that is not what happened."""
    cause = error.args[0] if error.args else None
    inner = cause.args[-1] if isinstance(cause, ProtocolError) and cause.args else None
    is_cut = isinstance(inner, RemoteDisconnected | IncompleteRead)
    return str(inner) if isinstance(inner, HTTPException) and not is_cut else None
