"""The network settings of the environment: which certificates are trusted, and which proxy is used for what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from turncheck.web.addresses import is_https, origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_CA_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")


@dataclass(frozen=True, slots=True)
class Network:
    """How servers are reached. The proxy only sees a server's name; ``no_proxy`` lists the exceptions.

    ``ca_file``: the trusted certificates, if not the usual ones.
    """

    ca_file: str | None = None
    proxy: str | None = field(default=None, repr=False)
    no_proxy: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read it from environment variables; the proxy variables may be in upper or lower case."""
        named = {name.lower(): value for name, value in environment.items() if value}
        return cls(
            ca_file=next((environment[name] for name in _CA_VARIABLES if environment.get(name)), None),
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
