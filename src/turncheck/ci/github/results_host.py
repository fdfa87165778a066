"""The host of a job's Actions results service: calls by Twirp, and blobs put to signed addresses.

The runtime token is the job's secret: it goes to the service's own host alone, and the signatures of signed addresses
are masked in the log.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from io import RawIOBase
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import parse_qs, quote

from msgspec import Struct

from turncheck import __version__
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.messages.errors import UserError
from turncheck.process.environment import Secret, secret_of
from turncheck.web.addresses import HOW_TO_TRUST, Network, address_of, is_safe, is_untrusted, origin_of
from turncheck.web.exchange import AnswerTooLargeError, Call, exchange, read_body

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import requests


BLOCK: Final = 8 * 1024 * 1024
_API: Final = "twirp/github.actions.results.api.v1"
_BUSY: Final = frozenset({429, 500, 502, 503, 504})
_ATTEMPTS: Final = 5
_FIRST_WAIT: Final = 3.0
_GROWTH: Final = 1.5
_SECONDS: Final = 120.0
"""Time limit of a call, or of the upload of a block."""
_ANSWER_LIMIT: Final = 1024 * 1024
_AZURE_VERSION: Final = "2021-12-02"


class NameTakenError(RestError):
    """Something of this name is kept already, and cannot be changed."""


class NoService(Struct, frozen=True):
    """There is no results service here; says why."""

    reason: str


class Place(Struct, frozen=True):
    """Where the service is, and the token of the job."""

    origin: str
    token: Secret
    network: Network


class Answer(Struct, frozen=True):
    """A response of the service, or of the storage behind it."""

    status: int
    reason: str
    body: bytes
    headers: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether it did what was asked."""
        return self.status < 400

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object in it; empty where it is something else."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}


