"""Uploading an artifact of this run from inside its job: the Actions results service, protocol version 4.

The protocol is that of the official client (``@actions/artifact``: ``upload-artifact.ts``, ``blob-upload.ts``): create,
put blocks and the list of them to a signed address, finalize with size and digest. The runtime token is the job's
secret: it goes to the service's own host alone, and the signature of the signed address is masked in the log.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import secrets
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, quote

from msgspec import Struct

from turncheck import __version__
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.messages.errors import UserError
from turncheck.process.environment import Secret, secret_of, whole_number
from turncheck.web.addresses import HOW_TO_TRUST, Network, address_of, is_safe, is_untrusted, origin_of
from turncheck.web.exchange import AnswerTooLargeError, Call, exchange, read_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import requests


BLOCK: Final = 8 * 1024 * 1024
_SERVICE: Final = "twirp/github.actions.results.api.v1.ArtifactService"
_BUSY: Final = frozenset({429, 500, 502, 503, 504})
_ATTEMPTS: Final = 5
_FIRST_WAIT: Final = 3.0
_GROWTH: Final = 1.5
_SECONDS: Final = 120.0
"""Time limit of a call, or of the upload of a block."""
_ANSWER_LIMIT: Final = 1024 * 1024
_AZURE_VERSION: Final = "2021-12-02"
_LAST_NUMBER: Final = 9
_NUMBER: Final = re.compile("[0-9]{1,20}")


class NameTakenError(RestError):
    """The run has an artifact of this name already, and artifacts cannot be changed."""


class NoService(Struct, frozen=True):
    """There is no results service here; says why."""

    reason: str


class Uploaded(Struct, frozen=True):
    """An uploaded artifact. ``id`` is its number, for links."""

    name: str
    id: str


class _Answer(Struct, frozen=True):
    """A response of the service."""

    status: int
    reason: str
    body: bytes

    @property
    def ok(self) -> bool:
        return self.status < 400

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object in it; empty where it is something else."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}


@dataclass(slots=True)
class ResultsService:
    """The service as one job may use it: its host, its token, and the two ids that are in the token."""

    origin: str
    token: Secret
    run_id: str
    job_id: str
    mask: Callable[[str], object]
    """Called with each secret before it can appear in the log."""
    longest_retention: int | None = None
    patience: RetryBudget = field(default_factory=lambda: RetryBudget(120.0))
    network: Network = field(default=Network(), repr=False)
    _session: requests.Session | None = None

    def upload(self, name: str, files: Iterable[tuple[str, bytes]], days: int = 0) -> Uploaded:
        """Zip the files while they are sent, and make them an artifact.

        Args:
            name: of the artifact.
            files: name and content of each.
            days: how long it is kept; 0 is the repository's default.

        Raises:
            NameTakenError: the run has one of this name.
            RestError: it could not be uploaded; then there is none.
        """
        with (
            self._sending(name, "application/zip", days) as sent,
            zipfile.ZipFile(sent.blocks, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
        ):
            for path, content in files:
                archive.writestr(_entry(path), content)
        return sent.kept

    def upload_page(self, name: str, content: bytes, days: int = 0) -> Uploaded:
        """Upload a page as an artifact that is not zipped, so that a browser shows it.

        This is what the official client does for a single file with ``skipArchive`` (``upload-artifact.ts``): the
        artifact is called like the file, and its type is the file's own.

        Raises:
            NameTakenError: the run has one of this name.
            RestError: as :meth:`upload`.
        """
        with self._sending(name, "text/html", days) as sent:
            sent.blocks.write(content)
        return sent.kept

    @contextmanager
    def _sending(self, name: str, media_type: str, days: int) -> Iterator[_Sent]:
        """Create an artifact, upload what is written in blocks, and finalize it."""
        wanted = {"name": name, **self._expiry(days), "version": 7, "mime_type": media_type}
        created = self._call("CreateArtifact", wanted)
        address = created.get("signed_upload_url")
        if not created.get("ok") or not isinstance(address, str) or not is_safe(address):
            raise RestError(f"the results service gives no address to upload '{name}' to")
        self._mask_signature(address)
        blocks = _Blocks(lambda number, block: self._put_block(address, number, block))
        sent = _Sent(blocks)
        yield sent
        blocks.finish()
        self._put_list(address, blocks.count, media_type)
        digest = f"sha256:{blocks.digest.hexdigest()}"
        final = self._call("FinalizeArtifact", {"name": name, "size": str(blocks.size), "hash": digest})
        sent.id = str(final.get("artifact_id") or "")
        if not final.get("ok") or not _NUMBER.fullmatch(sent.id):
            raise RestError(f"the results service did not keep the artifact '{name}'")
        sent.name = name

    def upload_beside(self, name: str, distinction: str, files: Iterable[tuple[str, bytes]], days: int = 0) -> Uploaded:
        """Upload under ``name`` or, where another job of this run has taken that, under one that begins with it.

        Raises:
            RestError: as :meth:`upload`.
        """
        kept = list(files)
        for candidate in names_beside(name, distinction):
            try:
                return self.upload(candidate, kept, days)
            except NameTakenError:
                continue
        return self.upload(f"{name}-{secrets.token_hex(4)}", kept, days)

    def retention(self, days: int) -> tuple[int, str]:
        """Limit the requested days to what the repository allows; the text says so if that was needed."""
        if self.longest_retention and days > self.longest_retention:
            most = self.longest_retention
            return most, f"retention-days: {days} is more than the repository allows, {most} are asked for"
        return days, ""

    def _expiry(self, days: int) -> dict[str, str]:
        days, _ = self.retention(days)
        if not days:
            return {}
        expires = datetime.fromtimestamp(self.patience.clock(), UTC) + timedelta(days=days)
        return {"expires_at": expires.isoformat(timespec="milliseconds").replace("+00:00", "Z")}

    def _call(self, method: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Call the service; every request names the run and the job."""
        ids = {"workflow_run_backend_id": self.run_id, "workflow_job_run_backend_id": self.job_id}
        call = Call(
            "POST",
            f"{self.origin}/{_SERVICE}/{method}",
            {"Content-Type": "application/json"},
            credentials={"Authorization": f"Bearer {self.token.reveal()}"},
            body=json.dumps({**ids, **message}).encode(),
        )
        answer = self._send(call, method, lost=False)
        document = answer.document
        if answer.ok:
            return document
        words = f"{document.get('code') or answer.status}: {document.get('msg') or answer.reason}"
        if answer.status == 409:
            raise NameTakenError(f"the results service refuses {method}: {words[:300]}", status=409)
        raise RestError(f"the results service refuses {method}: {words[:300]}", status=answer.status)

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
            raise RestError(f"the artifact's storage answers {answer.status}", status=answer.status)

    def _send(self, call: Call, called: str, *, lost: bool) -> _Answer:
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
                    exchange(self._session, call, self.patience.limit(_SECONDS)) as response,
                ):
                    answer = _Answer(response.status_code, response.reason or "", read_body(response, _ANSWER_LIMIT))
                if answer.status not in _BUSY:
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

    def _mask_signature(self, address: str) -> None:
        parts = address_of(address)
        for signature in parse_qs(parts.query if parts else "").get("sig", []):
            self.mask(signature)
            self.mask(quote(signature, safe=""))


