"""Calls a Rasa server over its REST API: bounded in time and number, retried where that is safe, failures in words.

Endpoints, shapes and answers as Rasa 3.6.21 gives them (``rasa run --enable-api``; https://rasa.com/docs/rasa/http-api).
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field
from json import loads
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import requests
from urllib3.exceptions import HTTPError

from turncheck.engines.base import EngineError, PassingError
from turncheck.engines.timed_http import session, within
from turncheck.environment import without_login

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.errors import UserError

TIMEOUT: Final = 60.0
"""Seconds for one answer."""
ATTEMPTS: Final = 3
PAUSE: Final = 0.5
"""Seconds before the second attempt; doubled for each further one."""
CONCURRENCY: Final = 4
"""Calls under way at once: one server process answers one after the other anyway."""
MAX_ANSWER: Final = 64 * 1024 * 1024
_PASSING: Final = {429, 502, 503, 504}
"""Statuses that may be over the next moment. A 500 is the server's own fault and is repeated once."""


class ServerError(EngineError):
    """The server cannot be reached, refuses, or fails: nothing more can be measured with it."""


class CutError(ServerError, PassingError):
    """The connection was cut, or the server failed: it may be over the next moment."""


class SlowAnswerError(ServerError):
    """The server did not answer in time."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is and what opens it: a ``token`` (``?token=``) or a ``jwt`` (``Authorization: Bearer``).

    ``ca_file``: the certificates that it is trusted by, where not the usual ones; ``proxies``: as ``requests`` has
    them.
    """

    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT
    ca_file: str | None = None
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)


