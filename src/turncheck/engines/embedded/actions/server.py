"""Calls an action server (rasa-sdk) over HTTP and tells answers, rejections and failures apart."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from turncheck.engines.embedded.actions.base import ActionError, ActionRejectedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import requests

    from turncheck.engines.base import ActionOutcome
    from turncheck.engines.embedded.actions.endpoint import ActionEndpoint

MAX_ANSWER_BYTES = 10_000_000
_LOOK_SECONDS = 2.0
_DYING_SECONDS = 0.2
"""A process that ends closes its connections one after the other."""

Json = dict[str, Any]


class CallFailedError(ActionError):
    """The action gave no usable answer; ``outcome`` says of which kind the failure is."""

    def __init__(self, outcome: ActionOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: ActionOutcome = outcome


class ActionServer(Protocol):
    """Whatever runs custom actions."""

    @property
    def selective_domain(self) -> bool:
        """Whether only the actions that ask for the domain get it."""

    def look(self) -> None:
        """See whether the server is there, before it is called for the first time."""

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Json:
        """Run the action of this call and return ``{"events": […], "responses": […]}``, not yet checked.

        ``timeout`` in seconds, where it is to be less than the server's own.

        Raises:
            ActionRejectedError: the action refused.
            CallFailedError: it failed, or the server did.
        """


@dataclass(frozen=True, slots=True)
class NoActionServer:
    """Nobody who would run an action, and why."""

    reason: str = "no action server is configured"
    selective_domain: bool = True

    def look(self) -> None:
        """There is nothing to see."""

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Json:  # noqa: ARG002 - an action server
        """Run nothing: see :class:`ActionServer`."""
        raise CallFailedError("no server", f"'{call['next_action']}' was not run: {self.reason}")


class HttpActionServer:
    """An action server at an address. It is called without proxies, cookies or logins of the environment.

    ``was_there``: whether it has been reached; one that was and is not any more is something else than none at all.
    """

    def __init__(self, endpoint: ActionEndpoint, *, was_there: bool = False) -> None:
        self.endpoint = endpoint
        self.was_there = was_there

    @property
    def selective_domain(self) -> bool:
        """Whether only the actions that ask for the domain get it."""
        return self.endpoint.selective_domain

    def look(self) -> None:
        """See whether anybody listens at the address, before the first call."""
        self.was_there = self.was_there or self._listens()

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Json:
        """See :class:`ActionServer`. Each call has a connection of its own, as Rasa's: an action is never run twice."""
        import requests  # noqa: PLC0415 - only where a server is called
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        from turncheck.engines.timed_http import within  # noqa: PLC0415

        limit = self.endpoint.timeout if timeout is None else max(min(timeout, self.endpoint.timeout), 0.001)
        name = call["next_action"]
        try:
            with within(limit), self._session() as session, self._post(session, call, limit) as response:
                self.was_there = True
                body = _limited_body(response)
                status = response.status_code
        except requests.Timeout as error:
            if not self.was_there and not self._listens():
                raise self._absent() from error
            # Never the seconds that were left: the same run is to say the same again.
            own = timeout is None or timeout >= self.endpoint.timeout
            over = f"within {self.endpoint.timeout:g} seconds" if own else "before the turn's time was over"
            raise CallFailedError("timed out", f"'{name}' gave no answer {over}") from error
        except requests.ConnectionError as error:
            raise self._without_answer(name, error) from error
        except (requests.exceptions.ChunkedEncodingError, HTTPError) as error:
            raise self._cut(name) from error
        except (requests.RequestException, OSError) as error:
            raise CallFailedError("failed", f"calling {self.place}: {error}") from error
        return _answer(name, status, body)

    def _post(self, session: requests.Session, call: Mapping[str, Any], limit: float) -> requests.Response:
        return session.post(
            self.endpoint.url,
            data=json.dumps(call).encode(),
            headers={"Content-Type": "application/json", **self.endpoint.headers},
            params=self.endpoint.params,
            auth=self.endpoint.basic_auth,
            timeout=limit,
            allow_redirects=False,
            stream=True,
        )

    def _without_answer(self, name: str, error: requests.ConnectionError) -> CallFailedError:
        """Tell a server that is not there from one that is there no more, and from one that hung up on the action."""
        from turncheck.engines.timed_http import was_refused  # noqa: PLC0415 - only where a server is called

        if not was_refused(error):
            return self._cut(name)
        if not self.was_there:
            return self._absent()
        return CallFailedError("lost", f"the action server at {self.place} is gone: '{name}' was not run")

    def _absent(self) -> CallFailedError:
        return CallFailedError("unreachable", f"no action server answers at {self.place}")

    def _cut(self, name: str) -> CallFailedError:
        time.sleep(_DYING_SECONDS)
        if self._listens():
            return CallFailedError("failed", f"'{name}' failed, the action server cut the connection")
        return CallFailedError("lost", f"the action server at {self.place} went away while it ran '{name}'")

    def _listens(self) -> bool:
        address = urlsplit(self.endpoint.url)
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            with socket.create_connection((address.hostname or "", port), _LOOK_SECONDS):
                return True
        except OSError:
            return False

    def healthy(self, timeout: float = 2.0) -> bool:
        """Whether ``/health`` beside the webhook answers."""
        import requests  # noqa: PLC0415 - only where a server is called

        from turncheck.engines.timed_http import within  # noqa: PLC0415

        address = urlsplit(self.endpoint.url)._replace(path="/health", query="", fragment="").geturl()
        try:
            with within(timeout), self._session() as session:
                answer = session.get(address, timeout=timeout, allow_redirects=False)
        except (requests.RequestException, OSError):
            return False
        return bool(answer.ok)

    @property
    def place(self) -> str:
        """The address without login and query, which may hold secrets."""
        address = urlsplit(self.endpoint.url)
        port = f":{address.port}" if address.port else ""
        return f"{address.scheme}://{address.hostname}{port}{address.path}"

    def _session(self) -> requests.Session:
        from turncheck.engines.timed_http import session  # noqa: PLC0415 - only where a server is called

        return session(ca_file=self.endpoint.cafile)


def _limited_body(response: requests.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_content(65536):
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise CallFailedError("failed", f"the action server's answer is larger than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _answer(name: str, status: int, body: bytes) -> Json:
    """Tell answers, rejections and failures apart, by status code as Rasa does."""
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    shape = document if isinstance(document, dict) else {}
    if status == 400 and "action_name" in shape:
        reason = shape.get("error") or f"'{shape['action_name']}' rejected to run"
        raise ActionRejectedError(str(reason))
    if status >= 300:
        detail = f": {shape['error']}" if shape.get("error") else ""
        raise CallFailedError("failed", f"'{name}' failed, the action server answered with status {status}{detail}")
    if not isinstance(document, dict):
        raise CallFailedError("failed", f"the action server's answer for '{name}' is no JSON object")
    return document
