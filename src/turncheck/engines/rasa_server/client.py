"""Calls a Rasa server over its REST API: bounded in time and number, retried where that is safe, failures in words.

Endpoints, shapes and answers as Rasa 3.6.21 gives them (``rasa run --enable-api``; https://rasa.com/docs/rasa/http-api).
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import requests

from turncheck.engines.base import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


class SlowAnswerError(ServerError):
    """The server did not answer in time."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is and what opens it: a ``token`` (``?token=``) or a ``jwt`` (``Authorization: Bearer``)."""

    url: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    jwt: str | None = field(default=None, repr=False)
    timeout: float = TIMEOUT


class RasaClient:
    """A server's REST API. May be used by several threads; no more than ``at_once`` calls are under way together.

    ``name``: its address without name and password, as messages have it.
    """

    def __init__(
        self, access: Access, *, at_once: int = CONCURRENCY, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.access = access
        self.at_once = max(1, at_once)
        self._base = access.url.rstrip("/")
        self.name = _without_login(self._base)
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

    def tracker(self, sender: str) -> Mapping[str, Any]:
        """Return a conversation with all its events."""
        path = f"/conversations/{quote(sender, safe='')}/tracker"
        return self._object(self._call("GET", path, params={"include_events": "ALL"}), path)

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
            raise ServerError(f"the Rasa server answers {path} with something that is no list of messages")
        return [dict(message) for message in answer]

    # --- how it is asked ----------------------------------------------------------------------------------------------

    def _get(self, path: str) -> Mapping[str, Any]:
        return self._object(self._call("GET", path), path)

    def _object(self, answer: Any, path: str) -> Mapping[str, Any]:
        if not isinstance(answer, dict):
            raise ServerError(f"the Rasa server answers {path} with something that is no JSON object")
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
        failure = ServerError(f"the Rasa server at {self.name} does not answer")
        for attempt in range(ATTEMPTS if repeatable else 1):
            if attempt:
                self._sleep(PAUSE * 2 ** (attempt - 1))
            try:
                with self._places:
                    response = self._session.request(
                        method,
                        self._base + path,
                        json=json,
                        params={**(params or {}), **({"token": self.access.token} if self.access.token else {})},
                        timeout=timeout or self.access.timeout,
                        allow_redirects=False,
                    )
            except requests.Timeout:
                what = f"does not answer {path} within {timeout or self.access.timeout:g} seconds"
                failure = SlowAnswerError(f"the Rasa server at {self.name} {what}")
            except requests.ConnectionError as error:
                failure = self._failure(path, f"cannot be reached ({_kind(error)})")
            except requests.RequestException as error:  # an address that is none, an answer that cannot be decoded
                raise self._failure(path, f"cannot be asked ({type(error).__name__})") from None
            else:
                if response.status_code < requests.codes.multiple_choices:
                    return self._read(response, path)
                failure = self._refused(response, path)
                if response.status_code not in _PASSING and not (response.status_code == 500 and attempt == 0):
                    break
        raise failure

    @property
    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = requests.Session()
            session.trust_env = False  # no proxy and no .netrc of the environment gets to see what is said
            if self.access.jwt:
                session.headers["Authorization"] = f"Bearer {self.access.jwt}"
            self._local.session = session
        return session

    def _read(self, response: requests.Response, path: str) -> Any:
        if len(response.content) > MAX_ANSWER:
            raise self._failure(path, "answers with more than 64 MiB")
        if response.status_code == requests.codes.no_content:
            return None
        try:
            return response.json()
        except ValueError:
            raise self._failure(path, "answers with something that is no JSON") from None

    def _refused(self, response: requests.Response, path: str) -> ServerError:
        reason = _reason(response)
        match response.status_code:
            case 401 | 403:
                return ServerError(
                    f"the Rasa server at {self.name} refuses {path}: {reason}",
                    remedy="Give its token with --rasa-token, or an admin's JWT with --rasa-jwt.",
                )
            case status if status < requests.codes.bad_request:
                return ServerError(
                    f"the Rasa server at {self.name} answers {path} with a redirect ({status})",
                    remedy="Give the address that it leads to.",
                )
            case 404:
                remedy = (
                    "Enable the REST channel in credentials.yml (`rest:`)."
                    if path.startswith("/webhooks")
                    else "Start it with `rasa run --enable-api`."
                )
                return ServerError(f"the Rasa server at {self.name} has no {path}", remedy=remedy)
            case 409:
                return ServerError(
                    f"the Rasa server at {self.name} has no model loaded: {reason}",
                    remedy="Train one and start the server with it (`rasa run -m models`).",
                )
            case status:
                return ServerError(f"the Rasa server at {self.name} answers {path} with {status}: {reason}")

    def _failure(self, path: str, what: str) -> ServerError:
        return ServerError(
            f"the Rasa server at {self.name} {what} ({path})", remedy="Is it running, and is the address right?"
        )


def _without_login(url: str) -> str:
    """Leave out what stands before the host.

    >>> _without_login("https://bot:secret@rasa.example:8443/nlu")
    'https://rasa.example:8443/nlu'
    """
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _reason(response: requests.Response) -> str:
    try:
        said = response.json()
    except ValueError:
        return response.reason or "no reason given"
    message = said.get("message") if isinstance(said, dict) else None
    return " ".join(str(message or response.reason).split())[:300]


def _kind(error: requests.ConnectionError) -> str:
    """Tell a server that is not there from one that went away, as far as the library says so."""
    text = str(error)
    if "NameResolution" in text or "Name or service" in text:
        return "no such host"
    return "connection refused" if "refused" in text else "connection cut"
