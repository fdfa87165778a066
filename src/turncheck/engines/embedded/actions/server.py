"""Calls an action server (rasa-sdk) over HTTP and tells answers, rejections and failures apart."""

from __future__ import annotations

import json
import threading
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

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Json:  # noqa: ARG002 - an action server
        """Run nothing: see :class:`ActionServer`."""
        raise CallFailedError("no server", f"'{call['next_action']}' was not run: {self.reason}")


class HttpActionServer:
    """A running action server. It is called without proxies, cookies or logins of the environment."""

    def __init__(self, endpoint: ActionEndpoint) -> None:
        self.endpoint = endpoint
        self._connections = threading.local()

    def __getstate__(self) -> ActionEndpoint:
        """Worker processes, as threads, open connections of their own."""
        return self.endpoint

    def __setstate__(self, endpoint: ActionEndpoint) -> None:
        """See :meth:`__getstate__`."""
        self.__init__(endpoint)  # type: ignore[misc]  # the same fields as a new one

    @property
    def selective_domain(self) -> bool:
        """Whether only the actions that ask for the domain get it."""
        return self.endpoint.selective_domain

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Json:
        """See :class:`ActionServer`."""
        import requests  # noqa: PLC0415 - only where a server is called

        limit = self.endpoint.timeout if timeout is None else min(timeout, self.endpoint.timeout)
        name = call["next_action"]
        try:
            with self._connected().post(
                self.endpoint.url,
                data=json.dumps(call).encode(),
                headers={"Content-Type": "application/json", **self.endpoint.headers},
                params=self.endpoint.params,
                auth=self.endpoint.basic_auth,
                verify=self.endpoint.cafile or True,
                timeout=max(limit, 0.001),
                allow_redirects=False,
                stream=True,
            ) as response:
                body = _limited_body(response)
                status = response.status_code
        except requests.Timeout as error:
            raise CallFailedError("timed out", f"'{name}' gave no answer within {limit:g} seconds") from error
        except requests.ConnectionError as error:
            raise CallFailedError("unreachable", f"no action server answers at {self.place}") from error
        except (requests.RequestException, OSError) as error:
            raise CallFailedError("failed", f"calling {self.place}: {error}") from error
        return _answer(name, status, body)

    def healthy(self, timeout: float = 2.0) -> bool:
        """Whether ``/health`` beside the webhook answers."""
        import requests  # noqa: PLC0415 - only where a server is called

        address = urlsplit(self.endpoint.url)._replace(path="/health", query="", fragment="").geturl()
        try:
            answer = self._connected().get(address, timeout=timeout, allow_redirects=False)
        except (requests.RequestException, OSError):
            return False
        return bool(answer.ok)

    @property
    def place(self) -> str:
        """The address without login and query, which may hold secrets."""
        address = urlsplit(self.endpoint.url)
        port = f":{address.port}" if address.port else ""
        return f"{address.scheme}://{address.hostname}{port}{address.path}"

    def _connected(self) -> requests.Session:
        session: requests.Session | None = getattr(self._connections, "session", None)
        if session is None:
            import requests  # noqa: PLC0415 - only where a server is called

            session = self._connections.session = requests.Session()
            session.trust_env = False
        return session


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