def find_service(environment: Mapping[str, str], mask: Callable[[str], object]) -> ResultsService | NoService:
    """Find the service in a job's variables; if there is none, say what to do instead."""
    url = environment.get("ACTIONS_RESULTS_URL", "")
    host = origin_of(environment.get("GITHUB_SERVER_URL") or "https://github.com").host
    if not (host == "github.com" or host.endswith((".ghe.com", ".localhost"))):
        return NoService(
            "this server has no results service: add a step with actions/upload-artifact to keep the results"
        )
    try:
        token = secret_of(environment, "ACTIONS_RUNTIME_TOKEN")
    except UserError as error:
        return NoService(error.message)
    if not url or token is None:
        return NoService("this job has no results service: add a step with actions/upload-artifact to keep the results")
    ids = _backend_ids(token.reveal())
    if ids is None:
        return NoService("the job's runtime token does not say which run it is for")
    if not is_safe(url):
        return NoService("the results service is not reached by https")
    most = whole_number(environment.get("GITHUB_RETENTION_DAYS", "")) or None
    return ResultsService(
        origin_of(url).root,
        token,
        *ids,
        mask=mask,
        longest_retention=most,
        network=Network.of(environment),
    )


def names_beside(name: str, distinction: str) -> Iterator[str]:
    """Yield the names to try: the requested one, one that names this job's project, numbered ones."""
    yield name
    slug = "-".join("".join(c if (c.isascii() and c.isalnum()) or c in "._" else " " for c in distinction[:80]).split())
    if slug:
        yield f"{name}-{slug}"
    for number in range(2, _LAST_NUMBER + 1):
        yield f"{name}-{number}"


def _backend_ids(token: str) -> tuple[str, str] | None:
    """Read the ids of run and job out of the token's ``scp`` claim; it is decoded, there is nothing to verify it by."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        scopes = str(claims["scp"]).split(" ")
    except (IndexError, KeyError, TypeError, ValueError, RecursionError, binascii.Error):
        return None
    for scope in scopes:
        parts = scope.split(":")
        if parts[0] == "Actions.Results" and len(parts) == 3:
            return parts[1], parts[2]
    return None


def _block_id(number: int) -> str:
    """All of the same length, as Azure requires."""
    return base64.b64encode(f"turncheck-{number:012d}".encode()).decode()


def _entry(path: str) -> zipfile.ZipInfo:
    """An entry without a clock: the same files give the same archive."""
    entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


class _Sent(Struct):
    """An artifact being uploaded: where its content is written, and finally its name."""

    blocks: _Blocks
    name: str = ""
    id: str = ""

    @property
    def kept(self) -> Uploaded:
        return Uploaded(self.name, self.id)


class _Blocks(RawIOBase):
    """A file that is cut into blocks as it is written, and keeps none of them."""

    def __init__(self, put: Callable[[int, bytes], None]) -> None:
        self._put = put
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
        while len(self._waiting) >= BLOCK:
            self._send(bytes(self._waiting[:BLOCK]))
            del self._waiting[:BLOCK]
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
