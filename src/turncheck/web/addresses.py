"""Addresses: which may be called, which are the same server, and how they may be shown."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

_PORTS: Final = {"http": 80, "https": 443}
_NEVER_IN_ADDRESSES: Final = re.compile(r"[\s\x00-\x1f\x7f\ud800-\udfff]")


class Origin(NamedTuple):
    """Scheme, host and port of an address: the same origin is the same server."""

    scheme: str
    host: str
    port: int | None


def origin_of(url: str) -> Origin:
    """Return the origin of an address; for something that is not an address, one that equals no server's.

    >>> origin_of("https://API.example/x") == origin_of("https://api.example:443/y")
    True
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")  # fails for an invalid host name
        port = parts.port
        return Origin(parts.scheme, host, _PORTS.get(parts.scheme) if port is None else port)
    except ValueError:
        return Origin("", "", None)


def is_http(url: str) -> bool:
    """Whether a server can be called at the address: ``http`` or ``https``, a valid host and port.

    No lookup is made.
    """
    scheme, host, port = origin_of(url)
    return scheme in _PORTS and bool(host) and bool(port) and _NEVER_IN_ADDRESSES.search(url) is None


def is_https(url: str) -> bool:
    """Whether only the server can read what is sent to the address."""
    return is_http(url) and origin_of(url).scheme == "https"


def is_safe(url: str) -> bool:
    """Whether nobody in between can listen: the address is https, or on this machine."""
    return is_http(url) and (origin_of(url).scheme == "https" or is_loopback(origin_of(url).host))


def is_loopback(host: str) -> bool:
    """Whether the name or address is this machine's own, without a lookup."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def without_login(url: str) -> str:
    """Return an address as it may be shown: without a name and password, and without a query.

    >>> without_login("https://bot:secret@rasa.example:8443/nlu?token=secret")
    'https://rasa.example:8443/nlu'
    >>> without_login("bot:secret@rasa.example/nlu")
    'rasa.example/nlu'
    """
    shown = url.partition("#")[0].partition("?")[0]
    scheme, separator, rest = shown.partition("://") if "://" in shown else ("", "", shown)
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
