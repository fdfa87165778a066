"""GitHub's cache, as the jobs of a repository share it: the cache service beside that of artifacts, protocol version 2.

The protocol is that of the official client (``@actions/cache``: ``cache.ts``): ask for a signed address by key and
version, put blocks to it or get from it, finalize with the size. Entries never change. A run reads those of its own
ref, of the branch that its pull request is to be merged into and of the default branch, and writes those of its own
ref; which of them a key led to, the service does not say. GitHub's API does (``GET /repos/…/actions/caches``).
"""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import msgspec

from turncheck.ci.github.results_host import Blocks, NameTakenError, NoService, ResultsHost, find_place
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.process.cache_archive import FOLDER
from turncheck.web.addresses import origin_of
from turncheck.web.exchange import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from turncheck.ci.github.client import GitHubClient

NEEDS: Final = "actions: read"
_INSTEAD: Final = "add a step with actions/cache to keep the folder that `cache-folder` names"
_BLOCK: Final = 4 << 20
_MOST_BYTES: Final = 1 << 30
_SECONDS_LOST: Final = 4.0
"""Seconds that may be lost with calls that fail, all together."""
_SECONDS: Final = 30.0
"""Seconds that all calls may take together, those that succeed included: training anew is no slower."""
_SECONDS_PROMPT: Final = 1.0
"""Seconds that an answer of the service itself may take; what is more is lost: a service that hangs began slowly."""
_SECONDS_TO_RESOLVE: Final = 2.0
_MOST_LISTED: Final = 1_000
_SCHEME: Final = "1.0"
"""Part of a version, as the official client has it."""
_MEDIA_TYPE: Final = "application/octet-stream"
_MODES: Final = {"none": (False, False), "read": (True, False), "write": (True, True), "write-only": (False, True)}
"""What the values of ``ACTIONS_CACHE_MODE`` allow: reading, writing; any other one both."""

VERSION: Final = hashlib.sha256("|".join((FOLDER, "gzip", _SCHEME)).encode()).hexdigest()
"""Which archives can be unpacked by whom: that of the official client for this folder, compressed by gzip."""


class CacheEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as the API lists it; what it leaves out is empty."""

    key: str = ""
    ref: str = ""
    version: str = ""
    created_at: str = ""


class Patience(RetryBudget):
    """How long calls may take: a service that is down must not cost more than it saves.

    ``left``: seconds that may be lost with those that fail; ``working``: seconds for those that succeed.
    """

    left: float = _SECONDS_LOST
    say: Callable[[str], None] = lambda _: None
    working: float = _SECONDS

    @property
    def is_over(self) -> bool:
        return self.left <= 0 or self.working <= 0

    @property
    def used_up(self) -> str:
        return "it takes too long"

    def limit(self, seconds: float) -> float:
        return max(0.1, min(seconds, self.left, self.working))

    @contextmanager
    def watched(self, call: str) -> Iterator[None]:  # noqa: ARG002 - calls are not named: none takes long
        begun = time.monotonic()
        try:
            yield
        except BaseException:
            self.spend(time.monotonic() - begun)
            raise
        self.working -= time.monotonic() - begun


@dataclass
class CacheService(ResultsHost):
    """The cache as one job may use it.

    ``reads``, ``writes``: whether the workflow lets the job do so.
    """

    service = "CacheService"
    blob = "cache entry"
    busy = frozenset({500, 502, 503, 504})  # a rate limit ends later than any run
    reads: bool = True
    writes: bool = True

    def ensure_resolved(self) -> None:
        """Make sure that the host has an address: without internet, asking for it may take longer than all calls may.

        Raises:
            RestError: it has none, or it is not known in time.
        """
        place = origin_of(self.origin)
        if self.network.proxies(self.origin):
            return
        found: list[object] = []

        def resolve() -> None:
            try:
                found.extend(socket.getaddrinfo(place.host, place.port))
            except OSError:
                return

        thread = threading.Thread(target=resolve, daemon=True)
        begun = time.monotonic()
        thread.start()
        thread.join(_SECONDS_TO_RESOLVE)
        if not found:
            self.patience.spend(time.monotonic() - begun)
            raise RestError(f"the results service cannot be reached ({place.host} has no address here)")

    def _call(self, method: str, message: Mapping[str, Any]) -> dict[str, Any]:
        begun = time.monotonic()
        answer = super()._call(method, message)
        self.patience.spend(max(0.0, time.monotonic() - begun - _SECONDS_PROMPT))
        return answer

    def find(self, key: str, *, prefix: bool) -> tuple[str, str] | None:
        """Return the key of an entry and the address to get it from; ``prefix``: of the newest whose key begins so.

        Raises:
            RestError: the service cannot be asked.
        """
        message = {"key": key, "restore_keys": [key] if prefix else [], "version": VERSION}
        found = self._call("GetCacheEntryDownloadURL", message)
        matched = found.get("matched_key")
        address = self._signed(found, "signed_download_url")
        if not found.get("ok") or address is None or not isinstance(matched, str):
            return None
        return (matched, address) if (matched.startswith(key) if prefix else matched == key) else None

    def download(self, address: str, file: BinaryIO) -> None:
        """Write what is at a signed address into a file.

        Raises:
            RestError: it cannot be had, or not in time.
        """
        begin, size = 0, _BLOCK
        while begin < size:
            bounds = f"bytes={begin}-{begin + _BLOCK - 1}"
            # The storage gets no token: the address is signed.
            answer = self._send(Call("GET", address, {"Range": bounds}), "the download", lost=True, most=_MOST_BYTES)
            if not answer.ok:
                raise RestError(f"the storage of cache entries answers {answer.status}", status=answer.status)
            file.write(answer.body)
            begin += len(answer.body)
            total = answer.headers.get("content-range", "").rpartition("/")[2]
            size = int(total) if answer.status == 206 and total.isdecimal() and answer.body else begin
            if size > _MOST_BYTES:
                raise RestError(f"the entry is larger than {_MOST_BYTES >> 20} MiB")

    def upload(self, key: str, chunks: Iterable[bytes]) -> bool:
        """Keep an entry, and return whether it is a new one: another job may have been faster.

        Raises:
            RestError: it could not be kept; then there is none.
        """
        try:
            created = self._call("CreateCacheEntry", {"key": key, "version": VERSION})
        except NameTakenError:
            return False
        address = self._signed(created, "signed_upload_url")
        if not created.get("ok") or address is None:
            if why := str(created.get("message") or ""):
                raise RestError(f"the cache service takes no entry: {why[:300]}")
            return False
        blocks = Blocks(lambda number, block: self._put_block(address, number, block), _BLOCK)
        blocks.writelines(chunks)
        blocks.finish()
        self._put_list(address, blocks.count, _MEDIA_TYPE)
        message = {"key": key, "size_bytes": str(blocks.size), "version": VERSION}
        final = self._call("FinalizeCacheEntryUpload", message)
        if not final.get("ok"):
            why = str(final.get("message") or "another job may be finalizing it")
            raise RestError(f"the cache service did not keep the entry: {why[:300]}")
        return True


def find_cache_service(environment: Mapping[str, str], mask: Callable[[str], object]) -> CacheService | NoService:
    """Find the service in a job's variables; if there is none, say what to do instead."""
    place = find_place(environment, _INSTEAD)
    if isinstance(place, NoService):
        if environment.get("ACTIONS_CACHE_URL"):
            return NoService(f"this server has the older cache service only: {_INSTEAD}")
        return place
    reads, writes = _MODES.get(environment.get("ACTIONS_CACHE_MODE", "").strip().lower(), (True, True))
    patience = Patience()
    return CacheService(place.origin, place.token, reads, writes, mask=mask, patience=patience, network=place.network)


