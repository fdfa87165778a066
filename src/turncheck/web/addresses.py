r"""Addresses: which may be called, which are the same server, how they are shown, through which proxy.

Parsers of addresses disagree about what RFC 3986 does not allow: for ``http://a\@b/`` one connects to ``a``, another
takes ``b`` for the host. So an address here is only what the RFC allows, and of that only what every parser understands
alike. Everything that takes or compares an address asks this module; :mod:`.timed` compares its answer, right before
anything is sent, with the server that is connected to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


_PORTS: Final = {"http": 80, "https": 443}
_LAST_PORT: Final = 65_535
_ADDRESS: Final = re.compile(
    r"""(?P<scheme>https?)://
    (?:(?P<login>(?:[\w.~!$&'()*+,;=:-]++|%[0-9a-f]{2})*+)@)?
    (?P<host>\[[0-9a-f:.]++\]|[\w.-]++)
    (?::(?P<port>[0-9]{0,5}+))?
    (?P<path>(?:/(?:[\w.~!$&'()*+,;=:@/-]++|%[0-9a-f]{2})*+)?+)
    (?:\?(?P<query>(?:[\w.~!$&'()*+,;=:@/?-]++|%[0-9a-f]{2})*+))?+
    (?:\#(?:[\w.~!$&'()*+,;=:@/?-]++|%[0-9a-f]{2})*+)?+""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
"""The grammar of RFC 3986, but for hosts: in a name nothing is percent-encoded, and an IP literal has no zone."""
_REFERENCE: Final = re.compile(r"(?:[\w.~!$&'()*+,;=:@/?#\[\]-]++|%[0-9a-f]{2})*+", re.ASCII | re.IGNORECASE)
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63


class Origin(NamedTuple):
    """Scheme, host and port of an address: the same origin is the same server."""

    scheme: str
    host: str
    port: int | None

    @property
    def root(self) -> str:
        """The address of the server itself, without a slash at the end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port in {None, _PORTS.get(self.scheme)} else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


class Address(NamedTuple):
    """An address that can be called, taken apart. ``login`` is still encoded; ``None`` if there is none."""

    origin: Origin
    login: str | None
    path: str
    query: str


_NOWHERE: Final = Origin("", "", None)


@lru_cache(1024)
def address_of(url: str) -> Address | None:
    """Take an ``http`` or ``https`` address apart; ``None`` if it is none that every parser understands alike.

    No lookup is made.
    """
    parts = _ADDRESS.fullmatch(url)
    host = None if parts is None else _host(parts["host"])
    if parts is None or host is None:
        return None
    scheme = parts["scheme"].lower()
    port = int(parts["port"]) if parts["port"] else _PORTS[scheme]
    if not 0 < port <= _LAST_PORT:
        return None
    return Address(Origin(scheme, host, port), parts["login"], parts["path"], parts["query"] or "")


def origin_of(url: str) -> Origin:
    """Return the origin of an address, empty for something that is not an address.

    >>> origin_of("https://API.example/x") == origin_of("https://api.example:443/y")
    True
    """
    address = address_of(url)
    return _NOWHERE if address is None else address.origin


def is_same_server(one: str, other: str) -> bool:
    """Whether both are addresses of one server. What is not an address is no server's."""
    return is_http(one) and origin_of(one) == origin_of(other)


def is_http(url: str) -> bool:
    """Whether a server can be called at the address: ``http`` or ``https``, a valid host and port."""
    return address_of(url) is not None


def is_https(url: str) -> bool:
    """Whether only the server can read what is sent to the address."""
    return origin_of(url).scheme == "https"


def is_safe(url: str) -> bool:
    """Whether nobody in between can listen: the address is https, or on this machine."""
    return is_https(url) or is_loopback(origin_of(url).host)


def is_loopback(host: str) -> bool:
    """Whether the name or address is this machine's own, without a lookup."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    if isinstance(number, IPv6Address) and number.ipv4_mapped is not None:
        return number.ipv4_mapped.is_loopback
    return number.is_loopback


def is_allowed(url: str, hosts: Collection[str] | None) -> bool:
    """Whether a project's file may name the address: loopback and these ``hosts``; ``None``: any server."""
    address = address_of(url)
    if address is None:
        return False
    return hosts is None or is_loopback(address.origin.host) or is_among(address.origin.host, hosts)


def is_among(host: str, hosts: Collection[str]) -> bool:
    """Whether an origin's host is one of these, however they are written."""
    return host in {named_host(one) for one in hosts}


def named_host(text: str) -> str | None:
    """Return a host as origins have it: in lower case, IPv6 in its short form without brackets; ``None`` if it is not a
    host.

    >>> named_host("[0:0:0:0:0:0:0:1]"), named_host("Actions.example"), named_host("127.1")
    ('::1', 'actions.example', None)
    """
    return _host(f"[{text}]" if ":" in text and not text.startswith("[") else text)


def is_reference(text: str) -> bool:
    """Whether all its characters may be in an address or in a part of one, such as the target of a redirect."""
    return _REFERENCE.fullmatch(text) is not None


def login_of(url: str) -> tuple[bytes, bytes] | None:
    """Return the name and the password that an address contains, as the bytes that it has for them."""
    address = address_of(url)
    if address is None or address.login is None:
        return None
    name, _, password = address.login.partition(":")
    return unquote_to_bytes(name), unquote_to_bytes(password)


def without_login(url: str) -> str:
    """Return an address as it may be shown: without a name and password, and without a query.

    >>> without_login("https://bot:secret@rasa.example:8443/nlu?token=secret")
    'https://rasa.example:8443/nlu'
    >>> without_login("https://bot:se/cr#et@rasa.example/nlu")
    'https://…@rasa.example/nlu'
    """
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    if "@" in rest and not is_http(url):  # an unescaped password may have any character
        return f"{scheme}{separator}…@{rest.rpartition('@')[2].partition('#')[0].partition('?')[0]}"
    shown = rest.partition("#")[0].partition("?")[0]
    host, slash, path = shown.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def _host(written: str) -> str | None:
    if written.startswith("["):
        return _ip_of_version(written[1:-1], IPv6Address) if written.endswith("]") else None
    name = written.lower()
    labels = name.removesuffix(".").split(".")
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII) or len(name) > _LONGEST_NAME:
        return None
    if not all(1 <= len(label) <= _LONGEST_LABEL for label in labels):
        return None
    # `127.1`, `0177.0.0.1`, `2130706433`, `0x7f.1`: what they are depends on who resolves them.
    return _ip_of_version(name, IPv4Address) if _NUMBER.fullmatch(labels[-1]) else name


def _ip_of_version(text: str, version: type[IPv4Address | IPv6Address]) -> str | None:
    try:
        number = ip_address(text)
    except ValueError:
        return None
    return number.compressed if isinstance(number, version) and "%" not in text else None


# The network settings of the environment: which certificates are trusted, and which proxy is used for what.

_CA_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


HOW_TO_TRUST: Final = "name the file of your certificates in the environment variable SSL_CERT_FILE"
"""What to do about a certificate that no known authority vouches for."""


def is_untrusted(error: Exception) -> bool:
    """Whether a server was not asked anything since its certificate is not trusted; trying again does not help."""
    return "CERTIFICATE_VERIFY_FAILED" in str(error)


@dataclass(frozen=True, slots=True)
class Network:
    """How servers are reached. The proxy only sees a server's name; ``no_proxy`` lists the exceptions.

    ``ca_file``: the trusted certificates, if not the usual ones; those of ``more_ca_files`` are trusted, too.
    """

    ca_file: str | None = None
    more_ca_files: tuple[str, ...] = ()
    proxy: str | None = field(default=None, repr=False)
    no_proxy: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read it from environment variables; the proxy variables may be in upper or lower case."""
        named = {name.lower(): value for name, value in environment.items() if value}
        files = tuple(dict.fromkeys(environment[name] for name in _CA_VARIABLES if environment.get(name)))
        return cls(
            ca_file=files[0] if files else None,
            more_ca_files=files[1:],
            proxy=named.get("https_proxy") or named.get("all_proxy"),
            no_proxy=named.get("no_proxy", ""),
        )

    def proxies(self, url: str) -> dict[str, str]:
        """Return the proxy for an address, as ``requests`` takes it; usually none.

        Only ``https`` goes through a proxy: what is sent, above all a token, is only for the server.
        """
        if not is_https(url) or not self.proxy:
            return {}
        from urllib.request import (  # type: ignore[attr-defined]  # the stubs lack it
            proxy_bypass_environment,
        )

        host = origin_of(url).root.removeprefix("https://")
        return {} if proxy_bypass_environment(host, {"no": self.no_proxy}) else {"https": self.proxy}