@dataclass
class ResultsHost:
    """The host as one job may use it: by its token."""

    service: ClassVar[str]
    """The name of a service on it."""
    blob: ClassVar[str]
    """What lies in its storage, as messages call it."""
    busy: ClassVar[frozenset[int]] = _BUSY
    """The statuses after which it is asked again."""
    most_seconds: ClassVar[float] = _SECONDS
    """Time limit of a call."""
    origin: str
    token: Secret
    mask: Callable[[str], object] = field(kw_only=True)
    """Called with each secret before it can appear in the log."""
    patience: RetryBudget = field(default_factory=lambda: RetryBudget(120.0), kw_only=True)
    network: Network = field(default=Network(), repr=False, kw_only=True)
    _session: requests.Session | None = field(default=None, kw_only=True)

    def _call(self, method: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the service."""
        call = Call(
            "POST",
            f"{self.origin}/{_API}.{self.service}/{method}",
            {"Content-Type": "application/json"},
            credentials={"Authorization": f"Bearer {self.token.reveal()}"},
            body=json.dumps(message).encode(),
        )
        answer = self._send(call, method, lost=False)
        document = answer.document
        if answer.ok:
            return document
        words = f"{document.get('code') or answer.status}: {document.get('msg') or answer.reason}"
        if answer.status == 409:
            raise NameTakenError(f"the results service refuses {method}: {words[:300]}", status=409)
        raise RestError(f"the results service refuses {method}: {words[:300]}", status=answer.status)

    def _signed(self, document: Mapping[str, Any], name: str) -> str | None:
        """Return the signed address that the service gives, its signature masked; ``None`` if it is not one."""
        address = document.get(name)
        if not isinstance(address, str) or not is_safe(address):
            return None
        parts = address_of(address)
        for signature in parse_qs(parts.query if parts else "").get("sig", []):
            self.mask(signature)
            self.mask(quote(signature, safe=""))
        return address

    def _put_block(self, address: str, number: int, block: bytes) -> None:
        query = f"comp=block&blockid={quote(_block_id(number), safe='')}"
        self._put(f"{address}&{query}", block, {"Content-Type": "application/octet-stream"})

    def _put_list(self, address: str, count: int, media_type: str) -> None:
        latest = "".join(f"<Latest>{_block_id(number)}</Latest>" for number in range(count))
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{latest}</BlockList>'.encode()
        headers = {"Content-Type": "application/xml", "x-ms-blob-content-type": media_type}
        self._put(f"{address}&comp=blocklist", body, headers)

    def _put(self, address: str, body: bytes, headers: dict[str, str]) -> None:
        """Put to the blob's host, which gets no token: the address is signed."""
        call = Call("PUT", address, {**headers, "x-ms-version": _AZURE_VERSION}, body=body)
        answer = self._send(call, "the upload", lost=True)
        if not answer.ok:
            raise RestError(f"the {self.blob}'s storage answers {answer.status}", status=answer.status)

    def _send(self, call: Call, called: str, *, lost: bool, most: int = _ANSWER_LIMIT) -> Answer:
        """Send; try again where the service is busy, and, with ``lost``, where the connection broke."""
        import requests  # only where something is sent
        from urllib3.exceptions import HTTPError

        from turncheck.web.timed import session

        if self._session is None:
            self._session = session(self.network)
            self._session.headers["User-Agent"] = f"turncheck/{__version__}"
        trouble = ""
        for attempt in range(_ATTEMPTS):
            if self.patience.is_over:
                raise RestError(f"{called}: {self.patience.used_up}")
            try:
                with (
                    self.patience.watched(f"{called} (the results service)"),
                    exchange(self._session, call, self.patience.limit(self.most_seconds)) as response,
                ):
                    body = read_body(response, most)
                    answer = Answer(response.status_code, response.reason or "", body, response.headers)
                if answer.status not in self.busy:
                    return answer
                trouble = f"{called}: the results service answers {answer.status}"
            except AnswerTooLargeError as error:
                raise RestError(f"{called}: what the results service answers {error}") from None
            except (requests.RequestException, HTTPError, OSError, ValueError) as error:
                # The error's own text holds the signed address.
                trouble = f"{called}: the results service cannot be reached ({type(error).__name__})"
                if is_untrusted(error):
                    raise RestError(
                        f"{called}: the certificate of the results service is not trusted: {HOW_TO_TRUST}"
                    ) from None
                if not lost:
                    raise RestError(trouble) from None
            wait = _FIRST_WAIT * _GROWTH**attempt
            if attempt + 1 < _ATTEMPTS and not self.patience.wait(wait, f"{trouble}, attempt {attempt + 1}"):
                break
        raise RestError(trouble)


def find_place(environment: Mapping[str, str], instead: str) -> Place | NoService:
    """Find the host in a job's variables; if there is none, say what to do ``instead``."""
    url = environment.get("ACTIONS_RESULTS_URL", "")
    host = origin_of(environment.get("GITHUB_SERVER_URL") or "https://github.com").host
    if not (host == "github.com" or host.endswith((".ghe.com", ".localhost"))):
        return NoService(f"this server has no results service: {instead}")
    try:
        token = secret_of(environment, "ACTIONS_RUNTIME_TOKEN")
    except UserError as error:
        return NoService(error.message)
    if not url or token is None:
        return NoService(f"this job has no results service: {instead}")
    if not is_safe(url):
        return NoService("the results service is not reached by https")
    return Place(origin_of(url).root, token, Network.of(environment))


def _block_id(number: int) -> str:
    """All of the same length, as Azure requires."""
    return base64.b64encode(f"turncheck-{number:012d}".encode()).decode()


class Blocks(RawIOBase):
    """A file that is cut into blocks as it is written, and keeps none of them."""

    def __init__(self, put: Callable[[int, bytes], None], size: int = BLOCK) -> None:
        self._put = put
        self._block = size
        self._waiting = bytearray()
        self.count = 0
        self.size = 0
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def write(self, content: Any) -> int:
        data = bytes(content)
        self._waiting += data
        while len(self._waiting) >= self._block:
            self._send(bytes(self._waiting[: self._block]))
            del self._waiting[: self._block]
        return len(data)

    def finish(self) -> None:
        """Send the rest; even an empty archive is one block."""
        if self._waiting or not self.count:
            self._send(bytes(self._waiting))
            self._waiting.clear()

    def _send(self, block: bytes) -> None:
        self._put(self.count, block)
        self.count += 1
        self.size += len(block)
        self.digest.update(block)