class KeptEntries(msgspec.Struct, frozen=True):
    """The cache of a repository as one of its runs may use it.

    Args:
        service: the cache.
        client: asks the API which refs have an entry; ``None`` without a token.
        repository: ``owner/name``.
        default_ref: the ref of the default branch; empty if it is not known.
        of_default_branch: whether this run measures that branch, and nothing that is still to be merged.
    """

    service: CacheService
    client: GitHubClient | None
    repository: str
    default_ref: str
    of_default_branch: bool

    def restore(self, prefix: str, file: BinaryIO, *, signed: bool) -> str | None:
        if not self.service.reads:
            return None
        self.service.ensure_resolved()
        if signed or self.of_default_branch:
            found = self.service.find(prefix, prefix=True)
        else:
            key = next(iter(self._of_the_default_branch_only(prefix)), None)
            found = self.service.find(key, prefix=False) if key is not None else None
        if found is None:
            return None
        key, address = found
        self.service.download(address, file)
        return key

    def _of_the_default_branch_only(self, prefix: str) -> list[str]:
        """Return the keys that only the default branch has: an earlier run of this change may have written others."""
        if not self.default_ref:
            raise RestError("the event does not say which branch is the default one")
        if self.client is None:
            raise RestError("there is no token to ask which entries are those of the default branch")
        return only_on(self.default_ref, listed(self.client, self.repository, prefix))

    def saves(self, *, signed: bool) -> bool:
        return self.service.writes and (signed or self.of_default_branch)

    def save(self, key: str, chunks: Iterable[bytes]) -> bool:
        return self.service.upload(key, chunks)


def listed(client: GitHubClient, repository: str, prefix: str) -> list[CacheEntry]:
    """Return the entries of all refs whose keys begin so, the newest first.

    Raises:
        RestError: GitHub could not be asked, or lists too many.
    """
    pages = client.pages(
        f"/repos/{repository}/actions/caches",
        CacheEntry,
        listed="actions_caches",
        needs=NEEDS,
        key=prefix,
        sort="created_at",
        direction="desc",
    )
    found = list(islice(pages, _MOST_LISTED + 1))
    if len(found) > _MOST_LISTED:
        raise RestError(f"GitHub lists more than {_MOST_LISTED:,} entries")
    # GitHub ignores a filter that it does not understand, and lists all.
    return [entry for entry in found if entry.key.startswith(prefix) and entry.version == VERSION]


def only_on(ref: str, entries: Iterable[CacheEntry]) -> list[str]:
    """Return the keys that are listed for a ref and for no other one, in the same order."""
    refs: dict[str, set[str]] = {}
    for entry in entries:
        refs.setdefault(entry.key, set()).add(entry.ref)
    return [key for key, those in refs.items() if those == {ref}]
