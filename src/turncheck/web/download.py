"""Fetches the story file that ``--url`` names: only over https, with limits of size and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.web.addresses import is_https

if TYPE_CHECKING:
    from turncheck.web.network import Network

LARGEST: Final = 10 << 20
SECONDS: Final = 30.0
"""Total time for the download, in seconds."""


def download(url: str, network: Network) -> bytes:
    """Fetch a file, following redirects to other https addresses.

    Raises:
        UserError: it is not an https address, cannot be reached, takes too long or holds too much.
    """
    import requests  # only for --url
    from urllib3.exceptions import HTTPError

    from turncheck.web.exchange import AnswerTooLargeError, RedirectRefusedError, fetch

    if not is_https(url):
        raise UserError("the address of --url is not an https address", remedy="Give one that begins with https://.")
    try:
        status, body = fetch(url, network, seconds=SECONDS, limit=LARGEST)
    except RedirectRefusedError as error:
        raise UserError(f"the address of --url redirects to {error}") from None
    except AnswerTooLargeError as error:
        raise UserError(f"the file at --url {error}") from None
    except requests.Timeout:
        raise UserError(f"the address of --url gave no complete answer within {SECONDS:g} seconds") from None
    except (requests.RequestException, HTTPError, OSError) as error:
        raise UserError(f"the address of --url cannot be reached: {type(error).__name__}") from None
    if status != 200:
        raise UserError(f"the address of --url answers with status {status}")
    return body
