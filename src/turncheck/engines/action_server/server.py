"""Calls an action server (rasa-sdk) over HTTP and distinguishes answers, rejections and failures.

The team's own is started for the duration of a run, and stopped again with everything that it started.
"""

from __future__ import annotations

import codecs
import json
import re
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.engines.embedded.actions.base import ActionError, ActionRejectedError
from turncheck.messages.errors import UserError
from turncheck.process.child_process import Child, running_child, split_command
from turncheck.process.environment import FileVariables, expand, redact, remember_guessed
from turncheck.process.regular_file import open_regular
from turncheck.web.addresses import (
    Network,
    address_of,
    is_allowed,
    is_among,
    is_http,
    is_untrusted,
    origin_of,
    without_login,
)
from turncheck.web.exchange import AnswerTooLargeError, Call, Redirect, RedirectRefusedError, exchange, read_body

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    import requests

    from turncheck.engines.conversation import ActionOutcome, ActionServer
    from turncheck.messages.finding import Location
    from turncheck.project.model import Endpoint

MAX_ANSWER_BYTES = 10_000_000
_LOOK_SECONDS = 2.0
_DYING_SECONDS = 0.2
"""A process that is ending closes its connections one after the other."""

_MOST_REDIRECTS: Final = 10
_OF_EVERY_CALL: Final = frozenset({"content-type", "content-encoding", "accept"})
"""Headers that say what is sent. Any other may be a secret, which only the endpoint's own server gets."""
_JSON_TYPE: Final = re.compile(r"application/([\w.+-]+?\+)?json", re.IGNORECASE)
"""Rasa's client only reads answers whose content type begins with this."""
_MOST_SHOWN: Final = 500
"""The most characters shown of a server's own message."""


