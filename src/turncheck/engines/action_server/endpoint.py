"""Which action server is called: ``action_endpoint`` of ``endpoints.yml``, or the address from the flag."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError
from turncheck.process.environment import expand
from turncheck.process.regular_file import open_regular
from turncheck.process.secret import remember_guessed
from turncheck.web.addresses import is_http, origin_of, without_login
from turncheck.web.network import Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.messages.location import Location
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Endpoint

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
    return ActionEndpoint(
        url=checked_address(url, endpoint.location),
        headers=headers,
        params=params,
        basic_auth=(login["username"], login["password"]) if login else None,
        cafile=checked_certificates(parameters.get("cafile"), endpoint.location) or Network.of(environment).ca_file,
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
        remedy="Remove it; a variable that it takes (`${NAME}`) may have a line break at its end.",
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
            remedy="Write it as http://host:port/webhook.",
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
