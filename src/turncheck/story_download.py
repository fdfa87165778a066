"""Fetches the story file that ``--url`` names: over https alone, of a modest size, in a modest time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from turncheck.environment import ca_file, proxies
from turncheck.errors import UserError

if TYPE_CHECKING:
    import requests

LARGEST: Final = 10 << 20
SECONDS: Final = 30.0
"""For all of it, however slowly it comes."""
SCHEME: Final = "https"
_REDIRECTS: Final = {301, 302, 303, 307, 308}
_MOST_REDIRECTS: Final = 5
_CHUNK: Final = 1 << 16


def download(url: str) -> bytes:
    """Fetch a file, following redirects to other https addresses.

    Raises:
        UserError: it is no https address, cannot be reached, takes too long or holds too much.
    """
    import requests  # noqa: PLC0415 - only for --url
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    from turncheck.engines.timed_http import within  # noqa: PLC0415

    _ensure_https(url, "is no https address")
    try:
        with within(SECONDS):
            for _ in range(_MOST_REDIRECTS + 1):
                with _get(url) as response:
                    target = response.headers.get("Location") if response.status_code in _REDIRECTS else None
                    if target is None:
                        return _body(response)
                url = _redirected(url, target)
    except requests.Timeout:
        raise UserError(f"the address of --url gave no whole answer within {SECONDS:g} seconds") from None
    except (requests.RequestException, HTTPError, OSError) as error:
        raise UserError(f"the address of --url cannot be reached: {type(error).__name__}") from None
    raise UserError(f"the address of --url is redirected more than {_MOST_REDIRECTS} times")


def _ensure_https(url: str, fault: str) -> None:
    try:
        address = urlsplit(url)
        usable = address.scheme == SCHEME and bool(address.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise UserError(f"the address of --url {fault}", remedy="Give one that begins with https://.")


def _redirected(url: str, target: str) -> str:
    fault = "is redirected to what is no https address"
    try:
        url = urljoin(url, target)
    except ValueError:
        raise UserError(f"the address of --url {fault}") from None
    _ensure_https(url, fault)
    return url


def _get(url: str) -> requests.Response:
    from turncheck.engines.timed_http import session  # noqa: PLC0415 - only for --url

    made = session(ca_file=ca_file(os.environ), proxies=proxies(os.environ, url))
    return made.get(url, timeout=SECONDS, stream=True, allow_redirects=False)


def _body(response: requests.Response) -> bytes:
    if response.status_code != 200:
        raise UserError(f"the address of --url answers with status {response.status_code}")
    body = bytearray()
    for chunk in response.iter_content(_CHUNK):
        body += chunk
        if len(body) > LARGEST:
            raise UserError(f"the file at --url is larger than {LARGEST >> 20} MB")
    return bytes(body)
