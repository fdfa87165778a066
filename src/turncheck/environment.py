"""Which environment variables go where: secrets of the job stay with the job; what the network needs of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from turncheck.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.location import Location

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_PRIVATE_PREFIXES = ("INPUT_", "ACTIONS_")
_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_PROXY_VARIABLES = ("https_proxy", "all_proxy", "no_proxy")


def is_private(name: str) -> bool:
    """Whether the variable belongs to the job alone: inputs of the action, the runner's own, tokens."""
    upper = name.upper()
    return upper.startswith(_PRIVATE_PREFIXES) or "TOKEN" in upper


def for_child(environment: Mapping[str, str], added: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Return the environment of a child process: ours without what is private, and what was asked for by name."""
    return {**{name: value for name, value in environment.items() if not is_private(name)}, **dict(added)}


def expand(text: str, environment: Mapping[str, str], location: Location | None = None) -> str:
    """Replace each ``${NAME}`` by the variable's value.

    Raises:
        UserError: the variable is not set, or is private.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if is_private(name):
            raise UserError(
                f"'${{{name}}}' is not expanded: variables of this kind stay with the job",
                location=location,
                remedy="Hand the value over under another name.",
            )
        if name not in environment:
            raise UserError(f"the environment variable '{name}' is not set", location=location, remedy="Set it.")
        return environment[name]

    return _VARIABLE.sub(value, text)


def ca_file(environment: Mapping[str, str]) -> str | None:
    """Return the file of certificates that servers are trusted by, where the environment names one."""
    return next((environment[name] for name in _CA_VARIABLES if environment.get(name)), None)


def proxies(environment: Mapping[str, str], url: str) -> dict[str, str]:
    """Return the proxy through which an address is reached, as ``requests`` takes it; for most none.

    Only ``https`` goes through a proxy, which then sees the host's name and nothing else: what is said and the token
    are for the server alone. ``NO_PROXY`` names hosts that are reached directly.
    """
    from urllib.request import (  # type: ignore[attr-defined]  # the stubs lack it  # noqa: PLC0415 - slow to import
        proxy_bypass_environment,
    )

    address = urlsplit(url)
    named = {name.lower(): value for name, value in environment.items() if name.lower() in _PROXY_VARIABLES and value}
    proxy = named.get("https_proxy") or named.get("all_proxy")
    if address.scheme != "https" or not proxy:
        return {}
    host = address.netloc.rpartition("@")[2]
    is_direct = proxy_bypass_environment(host, {"no": named.get("no_proxy", "")})
    return {} if is_direct else {"https": proxy}


def whole_number(text: str) -> int | None:
    """Return the number that a variable holds, ``None`` where it holds something else."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def is_address(url: str) -> bool:
    """Whether this is the address of a server: ``http`` or ``https``, a host that can exist, and a port that can.

    Nobody is asked.
    """
    try:
        address = urlsplit(url)
        (address.hostname or "").encode("idna")  # fails for a name that no network can ask for
        usable = address.scheme in {"http", "https"} and bool(address.hostname) and address.port != 0
    except ValueError:
        return False
    return usable and re.search(r"[\s\x00-\x1f\x7f\ud800-\udfff]", url) is None


def without_login(url: str) -> str:
    """Return an address as it may be shown: without a name and password, and without a query.

    >>> without_login("https://bot:secret@rasa.example:8443/nlu?token=secret")
    'https://rasa.example:8443/nlu'
    """
    scheme, separator, rest = url.partition("#")[0].partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