class RasaClient:
    """A server's REST API. May be used by several threads; no more than ``at_once`` calls are under way together.

    ``name``: its address without name and password, as messages have it. ``ended`` says, of a server that is a process
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

    # --- what it is asked ---------------------------------------------------------------------------------------------

    def version(self) -> str:
        """Return the server's version of Rasa."""
        return str(self._get("/version").get("version", "unknown"))

    def model(self) -> str | None:
        """Return the name of the model that is loaded, ``None`` if none is."""
        name = self._get("/status").get("model_file")
        return str(name) if name else None

    def parse(self, text: str) -> Mapping[str, Any]:
        """Understand a sentence."""
        return self._object(self._call("POST", "/model/parse", json={"text": text}), "/model/parse")

    def predict(self, events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Predict the next action after these events; ``None`` where the model knows no dialogue."""
        answer = self._call("POST", "/model/predict", json=list(events), params={"include_events": "NONE"})
        return None if answer is None else self._object(answer, "/model/predict")

    def load(self, model: str) -> None:
        """Have the server load another model, a file on its own disk."""
        self._call("PUT", "/model", json={"model_file": model})

    def tracker(self, sender: str, *, timeout: float | None = None) -> Mapping[str, Any]:
        """Return a conversation with all its events.

        Raises:
            SlowAnswerError: there is no answer in ``timeout`` seconds.
        """
        path = f"/conversations/{quote(sender, safe='')}/tracker"
        return self._object(self._call("GET", path, params={"include_events": "ALL"}, timeout=timeout), path)

    def append_events(self, sender: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Add events to a conversation."""
        path = f"/conversations/{quote(sender, safe='')}/tracker/events"
        self._call("POST", path, json=list(events), params={"include_events": "NONE"}, repeatable=False)

    def say(
        self, sender: str, text: str, *, metadata: Mapping[str, Any] | None = None, timeout: float | None = None
    ) -> list[Mapping[str, Any]]:
        """Send a message by the REST channel and return the assistant's answers. Never repeated: it changes state.

        Raises:
            SlowAnswerError: there is no answer in ``timeout`` seconds.
        """
        path = "/webhooks/rest/webhook"
        message = {"sender": sender, "message": text} | ({"metadata": dict(metadata)} if metadata else {})
        answer = self._call("POST", path, json=message, repeatable=False, timeout=timeout)
        if not isinstance(answer, list):
            raise ServerError(f"the Rasa server answers {_shown(path)} with something that is no list of messages")
        return [dict(message) for message in answer]

    # --- how it is asked ----------------------------------------------------------------------------------------------

    def _get(self, path: str) -> Mapping[str, Any]:
        return self._object(self._call("GET", path), path)

    def _object(self, answer: Any, path: str) -> Mapping[str, Any]:
        if not isinstance(answer, dict):
            raise ServerError(f"the Rasa server answers {_shown(path)} with something that is no JSON object")
        return answer

    def _call(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        repeatable: bool = True,
        timeout: float | None = None,
    ) -> Any:
        limit = timeout or self.access.timeout
        failure = ServerError(f"the Rasa server at {self.name} does not answer")
        for attempt in range(ATTEMPTS if repeatable else 1):
            if attempt:
                self._sleep(PAUSE * 2 ** (attempt - 1))
            try:
                status, reason, body = self._answer(method, path, json, params, limit)
            except requests.Timeout:
                what = f"does not answer {_shown(path)} within {limit:g} seconds"
                failure = SlowAnswerError(f"the Rasa server at {self.name} {what}")
                if timeout is not None:
                    break
            except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, HTTPError) as error:
                failure = self._failure(path, f"cannot be reached ({_kind(error)})", CutError)
                if self._has_ended():
                    break
            except requests.RequestException as error:  # an address that is none, an answer that cannot be decoded
                raise self._failure(path, f"cannot be asked ({type(error).__name__})") from None
            else:
                if status < requests.codes.multiple_choices:
                    return self._read(status, body, path)
                failure = self._refused(status, _reason(reason, body), path)
                if status not in _PASSING and not (status == 500 and attempt == 0):
                    break
        if isinstance(failure, CutError) and (ended := self._has_ended()):
            raise ServerError(ended.what, remedy=ended.remedy)
        raise failure

    def _answer(
        self, method: str, path: str, json: Any, params: Mapping[str, str] | None, limit: float
    ) -> tuple[int, str, bytes]:
        """Ask once; return the status, its name, and the body. All of it takes ``limit`` seconds at most."""
        token = {"token": self.access.token} if self.access.token else {}
        with self._places, within(limit):
            response = self._session.request(
                method,
                self._base + path,
                json=json,
                params={**(params or {}), **token},
                timeout=limit,
                allow_redirects=False,
                stream=True,
            )
            with response:
                body = bytearray()
                for chunk in response.iter_content(1 << 16):
                    body += chunk
                    if len(body) > MAX_ANSWER:
                        raise self._failure(path, "answers with more than 64 MiB")
        return response.status_code, response.reason or "", bytes(body)

    def _has_ended(self) -> UserError | None:
        """Return why the server has ended, where it is a process of ours; it may take a moment until that is known."""
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
            # No proxy but the one that was given, and no .netrc of the environment, gets to see what is said.
            made = self._local.session = session(ca_file=self.access.ca_file, proxies=self.access.proxies)
            if self.access.jwt:
                made.headers["Authorization"] = f"Bearer {self.access.jwt}"
        return made

    def _read(self, status: int, body: bytes, path: str) -> Any:
        if status == requests.codes.no_content:
            return None
        try:
            return loads(body)
        except ValueError:
            raise self._failure(path, "answers with something that is no JSON") from None

    def _refused(self, status: int, reason: str, path: str) -> ServerError:
        shown = _shown(path)
        match status:
            case 401 | 403:
                return ServerError(
                    f"the Rasa server at {self.name} refuses {shown}: {reason}",
                    remedy="Give its token with --rasa-token, or an admin's JWT with --rasa-jwt.",
                )
            case _ if status < requests.codes.bad_request:
                return ServerError(
                    f"the Rasa server at {self.name} answers {shown} with a redirect ({status})",
                    remedy="Give the address that it leads to.",
                )
            case 404:
                remedy = (
                    "Enable the REST channel in credentials.yml (`rest:`)."
                    if path.startswith("/webhooks")
                    else "Start it with `rasa run --enable-api`."
                )
                return ServerError(f"the Rasa server at {self.name} has no {shown}", remedy=remedy)
            case 409:
                return ServerError(
                    f"the Rasa server at {self.name} has no model loaded: {reason}",
                    remedy="Train one and start the server with it (`rasa run -m models`).",
                )
            case _:
                kind = CutError if status in _PASSING or status == 500 else ServerError
                return kind(f"the Rasa server at {self.name} answers {shown} with {status}: {reason}")

    def _failure(self, path: str, what: str, kind: type[ServerError] | None = None) -> ServerError:
        return (kind or ServerError)(
            f"the Rasa server at {self.name} {what} ({_shown(path)})", remedy="Is it running, and is the address right?"
        )


def _shown(path: str) -> str:
    """Return a path as messages have it: a conversation's name differs from run to run."""
    return re.sub("(?<=/conversations/)[^/]+", "…", path)


def _reason(status_name: str, body: bytes) -> str:
    try:
        said = loads(body)
    except ValueError:
        return status_name or "no reason given"
    message = said.get("message") if isinstance(said, dict) else None
    return " ".join(str(message or status_name).split())[:300]


def _kind(error: Exception) -> str:
    """Tell a server that is not there from one that went away, as far as the library says so."""
    text = str(error)
    if "NameResolution" in text or "Name or service" in text:
        return "no such host"
    return "connection refused" if "refused" in text else "connection cut"