class CallFailedError(ActionError):
    """The action gave no usable answer; ``outcome`` is the kind of failure."""

    def __init__(self, outcome: ActionOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: ActionOutcome = outcome


class Reply(Struct, frozen=True):
    """A server's answer to a call: status, content type and content."""

    status: int
    kind: str
    body: bytes


class NoActionServer(Struct, frozen=True):
    """There is no action server, and why."""

    reason: str = "no action server is configured"
    selective_domain: bool = True

    def look(self) -> None:
        """There is nothing to check."""

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Any:  # noqa: ARG002 - an action server
        """Run nothing: see :class:`ActionServer`."""
        raise CallFailedError("no server", f"'{call['next_action']}' was not run: {self.reason}")


class HttpActionServer:
    """An action server at an address. It is called without the environment's proxies, cookies or logins.

    ``was_there``: whether it was ever reached: a server that has gone is not the same as no server.
    ``hosts``: those that it may redirect to, besides its own; ``None``: any.
    """

    def __init__(
        self, endpoint: ActionEndpoint, *, was_there: bool = False, hosts: Collection[str] | None = None
    ) -> None:
        self.endpoint = endpoint
        self.was_there = was_there
        self._hosts = hosts

    @property
    def selective_domain(self) -> bool:
        """Whether only the actions that ask for the domain get it."""
        return self.endpoint.selective_domain

    def look(self) -> None:
        """Check whether a server listens at the address, before the first call."""
        self.was_there = self.was_there or self._listens()

    def run(self, call: Mapping[str, Any], timeout: float | None) -> Any:
        """See :class:`ActionServer`."""
        return read_reply(call["next_action"], self.send(call["next_action"], json.dumps(call).encode(), timeout))

    def send(
        self,
        name: str,
        body: bytes,
        timeout: float | None = None,
        *,
        query: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a call for this action and return what comes back, whatever it is.

        Each call has its own connection, as in Rasa: an action is never run twice. ``query`` and ``headers``
        replace the endpoint's own.

        Raises:
            CallFailedError: nothing came back.
        """
        from requests import RequestException  # only if a server is called
        from urllib3.exceptions import HTTPError

        limit = self.endpoint.timeout if timeout is None else max(min(timeout, self.endpoint.timeout), 0.001)
        way = _Way(self.endpoint.host, self._hosts)
        call = self._call(body, query=query, headers=headers)
        try:
            with (
                self._session() as session,
                exchange(
                    session, call, limit, follow=way.next, connect=limit, most_redirects=_MOST_REDIRECTS
                ) as response,
            ):
                self.was_there = True
                content = read_body(response, MAX_ANSWER_BYTES)
                return Reply(response.status_code, response.headers.get("Content-Type", ""), content)
        except RedirectRefusedError as error:
            reason = f"the action server redirects to {error}"
            raise CallFailedError("failed", f"'{name}' failed, {reason}") from None
        except AnswerTooLargeError:
            reason = f"the action server's answer is larger than {MAX_ANSWER_BYTES} bytes"
            raise CallFailedError("failed", reason) from None
        except (RequestException, HTTPError, OSError) as error:
            raise self._failed(name, error, way, timeout) from error

    def _call(self, body: bytes, *, query: str | None, headers: Mapping[str, str] | None) -> Call:
        own = {"Content-Type": "application/json", **self.endpoint.headers} if headers is None else headers
        return Call(
            "POST",
            self.endpoint.url,
            {key: value for key, value in own.items() if key.lower() in _OF_EVERY_CALL},
            credentials={key: value for key, value in own.items() if key.lower() not in _OF_EVERY_CALL},
            login=self.endpoint.basic_auth,
            query=self.endpoint.params if query is None else query,
            body=body,
        )

    def _failed(self, name: str, error: Exception, way: _Way, timeout: float | None) -> CallFailedError:
        """Say why nothing came back: whether the action may have run depends on it."""
        import requests  # only if a server is called
        from urllib3.exceptions import HTTPError

        match error:
            case requests.Timeout():
                if not self.was_there and not self._listens():
                    return self._absent()
                # Not the remaining seconds: the same run must give the same message.
                is_own = timeout is None or timeout >= self.endpoint.timeout
                over = f"within {self.endpoint.timeout:g} seconds" if is_own else "before the turn's time was over"
                return CallFailedError("timed out", f"'{name}' gave no answer {over}")
            case requests.ConnectionError() | requests.exceptions.InvalidURL() if way.place is not None:
                reason = f"the action server redirects to {way.place}, which does not answer"
                return CallFailedError("failed", f"'{name}' failed, {reason}")
            case requests.exceptions.InvalidURL():
                return CallFailedError("failed", f"calling {self.place}: {error}")
            case requests.exceptions.SSLError() if is_untrusted(error):
                remedy = "name the file of your certificates as `cafile` of the endpoint or in SSL_CERT_FILE"
                return CallFailedError("unreachable", f"the certificate of {self.place} is not trusted: {remedy}")
            case requests.ConnectionError():
                return self._without_answer(name, error)
            case requests.exceptions.ContentDecodingError():
                return CallFailedError("failed", f"'{name}' failed, the action server's answer cannot be unpacked")
            case requests.exceptions.ChunkedEncodingError() | HTTPError():
                return self._cut(name)
            case _:  # its own message may quote a header
                return CallFailedError("failed", f"{self.place} cannot be called ({type(error).__name__})")

    def _without_answer(self, name: str, error: requests.ConnectionError) -> CallFailedError:
        """Distinguish a server that was never there, one that is gone, and one that closed the connection."""
        from turncheck.web.timed import was_refused  # only if a server is called

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
        address = address_of(self.endpoint.url)
        if address is None:
            return False
        try:
            with socket.create_connection((address.origin.host, address.origin.port), _LOOK_SECONDS):
                return True
        except OSError:
            return False

    def healthy(self, timeout: float = 2.0) -> bool:
        """Whether ``/health`` beside the webhook answers."""
        import requests  # only if a server is called

        from turncheck.web.timed import within

        address = address_of(self.endpoint.url)
        if address is None:
            return False
        login = "" if address.login is None else f"{address.login}@"
        health = f"{address.origin.root.replace('://', f'://{login}')}/health"
        try:
            with within(timeout), self._session() as session:
                answer = session.get(health, timeout=timeout, allow_redirects=False)
        except (requests.RequestException, OSError):
            return False
        return bool(answer.ok)

    @property
    def place(self) -> str:
        """The address without login and query, which may contain secrets."""
        return _place(self.endpoint.url)

    def _session(self) -> requests.Session:
        from turncheck.web.timed import session  # only if a server is called

        return session(Network(ca_file=self.endpoint.cafile, more_ca_files=self.endpoint.more_cafiles))


class _Way(Struct):
    """Follows redirects as Rasa's client does. ``place``: how far it got, if anywhere."""

    host: str
    hosts: Collection[str] | None
    place: str | None = None

    def next(self, hop: Redirect) -> str | None:
        """Return why a redirect is not followed, ``None`` for the server's own host and allowed ones."""
        host = origin_of(hop.target).host
        if self.hosts is not None and host != self.host and not is_among(host, self.hosts):
            return f"the host '{host}', which is not among the allowed hosts"
        self.place = _place(hop.target)
        return None


def _place(url: str) -> str:
    address = address_of(url)
    return "" if address is None else f"{address.origin.root}{address.path}"


def read_reply(name: str, reply: Reply) -> Any:
    """Distinguish answers, rejections and failures, by status code and content type as Rasa does.

    Returns an answer's JSON, not yet checked.

    Raises:
        ActionRejectedError: the action refused.
        CallFailedError: it failed.
    """
    status = reply.status
    if status < 400:
        try:
            return _document(reply.kind, reply.body)
        except ValueError as error:
            raise CallFailedError("failed", f"'{name}' failed, the action server's answer {error}") from error
    try:
        document = _parsed(reply.body)
    except ValueError:
        document = None
    shape = document if isinstance(document, dict) else {}
    if status == 400 and "action_name" in shape:
        reason = shape.get("error") or f"'{shape['action_name']}' rejected to run"
        raise ActionRejectedError(_clipped(reason))
    detail = f": {_clipped(shape['error'])}" if shape.get("error") else ""
    raise CallFailedError("failed", f"'{name}' failed, the action server answered with status {status}{detail}")


def _document(kind: str, body: bytes) -> Any:
    """Read what an answer holds.

    As strict as Rasa's client: the charset is the one that the content type names, else UTF-8 without a BOM.

    Raises:
        ValueError: its content type is not JSON, or it is not JSON: the message is the rest of a sentence.
    """
    if not _JSON_TYPE.match(kind):
        raise ValueError(f"is not of JSON's type, but '{kind[:100]}'" if kind else "has no Content-Type")
    if not body.strip():
        raise ValueError("is empty")
    from email.message import Message  # many modules, and most bots have no action server

    header = Message()
    header["Content-Type"] = kind
    try:
        charset = codecs.lookup(str(header.get_param("charset") or "utf-8")).name
    except (LookupError, ValueError):
        charset = "utf-8"
    try:
        text = body.decode(charset)
    except (LookupError, ValueError) as error:  # not every codec is for text
        raise ValueError(f"is not text in {charset}") from error
    try:
        return _parsed(text)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from error


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _clipped(answer: Any) -> str:
    """Return a server's message, shortened to a readable length."""
    shown = redact(str(answer)[:_MOST_SHOWN])  # it may contain credentials
    return shown.encode("utf-8", "replace").decode()


# Which action server is called: ``action_endpoint`` of ``endpoints.yml``, or the address from the flag.

DEFAULT_TIMEOUT = 300.0
"""Seconds for one call, as in Rasa."""
_PRIVATE: Final = ("token", "params", "headers", "basic_auth")
_SENDABLE: Final = re.compile(r"(?:[\x21-\x7e\xa0-\xff](?:[\t\x20-\x7e\xa0-\xff]*[\x21-\x7e\xa0-\xff])?)?")
"""Valid header values (RFC 9110, 5.5), including Latin-1, as Rasa's client sends them; no surrounding blanks."""
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")
_MOST_CERTIFICATES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class ActionEndpoint:
    """``action_endpoint`` of ``endpoints.yml``, with environment variables expanded."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str] = field(default_factory=dict, repr=False)
    basic_auth: tuple[str, str] | None = field(default=None, repr=False)
    cafile: str | None = None
    more_cafiles: tuple[str, ...] = ()
    selective_domain: bool = False
    timeout: float = DEFAULT_TIMEOUT

    @property
    def host(self) -> str:
        """The host of the URL, in the form of the allowed hosts."""
        return origin_of(self.url).host


def read_endpoint(
    endpoint: Endpoint, environment: Mapping[str, str], variables: FileVariables | None = None
) -> ActionEndpoint | None:
    """Read ``action_endpoint``; ``None`` if it has no URL. ``variables``: its ``${NAME}``, if not of the environment.

    Raises:
        UserError: an address cannot be called, or a variable is not set.
    """
    named = environment if variables is None else variables
    parameters = {key: _expanded(value, named, endpoint.location) for key, value in endpoint.parameters.items()}
    for key in _PRIVATE:
        _remember(parameters.get(key))
    url = parameters.get("url")
    if not url:
        return None
    params = _texts(parameters, "params", endpoint)
    if parameters.get("token"):
        params[str(parameters.get("token_name") or "token")] = str(parameters["token"])
    login = _texts(parameters, "basic_auth", endpoint)
    if login and login.keys() != {"username", "password"}:
        raise UserError(
            f"'basic_auth' of '{endpoint.name}' needs a username and a password, and nothing else",
            location=endpoint.location,
        )
    headers = _texts(parameters, "headers", endpoint)
    for key, texts in {"headers": [*headers, *headers.values()], "basic_auth": login.values()}.items():
        _ensure_sendable(texts, key, endpoint)
    for text in (*params, *params.values()):
        if _HALF_CHARACTER.search(text):
            raise _not_sendable("params", endpoint)
    own, network = checked_certificates(parameters.get("cafile"), endpoint.location), Network.of(environment)
    return ActionEndpoint(
        url=checked_address(url, endpoint.location),
        headers=headers,
        params=params,
        basic_auth=(login["username"], login["password"]) if login else None,
        cafile=own or network.ca_file,
        more_cafiles=() if own else network.more_ca_files,
        selective_domain=bool(parameters.get("enable_selective_domain", False)),
    )


def _texts(parameters: Mapping[str, Any], key: str, endpoint: Endpoint) -> dict[str, str]:
    """Return a mapping of strings below the endpoint, empty if there is none."""
    found = parameters.get(key) or {}
    if not isinstance(found, dict):
        raise UserError(f"'{key}' of '{endpoint.name}' must be a map", location=endpoint.location)
    return {str(name): str(value) for name, value in found.items()}


def _ensure_sendable(texts: Iterable[str], key: str, endpoint: Endpoint) -> None:
    """Refuse invalid header values without showing them: they may be credentials."""
    if not all(_SENDABLE.fullmatch(text) for text in texts):
        raise _not_sendable(key, endpoint)


def _not_sendable(key: str, endpoint: Endpoint) -> UserError:
    return UserError(
        f"'{key}' of '{endpoint.name}' contains a line break or another character that cannot be sent",
        location=endpoint.location,
        hint="Remove it; a variable that it takes (`${NAME}`) may have a line break at its end.",
    )


def _remember(value: Any) -> None:
    """Credentials of the action server are not shown in tracebacks."""
    if isinstance(value, dict):
        for item in value.values():
            _remember(item)
    elif isinstance(value, str):
        remember_guessed(value)


def checked_address(url: object, location: Location | None) -> str:
    """Return the address of an action server.

    Raises:
        UserError: it cannot be called.
    """
    if not is_http(str(url)):
        raise UserError(
            f"'{without_login(str(url))}' is not an address of an action server",
            location=location,
            hint="Write it as http://host:port/webhook.",
        )
    return str(url)


def checked_certificates(path: object, location: Location | None) -> str | None:
    """Return the file with the certificates that an endpoint trusts, if it names one.

    Raises:
        UserError: it cannot be read; what reads certificates would wait for a pipe or device without end.
    """
    if not path:
        return None
    try:
        open_regular(Path(str(path)), most=_MOST_CERTIFICATES).close()
    except FileNotFoundError:  # calling says so
        pass
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"the file of 'cafile' cannot be read: {why}", location=location) from None
    return str(path)


def _expanded(value: Any, variables: FileVariables | Mapping[str, str], location: Location) -> Any:
    if isinstance(value, str):
        return expand(value, variables, location)
    if isinstance(value, dict):
        return {key: _expanded(item, variables, location) for key, item in value.items()}
    return value


DEFAULT_URL = "http://localhost:5055/webhook"
"""Where rasa-sdk listens by default."""
START_SECONDS = 60.0
_WHAT: Final = "the action server"


@contextmanager
def running_action_server(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    say: Callable[[str], None],
    endpoint: ActionEndpoint | None = None,
    start_seconds: float = START_SECONDS,
) -> Iterator[HttpActionServer]:
    """Start ``command`` (without a shell) in ``folder``, wait until ``/health`` answers, and yield the server.

    ``environment`` is all that the process gets. It is stopped at the end, with the processes that it started. If it
    has ended by itself before that, ``say`` is called with that fact and the end of its log.

    Raises:
        UserError: it cannot be started, ends by itself, or does not answer in time; its log's last lines are shown.
    """
    server = HttpActionServer(endpoint or ActionEndpoint(DEFAULT_URL))
    if server.healthy():
        raise UserError(
            f"something already answers at {server.place}, before the action server is started",
            hint="Stop it, or use it: omit the command and give its address.",
        )
    with running_child(_WHAT, split_command(_WHAT, command), folder, environment) as child:
        _wait(server, child, start_seconds)
        server.was_there = True
        try:
            yield server
        finally:
            if (ended := child.ended()) is not None:
                say(str(ended))


def _wait(server: HttpActionServer, child: Child, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (ended := child.ended()) is None:
        if server.healthy(timeout=1.0):
            return
        if time.monotonic() > end:
            raise child.failure(f"does not answer at {server.place} after {seconds:g} seconds")
        time.sleep(0.1)
    raise ended


# Which action server a conversation uses.


def choose_server(
    endpoint: Endpoint | None,
    environment: Mapping[str, str],
    *,
    url: str | None = None,
    allowed_hosts: Collection[str] | None = None,
    variables: FileVariables | None = None,
) -> ActionServer:
    """Return the action server to call: the one at ``url``, else that of ``endpoints.yml``, else none.

    ``allowed_hosts`` restricts what ``endpoints.yml`` may name to loopback and these; ``None``: it may name any. Its
    ``${NAME}`` are ``variables``; without them, those of the environment.

    Raises:
        UserError: an address cannot be called, or a variable is not set.
    """
    if url is not None:
        network = Network.of(environment)
        address = checked_address(url, None)
        return HttpActionServer(ActionEndpoint(address, cafile=network.ca_file, more_cafiles=network.more_ca_files))
    read = None if endpoint is None else read_endpoint(endpoint, environment, variables)
    if read is None:
        return NoActionServer()
    if not is_allowed(read.url, allowed_hosts):
        return NoActionServer(f"endpoints.yml names the host '{read.host}', which is not among the allowed hosts")
    return HttpActionServer(read, hosts=allowed_hosts)
